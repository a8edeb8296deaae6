"""What the hosts are and have, read before anything is touched.

Everything that would make a campaign fail or lie and can be seen by looking is an error here:
no such interface, no sudo, no netperf, an unknown selector, an offload that cannot be switched.
Nothing in this module writes to a host.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from netlimits import experiment as experiments
from netlimits import plan, templates
from netlimits.errors import DocumentError, HostError, InputError, SettingError, ToolFailure
from netlimits.evidence import facts
from netlimits.hosts.base import Host, must
from netlimits.model import Command, Experiment, Machine, SettingUse
from netlimits.settings import setting
from netlimits.tools import tool
from netlimits.tools.base import Features


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found: machines with interface and address filled in, facts and tools' features.

    `facts` by role; `features` by tool, of the client's build.
    """

    machines: Mapping[str, Machine]
    facts: Mapping[str, Mapping[str, Any]]
    features: Mapping[str, Features]

    @property
    def shared_kernel(self) -> bool:
        """Whether two roles are one machine, so that CPU figures are counted twice."""
        return facts.one_kernel(self.facts)


def survey(
    experiment: Experiment, machines: Mapping[str, Machine], hosts: Mapping[str, Host]
) -> Survey:
    """Look at every host, in parallel, and check the whole plan against what is there.

    Raises HostError, SettingError, ToolFailure or InputError, before anything was changed.
    """
    placed = {m.role: m for m in _each(lambda m: _placed(hosts[m.role], m), machines.values())}
    read = _each(lambda m: facts.read(hosts[m.role], m.interface or ""), placed.values())
    found = Survey(placed, dict(zip(placed, read, strict=True)), _features(experiment, hosts))
    _check(experiment, found, hosts)
    return found


def _each(act: Callable[[Machine], Any], machines: Iterable[Machine]) -> list[Any]:
    """`act` on every machine at the same time; the first error in order is raised."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(act, machines))


def _placed(host: Host, machine: Machine) -> Machine:
    """The machine with its data interface and address, whichever of the two was given."""
    listing = must(host.run(Command(("ip", "-j", "addr", "show"), deadline=10)))
    try:
        links = {str(link["ifname"]): link for link in json.loads(listing.stdout)}
        return _at(links, machine)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise HostError(
            f"what `ip -j addr show` prints is not understood: {error}", host=machine.role
        ) from None


def _at(links: Mapping[str, Any], machine: Machine) -> Machine:
    """The machine, placed among what `ip -j addr show` lists."""
    interface = machine.interface
    if interface is None and machine.address is not None:
        wanted = ipaddress.ip_address(machine.address)
        owners = [n for n, link in links.items() if wanted in _addresses(link)]
        interface = owners[0] if owners else None
    if interface is None:
        raise HostError(
            "the hosts file names neither its interface nor an address that it has; "
            f"interfaces there: {', '.join(links)}",
            host=machine.role,
        )
    if interface not in links:
        raise HostError(
            f"there is no interface {interface!r}; there are {', '.join(links)}", host=machine.role
        )
    addresses = list(_addresses(links[interface]))
    if machine.address is None and not addresses:
        raise HostError(
            f"{interface} has no address; add `address:` in the hosts file", host=machine.role
        )
    address = machine.address or str(min(addresses, key=lambda a: a.version))
    return replace(machine, interface=interface, address=address)


def _addresses(
    link: Mapping[str, Any],
) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    for info in link.get("addr_info", ()):
        if info.get("scope") in ("global", "host"):
            yield ipaddress.ip_address(info["local"])


def _features(experiment: Experiment, hosts: Mapping[str, Host]) -> dict[str, Features]:
    """Features of each tool that the experiment measures with, asked of the client."""
    client, *servers = (hosts[role] for roles in experiment.ends.values() for role in roles)
    features = {}
    for name in experiment.measure:
        try:
            features[name] = tool(name).features(tuple(client.run(c) for c in tool(name).probes()))
        except ToolFailure as error:
            raise HostError(str(error), host=client.name) from None
        program = tool(name).server_program
        for server in servers:
            if server.run(Command(("sh", "-c", 'command -v "$1"', "sh", program))).status != 0:
                raise HostError(
                    f"there is no {program}; install {name} there too", host=server.name
                )
    return features


def _check(experiment: Experiment, found: Survey, hosts: Mapping[str, Host]) -> None:
    """Hold every distinct configuration against what the hosts have."""
    states: dict[tuple[str, Command], Any] = {}
    sudo_checked: set[str] = set()
    for settings, (name, options) in _distinct(experiment):
        try:
            tool(name).check(options, found.features[name])
        except InputError as error:
            key = ("measure", name)
            raise DocumentError(
                str(error), path=experiment.path, line=experiment.lines.get(key)
            ) from None
        for use in settings:
            for role in use.roles:
                interface = found.machines[role].interface or ""
                read = setting(use.name).read(interface, use.options)
                try:
                    if (role, read) not in states:
                        states[role, read] = setting(use.name).state(hosts[role].run(read))
                    commands = setting(use.name).change(interface, states[role, read], use.options)
                except SettingError as error:
                    raise SettingError(
                        f"{experiment.path}:{use.line}: {error.problem}",
                        setting=use.name,
                        host=role,
                    ) from None
                if commands and role not in sudo_checked:
                    sudo_checked.add(role)
                    _may(hosts[role], commands[0], facts.value(found.facts[role], "uid"))


def _distinct(
    experiment: Experiment,
) -> Iterator[tuple[tuple[SettingUse, ...], tuple[str, dict[str, Any]]]]:
    """The resolved (settings, measure) pairs of the plan, one for all that look up the same."""
    options = [[use.options for use in experiment.settings], list(experiment.measure.values())]
    looked_up = sorted(templates.used(options) | {"tool"})
    seen = set()
    for configuration in plan.configurations(experiment):
        key = tuple(repr(configuration.values.get(name)) for name in looked_up)
        if key not in seen:
            seen.add(key)
            yield experiments.resolved(experiment, configuration.values)


def _may(host: Host, command: Command, uid: str | None) -> None:
    """Raise HostError when the login may not run a command that needs root."""
    if uid == "0":
        return
    asked = host.run(Command(("sudo", "-n", "-l", "--", *command.argv), deadline=10))
    if asked.status != 0:
        raise HostError(
            f"the login is not root and may not run `sudo -n {command.argv[0]}`: "
            f"{' '.join((asked.stderr or asked.stdout).split())[:200] or 'refused'}; allow "
            f"`{' '.join(command.argv[:3])} *` without a password in sudoers, or log in as root",
            host=host.name,
        )
