"""The MTU of an interface, through `ip link`, and everything that changes with it.

When an MTU is lowered, the kernel also lowers the MTU of VLANs and macvlans on the interface, and
of interfaces stacked on those. They keep the lower MTU when the interface gets its old MTU again. A
bridge follows the MTU of its ports until somebody sets its own MTU. So setting the MTU of a bridge
is an error. Below 1280 the interface loses IPv6 (see `ipv6`). All these MTUs and the IPv6 state are
read and restored.

The kernel also lowers the MTU of such interfaces in other network namespaces. `stacked` finds them
beforehand. An MTU that would lower the MTU of one of them is an error.

At an MTU below some 90 bytes, the kernel keeps a locked path MTU for each peer, for ten minutes
after the change. Such entries of the route cache cannot be deleted one by one. So the cache is
flushed when the MTU is restored.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.model import Command, Completed, decoding
from netlimits.settings import _routes
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._values import is_number
from netlimits.settings.mtu import ipv6, stacked
from netlimits.settings.mtu.stacked import StackedLink

_SCRIPT = (
    f"{_routes.SHOW}"
    'ip -d -j link show dev "$1" || exit 1; ip -j link show; '
    "for path in /sys/class/net/*/bridge; do "
    '[ ! -d "$path" ] || { path=${path%/bridge}; echo "bridge ${path##*/}"; }; done; '
    'ip -4 -o route show cache 2>/dev/null | sed -n "s/ dev $1 .* mtu lock / lock /p" '
    '| sed "s/^/exception /"; '
    '[ "$2" -ge "$(cat "/sys/class/net/$1/mtu")" ] || sh -c "$3" "look into namespaces"; '
    f"{ipv6.READ} true"
)
_FORGET = Command(("sysctl", "-w", "net.ipv4.route.flush=1"), sudo=True)
_FLUSH = r"""! ip -4 -o route show cache | grep -q -- " dev $1 .* mtu lock " || {
    root=
    [ "$(id -u)" = 0 ] || root="sudo -n --"
    $root sysctl -w net.ipv4.route.flush=1
}"""
"""Flush the route cache if it holds a locked path MTU; used if the present state is unknown."""

_NEIGHBOUR = re.compile(
    r"[0-9a-fA-F:.]+( lladdr [0-9a-f:]+)?( (router|proxy|extern_learn|managed))*"
)
_CONF = re.compile(r"(conf|neigh)/[A-Za-z0-9_]+")


class Mtu(Setting):
    """`mtu: 8896`."""

    name = "mtu"
    traits = Traits(watched="fully", restarts=True, drops_carrier=True)
    schema: Mapping[str, Any] = {
        "type": "integer",
        "title": "MTU of the data interface",
        "description": "Bytes, up to the driver's maximum. Below 1280 Linux removes IPv6 from the "
        "interface; netlimits restores it at the end of the campaign.",
        "minimum": 68,
        "maximum": 2**31 - 1,
    }

    def read(self, interface: str, about: Any) -> Command:
        """Return a script that prints the state.

        If `about` is an MTU lower than the present one, the script also searches other namespaces.
        """
        wanted = 2**31 if isinstance(about, Mapping) else about  # an original state: no search
        return Command(("sh", "-c", _SCRIPT, "sh", interface, str(wanted), stacked.LOOK))

    def state(self, completed: Completed) -> State:
        """Return the MTU and everything that changes with it.

        "others" are the interfaces stacked on this one in this namespace, lowest first. "away" are
        those in other network namespaces. "hidden" are interfaces of this namespace on which others
        are stacked that the login cannot see. "unseen" are the numbers of namespaces that the login
        cannot search. "exceptions" are peers with a locked path MTU.
        """
        try:
            first, second, *lines = completed.stdout.splitlines()
            (link,) = decoding.typed(first, list[StackedLink])
            links = {other.ifname: other for other in decoding.typed(second, list[StackedLink])}
            stack = [links[name] for name in stacked.order(links, link.ifname)]
            bridges = {line.split()[1] for line in lines if line.startswith("bridge ")}
            return {
                "mtu": link.mtu,
                "least": link.min_mtu,
                "most": link.max_mtu,
                "others": {other.ifname: other.mtu for other in stack[1:]},
                "bridges": [each.ifname for each in stack if each.ifname in bridges],
                "away": [*stacked.in_other_namespaces(lines, {each.ifindex for each in stack})],
                "hidden": [*stacked.hidden(lines, links, [each.ifname for each in stack], link)],
                "unseen": stacked.unseen(lines, links.values()),
                "exceptions": sorted(
                    line.split()[1] for line in lines if line.startswith("exception ")
                ),
                "ipv6": ipv6.state(lines, link.ifname),
            }
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self.unreadable(completed, "`ip link show` shows no MTU") from None

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        if state and state["mtu"] == wanted:
            return ()
        if state:
            self._check(interface, state, wanted)
        return (_set(interface, wanted),)

    def _check(self, interface: str, state: State, wanted: int) -> None:
        least, most = state["least"], state["most"]
        if most and wanted > most:
            raise self.error(
                f"{interface} takes an MTU of at most {most}, not {wanted}; ask for {most} or less"
            )
        if wanted < least:
            raise self.error(
                f"{interface} takes an MTU of at least {least}, not {wanted}; ask for {least} or "
                "more"
            )
        if interface in state["bridges"]:
            raise self.error(
                f"{interface} is a bridge, which would never again follow the MTU of its ports "
                "once its own MTU was set; set the MTU of its ports, or leave `mtu` out"
            )
        if moving := state["ipv6"]["moving"]:
            raise self.error(
                f"an MTU of {wanted} would move the mtu of {interface}'s IPv6 routes to "
                f"{', '.join(moving)}, which could not be restored; delete them or lock their mtu "
                "first, or leave `mtu` out"
            )
        if wanted < state["mtu"]:
            self._check_namespaces(interface, state, wanted)
        if wanted >= ipv6.LEAST_MTU or state["mtu"] < ipv6.LEAST_MTU:
            return
        lost = [*ipv6.cannot_return(state["ipv6"])]
        lost += [f"IPv6 of {other}" for other in state["others"]] if state["ipv6"]["conf"] else []
        if lost:
            raise self.error(
                f"an MTU of {wanted}, below {ipv6.LEAST_MTU}, takes IPv6 off {interface}, and "
                f"this could not be restored: {', '.join(lost)}; use {ipv6.LEAST_MTU} or more, "
                "or remove IPv6 from it first"
            )

    def _check_namespaces(self, interface: str, state: State, wanted: int) -> None:
        """Raise SettingError if interfaces of other network namespaces would be lowered."""
        lowered = [
            f"{other['name']} in {other['where']}"
            for other in state["away"]
            if other["mtu"] > wanted
            and not (other["kind"] in stacked.FOLLOW and other["mtu"] == state["mtu"])
        ]
        if lowered:
            raise self.error(
                f"an MTU of {wanted} would lower that of {', '.join(lowered)}, on {interface}, "
                "which could not be restored; remove it first, or do not lower the MTU"
            )
        if state["hidden"]:
            raise self.error(
                f"an interface that this login does not see, in another network namespace, lies on "
                f"{', '.join(state['hidden'])}, and an MTU of {wanted} could lower its own; log in "
                "as root, or remove it first"
            )
        if state["unseen"]:
            raise self.error(
                f"a network namespace that this login does not see (nsid "
                f"{', '.join(map(str, state['unseen']))} of `ip netns list-id`) may have an "
                f"interface on {interface}, and an MTU of {wanted} would lower its own; log in as "
                "root, or end that namespace first"
            )

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return () if state["mtu"] == wanted else (f"it is {state['mtu']}, not {wanted}",)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        commands = []
        if not state or state["mtu"] != original["mtu"]:
            commands.append(_set(interface, original["mtu"]))
        now = state["others"] if state else {}
        for other, mtu in original["others"].items():
            if other not in original["bridges"] and (not state or now.get(other, mtu) != mtu):
                commands.append(_set(other, mtu))
        if state and not commands:  # otherwise bridges follow the MTU of their ports
            for bridge in original["bridges"]:
                mtu = original["others"].get(bridge, 0)
                if now.get(bridge, mtu) != mtu:
                    commands.append(_set(bridge, mtu))
        commands += ipv6.undo(interface, original["ipv6"], state["ipv6"] if state else {})
        if not state:
            script = ("sh", "-c", _FLUSH, "forget path MTUs", interface)
            commands.append(Command(script, by_hand=(_FORGET,)))
        elif _new_exceptions(original, state):
            commands.append(_FORGET)
        return tuple(commands)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        numbers = [("MTU", original["mtu"], state["mtu"])]
        numbers += [
            (f"MTU of {other}", mtu, state["others"].get(other, mtu))
            for other, mtu in original["others"].items()
        ]
        wrong = [f"{what} is {now}, was {was}" for what, was, now in numbers if now != was]
        wrong += [
            f"the path to {peer} has a locked MTU, which it had not"
            for peer in _new_exceptions(original, state)
        ]
        return (*wrong, *ipv6.differences(original["ipv6"], state["ipv6"]))

    def faults(self, state: State) -> Iterator[str]:
        for name, mtu in (("", state["mtu"]), *state["others"].items()):
            if name and not decoding.is_interface_name(name):
                yield f"{name!r} is no interface"
            if not is_number(mtu, 2**31):
                yield f"{mtu!r} is no MTU"
        held = state["ipv6"]
        for address in held["addresses"]:
            if ipaddress.ip_address(address["local"]).version != 6:
                yield f"{address['local']} is no IPv6 address"
            if not is_number(address["prefixlen"], 129) or not is_number(address.get("metric", 0)):
                yield f"{address['local']} has no prefix"
            if not re.fullmatch("[a-z0-9]+", address["scope"]):
                yield f"{address['scope']!r} is no scope"
        yield from _routes.faults(held)
        for proxy in held["proxies"]:
            address, _, rest = proxy.partition(" ")
            if ipaddress.ip_address(address).version != 6 or rest not in ("", "router"):
                yield f"{proxy[:80]!r} is no proxy neighbour"
        for neighbour in held["neighbours"]:
            if not _NEIGHBOUR.fullmatch(neighbour):
                yield f"{neighbour[:80]!r} is no neighbour"
        for name, value in held["conf"].items():
            if not _CONF.fullmatch(name) or not re.fullmatch(r"[\w.,:/ \t-]*", value, re.ASCII):
                yield f"{name[:80]!r} is no sysctl of an interface"


def _new_exceptions(original: State, state: State) -> list[str]:
    own = original.get("exceptions", ())
    return [peer for peer in state.get("exceptions", ()) if peer not in own]


def _set(interface: str, mtu: int) -> Command:
    return Command(("ip", "link", "set", "dev", interface, "mtu", str(mtu)), sudo=True)
