"""The tools of the plan: there on both ends, with the features that its options need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from netlimits.checks import _base
from netlimits.checks._base import Finding, Requirement, Site
from netlimits.errors import InputError, NetlimitsError
from netlimits.experiment import resolution
from netlimits.hosts.base import Host
from netlimits.metrics import selectors
from netlimits.model import Command, Experiment
from netlimits.tools import Features, tool

NAME = "tools"


class _Everything(frozenset[str]):
    """Features of a build that nobody has asked: it may have any."""

    def __contains__(self, feature: object) -> bool:
        return True


ANY_BUILD = Features("of any build", _Everything(), selectors.SELECTORS)
"""Where no host is asked: what contradicts itself is told, and not what a build lacks."""


def found(
    experiment: Experiment,
    hosts: Mapping[str, Host],
    skipped: Mapping[str, str] | None = None,
) -> tuple[dict[str, Features], dict[str, str], list[Finding]]:
    """Each tool's features; the reason for each that is skipped; what is to be said of them.

    A tool that is missing and may be is skipped, unless `skipped` says what is and what is not.
    Nothing is said of the tools of a client's host that did not answer.
    """
    left_out = dict(skipped or {})
    names = [name for name in experiment.measure if name not in left_out]
    reached = experiment.ends["local"][0] in hosts
    with ThreadPoolExecutor(4) as pool:
        asked = dict(
            zip(names, pool.map(lambda n: _asked(experiment, hosts, n), names), strict=True)
        )
    features: dict[str, Features] = {}
    findings: list[Finding] = []
    for name, (one, missing) in asked.items():
        if not missing:
            if one:
                features[name] = one
                findings.append(_there(experiment, name, one))
        elif skipped is None and resolution.may_be_missing(experiment, name):
            left_out[name] = "; ".join(
                f"{one.host}: {'; '.join(filter(None, (one.problem, one.advice)))}"
                for one in missing
            )
        else:
            findings += missing
    findings += [
        Finding("", NAME, "warning", f"every run with {name} is skipped: {reason}")
        for name, reason in left_out.items()
    ]
    if reached and not features and not any(f.severity == "error" for f in findings):
        advice = "install one, or leave `if_missing` out"
        findings.append(Finding("", NAME, "error", "no tool is left to measure with", advice))
    return features, left_out, findings


def _there(experiment: Experiment, name: str, features: Features) -> Finding:
    has = f" with {', '.join(sorted(features.names))}" if features.names else ""
    client = experiment.ends["local"][0]
    return Finding(client, NAME, "note", f"{name} {features.version}{has}")


def _asked(
    experiment: Experiment, hosts: Mapping[str, Host], name: str
) -> tuple[Features | None, list[Finding]]:
    """The features of a tool's client, and where client or server is missing."""
    clients, servers = (
        [role for role in experiment.ends[end] if role in hosts] for end in ("local", "remote")
    )
    features, missing = None, []
    for role in clients[:1]:
        try:
            features = tool(name).features(tuple(hosts[role].run(c) for c in tool(name).probes()))
        except NetlimitsError as error:
            missing.append(_base.error(role, NAME, str(error)))
    program = tool(name).server_program
    for role in servers:
        asked = Command(("sh", "-c", 'command -v "$1"', "sh", program), deadline=10)
        if hosts[role].run(asked).status != 0:
            problem = f"there is no {program}; install {name} there too"
            missing.append(_base.error(role, NAME, problem))
    return features, missing


def refused(site: Site) -> Iterator[Finding]:
    """Options that the build does not have, or that contradict the plan; each once."""
    experiment, said = site.experiment, set()
    client = experiment.ends["local"][0]
    for asked in site.asked:
        if asked.tool not in site.features:
            continue
        features = site.features[asked.tool]
        try:
            tool(asked.tool).check(asked.options, features)
        except InputError as error:
            line = experiment.lines.get(("measure", asked.tool))
            where = f"{experiment.path}:{line}" if line else str(experiment.path)
            said.add(f"{where}: {error}")
        if "data_port" in asked.options and asked.around.streams > 1:
            said.add(
                f"{experiment.path}: measure.{asked.tool}.data_port: one port takes one stream, "
                f"and `streams` is {asked.around.streams}; leave one of them out"
            )
        said |= {f"{experiment.path}: {problem}" for problem in _together(site, asked)}
    yield from (_base.error(client, NAME, problem) for problem in sorted(said))


def _together(site: Site, asked: Requirement) -> Iterator[str]:
    """Why several clients of a tool cannot run at the same time."""
    streams, sinks = asked.around.streams, len(site.experiment.ends["remote"])
    schema = tool(asked.tool).schema["properties"]
    if streams > 1 and tool(asked.tool).server_lasts == "run":
        own = f"; `measure.{asked.tool}.parallel` is its own way" if "parallel" in schema else ""
        yield f"streams: a server of {asked.tool} takes one client at a time, not {streams}{own}"
    elif streams * sinks > 1 and "interim_seconds" not in asked.options:
        why = f"{streams * sinks} streams are added up over the time that all share"
        way = (
            f"set `measure.{asked.tool}.interim_seconds`, such as 1"
            if "interim_seconds" in schema
            else f"{asked.tool} has no interim results to tell it"
        )
        yield f"streams: {why}; {way}"
