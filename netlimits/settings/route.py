"""Metrics of routes over an interface, through `ip route`: quickack, initcwnd and others.

Only metrics of existing routes are changed. If another interface's route of the same kind comes
first, the change is an error: the kernel would change that route instead (see `_routes`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import _routes
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import integer, options

_SCRIPT = (
    f'{_routes.SHOW}routes -4 main "$1" || exit 1; '
    'routes -6 main "$1" 2>/dev/null | sed "s/^/inet6 /"'
)
_LOCKED = {"cwnd"}  # without a lock the kernel ignores it

_COUNT = integer(1, 65535)


class Route(Setting):
    """`route: {to: 192.0.2.0/24, quickack: 1, initcwnd: 20}`."""

    name = "route"
    traits = Traits(watched="partly", leaves=("IPv4 route", "IPv6 route"), changes_path=True)
    schema: Mapping[str, Any] = options(
        {
            "to": {
                "type": "string",
                "pattern": r"^(default|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$(?!\n)",
                "description": "An existing route, as `default` or ADDRESS/PREFIX; if left out: "
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
                "description": "Minimum retransmission timeout, such as 5ms.",
            },
        },
        title="Metrics of routes over the data interface",
        description="Applies to the routes of the interface's own networks, or to the route that "
        "`to` names.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _SCRIPT, "sh", interface))

    def state(self, completed: Completed) -> State:
        if completed.status != 0:
            raise self.unreadable(completed, "`ip route show` fails")
        interface = completed.command.argv[-1]
        state = _routes.read(completed.stdout.splitlines(), interface)
        return {"routes": state["routes"], "behind": state["behind"]}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        if not state:
            to = wanted.get("to", "NETWORK")
            return (_routes.command(interface, f"{to} …", _merged({}, wanted), "change"),)
        changed = [
            (route, metrics)
            for route in self._chosen(interface, state, wanted)
            if (metrics := _merged(state["routes"][route], wanted)) != state["routes"][route]
        ]
        for route, _ in changed:
            if ahead := state["behind"].get(route):
                raise self.error(
                    f"the route to {_routes.shown(route)} over {interface} comes after that of "
                    f"{ahead} with the same metric: packets take that one, and a change would "
                    "replace it; give one of them another metric, or name another route with `to:`"
                )
        return tuple(
            _routes.command(interface, route, metrics, "change") for route, metrics in changed
        )

    def _chosen(self, interface: str, state: State, wanted: Mapping[str, Any]) -> list[str]:
        """Return the routes that `wanted` names. Raises SettingError if there are none."""
        to = wanted.get("to")
        if to is None:
            chosen = [route for route in state["routes"] if _is_own(route)]
        else:
            target = _network(to)
            chosen = [route for route in state["routes"] if _target(route) == target]
        if not chosen:
            routes = ", ".join(_routes.shown(route) for route in state["routes"]) or "none"
            raise self.error(
                f"no route {'of its own network' if to is None else f'to {to}'} over {interface}; "
                f"there are: {routes}; name one of them with `to:`"
            )
        for route in chosen:
            if strange := state["routes"][route].get("?"):
                raise self.error(
                    f"the route to {_routes.shown(route)} could not be restored as it is "
                    f"({strange}); name another one with `to:`"
                )
        return chosen

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return tuple(
            f"{name} of the route to {_routes.shown(route)} is {now.get(name, 'not set')}, "
            f"not {value}"
            for route in self._chosen("it", state, wanted)
            for now in [state["routes"][route]]
            for name, value in wanted.items()
            if name != "to" and now.get(name) != _merged({}, {name: value}).get(name)
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        if not state:
            routes = [route for route, _ in _routes.restorable(original["routes"])]
            return tuple(_routes.undo_unseen(interface, original, routes))
        return tuple(_routes.undo(interface, original, state))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return tuple(_routes.differences(original, state))

    def faults(self, state: State) -> Iterator[str]:
        return _routes.faults(state)


def _merged(now: Mapping[str, str], wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the metrics after the change: the wanted ones, and the present others.

    `quickack: 0` removes quickack.
    """
    metrics = dict(now)
    for name, value in wanted.items():
        if name == "quickack" and value == 0:
            metrics.pop(name, None)
        elif name != "to":
            locked = name in _LOCKED or name == "rto_min"
            metrics[name] = f"lock {_seconds(value)}" if locked else str(value)
    return metrics


def _seconds(value: Any) -> str:
    """Return a time as `ip` shows it: 1500ms is 1.5s."""
    if not str(value).endswith("ms"):
        return str(value)
    milliseconds = int(str(value)[:-2])
    return f"{milliseconds / 1000:g}s" if milliseconds >= 1000 else f"{milliseconds}ms"


def _is_own(route: str) -> bool:
    """Return True for the network of an address of the interface, unless it is link-local."""
    target = _target(route)
    return " proto kernel" in route and not (target.is_link_local or target.is_multicast)


def _target(route: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    target = _routes.shown(route)
    return _network("::/0" if target == "default" and route.startswith("inet6 ") else target)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network("0.0.0.0/0" if text == "default" else text, strict=False)
    except ValueError as error:
        raise SettingError(f"to: {error}", setting="route") from None
