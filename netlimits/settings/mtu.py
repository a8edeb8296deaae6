"""The MTU of an interface, through `ip link`, and everything that moves with it.

A change of the MTU is no change of one number. VLANs and macvlans on the interface are cut down
with it and stay small when it grows again; a bridge above it follows its ports; IPv6 resets its own
MTU and that of routes, and leaves the interface below 1280 (see `_ipv6`). So all of that is
read before, and put back. Some NICs take their link down for seconds when the MTU changes.

Below some 90 bytes not even TCP's least segments fit, and the kernel keeps a path MTU of its own
for each peer, locked, which outlives the change by ten minutes (`ip route show cache`). No such
entry can be deleted alone, so the cache is flushed: what it knows of other paths is learnt again.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from netlimits.errors import SettingError
from netlimits.model import Command, Completed, decoding
from netlimits.settings import _ipv6
from netlimits.settings._base import State
from netlimits.settings._written import is_number, route_fault

_SCRIPT = (
    'ip -d -j link show dev "$1" || exit 1; ip -j link show; '
    'ip -4 -o route show cache 2>/dev/null | sed -n "s/ dev $1 .* mtu lock / lock /p" '
    '| sed "s/^/exception /"; '
    f"{_ipv6.READ} true"
)
_FLUSH = r"""! ip -4 -o route show cache | grep -q -- " dev $1 .* mtu lock " || {
    root=
    [ "$(id -u)" = 0 ] || root="sudo -n --"
    $root sysctl -w net.ipv4.route.flush=1
}"""
"""Flush the cache where it is needed: who has not looked cannot say."""


class _Link(msgspec.Struct):
    """An interface, as `ip -d -j` shows it."""

    ifname: str
    mtu: int
    min_mtu: int = 0
    max_mtu: int = 0
    link: str | None = None
    master: str | None = None


_NEIGHBOUR = re.compile(
    r"[0-9a-fA-F:.]+( lladdr [0-9a-f:]+)?( (router|proxy|extern_learn|managed))*"
)
_CONF = re.compile(r"(conf|neigh)/[A-Za-z0-9_]+")


class Mtu:
    """`mtu: 8896`."""

    name = "mtu"
    schema: Mapping[str, Any] = {
        "type": "integer",
        "title": "MTU of the data interface",
        "description": "Bytes. The driver has its maximum. Below 1280 Linux takes IPv6 off the "
        "interface until it is put back at the end of the campaign.",
        "minimum": 68,
        "maximum": 2**31 - 1,
    }

    def read(self, interface: str, about: Any) -> Command:
        """`ip -d -j link show` and what IPv6 holds, in one script."""
        return Command(("sh", "-c", _SCRIPT, "sh", interface))

    def state(self, completed: Completed) -> State:
        """{"mtu": …, "least": …, "most": …, "others": {name: mtu}, "exceptions": […], "ipv6": …}.

        `least` and `most` are what the driver takes (most 0: it does not say), `others` the
        interfaces above this one, `exceptions` the peers with a locked path MTU.
        """
        try:
            first, second, *lines = completed.stdout.splitlines()
            (link,) = decoding.typed(first, list[_Link])
            others = {
                other.ifname: other.mtu
                for other in decoding.typed(second, list[_Link])
                if other.link == link.ifname or other.ifname == link.master
            }
            return {
                "mtu": link.mtu,
                "least": link.min_mtu,
                "most": link.max_mtu,
                "others": others,
                "exceptions": sorted(
                    line.split()[1] for line in lines if line.startswith("exception ")
                ),
                "ipv6": _ipv6.state(lines),
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            reason = completed.stderr.strip() or f"exit status {completed.status}"
            raise SettingError(
                f"`ip link show` shows no MTU: {reason}", setting=self.name, host=completed.host
            ) from None

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """`ip link set dev INTERFACE mtu N`; SettingError where the driver cannot."""
        if state and state["mtu"] == wanted:
            return ()
        if state:
            self._check(interface, state, wanted)
        return (_set(interface, wanted),)

    def _check(self, interface: str, state: State, wanted: int) -> None:
        """Raise SettingError for what the driver refuses and for what could not be put back."""
        least, most = state["least"], state["most"]
        if most and wanted > most:
            raise SettingError(
                f"{interface} takes an MTU of at most {most}, not {wanted}", setting=self.name
            )
        if wanted < least:
            raise SettingError(
                f"{interface} takes an MTU of at least {least}, not {wanted}", setting=self.name
            )
        if wanted >= _ipv6.LEAST_MTU or state["mtu"] < _ipv6.LEAST_MTU:
            return
        lost = [*_ipv6.cannot_return(state["ipv6"])]
        lost += [f"IPv6 of {other}" for other in state["others"]] if state["ipv6"]["conf"] else []
        if lost:
            raise SettingError(
                f"an MTU of {wanted}, below {_ipv6.LEAST_MTU}, takes IPv6 off {interface}, and "
                f"this could not be put back: {', '.join(lost)}; use {_ipv6.LEAST_MTU} or more, "
                "or take IPv6 off it yourself before",
                setting=self.name,
            )

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """One line when the MTU is another."""
        return () if state["mtu"] == wanted else (f"it is {state['mtu']}, not {wanted}",)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """The MTU, then those of interfaces above, then what IPv6 lost, then path MTUs."""
        commands = []
        if not state or state["mtu"] != original["mtu"]:
            commands.append(_set(interface, original["mtu"]))
        now = state["others"] if state else {}
        for other, mtu in original["others"].items():
            if not state or now.get(other, mtu) != mtu:
                commands.append(_set(other, mtu))
        commands += _ipv6.undo(interface, original["ipv6"], state["ipv6"] if state else {})
        if not state:
            commands.append(Command(("sh", "-c", _FLUSH, "forget path MTUs", interface)))
        elif _new_exceptions(original, state):
            commands.append(Command(("sysctl", "-w", "net.ipv4.route.flush=1"), sudo=True))
        return tuple(commands)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """The MTU, those of interfaces above, and each piece of IPv6."""
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
        return (*wrong, *_ipv6.differences(original["ipv6"], state["ipv6"]))

    def faults(self, state: State) -> Iterator[str]:
        """Addresses, routes, neighbours and sysctls that are none of an interface."""
        for name, mtu in (("", state["mtu"]), *state["others"].items()):
            if name and not decoding.interface(name):
                yield f"{name!r} is no interface"
            if not is_number(mtu, 2**31):
                yield f"an MTU cannot be {mtu!r}"
        held = state["ipv6"]
        for address in held["addresses"]:
            if ipaddress.ip_address(address["local"]).version != 6:
                yield f"{address['local']} is no IPv6 address"
            if not is_number(address["prefixlen"], 129) or not is_number(address.get("metric", 0)):
                yield f"{address['local']} has no prefix"
            if not re.fullmatch("[a-z0-9]+", address["scope"]):
                yield f"{address['scope']!r} is no scope"
        yield from filter(None, map(route_fault, held["routes"]))
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
