"""A policer for packets that arrive at the data interface, on its ingress qdisc.

A segment that GRO built counts as one packet. So a burst below 64 KiB drops all segments of 64 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

from netlimits.model import Command, Completed, decoding
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import options
from netlimits.units import tc

_READ = 'tc -j qdisc show dev "$1" || exit 1; echo; tc filter show dev "$1" ingress'
_REMOVE = r"""root=; [ "$(id -u)" = 0 ] || root="sudo -n --"
! tc qdisc show dev "$1" ingress | grep -q . || $root tc qdisc del dev "$1" ingress"""
_POLICE = re.compile(r"\bpolice 0x[0-9a-f]+ rate (?P<rate>\w+) burst (?P<burst>\w+)")
_LARGEST = "512kb"
"""Largest packet that the policer accepts; tc's default of 2 KiB is less than a GRO segment."""


class _Kind(TypedDict):
    kind: str


class Ingress(Setting):
    """`ingress: {rate: 100mbit, burst: 256kb}`."""

    name = "ingress"
    traits = Traits(tried=True, watched="partly", leaves=("qdisc", "filter"), changes_path=True)
    schema: Mapping[str, Any] = options(
        {
            "rate": tc.RATE,
            "burst": {**tc.SIZE, "description": "Bytes that may arrive at once: 128kb or more."},
        },
        required=("rate", "burst"),
        title="Policer for what arrives at the data interface",
        description="Drops packets above the rate, as tc-police(8) does.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return kinds of ingress "qdiscs", number of "filters", and the policer's "rate", "burst".

        "rate" is in bit/s and "burst" in bytes; both are 0 if there is no policer.
        """
        first, _, rest = completed.stdout.partition("\n")
        try:
            kinds = [qdisc["kind"] for qdisc in decoding.typed(first, list[_Kind])]
            police = _POLICE.search(rest)
            return {
                "qdiscs": [kind for kind in kinds if kind in ("ingress", "clsact")],
                "filters": len(re.findall(r"^filter .* handle ", rest, re.MULTILINE)),
                "rate": tc.rate(police["rate"]) if police else 0,
                "burst": tc.size(police["burst"]) if police else 0,
            }
        except ValueError:
            raise self.unreadable(completed, "`tc qdisc show` cannot be read") from None

    def check_found(self, interface: str, state: State) -> None:
        if state["qdiscs"]:
            raise self.error(
                f"{interface} has a {state['qdiscs'][0]} qdisc already; remove it (`tc qdisc del "
                f"dev {interface} {state['qdiscs'][0]}`), or leave `ingress` out for this host"
            )

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        rate, burst = tc.rate(wanted["rate"]), tc.size(wanted["burst"])
        if not 8000 <= rate < 2**40 or not 1 <= burst < 2**32:
            raise self.error(f"{wanted['rate']} with a burst of {wanted['burst']} is out of range")
        if state and not self.unmet(state, wanted):
            return ()
        add = ("tc", "qdisc", "add", "dev", interface, "handle", "ffff:", "ingress")
        police = (
            *("tc", "filter", "add", "dev", interface, "parent", "ffff:", "protocol", "all"),
            *("prio", "1", "matchall", "action", "police", "rate", f"{rate}bit"),
            *("burst", f"{burst}b", "mtu", _LARGEST, "conform-exceed", "drop"),
        )
        remove = _remove(interface) if state and state["qdiscs"] else ()
        return (*remove, Command(add, sudo=True), Command(police, sudo=True))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return a message for each value that differs by more than the rounding of tc.

        tc rounds the rate to four digits, and the burst to one tick.
        """
        rate, burst = tc.rate(wanted["rate"]), tc.size(wanted["burst"])
        if not state["rate"] or state["filters"] != 1:
            return ("no policer is there",)
        wrong = []
        if abs(state["rate"] - rate) > 2e-3 * rate:
            wrong.append(f"the rate is {state['rate']} bit/s, not {rate}")
        if abs(state["burst"] - burst) > 0.02 * burst + rate / 8e6:
            wrong.append(f"the burst is {state['burst']} bytes, not {burst}")
        return tuple(wrong)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        if state:
            return _remove(interface) if self.differences(original, state) else ()
        # a guard may run the script twice, so the script first checks that the qdisc is there
        script = ("sh", "-c", _REMOVE, "remove ingress", interface)
        return (Command(script, by_hand=_remove(interface)),)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        surplus = [kind for kind in state["qdiscs"] if kind not in original["qdiscs"]]
        return tuple(f"there is a {kind} qdisc" for kind in surplus)

    def faults(self, state: State) -> Iterator[str]:
        if state["qdiscs"] or state["filters"] or state["rate"] or state["burst"]:
            yield "a policer is not written again"


def _remove(interface: str) -> tuple[Command, ...]:
    return (Command(("tc", "qdisc", "del", "dev", interface, "ingress"), sudo=True),)
