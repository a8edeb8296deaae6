"""The tools of the plan: there on both ends, with the features that its options need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from netlimits import experiment as experiments
from netlimits.checks.base import Finding, Site
from netlimits.errors import InputError, NetlimitsError, ToolFailure
from netlimits.hosts.base import Host
from netlimits.model import Command, Experiment
from netlimits.tools import tool
from netlimits.tools.base import Features

NAME = "tools"


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
        elif skipped is None and experiments.may_be_missing(experiment, name):
            left_out[name] = "; ".join(f"{m.host}: {m.problem}" for m in missing)
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
        except ToolFailure as error:
            missing.append(Finding(role, NAME, "error", str(error)))
        except NetlimitsError as error:
            missing.append(Finding(role, NAME, "error", str(error).removeprefix(f"{role}: ")))
    program = tool(name).server_program
    for role in servers:
        asked = Command(("sh", "-c", 'command -v "$1"', "sh", program), deadline=10)
        if hosts[role].run(asked).status != 0:
            problem = f"there is no {program}; install {name} there too"
            missing.append(Finding(role, NAME, "error", problem))
    return features, missing


def refused(site: Site) -> Iterator[Finding]:
    """Options that the build does not have, or that contradict the plan; each once."""
    experiment, said = site.experiment, set()
    client = experiment.ends["local"][0]
    for asked in site.asked:
        if asked.tool not in site.features:
            continue
        try:
            tool(asked.tool).check(asked.options, site.features[asked.tool])
        except InputError as error:
            line = experiment.lines.get(("measure", asked.tool))
            where = f"{experiment.path}:{line}" if line else str(experiment.path)
            said.add(f"{where}: {error}")
        if "data_port" in asked.options and asked.around.streams > 1:
            said.add(
                f"{experiment.path}: measure.{asked.tool}.data_port: one port takes one stream, "
                f"and `streams` is {asked.around.streams}; leave one of them out"
            )
    yield from (Finding(client, NAME, "error", problem) for problem in sorted(said))
