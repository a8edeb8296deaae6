"""Metrics of routes over an interface, through `ip route`: quickack, initcwnd and the like.

Only metrics of routes that are there are changed: the words that make the route itself are said
again as they were shown. `ip`'s text is read, since its JSON forgets `lock`; what it shows
it also takes (but `rto_min lock 5ms`, whose lock it adds by itself).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings._base import State
from netlimits.settings._ipv6 import PASSING_OF_ROUTES
from netlimits.settings._written import route_fault

_SCRIPT = (
    'ip -4 route show table main dev "$1" || exit 1; '
    'ip -6 route show table main dev "$1" 2>/dev/null | sed "s/^/inet6 /"'
)
METRICS = (
    "mtu", "window", "rtt", "rttvar", "ssthresh", "cwnd", "advmss", "reordering", "hoplimit",
    "initcwnd", "features", "rto_min", "initrwnd", "quickack", "congctl", "fastopen_no_cookie",
)  # fmt: skip
"""Metrics as ip-route(8) names them; what an experiment may set of them is in the schema."""
_VALUED = {"via", "proto", "scope", "src", "metric", "tos", "pref", "realm", "table"}
_ALONE = {"onlink", "pervasive", *PASSING_OF_ROUTES}
_LOCKED = {"cwnd"}  # without its lock the kernel does not look at it

_COUNT = {"type": "integer", "minimum": 1, "maximum": 65535}


class Route:
    """`route: {to: 192.0.2.0/24, quickack: 1, initcwnd: 20}`."""

    name = "route"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Metrics of routes over the data interface",
        "description": "Of the interface's own networks, or of the one route named by `to`.",
        "minProperties": 1,
        "properties": {
            "to": {
                "type": "string",
                "pattern": r"^(default|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$(?!\n)",
                "description": "default, or ADDRESS/PREFIX of a route that is there; left out: "
                "the networks of the interface's own addresses.",
            },
            "quickack": {"enum": [0, 1], "description": "1: acknowledge every segment at once."},
            "initcwnd": {**_COUNT, "description": "Initial congestion window, in segments."},
            "initrwnd": {**_COUNT, "description": "Initial receive window, in segments."},
            "cwnd": {**_COUNT, "description": "Clamp of the congestion window, in segments."},
            "advmss": {**_COUNT, "description": "MSS to advertise, bytes."},
            "mtu": {**_COUNT, "minimum": 68, "description": "MTU along the route, bytes."},
            "rto_min": {
                "type": "string",
                "pattern": r"^[1-9][0-9]{0,5}ms$(?!\n)",
                "description": "Least retransmission timeout, such as 5ms.",
            },
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        """`ip route show table main dev INTERFACE`, both families."""
        return Command(("sh", "-c", _SCRIPT, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Each route's own words -> its metrics: {"10.0.0.0/8 via …": {"quickack": "1"}}.

        IPv6 ones start with `inet6`. What netlimits does not understand has {"?": the words}.
        """
        if completed.status != 0:
            reason = completed.stderr.strip() or f"exit status {completed.status}"
            raise SettingError(
                f"`ip route show` fails: {reason}", setting=self.name, host=completed.host
            )
        return {"routes": dict(_parsed(line) for line in _whole_lines(completed.stdout))}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """One `ip route change` for each route that is not as wanted."""
        if not state:
            to = wanted.get("to", "NETWORK")
            return (_change(interface, f"{to} …", _merged({}, wanted)),)
        return tuple(
            _change(interface, route, _merged(state["routes"][route], wanted))
            for route in self._chosen(interface, state, wanted)
            if _merged(state["routes"][route], wanted) != state["routes"][route]
        )

    def _chosen(self, interface: str, state: State, wanted: Mapping[str, Any]) -> list[str]:
        """The routes that are meant. Raises SettingError for none and for one not understood."""
        to = wanted.get("to")
        if to is None:
            chosen = [route for route in state["routes"] if _is_own(route)]
        else:
            target = _network(to)
            chosen = [route for route in state["routes"] if _target(route) == target]
        if not chosen:
            routes = ", ".join(_shown(route) for route in state["routes"]) or "none"
            raise SettingError(
                f"no route {'of its own network' if to is None else f'to {to}'} over {interface}; "
                f"there are: {routes}; name one of them with `to:`",
                setting=self.name,
            )
        for route in chosen:
            if strange := state["routes"][route].get("?"):
                raise SettingError(
                    f"the route to {_shown(route)} could not be put back as it is ({strange})",
                    setting=self.name,
                )
        return chosen

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Each metric of each chosen route that is another."""
        return tuple(
            f"{name} of the route to {_shown(route)} is {now.get(name, 'not set')}, not {value}"
            for route in self._chosen("it", state, wanted)
            for now in [state["routes"][route]]
            for name, value in wanted.items()
            if name != "to" and now.get(name) != _merged({}, {name: value}).get(name)
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """One `ip route change` for each route whose metrics are not as found, or that is gone."""
        now = state["routes"] if state else {}
        return tuple(
            _change(interface, route, metrics, "change" if route in now else "replace")
            for route, metrics in original["routes"].items()
            if "?" not in metrics and now.get(route) != metrics
        )

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Each route that is gone or whose metrics are not as they were."""
        now = state["routes"]
        return tuple(
            f"the route to {_shown(route)} has {_line(now.get(route))}, had {_line(metrics)}"
            for route, metrics in original["routes"].items()
            if "?" not in metrics and now.get(route) != metrics
        )

    def faults(self, state: State) -> Iterator[str]:
        """What is no route of the interface, or no metric of one."""
        for words, metrics in state["routes"].items():
            if "?" in metrics:  # one that is never touched
                continue
            yield from filter(None, [route_fault(words)])
            for name, value in metrics.items():
                if name not in METRICS or not re.fullmatch(
                    r"(lock )?[A-Za-z0-9][A-Za-z0-9._-]*", value
                ):
                    yield f"{name[:40]} {value[:40]!r} is no metric of a route"


def _whole_lines(text: str) -> Iterator[str]:
    """One line a route; the next hops of a multipath route follow it indented."""
    whole = ""
    for line in text.splitlines():
        if line.strip() in ("", "inet6"):
            continue
        if line.removeprefix("inet6 ")[:1].isspace():
            whole += " " + line.removeprefix("inet6 ").strip()
            continue
        if whole:
            yield whole
        whole = line
    if whole:
        yield whole


def _parsed(line: str) -> tuple[str, dict[str, str]]:
    """A route's own words, and its metrics: {"mtu": "lock 8000"}."""
    words = line.split()
    route = words[: 2 if words[0] == "inet6" else 1]
    metrics: dict[str, str] = {}
    rest = words[len(route) :]
    while rest:
        word = rest.pop(0)
        if word in METRICS:
            value = [rest.pop(0)] if rest else []
            if value == ["lock"] and rest:
                value.append(rest.pop(0))
            metrics[word] = " ".join(value)
        elif word in _VALUED and rest:
            route += [word, rest.pop(0)]
            if route[-1] == "inet6" and rest:  # via inet6 ADDRESS
                route.append(rest.pop(0))
        elif word in _ALONE:
            route += [] if word in PASSING_OF_ROUTES else [word]
        else:  # multipath, expires, encap, nhid
            return " ".join(route), {"?": " ".join([word, *rest])}
    return " ".join(route), metrics


def _merged(now: Mapping[str, str], wanted: Mapping[str, Any]) -> dict[str, str]:
    """The metrics that are there, with those wanted in their place; `quickack: 0` is none."""
    metrics = dict(now)
    for name, value in wanted.items():
        if name == "quickack" and value == 0:
            metrics.pop(name, None)
        elif name != "to":
            locked = name in _LOCKED or name == "rto_min"
            metrics[name] = f"lock {_seconds(value)}" if locked else str(value)
    return metrics


def _seconds(value: Any) -> str:
    """A time as `ip` shows it: 1500ms is 1.5s."""
    if not str(value).endswith("ms"):
        return str(value)
    milliseconds = int(str(value)[:-2])
    return f"{milliseconds / 1000:g}s" if milliseconds >= 1000 else f"{milliseconds}ms"


def _change(
    interface: str, route: str, metrics: Mapping[str, str], verb: str = "change"
) -> Command:
    words = route.split()
    family = "-4"
    if words[0] == "inet6":
        family = "-6"
        words = words[1:]
    for name, value in metrics.items():
        words += [name, *(value.split()[-1:] if name == "rto_min" else value.split())]
    return Command(("ip", family, "route", verb, *words, "dev", interface), sudo=True)


def _is_own(route: str) -> bool:
    """Whether it is the network of one of the interface's addresses, link-local aside."""
    target = _target(route)
    return " proto kernel" in route and not (target.is_link_local or target.is_multicast)


def _target(route: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    words = route.split()
    if words[0] == "inet6":
        return _network("::/0" if words[1] == "default" else words[1])
    return _network(words[0])


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Raises SettingError for what is no network."""
    try:
        return ipaddress.ip_network("0.0.0.0/0" if text == "default" else text, strict=False)
    except ValueError as error:
        raise SettingError(f"to: {error}", setting="route") from None


def _shown(route: str) -> str:
    return route.removeprefix("inet6 ").split()[0]


def _line(metrics: Mapping[str, str] | None) -> str:
    if metrics is None:
        return "gone"
    return " ".join(f"{n} {v}" for n, v in metrics.items()) or "no metrics"
