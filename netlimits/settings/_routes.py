"""Read and restore the routes of one interface without changing any other route.

Routes are of the same kind if they have the same table, destination, TOS, metric and source.
Packets use the first route of a kind. `ip route change` and `replace` change this first route even
if it leads over another interface. `ip route add` fails if any interface has a route of the kind
(kernel 6.18). So this module changes a route only if it is the first of its kind. It restores a
missing route with `ip route prepend` if the route was the first of its kind, or else with `append`.
For IPv6 it always uses `append`. The text of `ip` is parsed, since its JSON lacks `lock`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from netlimits.model import Command
from netlimits.settings._base import State

SHOW = r"""routes() {
    own=$(ip "$1" -o route show table "$2" dev "$3") || return 1
    { printf '%s\n=\n' "$own"; ip "$1" -o route show table "$2"; } | awk -v dev="$3" '
        { key = $1 ~ /^[a-z]+$/ && $1 != "default" ? $1 " " $2 : $1 }
        $0 == "=" { all = 1; next }
        !all { own[key]; next }
        (key in own) || index($0 " ", " dev " dev " ")'
}
"""
"""Define a shell function for `routes -4 TABLE INTERFACE`, or with -6. It prints the interface's
routes, and other interfaces' routes to the same destinations, in the kernel's order."""

METRICS = (
    "mtu", "window", "rtt", "rttvar", "ssthresh", "cwnd", "advmss", "reordering", "hoplimit",
    "initcwnd", "features", "rto_min", "initrwnd", "quickack", "congctl", "fastopen_no_cookie",
)  # fmt: skip
"""Metrics as ip-route(8) names them; the schema lists those that an experiment may set."""
_PASSING = {"linkdown", "dead", "offload", "trap", "rt_offload", "rt_trap"}
"""Words that `ip` prints but does not accept. They depend on the state of the link."""
_VALUED = {"via", "proto", "scope", "src", "metric", "tos", "pref", "realm", "table", "from"}
_ALONE = {"onlink", "pervasive"}
_TYPES = {
    "unicast", "local", "broadcast", "multicast", "throw", "unreachable", "prohibit", "blackhole",
    "nat", "anycast",
}  # fmt: skip
_ROUTE = re.compile(
    rf"(inet6 )?(({'|'.join(sorted(_TYPES))}) )?(default|[0-9a-fA-F:.]+(/[0-9]+)?)(\s|$)"
)
_MULTIPATH = "a multipath route"

_RESTORE = r"""set -f
root= failed=0 interface=$1
[ "$(id -u)" = 0 ] || root="sudo -n --"
shift
while [ $# -ge 5 ]; do
    shown=$(ip $1 -o route show $3)
    first=${shown%%"
"*}
    case "$first " in
    *nexthop*" dev $interface "*)
        echo "the route to $4 is multipath now" >&2
        failed=1
        ;;
    *)
        verb=change
        case "$first " in
        *" dev $interface "*) ;;
        *)
            verb=$2
            case "$shown " in
            *" dev $interface "*) $root ip $1 route del $4 dev "$interface" ;;
            esac
            ;;
        esac
        $root ip $1 route $verb $4 $5 dev "$interface" || failed=1
        ;;
    esac
    shift 5
done
exit $failed"""
"""Restore routes, each given by the five arguments that `_arguments` returns.

Do not change a route that is a multipath route now, but exit 1.
"""


def read(lines: Iterable[str], interface: str) -> State:
    """Return an interface's routes among the lines that `SHOW` printed.

    "routes" maps the words of a route to its metrics: {"10.0.0.0/8 via …": {"quickack": "1"}}. If
    the route cannot be restored, the value is {"?": the words of `ip` that prevent it}.

    "behind" and "before" show the order of routes of the same kind over several interfaces.
    "behind" has the routes that come after another route of their kind; its value is the device of
    the first one. "before" has the routes that come first and are followed by another interface's
    route; its value is the device of that route.
    """
    routes: dict[str, dict[str, str]] = {}
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    behind: dict[str, str] = {}
    before: dict[str, str] = {}
    for line in lines:
        if not _ROUTE.match(line):
            continue
        words = line.replace("\\", " ").split()
        key, device = _key(words), _device(words)
        ahead = first.get(key)
        if _leads_over(words, interface):
            route, metrics = _parsed(words)
            if route not in routes:
                routes[route] = metrics
                if ahead:
                    behind[route] = ahead[1]
            first.setdefault(key, (route, device))
        else:
            first.setdefault(key, ("", device))
            if ahead and ahead[0]:
                before.setdefault(ahead[0], device)
    return {"routes": routes, "behind": behind, "before": before}


def _leads_over(words: list[str], interface: str) -> bool:
    return ("dev", interface) in itertools.pairwise(words)


def _device(words: list[str]) -> str:
    if "nexthop" in words:
        return _MULTIPATH
    return words[words.index("dev") + 1] if "dev" in words[:-1] else "no interface"


def _key(words: list[str]) -> tuple[str, ...]:
    """Return the kind of a route, which all routes that can replace each other have in common."""
    family = ("-6",) if words[0] == "inet6" else ("-4",)
    table, *rest = _place(words)
    return (*family, table, *rest)


def _place(words: list[str]) -> tuple[str, str, str, str, str]:
    """Return the table, destination, metric, TOS and source of a route."""
    plain = words[1:] if words[0] == "inet6" else words
    plain = plain[1:] if plain[0] in _TYPES else plain
    values = dict(itertools.pairwise(plain[1:]))
    return (
        values.get("table", "main"),
        plain[0],
        values.get("metric", "0"),
        values.get("tos", "0"),
        values.get("from", ""),
    )


def _parsed(words: list[str]) -> tuple[str, dict[str, str]]:
    """Return a route's words without its device and metrics, and its metrics by name."""
    if "nexthop" not in words:
        at = words.index("dev")
        words = words[:at] + words[at + 2 :]
    start = 2 if words[0] == "inet6" else 1
    start += words[start - 1] in _TYPES
    route, rest = words[:start], words[start:]
    metrics: dict[str, str] = {}
    while rest:
        word = rest.pop(0)
        if word in METRICS:
            value = [rest.pop(0)] if rest else []
            if value == ["lock"] and rest:
                value.append(rest.pop(0))
            metrics[word] = " ".join(value)
        elif word in _VALUED and rest:
            route += [word, rest.pop(0)]
            if route[-1] == "inet6" and rest:  # `via` has two words: inet6 ADDRESS
                route.append(rest.pop(0))
        elif word in _ALONE:
            route.append(word)
        elif word not in _PASSING:  # cannot be restored: multipath, expires, encap, nhid
            return " ".join(route), {"?": " ".join([word, *rest])}
    return " ".join(route), metrics


def command(interface: str, route: str, metrics: Mapping[str, str], verb: str) -> Command:
    family, words = _family(route)
    tail = () if verb == "del" else _metric_words(metrics)
    return Command(("ip", family, "route", verb, *words, *tail, "dev", interface), sudo=True)


def _family(route: str) -> tuple[str, list[str]]:
    words = route.split()
    return ("-6", words[1:]) if words[0] == "inet6" else ("-4", words)


def _metric_words(metrics: Mapping[str, str]) -> Iterator[str]:
    for name, value in metrics.items():
        yield name
        yield from value.split()[-1:] if name == "rto_min" else value.split()


def restorable(routes: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Mapping[str, str]]]:
    return ((route, metrics) for route, metrics in routes.items() if "?" not in metrics)


def undo(interface: str, original: State, now: State) -> Iterator[Command]:
    for route, metrics in restorable(original["routes"]):
        add, moved = _add(original, route), _has_moved(original, now, route)
        if route not in now["routes"]:
            yield command(interface, route, metrics, add)
        elif now["routes"][route] != metrics or moved:
            if route in now["behind"]:
                yield command(interface, route, {}, "del")
                yield command(interface, route, metrics, add)
            else:
                yield command(interface, route, metrics, "change")


def undo_unseen(
    interface: str, original: State, routes: Sequence[str], now: State | None = None
) -> Iterator[Command]:
    """Yield a command that restores `routes`, whatever the present state is.

    If a route is a multipath route now, the command fails. `now` is the present state if known. It
    only decides between `change` and the verb of `_add` in the commands that people type by hand.
    """
    arguments: list[str] = []
    by_hand = []
    for route in routes:
        metrics, add = original["routes"][route], _add(original, route)
        arguments += _arguments(route, metrics, add)
        verb = "change" if now and route in now["routes"] else add
        by_hand.append(command(interface, route, metrics, verb))
    if routes:
        script = ("sh", "-c", _RESTORE, "restore routes", interface, *arguments)
        yield Command(script, by_hand=tuple(by_hand))


def _arguments(route: str, metrics: Mapping[str, str], add: str) -> tuple[str, ...]:
    """Return a route's arguments for `_RESTORE`: family, verb, how to find it, words, metrics."""
    family, words = _family(route)
    table, to, metric, tos, source = _place(words)
    find = f"table {table} exact {to} metric {metric}"
    find += f" tos {tos}" if family == "-4" else ""
    find += f" from exact {source}" if source else ""
    return family, add, find, " ".join(words), " ".join(_metric_words(metrics))


def _add(original: State, route: str) -> str:
    """Return the verb of `ip route` that adds a route in its original place within its kind."""
    return "append" if route.startswith("inet6 ") or route in original["behind"] else "prepend"


def _has_moved(original: State, now: State, route: str) -> bool:
    """Return True if an IPv4 route was the first of its kind and no longer is.

    Return False for IPv6, where no command can move a route back.
    """
    moved = route in now["behind"] and route not in original["behind"]
    return moved and not route.startswith("inet6 ")


def differences(original: State, now: State) -> Iterator[str]:
    """Yield a message for each route that is gone, has other metrics or lost its place."""
    for route, metrics in restorable(original["routes"]):
        have = now["routes"].get(route)
        if have != metrics:
            yield f"the route to {shown(route)} has {_line(have)}, had {_line(metrics)}"
        elif _has_moved(original, now, route):
            yield f"the route to {shown(route)} comes after that of {now['behind'][route]}"


def shown(route: str) -> str:
    """Return a route's destination for people: default, or ADDRESS/PREFIX."""
    return _place(route.split())[1]


def _line(metrics: Mapping[str, str] | None) -> str:
    if metrics is None:
        return "gone"
    return " ".join(f"{n} {v}" for n, v in metrics.items()) or "no metrics"


_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9:./_-]*|-?[0-9]+")
_TARGET = re.compile(r"(?:(?:unicast|multicast) )?(?:default|[0-9a-fA-F:.]+(?:/[0-9]+)?)")
_ELSEWHERE = {"dev", "oif", "nexthop", "encap", "nhid"}
"""Words that would send a route over another interface, or that `read` does not understand."""


def faults(state: Any) -> Iterator[str]:
    for words, metrics in state["routes"].items():
        if "?" in metrics:  # a route that is never restored needs no check
            continue
        plain = words.removeprefix("inet6 ")
        target = _TARGET.match(plain)
        rest = plain[target.end() :].split() if target else []
        strange = [w for w in rest if not _WORD.fullmatch(w) or w in _ELSEWHERE]
        if not target or strange or plain[target.end() :][:1].strip():
            yield f"{words[:80]!r} is no route of the interface"
        for name, value in metrics.items():
            if name not in METRICS or not re.fullmatch(
                r"(lock )?[A-Za-z0-9][A-Za-z0-9._-]*", value
            ):
                yield f"{name[:40]} {value[:40]!r} is no metric of a route"
    if not isinstance(state["behind"], Mapping):
        yield "the order of its routes is missing"
