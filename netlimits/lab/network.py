"""The links of a lab, made by iproute2.

Management is a bridge on this machine with a port for each host. Data never crosses this
machine's own network: two hosts are the ends of one veth pair, and more hang on a bridge in a
namespace of its own. Link addresses follow from the lab's index, so that a lab built anew is the
same to whoever compares; no interface makes itself an IPv6 address, so that idle links are idle.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path

from netlimits.lab import listings
from netlimits.lab.layout import (
    DATA,
    DATA_BRIDGE,
    DATA_LINK,
    MANAGEMENT,
    MANAGEMENT_LINK,
    NAMESPACES,
    Lab,
)
from netlimits.lab.programs import output

_IPV6 = Path("/proc/sys/net/ipv6")


def build(lab: Lab) -> None:
    """Make namespaces, links and addresses, all up. Raises LabError with what `ip` says."""
    switched = lab.count > 2
    for space in lab.spaces:
        output("ip", "netns", "add", space)
    if switched:
        batch(_switch(lab), lab.switch)
    else:
        batch(_pair(lab), lab.spaces[0])
    batch(_management(lab))
    for host in lab.hosts:
        batch(_addresses(lab, host), lab.namespace(host))


def data_mtu(lab: Lab, host: str) -> int | None:
    """The MTU of the host's data link in bytes; None where there is no such link."""
    printed = output("ip", "-n", lab.namespace(host), "-j", "link", "show", DATA, may_fail=True)
    return next((link.mtu for link in listings.links(printed)), None)


def namespaces() -> list[str]:
    """The named network namespaces of this machine, half-made ones included."""
    return sorted(path.name for path in NAMESPACES.glob("*"))


def interfaces() -> list[str]:
    """The interfaces of this machine's own network."""
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


def known_networks() -> list[ipaddress.IPv4Network]:
    """What this machine's addresses and routes cover, as far as it is a /24 or less.

    A wider route, such as a VPN's to all of 198.18.0.0/15, gives way to our narrower one.
    """
    networks = []
    for link in listings.links(output("ip", "-j", "-4", "address")):
        networks += [ipaddress.ip_network(address.local) for address in link.addr_info]
    for route in listings.routes(output("ip", "-j", "-4", "route", "show", "table", "all")):
        if route.dst != "default":
            networks.append(ipaddress.ip_network(route.dst, strict=False))
    return [n for n in networks if isinstance(n, ipaddress.IPv4Network) and n.prefixlen >= 24]


def _management(lab: Lab) -> list[str]:
    lines = [
        f"link add {lab.bridge} type bridge",
        *quiet(lab.bridge),
        f"address add {lab.gateway}/24 dev {lab.bridge}",
        f"link set {lab.bridge} up",
    ]
    for host in lab.hosts:
        port = lab.port(host)
        lines += [
            f"link add {port} type veth peer name {MANAGEMENT} "
            f"address {lab.link_address(host, MANAGEMENT_LINK)} netns {lab.namespace(host)}",
            f"link set {port} master {lab.bridge}",
            *quiet(port),
            f"link set {port} up",
        ]
    return lines


def _pair(lab: Lab) -> list[str]:
    """The one data link, seen from the first host."""
    near, far = lab.hosts
    return [
        f"link add {DATA} mtu {lab.mtu} address {lab.link_address(near, DATA_LINK)} type veth "
        f"peer name {DATA} mtu {lab.mtu} address {lab.link_address(far, DATA_LINK)} "
        f"netns {lab.namespace(far)}"
    ]


def _switch(lab: Lab) -> list[str]:
    """The bridge of the data links and a port for each host, seen from the switch."""
    lines = [f"link add {DATA_BRIDGE} mtu {lab.mtu} type bridge"]
    for host in lab.hosts:
        port = lab.data_port(host)
        lines += [
            f"link add {port} mtu {lab.mtu} type veth peer name {DATA} mtu {lab.mtu} "
            f"address {lab.link_address(host, DATA_LINK)} netns {lab.namespace(host)}",
            f"link set {port} master {DATA_BRIDGE}",
            *quiet(port),
            f"link set {port} up",
        ]
    return [*lines, *quiet(DATA_BRIDGE), f"link set {DATA_BRIDGE} up"]


def _addresses(lab: Lab, host: str) -> list[str]:
    """A host's interfaces, seen from the host."""
    lines = ["link set lo up"]
    for interface, address in ((MANAGEMENT, lab.management(host)), (DATA, lab.data(host))):
        lines += [
            *quiet(interface),
            f"address add {address}/24 dev {interface}",
            f"link set {interface} up",
        ]
    return lines


def quiet(interface: str) -> list[str]:
    """No link-local address; where the kernel has no IPv6 it would be an error to say so."""
    return [f"link set {interface} addrgenmode none"] if _IPV6.exists() else []


def batch(lines: list[str], space: str = "") -> None:
    """Run these commands in one `ip`, in a namespace if one is named."""
    where = ("-n", space) if space else ()
    output("ip", *where, "-batch", "-", stdin="\n".join(lines) + "\n")
