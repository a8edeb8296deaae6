"""The IPv6 state of an interface, to restore it after a change of the MTU.

Linux removes IPv6 from an interface whose MTU falls below 1280: addresses, routes, neighbours,
proxy neighbours, multicast groups, the token and sysctls. At 1280 and above, every change still
resets `net.ipv6.conf.INTERFACE.mtu` and each route's `mtu` that is not locked (seen on kernel
6.18). Addresses, routes with one next hop, neighbours and sysctls are restored. If anything else
would be lost, the change is an error that names it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypedDict

from netlimits.model import Command, decoding
from netlimits.settings import _routes
from netlimits.settings._base import State

LEAST_MTU = 1280
"""The smallest MTU that IPv6 works with (RFC 8200, section 5)."""

READ = (
    'ip -j -6 addr show dev "$1" 2>/dev/null || echo "[]"; '
    'routes -6 all "$1" 2>/dev/null | sed "s/^/route inet6 /"; '
    'ip -6 neigh show dev "$1" nud permanent 2>/dev/null | sed "s/^/neigh /"; '
    'ip -6 neigh show proxy dev "$1" 2>/dev/null | sed "s/^/proxy /"; '
    'ip token get dev "$1" 2>/dev/null; '
    """awk -v dev="$1" '$2 == dev { print "group", $3 }' /proc/net/igmp6 2>/dev/null; """
    'grep -s "" "/proc/sys/net/ipv6/conf/$1"/* "/proc/sys/net/ipv6/neigh/$1"/* '
    '| sed "s/^/conf /"; '
)
"""Script part that prints the IPv6 state of "$1". It needs `_routes.SHOW` and LC_ALL=C."""

_STRAYS = r"""root=
[ "$(id -u)" = 0 ] || root="sudo -n --"
interface=$1
shift
ip -6 -o addr show dev "$interface" scope link | while read -r _ _ _ place _; do
    for known; do [ "$known" != "$place" ] || continue 2; done
    $root ip -6 addr del "$place" dev "$interface"
done"""
"""Delete the link-local addresses of interface $1 except the other arguments.

Used if the present state is unknown.
"""

_MISSING = r"""root=
[ "$(id -u)" = 0 ] || root="sudo -n --"
interface=$1
shift
case " $(ip -6 -o addr show dev "$interface" to "${1%/*}") " in
*" $1 scope global "*) ;;
*) $root ip -6 addr replace "$@" dev "$interface" ;;
esac"""
"""Restore an address if it is missing; writing an existing global address would remove routes."""


class _Address(TypedDict):
    local: str
    prefixlen: int
    scope: str


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
_KERNELS_GROUPS = re.compile(r"ff0[1258]0{27}[12]|ff020{19}1ff[0-9a-f]{6}|ff020{26}(16|6a)")
"""Multicast groups that the kernel joins: all nodes, all routers, solicited nodes, MLD."""
_PROXY = re.compile(r"(?P<address>[0-9a-fA-F:.]+)(?P<router> router)? proxy")
_MOVES = re.compile(r"(?:^|\s)mtu [0-9]")


def state(lines: Iterable[str], interface: str) -> State:
    """Parse what `READ` printed. Raises ValueError if the addresses are unreadable.

    `_routes.read` describes "routes", "behind" and "before". Three lists name what cannot be
    restored, for error messages: "fading" has addresses and routes that expire by themselves or
    come from a router. "strange" has other entries. "moving" has routes whose `mtu` any change of
    the MTU would alter.
    """
    addresses: list[dict[str, Any]] = []
    shown: list[str] = []
    neighbours: list[str] = []
    proxies: list[str] = []
    strange: list[str] = []
    conf: dict[str, str] = {}
    for line in lines:
        kind, _, rest = line.partition(" ")
        if line.startswith("["):
            addresses += [a for link in decoding.parsed(line) for a in link.get("addr_info", ())]
            if not decoding.has(addresses, list[_Address]):
                raise ValueError("no addresses")
        elif kind == "route":
            shown.append(rest)
        elif kind == "neigh":
            neighbours.append(" ".join(rest.split()).removesuffix(" PERMANENT"))
        elif kind == "proxy":
            words = " ".join(word for word in rest.split() if word not in ("dev", interface))
            if match := _PROXY.fullmatch(words):
                proxies.append(match["address"] + (match["router"] or ""))
            else:
                strange.append(f"proxy neighbour {words}")
        elif kind == "token" and not rest.startswith(":: "):
            strange.append(f"token {rest.partition(' ')[0]}")
        elif kind == "group" and not _KERNELS_GROUPS.fullmatch(rest):
            strange.append(f"multicast group {ipaddress.IPv6Address(int(rest, 16))} of a program")
        elif kind == "conf" and (conf_line := _CONF.match(rest)):
            conf[f"{conf_line['kind']}/{conf_line['name']}"] = conf_line["value"]
    if conf.get("conf/mc_forwarding", "0") != "0":
        strange.append("multicast routing")
    routes = _routes.read(shown, interface)
    ours = {r: {**m, **_strange_type(r)} for r, m in routes["routes"].items() if _is_ours(r)}
    fading = [a["local"] for a in addresses if not _stays(a)]
    fading += [
        f"route {_routes.shown(r)}"
        for r, m in ours.items()
        if _fades(r, m) and " proto kernel " not in f"{r} "
    ]
    strange += [
        f"{_place(a)} ({', '.join(sorted(a.keys() - _KNOWN))})"
        for a in addresses
        if _stays(a) and a.keys() - _KNOWN
    ]
    strange += [
        f"route {_routes.shown(r)} ({metrics['?'].split()[0]})"
        for r, metrics in ours.items()
        if "?" in metrics and not _fades(r, metrics)
    ]
    return {
        "addresses": [_address(a) for a in addresses if _stays(a)],
        "routes": {r: m for r, m in ours.items() if "?" not in m and not _fades(r, m)},
        "behind": {r: device for r, device in routes["behind"].items() if r in ours},
        "before": {r: d for r, d in routes["before"].items() if _place_matters(r)},
        "neighbours": neighbours,
        "proxies": proxies,
        "conf": {name: value for name, value in conf.items() if name not in _READ_ONLY},
        "fading": fading,
        "strange": strange,
        "moving": [_routes.shown(r) for r, m in ours.items() if _moves(r, m, routes["behind"])],
    }


def undo(interface: str, original: State, now: State) -> Iterator[Command]:
    """Yield the commands that restore what differs, or everything if `now` is empty.

    Yield nothing if the interface has no IPv6 now: its MTU has to be restored first.
    """
    if now and original["conf"] and not now["conf"]:
        return
    have: State = now or {
        "addresses": [], "routes": {}, "neighbours": [], "proxies": [], "conf": {},
    }  # fmt: skip
    pairs = [
        f"net/ipv6/{kind}/{interface}/{name}={value}"
        for (kind, name), value in ((n.split("/"), v) for n, v in _in_order(original["conf"]))
        if have["conf"].get(f"{kind}/{name}") != value and _is_conf(kind, name)
    ]
    if pairs:
        yield _root("sysctl", "-w", *pairs)
    # delete the new address before restoring the original ones: while an original address exists,
    # the kernel keeps the routes of the new address
    for place in _new_link_local(original, have):
        yield _root("ip", "-6", "addr", "del", place, "dev", interface)
    if not now:
        places = map(_place, original["addresses"])
        yield Command(("sh", "-c", _STRAYS, "delete link-local addresses but", interface, *places))
    # the oldest address first, since `ip` shows the newest first
    for address in reversed(original["addresses"]):
        if address not in have["addresses"]:
            words = (*_words(address),)
            replace = _root("ip", "-6", "addr", "replace", *words, "dev", interface)
            script = ("sh", "-c", _MISSING, "restore an address of", interface, *words)
            yield replace if now else Command(script, by_hand=(replace,))
    missing = [r for r, metrics in original["routes"].items() if have["routes"].get(r) != metrics]
    # Routes via a gateway come last, since they need a route to the gateway. That route is in the
    # list too, or the kernel created it with an address.
    missing.sort(key=lambda r: " via " in r)
    yield from _routes.undo_unseen(interface, original, missing, now)
    for neighbour in original["neighbours"]:
        if neighbour not in have["neighbours"]:
            words = (*neighbour.split(), "nud", "permanent", "dev", interface)
            yield _root("ip", "-6", "neigh", "replace", *words)
    for proxy in original["proxies"]:
        if proxy not in have["proxies"]:
            yield _root("ip", "-6", "neigh", "replace", "proxy", *proxy.split(), "dev", interface)


def differences(original: State, now: State) -> Iterator[str]:
    for name, value in original["conf"].items():
        if now["conf"].get(name) != value:
            yield f"sysctl net/ipv6/{name} is {now['conf'].get(name, 'gone')}, was {value}"
    nouns = (("addresses", "address"), ("neighbours", "neighbour"), ("proxies", "proxy neighbour"))
    for kind, noun in nouns:
        for what in original[kind]:
            if what not in now[kind]:
                yield f"IPv6 {noun} {_shown(what)} is gone"
    for place in _new_link_local(original, now):
        yield f"IPv6 address {place} was not there"
    yield from _routes.differences(original, now)
    for route in now["routes"]:
        if _is_link_local(route) and route not in original["routes"]:
            yield f"IPv6 route {route.removeprefix('inet6 ')} was not there"


def cannot_return(now: State) -> tuple[str, ...]:
    """Return the names of what could not be restored once the interface has lost IPv6."""
    before = [f"route {_routes.shown(r)} before that of {d}" for r, d in now["before"].items()]
    return (*now["fading"], *now["strange"], *before)


def _in_order(conf: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the sysctls with `addr_gen_mode` last, which a write to `stable_secret` changes."""
    return sorted(conf.items(), key=lambda pair: pair[0] == "conf/addr_gen_mode")


def _is_conf(kind: str, name: str) -> bool:
    """Return True for a legal file name in /proc/sys/net/ipv6/KIND/INTERFACE."""
    return kind in ("conf", "neigh") and bool(re.fullmatch("[A-Za-z0-9_]+", name))


def _stays(address: Mapping[str, Any]) -> bool:
    return not address.get("dynamic") and address.get("valid_life_time", _FOREVER) == _FOREVER


def _address(address: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in address.items() if k not in _PASSING and k != "label"}


def _place(address: Mapping[str, Any]) -> str:
    return f"{address['local']}/{address['prefixlen']}"


def _new_link_local(original: State, now: State) -> list[str]:
    """Return the present link-local addresses that the original state does not have."""
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
    return _type(route) not in ("local", "anycast", "multicast") or " proto kernel" not in route


def _strange_type(route: str) -> dict[str, str]:
    """Return {"?": type} for a local or anycast route, which cannot be restored, else {}."""
    return {"?": _type(route)} if _type(route) in ("local", "anycast") else {}


def _type(route: str) -> str:
    """Return the word of a route that is its type (such as `local`), or else its destination."""
    return route.split()[:2][-1]


def _is_link_local(route: str) -> bool:
    return route.startswith("inet6 fe80::/64 ") and " proto kernel " in f"{route} "


def _place_matters(route: str) -> bool:
    """Return True if the order of this route and other interfaces' routes of its kind matters.

    It does not matter for the link-local, local and anycast routes that the kernel adds.
    """
    return _type(route) == "multicast" or (_is_ours(route) and not _is_link_local(route))


def _fades(route: str, metrics: Mapping[str, str]) -> bool:
    """Return True if a route expires by itself, or was announced by a router."""
    return bool({"expires", "ra", "redirect"} & {*route.split(), *metrics.get("?", "").split()})


def _moves(route: str, metrics: Mapping[str, str], behind: Mapping[str, str]) -> bool:
    """Return True if the kernel changes the route's `mtu` and no command can restore it."""
    if "?" in metrics:
        return bool(_MOVES.search(metrics["?"])) or metrics.get("mtu", "lock").isdigit()
    return metrics.get("mtu", "lock").isdigit() and (_fades(route, metrics) or route in behind)


def _shown(what: Any) -> str:
    return what if isinstance(what, str) else _place(what)


def _root(*argv: str) -> Command:
    return Command(argv, sudo=True)
