"""Ports of the tools: a short trial of each tool must reach its control and data ports.

Only a run of the tool itself shows what a firewall lets pass. If a port does not answer, the
client's socket stays in the state SYN-SENT. If large packets are lost and small packets are not,
the cause is the path's MTU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netlimits.checks import _base
from netlimits.checks._base import Finding, Site
from netlimits.checks.fragments import UDP_HEADERS, transfer, version
from netlimits.checks.survey import tools
from netlimits.errors import (
    CommandFailed,
    ConnectionLost,
    HostError,
    OutputError,
    SessionRefused,
    ToolFailure,
)
from netlimits.hosts.base import Host
from netlimits.hosts.servers import Servers
from netlimits.hosts.threads import concurrently
from netlimits.model import Command, Completed, Family, ServerAddress, Setup
from netlimits.tools import PROGRAM_OPTIONS, tool

NAME = "ports"
LONGEST = 10.0
"""Deadline of a trial in seconds. A trial takes one second, but a slow host may connect slowly."""

WAIT = 0.7
"""Seconds without an answer after which a port counts as closed. No path takes that long."""

SMALL = 512
"""Bytes of data that every path carries (RFC 791: hosts must accept packets of 576 bytes)."""

AT_ONCE = 3
"""Maximum number of concurrent trials. Each needs two sessions, and sshd allows ten."""

_CONNECTING = f"while sleep {WAIT}; do ss -Htn state syn-sent; done"
CONNECTING = Command(("sh", "-c", _CONNECTING))


@dataclass(frozen=True, slots=True)
class Trial:
    """A tool with the options of its shortest run. The server runs on the host of `role`."""

    tool: str
    role: str
    protocol: str
    options: Mapping[str, Any]
    family: Family | None = None

    @property
    def udp(self) -> bool:
        return self.protocol == "udp"

    @property
    def port(self) -> int:
        """The control port, on which the tool's server listens."""
        return int(self.options.get("port", tool(self.tool).port))

    def small(self) -> Trial | None:
        """Return the same trial with small packets; None if the tool has no option for it."""
        properties = tool(self.tool).schema["properties"]
        option = "send_size" if self.udp else "mss"
        sized = {**self.options, option: SMALL}
        return replace(self, options=sized) if option in properties else None


def trials(site: Site) -> list[Trial]:
    """Return one trial for each tool, server, protocol, port and version of IP.

    UDP trials send the largest datagram of the plan that fits the MTU.
    """
    by_key: dict[Any, Trial] = {}
    for requirement in site.requirements:
        for role in site.experiment.ends["remote"]:
            if requirement.tool not in site.features or role not in site.machines:
                continue
            if (
                requirement.around.family
                and site.machines[role].over(requirement.around.family).address is None
            ):
                continue  # the check `family` reports the missing address
            trial = _trial(site, requirement, role)
            data_port = trial.options.get("data_port")
            key = (trial.tool, role, trial.protocol, trial.port, data_port, trial.family)
            old = by_key.get(key)
            size = trial.options.get("send_size", 0)
            if old is None or size > old.options.get("send_size", 0):
                by_key[key] = trial
    return list(by_key.values())


def _trial(site: Site, requirement: Setup, role: str) -> Trial:
    sent = transfer(requirement)
    udp = sent.transport == "udp"
    protocol = "udp" if udp else str(requirement.options.get("protocol", "tcp"))
    options: dict[str, Any] = {
        name: requirement.options[name]
        for name in ("port", "data_port", "route", *PROGRAM_OPTIONS)
        if name in requirement.options
    }
    tested = tool(requirement.tool)
    if "protocol" in tested.schema["properties"]:
        options["protocol"] = protocol
    options |= tested.shortest(requirement.options)
    if udp:
        mtu = min(filter(None, (site.mtu(r) for r in (_client(site), role))), default=1500)
        most = mtu - UDP_HEADERS[version(site, requirement.around.family, role)]
        options |= {"send_size": min(sent.datagram or SMALL, most)}
    return Trial(requirement.tool, role, protocol, options, requirement.around.family)


def findings(site: Site, hosts: Mapping[str, Host]) -> list[Finding]:
    """Run all trials and return their findings; trials of one server run one after the other."""
    turns: dict[Any, list[Trial]] = {}
    if _client(site) in site.machines:
        for trial in trials(site):
            turns.setdefault((trial.tool, trial.role, trial.port), []).append(trial)
    outcomes = concurrently(lambda group: _in_turn(site, hosts, group), turns.values(), AT_ONCE)
    return [finding for group in outcomes for finding in group]


def _address(site: Site, trial: Trial, role: str) -> str:
    return site.machines[role].over(trial.family).address or ""


def _client(site: Site) -> str:
    return site.experiment.ends["local"][0]


def _in_turn(site: Site, hosts: Mapping[str, Host], group: list[Trial]) -> list[Finding]:
    servers = Servers()
    try:
        findings = []
        for trial in group:
            findings.append(_finding(site, hosts, servers, trial))
            if findings[-1].check == tools.NAME:
                break  # the other trials could not parse this tool's output either
        return findings
    finally:
        servers.stop()


def _finding(site: Site, hosts: Mapping[str, Host], servers: Servers, trial: Trial) -> Finding:
    """Run a trial and return its finding; if no data arrives, try again with small packets."""
    address = _address(site, trial, trial.role)
    what = f"{trial.tool} over {trial.protocol.upper()}"
    try:
        closed, why = _tried(site, hosts, servers, trial)
        if not why:
            success = f"{what} reaches {address}, control port {trial.port} and data"
            return Finding(trial.role, NAME, "note", success)
        if isinstance(why, OutputError):
            return _unread(site, trial, why)
        if closed:
            return _closed(site, trial, what, closed)
        small = trial.small()
        if small and not _tried(site, hosts, servers, small)[1]:
            if _tried(site, hosts, servers, trial)[1]:  # the host may have been busy the first time
                return _vanished(site, trial, what)
            return Finding(trial.role, NAME, "note", f"{what} reaches {address}, at a second try")
    except HostError as error:
        advice = (
            f"free port {trial.port} there, or name another: `port` under `measure.{trial.tool}`"
        )
        if isinstance(error, ConnectionLost | SessionRefused):
            advice = ""
        elif isinstance(error, CommandFailed):
            command = " ".join(error.completed.command.argv)
            advice = f"run `{command}` there by hand, and find out why it fails"
        problem = str(error).removeprefix(f"{error.host}: ")
        return Finding(error.host or trial.role, NAME, "error", problem, advice)
    ports = trial.options.get("data_port")
    which = f"port {ports}" if ports else "the data port"
    advice = (
        f"let {trial.protocol.upper()} from {_address(site, trial, _client(site))} to {which} of "
        f"{address} pass, and the answers{_fixed(trial)}"
    )
    return Finding(trial.role, NAME, "error", f"{what} does not get through: {why}", advice)


def _unread(site: Site, trial: Trial, why: OutputError) -> Finding:
    program = trial.options.get("program", trial.tool)
    advice = "" if ";" in str(why) else f"; run {program} there by hand: is it a script?"
    return _base.error(_client(site), tools.NAME, f"{why}{advice}")


def _closed(site: Site, trial: Trial, what: str, closed: int) -> Finding:
    address, client = (
        _address(site, trial, trial.role),
        _address(site, trial, _client(site)),
    )
    kind = "control" if closed == trial.port else "data"
    if address == client:
        return Finding(
            trial.role,
            NAME,
            "error",
            f"{what}: TCP {kind} port {closed} of {address} does not answer, which is the client's "
            "own address: packets to it pass lo",
            "bring lo up (`ip link set dev lo up`), or let TCP pass there",
        )
    return Finding(
        trial.role,
        NAME,
        "error",
        f"{what}: TCP {kind} port {closed} of {address} does not answer: a firewall drops it",
        f"let TCP from {client} to port {closed} pass on {trial.role}, and on what lies between"
        + (
            _fixed(trial)
            if kind == "data"
            else f", or name another: `port` under `measure.{trial.tool}`"
        ),
    )


def _fixed(trial: Trial) -> str:
    if "data_port" not in tool(trial.tool).schema["properties"] or "data_port" in trial.options:
        return ""
    return (
        f"; {trial.tool}'s data port changes from test to test: fix it with `data_port` in the "
        "experiment"
    )


def _vanished(site: Site, trial: Trial, what: str) -> Finding:
    size = int(trial.options.get("send_size", 0))
    large = (
        size + UDP_HEADERS[version(site, trial.family, trial.role)]
        if trial.udp
        else site.mtu(_client(site))
    )
    packets = f"packets of {large} bytes" if large else "large packets"
    return Finding(
        trial.role,
        "path",
        "error",
        f"{what}: {packets} are lost on the way and small ones are not: something between the "
        "hosts has a smaller MTU and sends no ICMP",
        "set `mtu` on both hosts to what the path carries, or raise it there; and let ICMP "
        "`fragmentation needed` pass",
    )


def _tried(
    site: Site, hosts: Mapping[str, Host], servers: Servers, trial: Trial
) -> tuple[int, ToolFailure | None]:
    """Run a trial. Raises HostError.

    Return the port that did not answer (0 if all did), and the failure (None if it succeeded).
    """
    address = _address(site, trial, trial.role)
    ends = servers.serve(
        tool(trial.tool), trial.options, hosts[trial.role], ServerAddress(address, trial.port)
    )
    client = tool(trial.tool).client(trial.options, site.features[trial.tool], ends)
    host = hosts[_client(site)]
    # start this before the client, because a host may be slow to open a second shell
    sockets = host.background(CONNECTING)
    try:
        completed = host.run(replace(client, deadline=LONGEST))
    finally:
        silent = sockets.stop()
    why = _failure(trial, completed)
    silence = [*connecting(silent, address)] if why else []
    return (silence[-1] if silence else 0), why


def _failure(trial: Trial, completed: Completed) -> ToolFailure | None:
    """Return why a trial failed; None if data arrived, even if the figures are not valid."""
    try:
        tool(trial.tool).read(completed, trial.options)
    except ToolFailure as error:
        return None if error.status == "invalid" else error
    return None


def connecting(completed: Completed, address: str) -> Iterator[int]:
    """Yield the ports of an address that did not yet answer, from the output of CONNECTING."""
    for line in completed.stdout.splitlines():
        fields = line.split()
        if len(fields) >= 4:
            peer, _, number = fields[3].rpartition(":")
            if peer.strip("[]").split("%")[0] == address and number.isdigit():
                yield int(number)
