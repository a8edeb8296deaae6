"""Choose the data interface and address of two hosts from the routes between them.

The choice prefers, in this order: an address that needs no gateway, a faster link, and a network
other than the one that logins use.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from netlimits.checks._ip import IpLink, IpRoute
from netlimits.errors import HostError
from netlimits.hosts.base import Host
from netlimits.model import Command, Completed, Machine, decoding

_LOOK = r"""ip -j addr show up || exit 1
echo "login $SSH_CONNECTION"
echo "stack $(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/net)"
for f in /sys/class/net/*/speed; do echo "speed $f $(cat "$f" 2>/dev/null)"; done"""
LOOK = Command(("sh", "-c", _LOOK), deadline=10)


@dataclass(frozen=True, slots=True)
class Network:
    """A host's interfaces, its addresses with their interface, and the links' speeds in Mbit/s.

    `login` is the host's address that the login uses. `stack` identifies the network stack.
    """

    interfaces: tuple[str, ...]
    addresses: Mapping[str, str]
    speeds: Mapping[str, int]
    login: str
    stack: str


def network(completed: Completed) -> Network:
    """Parse the output of LOOK. Raises HostError if it has no list of addresses."""
    first, _, rest = completed.stdout.partition("\n")
    try:
        devices = decoding.typed(first, list[IpLink])
    except ValueError:
        problem = completed.complaint or "nothing"
        raise HostError(f"`ip -j addr` printed: {problem}", host=completed.host) from None
    words = [line.split() for line in rest.splitlines()]
    named = {first: others for first, *others in filter(None, words) if first != "speed"}
    login = named.get("login", [])
    speeds = {line[1].split("/")[4]: line[2:] for line in words if line[:1] == ["speed"]}
    return Network(
        tuple(speeds),
        {a.local: d.ifname for d in devices for a in d.addr_info if a.scope == "global"},
        {name: int(*speed) for name, speed in speeds.items() if "".join(speed).isdigit()},
        login[2] if len(login) == 4 else "",
        " ".join(named.get("stack", [])),
    )


def placed(
    machines: Mapping[str, Machine], hosts: Mapping[str, Host], interface: str = ""
) -> dict[str, Machine]:
    """Return the sender and the receiver with data interface and address.

    An interface or address that a machine already has is kept. Raises HostError if the sender lacks
    the interface, if no route leads from the sender to the receiver, or if both roles are the same
    host (unless the interface is lo).
    """
    (sender, _), (receiver, _) = ends = tuple(machines.items())
    networks = {role: network(hosts[role].run(LOOK)) for role in machines}
    if len({each.stack for each in networks.values()}) == 1 and "lo" not in _interfaces(machines):
        names = " and ".join(machine.ssh or "this machine" for _, machine in ends)
        raise HostError(f"{names} are the same host; name two, or say --local")
    given, at = machines[receiver].address, machines[receiver].interface
    known = networks[receiver].addresses
    addresses = [given] if given else [a for a, name in known.items() if at in (None, name)]
    wanted = interface or machines[sender].interface or ""
    if wanted and wanted not in networks[sender].interfaces:
        listed = ", ".join(networks[sender].interfaces)
        raise HostError(f"there is no interface {wanted}; it has {listed}", host=sender)
    chosen = _best(hosts[sender], networks[sender], addresses, wanted, networks[receiver].login)
    if chosen is None:
        over = f" over {wanted}" if wanted else ""
        listed = ", ".join(known) or "none"
        to = given or f"an address of {machines[receiver].ssh or receiver}"
        raise HostError(
            f"no route{over} from {machines[sender].ssh or sender} to {to}; "
            f"{machines[receiver].ssh or receiver} has {listed}: name a reachable one with "
            "--address",
            host=sender,
        )
    address, route = chosen
    return {
        sender: replace(
            machines[sender],
            interface=route.dev,
            address=machines[sender].address or route.prefsrc or None,
        ),
        receiver: replace(
            machines[receiver],
            interface=at or known.get(address),
            address=address,
        ),
    }


def _interfaces(machines: Mapping[str, Machine]) -> set[str | None]:
    return {machine.interface for machine in machines.values()}


def _best(
    host: Host, own: Network, addresses: Sequence[str], interface: str, login: str
) -> tuple[str, IpRoute] | None:
    routes = [
        (address, route)
        for address, route in zip(addresses, _routes(host, addresses), strict=True)
        if route and route.type != "local" and route.dev != "lo" and address not in own.addresses
        if not interface or route.dev == interface
    ]

    def rank(item: tuple[str, IpRoute]) -> tuple[bool, int, bool, int]:
        address, route = item
        version = ipaddress.ip_address(address).version
        return (bool(route.gateway), -own.speeds.get(route.dev, 0), address == login, version)

    return min(routes, key=rank, default=None)


def _routes(host: Host, addresses: Sequence[str]) -> Iterator[IpRoute | None]:
    commands = [
        Command(("ip", "-j", "route", "get", address), deadline=10) for address in addresses
    ]
    for answer in host.run_in_turn(commands):
        try:
            yield decoding.typed(answer.stdout, list[IpRoute])[0]
        except (ValueError, IndexError):
            yield None
