"""Each tool once between the hosts, as short as it goes: control and data ports, both ways.

Nothing tells better what a firewall lets pass than the tool itself. A connection that is dropped
on the way shows in the client's sockets (SYN-SENT) with the port that is closed. TCP sends full
segments and UDP the largest datagrams of the plan, with Don't Fragment set as Linux does: where a
large packet vanishes and a small one does not, it is the path's MTU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netlimits.checks._base import Finding, Requirement, Site
from netlimits.checks.fragments import UDP_HEADERS, datagram, is_udp, version
from netlimits.errors import HostError, ToolFailure
from netlimits.hosts.base import Host
from netlimits.hosts.servers import Servers
from netlimits.hosts.threads import at_once
from netlimits.model import Command, Completed, Family, ServerAddress
from netlimits.tools import tool

NAME = "ports"
LONGEST = 10.0
"""Seconds that a trial may take: one of its own, and what a slow path or host needs to connect."""

WAIT = 0.7
"""Seconds after which a connection that is still being made has met silence, not distance."""

SMALL = 512
"""Bytes that every path takes (RFC 791: a host must accept packets of 576)."""

AT_ONCE = 3
"""Trials at the same time: each takes two sessions of sshd's ten."""

_CONNECTING = f"while sleep {WAIT}; do ss -Htn state syn-sent; done"
CONNECTING = Command(("sh", "-c", _CONNECTING))
"""Which connections are being made, again and again until it is stopped."""

_SHORTEST: Mapping[tuple[str, bool], Mapping[str, Any]] = {
    ("netperf", False): {"seconds": -100_000},  # a count of bytes: over in milliseconds
    ("nuttcp", False): {"seconds": 0.2},
    ("nuttcp", True): {"seconds": 0.5},
}
"""(tool, whether UDP) -> a run shorter than a second, where the tool has one."""

_SLOW = {"iperf3": {"rate": "5M"}, "nuttcp": {"rate": "5M"}}
"""What UDP needs to be told, or is asked for so that it loses nothing."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A tool with the options of its shortest run, to the server of a role."""

    tool: str
    role: str
    protocol: str
    options: Mapping[str, Any]
    family: Family | None = None

    @property
    def udp(self) -> bool:
        """Whether datagrams are sent."""
        return self.protocol == "udp"

    @property
    def port(self) -> int:
        """The control port, on which the server listens."""
        return int(self.options.get("port", tool(self.tool).port))

    def small(self) -> Trial | None:
        """The same with small packets; None for a tool that cannot be told."""
        properties = tool(self.tool).schema["properties"]
        option = "send_size" if self.udp else "mss"
        sized = {**self.options, option: SMALL}
        return replace(self, options=sized) if option in properties else None


def trials(site: Site) -> list[Trial]:
    """Every tool, protocol and port of the plan, to every server, once, at its largest size."""
    found: dict[Any, Trial] = {}
    for asked in site.asked:
        for role in site.experiment.ends["remote"]:
            if asked.tool not in site.features or role not in site.machines:
                continue
            if (
                asked.around.family
                and site.machines[role].over(asked.around.family).address is None
            ):
                continue  # the check of families says so
            one = _trial(site, asked, role)
            key = (one.tool, role, one.protocol, one.port, one.options.get("data_port"), one.family)
            old = found.get(key)
            size = one.options.get("send_size", 0)
            if old is None or size > old.options.get("send_size", 0):
                found[key] = one
    return list(found.values())


def _trial(site: Site, asked: Requirement, role: str) -> Trial:
    udp = is_udp(asked)
    protocol = "udp" if udp else str(asked.options.get("protocol", "tcp"))
    options: dict[str, Any] = {
        name: asked.options[name]
        for name in ("port", "data_port", "route")
        if name in asked.options
    }
    properties = tool(asked.tool).schema["properties"]
    if "protocol" in properties:
        options["protocol"] = protocol
    if "cpu" in properties:
        options["cpu"] = False
    if "count" in asked.options:
        options["count"] = min(int(asked.options["count"]), 1000)
    options |= {"seconds": 1} | dict(_SHORTEST.get((asked.tool, udp), {}))
    if udp:
        mtu = min(filter(None, (site.mtu(r) for r in (_client(site), role))), default=1500)
        most = mtu - UDP_HEADERS[version(site, asked.around.family, role)]
        options |= {"send_size": min(datagram(asked.options) or SMALL, most)}
        options |= _SLOW.get(asked.tool, {})
    return Trial(asked.tool, role, protocol, options, asked.around.family)


def findings(site: Site, hosts: Mapping[str, Host]) -> list[Finding]:
    """What came of every trial, in the plan's order; those of one server and port in turn."""
    turns: dict[Any, list[Trial]] = {}
    if _client(site) in site.machines:
        for one in trials(site):
            turns.setdefault((one.tool, one.role, one.port), []).append(one)
    found = at_once(lambda group: _in_turn(site, hosts, group), turns.values(), AT_ONCE)
    return [finding for group in found for finding in group]


def _address(site: Site, one: Trial, role: str) -> str:
    """A role's data address in the family of a trial."""
    return site.machines[role].over(one.family).address or ""


def _client(site: Site) -> str:
    return site.experiment.ends["local"][0]


def _in_turn(site: Site, hosts: Mapping[str, Host], group: list[Trial]) -> list[Finding]:
    servers = Servers()
    try:
        return [_finding(site, hosts, servers, one) for one in group]
    finally:
        servers.stop()


def _finding(site: Site, hosts: Mapping[str, Host], servers: Servers, one: Trial) -> Finding:
    """What came of one trial, and of a second with small packets where it failed in silence."""
    address = _address(site, one, one.role)
    what = f"{one.tool} over {one.protocol.upper()}"
    try:
        closed, why = _tried(site, hosts, servers, one)
        if not why:
            said = f"{what} reaches {address}, control port {one.port} and data"
            return Finding(one.role, NAME, "note", said)
        if closed:
            return _closed(site, one, what, closed)
        small = one.small()
        if small and not _tried(site, hosts, servers, small)[1]:
            if _tried(site, hosts, servers, one)[1]:  # again: the first may have met a busy host
                return _vanished(site, one, what)
            return Finding(one.role, NAME, "note", f"{what} reaches {address}, at a second try")
    except HostError as error:
        advice = f"free port {one.port} there, or name another: `port` under `measure.{one.tool}`"
        said = str(error).removeprefix(f"{error.host}: ")
        return Finding(error.host or one.role, NAME, "error", said, advice)
    ports = one.options.get("data_port")
    which = f"port {ports}" if ports else "the data port"
    advice = (
        f"let {one.protocol.upper()} from {_address(site, one, _client(site))} to {which} of "
        f"{address} pass, and the answers{_fixed(one)}"
    )
    return Finding(one.role, NAME, "error", f"{what} does not get through: {why}", advice)


def _closed(site: Site, one: Trial, what: str, closed: int) -> Finding:
    address, client = (
        _address(site, one, one.role),
        _address(site, one, _client(site)),
    )
    kind = "control" if closed == one.port else "data"
    return Finding(
        one.role,
        NAME,
        "error",
        f"{what}: TCP {kind} port {closed} of {address} does not answer: a firewall drops it",
        f"let TCP from {client} to port {closed} pass on {one.role}, and on what lies between"
        + (
            _fixed(one)
            if kind == "data"
            else f", or name another: `port` under `measure.{one.tool}`"
        ),
    )


def _fixed(one: Trial) -> str:
    if one.tool != "netperf" or "data_port" in one.options:
        return ""
    return "; netperf's data port is another each time: fix it with `data_port` in the experiment"


def _vanished(site: Site, one: Trial, what: str) -> Finding:
    size = int(one.options.get("send_size", 0))
    large = (
        size + UDP_HEADERS[version(site, one.family, one.role)]
        if one.udp
        else site.mtu(_client(site))
    )
    return Finding(
        one.role,
        "path",
        "error",
        f"{what}: packets of {large} bytes vanish on the way and small ones do not: something "
        "between the hosts has a smaller MTU and does not say so",
        "set `mtu` on both hosts to what the path takes, or raise it there; and let ICMP "
        "`fragmentation needed` pass",
    )


def _tried(site: Site, hosts: Mapping[str, Host], servers: Servers, one: Trial) -> tuple[int, str]:
    """(the port whose connection met silence or 0, why it failed or ""). Raises HostError."""
    address = _address(site, one, one.role)
    ends = servers.serve(
        tool(one.tool), one.options, hosts[one.role], ServerAddress(address, one.port)
    )
    client = tool(one.tool).client(one.options, site.features[one.tool], ends)
    host = hosts[_client(site)]
    look = host.background(
        CONNECTING
    )  # before the client: a host may be slow to open a second shell
    try:
        completed = host.run(replace(client, deadline=LONGEST))
    finally:
        silent = look.stop()
    why = _failure(one, completed)
    silence = [*connecting(silent, address)] if why else []
    return (silence[-1] if silence else 0), why


def _failure(one: Trial, completed: Completed) -> str:
    """Why a trial counts for nothing; "" where data arrived, however much."""
    try:
        tool(one.tool).read(completed, one.options)
    except ToolFailure as error:
        return "" if error.status == "invalid" else str(error)
    return ""


def connecting(completed: Completed, address: str) -> Iterator[int]:
    """The ports of an address that connections wait for, in what CONNECTING printed."""
    for line in completed.stdout.splitlines():
        fields = line.split()
        if len(fields) >= 4:
            peer, _, number = fields[3].rpartition(":")
            if peer.strip("[]").split("%")[0] == address and number.isdigit():
                yield int(number)
