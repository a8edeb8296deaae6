"""What IPv6 holds on an interface, so that it can be put back after the MTU moved.

Linux takes IPv6 off an interface whose MTU falls below 1280: addresses, routes, neighbours and
its sysctls go, and a larger MTU brings back only a link-local address and the defaults.
Above 1280, too, every change of the MTU resets `net.ipv6.conf.INTERFACE.mtu` and moves the `mtu`
of routes. IPv4 loses nothing. All of it was seen on kernel 6.18 and is what tests/settings check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypedDict

from netlimits.model import Command, decoding
from netlimits.settings._base import State

LEAST_MTU = 1280
"""The smallest MTU that IPv6 works with (RFC 8200, section 5)."""

READ = (
    'ip -j -6 addr show dev "$1" 2>/dev/null || echo "[]"; '
    'ip -6 route show table all dev "$1" 2>/dev/null | sed "s/^/route /"; '
    'ip -6 neigh show dev "$1" nud permanent 2>/dev/null | sed "s/^/neigh /"; '
    'grep -s "" "/proc/sys/net/ipv6/conf/$1"/* "/proc/sys/net/ipv6/neigh/$1"/* '
    '| sed "s/^/conf /"; '
)
"""The part of a shell script that prints it, for the interface in "$1"; LC_ALL is C."""

_STRAYS = r"""root=
[ "$(id -u)" = 0 ] || root="sudo -n --"
interface=$1
shift
ip -6 -o addr show dev "$interface" scope link | while read -r _ _ _ place _; do
    for known; do [ "$known" != "$place" ] || continue 2; done
    $root ip -6 addr del "$place" dev "$interface"
done"""
"""Delete link-local addresses but those named: who has not looked cannot say which there are."""


class _Address(TypedDict):
    """The parts of an address that must be there."""

    local: str
    prefixlen: int
    scope: str


PASSING_OF_ROUTES = frozenset({"linkdown", "dead", "offload", "trap"})
"""Words of a route that `ip` shows and does not take: they come and go with the carrier."""

_FLAGS = ("nodad", "noprefixroute", "mngtmpaddr", "home", "autojoin")
_PASSING = {"tentative", "dadfailed", "optimistic", "stable-privacy", "deprecated", "temporary"}
_KNOWN = {
    "family", "local", "prefixlen", "scope", "valid_life_time", "preferred_life_time", "metric",
    *_FLAGS, *_PASSING,
}  # fmt: skip
_FOREVER = 2**32 - 1
_CONF = re.compile(
    r"^/proc/sys/net/ipv6/(?P<kind>conf|neigh)/[^/]+/(?P<name>[A-Za-z0-9_]+):(?P<value>.*)$"
)
_READ_ONLY = {"conf/mc_forwarding"}


def state(lines: Iterable[str]) -> State:
    """What `READ` printed: {"addresses": […], "routes": […], "neighbours": […], "conf": {…}}.

    Addresses as `ip -j` shows them, routes and neighbours as `ip` shows and takes them; `fading`
    tells what runs out by itself, from router advertisements or DHCP, and cannot be put back.
    Raises ValueError where it shows no addresses.
    """
    addresses: list[dict[str, Any]] = []
    routes: list[str] = []
    neighbours: list[str] = []
    conf: dict[str, str] = {}
    for line in lines:
        kind, _, rest = line.partition(" ")
        if line.startswith("["):
            addresses += [a for link in decoding.parsed(line) for a in link.get("addr_info", ())]
            if not decoding.has(addresses, list[_Address]):
                raise ValueError("no addresses")
        elif kind == "route":
            routes.append(" ".join(word for word in rest.split() if word not in PASSING_OF_ROUTES))
        elif kind == "neigh":
            neighbours.append(" ".join(rest.split()))
        elif kind == "conf" and (match := _CONF.match(rest)):
            conf[f"{match['kind']}/{match['name']}"] = match["value"]
    conf = {name: value for name, value in conf.items() if name not in _READ_ONLY}
    fading = [a["local"] for a in addresses if not _stays(a)]
    fading += [
        f"route {route.split()[0]}"
        for route in routes
        if _is_ours(route) and not _route_stays(route) and " proto kernel " not in route
    ]
    return {
        "addresses": [_address(a) for a in addresses if _stays(a)],
        "routes": [r for r in routes if _is_ours(r) and _route_stays(r)],
        "neighbours": [n.removesuffix(" PERMANENT") for n in neighbours],
        "conf": conf,
        "fading": fading,
    }


def undo(interface: str, original: State, now: State) -> Iterator[Command]:
    """The commands that put back what is missing or differs.

    Where IPv6 is off the interface altogether there is nothing to be done before the MTU is back;
    an empty `now` stands for an interface that nobody has looked at: all is then written.
    """
    if now and original["conf"] and not now["conf"]:
        return
    have: State = now or {"addresses": [], "routes": [], "neighbours": [], "conf": {}}
    pairs = [
        f"net/ipv6/{kind}/{interface}/{name}={value}"
        for (kind, name), value in ((n.split("/"), v) for n, v in _in_order(original["conf"]))
        if have["conf"].get(f"{kind}/{name}") != value and _is_conf(kind, name)
    ]
    if pairs:
        yield _root("sysctl", "-w", *pairs)
    # before the addresses that were there: while one of them is, the kernel keeps the new's routes
    for place in _new_link_local(original, have):
        yield _root("ip", "-6", "addr", "del", place, "dev", interface)
    if not now:
        places = map(_place, original["addresses"])
        yield Command(("sh", "-c", _STRAYS, "delete link-local addresses but", interface, *places))
    for address in reversed(original["addresses"]):  # `ip` shows the newest first
        if address not in have["addresses"]:
            yield _root("ip", "-6", "addr", "replace", *_words(address), "dev", interface)
    missing = [r for r in original["routes"] if r not in have["routes"]]
    for route in sorted(missing, key=lambda r: " via " in r):  # a gateway needs its link first
        words = route.replace("rto_min lock ", "rto_min ").split()  # `ip` adds that lock by itself
        yield _root("ip", "-6", "route", "replace", *words, "dev", interface)
    for neighbour in original["neighbours"]:
        if neighbour not in have["neighbours"]:
            words = (*neighbour.split(), "nud", "permanent", "dev", interface)
            yield _root("ip", "-6", "neigh", "replace", *words)


def differences(original: State, now: State) -> Iterator[str]:
    """What is not as it was found, in words."""
    for name, value in original["conf"].items():
        if now["conf"].get(name) != value:
            yield f"sysctl net/ipv6/{name} is {now['conf'].get(name, 'gone')}, was {value}"
    for kind, noun in (("addresses", "address"), ("routes", "route"), ("neighbours", "neighbour")):
        for what in original[kind]:
            if what not in now[kind]:
                yield f"IPv6 {noun} {_shown(what)} is gone"
    for place in _new_link_local(original, now):
        yield f"IPv6 address {place} was not there"
    for route in now["routes"]:
        if _is_link_local(route) and route not in original["routes"]:
            yield f"IPv6 route {route} was not there"


def cannot_return(now: State) -> tuple[str, ...]:
    """What could not be put back once IPv6 is gone, in words."""
    strange = [
        f"{_place(a)} ({', '.join(sorted(a.keys() - _KNOWN))})"
        for a in now["addresses"]
        if a.keys() - _KNOWN
    ]
    return (*now["fading"], *strange)


def _in_order(conf: Mapping[str, str]) -> list[tuple[str, str]]:
    """The sysctls, the mode of addresses last: a `stable_secret` that is written moves it."""
    return sorted(conf.items(), key=lambda pair: pair[0] == "conf/addr_gen_mode")


def _is_conf(kind: str, name: str) -> bool:
    """Whether it is a file of /proc/sys/net/ipv6/KIND/INTERFACE; a journal may be damaged."""
    return kind in ("conf", "neigh") and bool(re.fullmatch("[A-Za-z0-9_]+", name))


def _stays(address: Mapping[str, Any]) -> bool:
    return not address.get("dynamic") and address.get("valid_life_time", _FOREVER) == _FOREVER


def _address(address: Mapping[str, Any]) -> dict[str, Any]:
    """An address without its label and the flags that come and go by themselves."""
    return {k: v for k, v in address.items() if k not in _PASSING and k != "label"}


def _place(address: Mapping[str, Any]) -> str:
    return f"{address['local']}/{address['prefixlen']}"


def _new_link_local(original: State, now: State) -> list[str]:
    """The link-local addresses that the kernel made when the MTU grew; others are not ours."""
    own = [_place(address) for address in original["addresses"]]
    links = [_place(a) for a in now["addresses"] if a["scope"] == "link"]
    return [place for place in links if place not in own]


def _words(address: Mapping[str, Any]) -> Iterator[str]:
    yield _place(address)
    yield from ("scope", address["scope"])
    yield from (flag for flag in _FLAGS if address.get(flag))
    if address.get("metric"):
        yield from ("metric", str(address["metric"]))
    if address.get("preferred_life_time", _FOREVER) == 0:
        yield from ("preferred_lft", "0")


def _is_ours(route: str) -> bool:
    """Whether a route is none of those that come and go with an address."""
    return route.split(" ", 1)[0] not in ("local", "anycast", "multicast")


def _is_link_local(route: str) -> bool:
    """Whether the kernel makes it with a link-local address."""
    return route.startswith("fe80::/64 ") and " proto kernel " in f"{route} "


def _route_stays(route: str) -> bool:
    return not {"expires", "ra", "redirect"} & set(route.split())


def _shown(what: Any) -> str:
    return what if isinstance(what, str) else _place(what)


def _root(*argv: str) -> Command:
    return Command(argv, sudo=True)
