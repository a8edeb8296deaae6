"""Survey the hosts before anything is changed, and find what would make runs fail or mislead.

`look` reads from all hosts at the same time, tries each tool for a short time, and returns its
findings. `survey` raises if a finding is an error. Nothing in this module changes a host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from netlimits import checks
from netlimits.checks import Finding, Site, fragments
from netlimits.checks._ip import IpLink
from netlimits.checks.survey import repetitions, settings, tools, trial
from netlimits.checks.survey.prompt import PromptHost
from netlimits.errors import CheckError, HostError, NetlimitsError
from netlimits.evidence import facts
from netlimits.evidence.clocks import Offset, measured
from netlimits.experiment.plan import Plan
from netlimits.hosts.base import Host, must
from netlimits.hosts.threads import MOST, concurrently
from netlimits.model import Command, Machine, decoding
from netlimits.tools import Features

FEW = 8
"""Maximum number of hosts whose clocks are read one host at a time."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of a survey.

    Attributes:
        machines: Role -> the machine with its data interface and address.
        facts: Role -> the host's facts.
        features: Tool -> the features of the client's build.
        skipped: Tool -> the reason why its runs are left out.
        findings: Errors, warnings and notes.
        clocks: Role -> offset of the host's clock from ours.
        sides: The roles of each side of a duet (`run --against`).
        unreached: Role -> why a host of a mesh is missing.
    """

    machines: Mapping[str, Machine]
    facts: Mapping[str, Mapping[str, Any]]
    features: Mapping[str, Features]
    skipped: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    clocks: Mapping[str, Offset] = field(default_factory=dict)
    sides: tuple[tuple[str, ...], ...] = ()
    unreached: Mapping[str, str] = field(default_factory=dict)

    @property
    def shared_kernel(self) -> bool:
        """True if two roles of one run are on one kernel, so that CPU figures count twice."""
        sides = self.sides or (tuple(self.facts),)
        return any(facts.one_kernel({r: self.facts[r] for r in side}) for side in sides)


def survey(
    plan: Plan,
    machines: Mapping[str, Machine],
    hosts: Mapping[str, Host],
    skipped: Mapping[str, str] | None = None,
) -> Survey:
    """Survey the hosts for a campaign. Raises CheckError if any finding is an error."""
    host_survey = look(plan, machines, hosts, skipped)
    refuse(host_survey.findings)
    return host_survey


def refuse(findings: Iterable[Finding]) -> None:
    if errors := [finding for finding in findings if finding.severity == "error"]:
        raise CheckError(errors)


def look(
    plan: Plan,
    machines: Mapping[str, Machine],
    hosts: Mapping[str, Host],
    skipped: Mapping[str, str] | None = None,
    *,
    try_tools: bool = True,
) -> Survey:
    """Inspect all hosts at the same time, and compare the whole plan with what they support.

    Args:
        plan: The plan of the campaign.
        machines: Role -> machine, of the hosts file.
        hosts: Role -> host, for the hosts that answered.
        skipped: Tool -> reason, for the tools that a resumed campaign skips. By default a tool is
            skipped if it is missing and the experiment allows that.
        try_tools: False if another campaign is measuring on the hosts.
    """
    if plan.experiment.sides:
        return _both_sides(plan, machines, hosts, skipped, try_tools)
    prompt = {role: PromptHost(host) for role, host in hosts.items()}
    placed, findings = _each(lambda role: _placed(prompt[role], machines[role]), hosts)
    host_facts, failures = _each(
        lambda role: facts.read(prompt[role], placed[role].interface or ""), placed
    )
    findings += failures
    known_machines = {role: machine for role, machine in placed.items() if role in host_facts}
    features, left_out, tool_findings = tools.inventory(plan.experiment, prompt, skipped)
    findings += tool_findings
    requirements = tuple(plan.leaving_out(left_out).setups())
    site = Site(plan.experiment, known_machines, host_facts, features, requirements)
    findings += [*tools.refused(site), *repetitions.findings(plan)]
    site = replace(site, clocks=_clocks(known_machines, prompt))
    findings += _everywhere(known_machines, lambda role: _on_host(site, prompt[role], role))
    cut_off = {f.host for f in findings if f.check == "link" and f.severity == "error"}
    if try_tools and not cut_off:  # without a link each trial would blame a firewall
        findings += trial.findings(site, hosts)
    reachable = {role: m for role, m in known_machines.items() if role not in cut_off}
    paths = replace(site, machines=reachable)
    findings += _everywhere(
        reachable, lambda role: _check(paths, prompt[role], role, checks.AFTERWARDS)
    )
    findings = list(dict.fromkeys(findings))
    return Survey(known_machines, host_facts, features, left_out, tuple(findings), site.clocks)


def _both_sides(
    plan: Plan,
    machines: Mapping[str, Machine],
    hosts: Mapping[str, Host],
    skipped: Mapping[str, str] | None,
    try_tools: bool,
) -> Survey:
    """Survey both sides of a duet (`run --against`); report a finding of both sides only once."""
    surveys = []
    for side in plan.experiment.sides.values():
        bound = {role: machines[role] for role in side.roles}
        reached = {role: hosts[role] for role in side.roles if role in hosts}
        surveys.append(look(Plan(side), bound, reached, skipped, try_tools=try_tools))
    before, after = surveys
    every = [*before.findings, *after.findings, *repetitions.findings(plan)]
    return Survey(
        {**before.machines, **after.machines},
        {**before.facts, **after.facts},
        _features(plan, surveys),
        {**before.skipped, **after.skipped},
        tuple(dict.fromkeys(every)),
        {**before.clocks, **after.clocks},
        tuple(side.roles for side in plan.experiment.sides.values()),
    )


def _features(plan: Plan, surveys: Sequence[Survey]) -> dict[str, Features]:
    features: dict[str, Features] = {}
    for side, side_survey in zip(plan.experiment.sides.values(), surveys, strict=True):
        for name, build in side_survey.features.items():
            features[side.measure[name].get("program", name)] = build
            features.setdefault(name, build)
    return features


def foreseen(plan: Plan, machines: Mapping[str, Machine] | None = None) -> tuple[Finding, ...]:
    """Return the findings that need no host, such as options that contradict each other."""
    sides = plan.experiment.sides
    if sides:
        bound = machines or {role: Machine(role) for role in plan.experiment.roles}
        of_sides = (
            foreseen(Plan(side), {role: bound[role] for role in side.roles})
            for side in sides.values()
        )
        alike = repetitions.findings(plan)
        return tuple(dict.fromkeys([*(each for side in of_sides for each in side), *alike]))
    site = _bare(plan, machines)
    findings = [*tools.refused(site), *repetitions.findings(plan)]
    for role in site.machines:
        findings += settings.never(site, role)
    sizes = fragments.Fragments()
    return (*findings, *(each for role in site.machines for each in sizes.findings(site, role, ())))


def _bare(plan: Plan, machines: Mapping[str, Machine] | None) -> Site:
    experiment = plan.experiment
    bound = machines or {role: Machine(role) for role in experiment.roles}
    names = dict.fromkeys(
        (name for name in experiment.measure if name not in plan.skipped), tools.ANY_BUILD
    )
    return Site(experiment, bound, {}, names, tuple(plan.setups()))


def _each(act: Callable[[str], Any], roles: Iterable[str]) -> tuple[dict[str, Any], list[Finding]]:
    """Return role -> `act(role)`, called for all roles at once, and a finding for each error."""

    def guarded(role: str) -> Any:
        try:
            return act(role)
        except NetlimitsError as error:
            return Finding(role, "host", "error", str(error).removeprefix(f"{role}: "))

    roles = list(roles)
    outcomes = dict(zip(roles, concurrently(guarded, roles), strict=True))
    findings = [each for each in outcomes.values() if isinstance(each, Finding)]
    return {r: each for r, each in outcomes.items() if not isinstance(each, Finding)}, findings


def _everywhere(
    roles: Iterable[str], inspect: Callable[[str], Iterable[Finding]]
) -> Iterator[Finding]:
    by_role, findings = _each(lambda role: list(inspect(role)), roles)
    yield from findings
    for several in by_role.values():
        yield from several


def _on_host(site: Site, host: PromptHost, role: str) -> Iterator[Finding]:
    states: settings.States = {}
    yield from settings.findings(site, host, role, states)
    yield from _check(replace(site, states=states), host, role, checks.CHECKS)


def _check(
    site: Site, host: PromptHost, role: str, which: Iterable[checks.Check]
) -> Iterator[Finding]:
    for check in which:
        completed = tuple(host.run_in_turn([*check.commands(site, role)]))
        yield from check.findings(site, role, completed)


def _clocks(machines: Mapping[str, Machine], hosts: Mapping[str, PromptHost]) -> dict[str, Offset]:
    """Return role -> offset of the host's clock from ours.

    If there are many hosts, several are read at a time, and offsets are a little less precise.
    """
    several = MOST if len(machines) > FEW else 1
    offsets = dict(
        zip(
            machines, concurrently(lambda r: measured(hosts[r].run), machines, several), strict=True
        )
    )
    return {role: offset for role, offset in offsets.items() if offset}


def _placed(host: PromptHost, machine: Machine) -> Machine:
    """Return the machine with data interface and address; look up what the hosts file lacks."""
    listing = must(host.run(Command(("ip", "-j", "addr", "show"), deadline=10)))
    try:
        links = decoding.typed(listing.stdout, list[IpLink])
        return _at({link.ifname: link for link in links}, machine)
    except ValueError:
        printed = listing.complaint or "nothing"
        raise HostError(
            f"`ip -j addr show` printed no list of interfaces, but: {printed}", host=machine.role
        ) from None


def _at(links: Mapping[str, IpLink], machine: Machine) -> Machine:
    interface = machine.interface
    if interface is None and machine.address is not None:
        given = ipaddress.ip_address(machine.address)
        owners = [n for n, link in links.items() if given in _addresses(link)]
        interface = owners[0] if owners else None
    if interface is None:
        problem = "the hosts file names neither an interface nor an address"
        if machine.address:
            problem = (
                f"no interface has the address {machine.address}; correct it in the hosts file"
            )
        raise HostError(f"{problem}; interfaces there: {', '.join(links)}", host=machine.role)
    if interface not in links:
        raise HostError(
            f"there is no interface {interface!r}; there are {', '.join(links)}: name one of them",
            host=machine.role,
        )
    addresses = list(_addresses(links[interface]))
    if machine.address is None and not addresses:
        raise HostError(
            f"{interface} has no address; add `address:` in the hosts file", host=machine.role
        )
    address = machine.address or str(min(addresses, key=lambda a: a.version))
    others = tuple(str(a) for a in addresses if str(a) != address)
    return replace(machine, interface=interface, address=address, others=others)


def _addresses(link: IpLink) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    for address in link.addr_info:
        if address.scope in ("global", "host"):
            yield ipaddress.ip_address(address.local)
