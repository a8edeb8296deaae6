"""Build the links of a lab of namespaces, and read interfaces and networks with iproute2.

Data links are not connected to this machine's own network. MAC addresses follow from the lab's
index. Interfaces create no IPv6 addresses by themselves, so idle links carry no packets.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TypeVar

import msgspec

from netlimits.errors import LabError
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
from netlimits.model import decoding

_IPV6 = Path("/proc/sys/net/ipv6")

Rows = TypeVar("Rows")


class _Link(msgspec.Struct):
    mtu: int


class _Address(msgspec.Struct):
    local: str


class _Addresses(msgspec.Struct):
    addr_info: list[_Address] = []  # msgspec copies this default


class _Route(msgspec.Struct):
    dst: str


def listed(kind: type[Rows], *argv: str, may_fail: bool = False) -> Rows:
    """Return the list that `ip -j ARGV` prints, validated against its type. Raises LabError."""
    printed = output("ip", "-j", *argv, may_fail=may_fail).strip()
    try:
        return decoding.typed(printed or "[]", kind)
    except ValueError as error:
        raise LabError(f"the output of `ip -j {' '.join(argv)}` is unreadable: {error}") from None


def build(lab: Lab) -> None:
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
    links = listed(list[_Link], "-n", lab.namespace(host), "link", "show", DATA, may_fail=True)
    return next((link.mtu for link in links), None)


def namespaces() -> list[str]:
    return sorted(path.name for path in NAMESPACES.glob("*"))


def interfaces() -> list[str]:
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


def known_networks() -> list[ipaddress.IPv4Network]:
    """Return this machine's networks of size /24 or smaller; wider routes do not conflict.

    Raises LabError.
    """
    texts = [a.local for link in listed(list[_Addresses], "-4", "address") for a in link.addr_info]
    texts += [route.dst for route in listed(list[_Route], "-4", "route", "show", "table", "all")]
    try:
        networks = [ipaddress.IPv4Network(t, strict=False) for t in texts if t != "default"]
    except ValueError as error:
        raise LabError(f"this machine's networks cannot be read: {error}") from None
    return [network for network in networks if network.prefixlen >= 24]


def _management(lab: Lab) -> list[str]:
    lines = [
        f"link add {lab.bridge} type bridge",
        f"address add {lab.gateway}/24 dev {lab.bridge}",
        *raised(lab.bridge),
    ]
    for host in lab.hosts:
        port = lab.port(host)
        lines += [
            f"link add {port} type veth peer name {MANAGEMENT} "
            f"address {lab.link_address(host, MANAGEMENT_LINK)} netns {lab.namespace(host)}",
            f"link set {port} master {lab.bridge}",
            *raised(port),
        ]
    return lines


def _pair(lab: Lab) -> list[str]:
    near, far = lab.hosts
    return [
        f"link add {DATA} mtu {lab.mtu} address {lab.link_address(near, DATA_LINK)} type veth "
        f"peer name {DATA} mtu {lab.mtu} address {lab.link_address(far, DATA_LINK)} "
        f"netns {lab.namespace(far)}"
    ]


def _switch(lab: Lab) -> list[str]:
    lines = [f"link add {DATA_BRIDGE} mtu {lab.mtu} type bridge"]
    for host in lab.hosts:
        port = lab.data_port(host)
        lines += [
            f"link add {port} mtu {lab.mtu} type veth peer name {DATA} mtu {lab.mtu} "
            f"address {lab.link_address(host, DATA_LINK)} netns {lab.namespace(host)}",
            f"link set {port} master {DATA_BRIDGE}",
            *raised(port),
        ]
    return [*lines, *raised(DATA_BRIDGE)]


def _addresses(lab: Lab, host: str) -> list[str]:
    lines = ["link set lo up"]
    for interface, address in ((MANAGEMENT, lab.management(host)), (DATA, lab.data(host))):
        lines += [
            f"address add {address}/24 dev {interface}",
            *raised(interface),
        ]
    return lines


def raised(interface: str) -> list[str]:
    """Return the lines of `ip -batch` that bring up an interface, without an IPv6 address."""
    quiet = [f"link set {interface} addrgenmode none"] if _IPV6.exists() else []
    return [*quiet, f"link set {interface} up"]


def batch(lines: list[str], space: str = "") -> None:
    """Run lines of `ip -batch`, in the namespace `space` if given. Raises LabError."""
    where = ("-n", space) if space else ()
    output("ip", *where, "-batch", "-", stdin="\n".join(lines) + "\n")
