"""Tools of the plan: both ends must have them, with the features that the plan's options need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from netlimits.checks import _base
from netlimits.checks._base import Finding, Site
from netlimits.checks.survey.prompt import PromptHost
from netlimits.errors import DocumentError, InputError, NetlimitsError
from netlimits.experiment import resolution
from netlimits.hosts.threads import concurrently
from netlimits.metrics import selectors
from netlimits.model import Command, Experiment, Setup
from netlimits.tools import Features, at_path, tool
from netlimits.units import cpus

NAME = "tools"
PROBE = 10.0
"""Deadline in seconds for a tool to print its features. Normally it does so at once."""


class _Everything(frozenset[str]):
    """The features of an unknown build: it is assumed to have every feature."""

    def __contains__(self, feature: object) -> bool:
        return True


ANY_BUILD = Features("of any build", _Everything(), selectors.SELECTORS)
"""Features for a check of options without a host. It finds contradictions, not missing features."""


def inventory(
    experiment: Experiment,
    hosts: Mapping[str, PromptHost],
    skipped: Mapping[str, str] | None = None,
) -> tuple[dict[str, Features], dict[str, str], list[Finding]]:
    """Return tool -> features, skipped tool -> reason, and findings about tools.

    By default a missing tool is skipped if the experiment allows that. If `skipped` is given, only
    the tools that it names are skipped.
    """
    left_out = dict(skipped or {})
    names = [name for name in _tools_of(experiment) if name not in left_out]
    reached = experiment.ends["local"][0] in hosts
    probed = concurrently(lambda name: _probe(experiment, hosts, name), names, 4)
    answers = dict(zip(names, probed, strict=True))
    features: dict[str, Features] = {}
    findings: list[Finding] = []
    for name, (build, missing) in answers.items():
        if not missing:
            if build:
                features[name] = build
                findings.append(_version_note(experiment, name, build))
        elif (
            skipped is None
            and name in experiment.measure
            and resolution.may_be_missing(experiment, name)
        ):
            left_out[name] = "; ".join(
                f"{finding.host}: {'; '.join(filter(None, (finding.problem, finding.advice)))}"
                for finding in missing
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


def _tools_of(experiment: Experiment) -> list[str]:
    """Return the tools that measure, and the tools that run `bulk` streams beside them."""
    names = [*experiment.measure]
    if "bulk" in experiment.around:
        names += [tool(name).streams_of for name in names]
    return [*dict.fromkeys(filter(None, names))]


def _version_note(experiment: Experiment, name: str, features: Features) -> Finding:
    has = f" with {', '.join(sorted(features.names))}" if features.names else ""
    client = experiment.ends["local"][0]
    program = experiment.measure.get(name, {}).get("program", name)
    return Finding(client, NAME, "note", f"{program} {features.version}{has}")


def _probe(
    experiment: Experiment, hosts: Mapping[str, PromptHost], name: str
) -> tuple[Features | None, list[Finding]]:
    """Return the features of a tool's client, and an error for each missing client or server."""
    clients, servers = (
        [role for role in experiment.ends[end] if role in hosts] for end in ("local", "remote")
    )
    features, missing = None, []
    program = experiment.measure.get(name, {}).get("program")
    for role in clients[:1]:
        try:
            probes = [
                replace(at_path(command, name, program), deadline=PROBE)
                for command in tool(name).probes()
            ]
            features = tool(name).features(tuple(hosts[role].run_in_turn(probes)))
        except NetlimitsError as error:
            which = f"{program}: " if program else ""
            wrong = "; or correct `program:` in the experiment" if program else ""
            missing.append(_base.error(role, NAME, f"{which}{error}{wrong}"))
    server = experiment.measure.get(name, {}).get("server_program", tool(name).server_program)
    if experiment.mesh:
        servers = [role for role in experiment.roles if role in hosts]
    command = Command(("sh", "-c", 'command -v "$1"', "sh", server), deadline=10)
    for role, answer in zip(
        servers, concurrently(lambda r: hosts[r].run(command), servers, 8), strict=True
    ):
        if answer.status != 0:
            problem = f"there is no {server}; install {name} there too"
            if "server_program" in experiment.measure.get(name, {}):
                problem += ", or correct `server_program:` in the experiment"
            missing.append(_base.error(role, NAME, problem))
    return features, missing


def refused(site: Site) -> Iterator[Finding]:
    """Yield an error for each tool option that the tool's build, a host or the plan rules out."""
    client = site.experiment.ends["local"][0]
    problems = {
        str(error): error
        for requirement in site.requirements
        if requirement.tool in site.features
        for error in _refusals(site, requirement)
    }
    in_order = sorted(problems.values(), key=lambda error: (error.line is None, error.line or 0))
    yield from (_base.error(client, NAME, str(error)) for error in in_order)


def _refusals(site: Site, requirement: Setup) -> Iterator[DocumentError]:
    where = resolution.source(site.experiment)
    block, options = f"measure.{requirement.tool}", requirement.options
    try:
        tool(requirement.tool).check(options, site.features[requirement.tool])
    except InputError as error:
        key, _, problem = str(error).partition(": ")
        if not key.startswith(f"{block}."):
            key, problem = block, str(error)
        yield where.error(problem, *key.split("."))
    for option, problem in (*_nodes(site, options), *_cpus(site, options)):
        yield where.error(problem, "measure", requirement.tool, option)
    if "data_port" in options and requirement.around.streams > 1:
        yield where.error(
            f"one port takes one stream, and `streams` is {requirement.around.streams}; "
            "leave one of them out",
            *("measure", requirement.tool, "data_port"),
        )
    if problem := _under_load(site, requirement):
        yield where.error(problem, "bulk")
    for problem in _concurrent(site, requirement):
        yield where.error(problem, "streams" if requirement.around.streams > 1 else "roles")


def _nodes(site: Site, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (option, why) for each NUMA node that a host cannot bind a program to."""
    for option, end in (("numa", "local"), ("server_numa", "remote")):
        for role in site.experiment.ends[end] if option in options else ():
            known = site.fact(role, "numa")
            if known is None:
                continue
            nodes = [name for name in known if name.isdigit()]
            if "numactl" not in known:
                yield option, f"{role} has no numactl; install it, or leave the option out"
            elif nodes and str(options[option]) not in nodes:
                yield option, f"{role} has no NUMA node {options[option]}: {', '.join(nodes)}"


def _cpus(site: Site, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (option, why) for each list of CPUs that names a CPU which a host lacks."""
    for option, end, listed in _bindings(options):
        for role in site.experiment.ends[end] if listed else ():
            nodes = site.fact(role, "numa") or {}
            parts = [cpus.members(nodes[name]) for name in nodes if name.isdigit()]
            had = frozenset[int]().union(*parts)
            try:
                absent = cpus.members(listed) - had if had else ()
            except ValueError:  # a descending range, which the option's own check reports
                continue
            if absent:
                lacked, present = cpus.formatted(frozenset(absent)), cpus.formatted(had)
                yield option, f"{role} has no CPU {lacked}; it has {present}"


def _bindings(options: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (option, end, CPUs) for each option that binds the program of an end to CPUs."""
    for option, end in (("cpus", "local"), ("server_cpus", "remote")):
        yield option, end, str(options.get(option, ""))
    own, comma, other = str(options.get("cpu_bind", "")).partition(",")
    yield from (("cpu_bind", "local", own), ("cpu_bind", "remote", other if comma else own))


def _under_load(site: Site, requirement: Setup) -> str:
    """Return why `bulk` streams cannot run beside a setup's test; "" if they can."""
    bulk = requirement.around.bulk
    if not bulk:
        return ""
    if tool(requirement.tool).bulk(requirement.options, bulk.direction, 1) is None:
        return (
            f"bulk streams cannot run beside this test of {requirement.tool}; use a transaction "
            "test whose server accepts several clients: netperf with `test: TCP_RR`"
        )
    if requirement.around.streams > 1 or len(site.experiment.ends["remote"]) > 1:
        return "it goes with one client and one server; leave `streams` out, and take one of each"
    addresses = [m.address for m in site.machines.values() if m.address]  # unknown without hosts
    if bulk.direction == "both" and len(set(addresses)) < len(addresses):
        return "the two directions over one network stack cannot be separated; use `send` or `recv`"
    return ""


def _concurrent(site: Site, requirement: Setup) -> Iterator[str]:
    """Yield each reason why several clients of a tool cannot run at the same time."""
    streams, sinks = requirement.around.streams, len(site.experiment.ends["remote"])
    schema = tool(requirement.tool).schema["properties"]
    if streams > 1 and tool(requirement.tool).server_lasts == "run":
        own = (
            f"; `measure.{requirement.tool}.parallel` is its own way"
            if "parallel" in schema
            else ""
        )
        yield (f"a server of {requirement.tool} takes one client at a time, not {streams}{own}")
    elif streams * sinks > 1 and "interim_seconds" not in requirement.options:
        why = f"{streams * sinks} streams are added up over the time that all share"
        yield f"{why}; {requirement.tool} prints no interim results"
