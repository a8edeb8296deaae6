"""Build the links of a lab with iproute2.

Data never crosses this machine's own network. MAC addresses follow from the lab's index. Interfaces
have no IPv6 addresses of their own, so idle links carry no packets.
"""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any

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


def listed(*argv: str, may_fail: bool = False) -> list[dict[str, Any]]:
    """Return what `ip -j ARGV` prints."""
    rows: list[dict[str, Any]] = json.loads(output("ip", "-j", *argv, may_fail=may_fail) or "[]")
    return rows


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
    links = listed("-n", lab.namespace(host), "link", "show", DATA, may_fail=True)
    return next((link["mtu"] for link in links), None)


def namespaces() -> list[str]:
    return sorted(path.name for path in NAMESPACES.glob("*"))


def interfaces() -> list[str]:
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


def known_networks() -> list[ipaddress.IPv4Network]:
    """Return this machine's networks up to the size of a /24: wider routes do not conflict."""
    networks = []
    for link in listed("-4", "address"):
        networks += [ipaddress.ip_network(a["local"]) for a in link.get("addr_info", ())]
    for route in listed("-4", "route", "show", "table", "all"):
        if route["dst"] != "default":
            networks.append(ipaddress.ip_network(route["dst"], strict=False))
    return [n for n in networks if isinstance(n, ipaddress.IPv4Network) and n.prefixlen >= 24]


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
    """Return `ip` commands that bring up an interface, without an IPv6 address of its own."""
    quiet = [f"link set {interface} addrgenmode none"] if _IPV6.exists() else []
    return [*quiet, f"link set {interface} up"]


def batch(lines: list[str], space: str = "") -> None:
    where = ("-n", space) if space else ()
    output("ip", *where, "-batch", "-", stdin="\n".join(lines) + "\n")
