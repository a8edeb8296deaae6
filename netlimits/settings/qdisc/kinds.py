"""Kinds of qdisc: the parameters an experiment may set, and those that can be restored.

In `KINDS` every parameter is required or has a default, so that a qdisc never depends on the one
before it. `RESTORABLE` has the options that `tc -r -d -j` of iproute2 6.1 shows and `tc` accepts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from netlimits.settings.qdisc.aqm import CAKE, FQ_CODEL
from netlimits.settings.qdisc.netem import NETEM
from netlimits.settings.qdisc.shown import Shown
from netlimits.units import tc

TICK = 64e-9
"""The kernel's packet clock in seconds (PSCHED_SHIFT 6); `tc -r` shows burst in these ticks."""

Unit = Literal["rate", "size", "time", "count"]
_NUMBERS: Mapping[Unit, Callable[[Any], int]] = {
    "rate": tc.rate,
    "size": tc.size,
    "time": tc.time,
    "count": int,
}
_SUFFIXES: Mapping[Unit, str] = {"rate": "bit", "size": "b", "time": "us", "count": ""}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of qdisc.

    Attributes:
        units: Parameter -> its unit.
        required: Tuples of parameters. Exactly one parameter of each tuple must be given.
        left_out: Parameter -> its default: a number, None, or the name of another parameter whose
            value it gets.
        rounded: Share by which a rate may differ from the wanted rate.
    """

    units: Mapping[str, Unit] = field(default_factory=dict)
    required: tuple[tuple[str, ...], ...] = ()
    left_out: Mapping[str, str | int | None] = field(default_factory=dict)
    rounded: float = 0.0

    def wish(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options in whole bit/s, bytes, µs and packets. Raises ValueError."""
        for names in self.required:
            if sum(name in given for name in names) != 1:
                which = "exactly one of " if names[1:] else ""
                raise ValueError(f"needs {which}{' and '.join(f'`{name}`' for name in names)}")
        values = {name: self._number(name, value) for name, value in given.items()}
        for name, other in self.left_out.items():
            values.setdefault(name, values[other] if isinstance(other, str) else other)
        if "latency" in values:  # as tc does: limit = the bytes sent in that time + burst
            waiting = values["rate"] * values.pop("latency") // 8_000_000
            values["limit"] = waiting + values["burst"]
        return values

    def _number(self, name: str, value: Any) -> Any:
        number = _NUMBERS[self.units[name]](value)
        if not 1 <= number < 2 ** (53 if self.units[name] == "rate" else 32):
            raise ValueError(f"{name}: {value} is out of range")
        return number

    def words(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(
            word
            for name, value in values.items()
            if value is not None
            for word in (name, f"{value}{_SUFFIXES[self.units[name]]}")
        )

    def values(self, options: Mapping[str, Any]) -> dict[str, Any]:
        values = {n: options[n] for n in self.units if isinstance(options.get(n), int | float)}
        if "burst_raw" in options:
            values["burst"] = burst(options)
        return {n: v * 8 if self.units[n] == "rate" else v for n, v in values.items()}

    def same(self, name: str, now: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        """Return True if equal up to rounding: a tick, tc's µs, the four digits of htb's rates."""
        is_, should = now.get(name), wanted[name]
        if is_ is None or should is None:
            return is_ is should
        if self.units[name] == "rate":
            return math.isclose(is_, should, rel_tol=self.rounded)
        if self.units[name] == "size" and "rate" in wanted:
            microsecond = max(wanted["rate"], wanted.get("ceil", 0)) / 8e6
            return math.isclose(is_, should, rel_tol=1e-4, abs_tol=2 * microsecond)
        return bool(is_ == should)


SHOWN: Mapping[str, Shown] = {"netem": NETEM, "fq_codel": FQ_CODEL, "cake": CAKE}
"""Kinds whose parameters are a table (`shown.Shown`).

tc may not show all their values. So our qdiscs of these kinds get a handle that identifies them.
"""

KINDS: Mapping[str, Kind | Shown] = {
    "tbf": Kind(
        {"rate": "rate", "burst": "size", "latency": "time", "limit": "size"},
        (("rate",), ("burst",), ("latency", "limit")),
    ),
    "fq": Kind(
        {
            "maxrate": "rate",
            "limit": "count",
            "flow_limit": "count",
            "initial_quantum": "count",  # bytes, but tc takes no unit; default: ten frames
        },
        left_out={"maxrate": None, "limit": 10000, "flow_limit": 100},
    ),
    "htb": Kind(
        {"rate": "rate", "ceil": "rate", "burst": "size", "cburst": "size"},
        (("rate",), ("burst",)),
        {"ceil": "rate", "cburst": "burst"},
        rounded=2e-3,
    ),
    "pfifo": Kind({"limit": "count"}, (("limit",),)),
    "bfifo": Kind({"limit": "size"}, (("limit",),)),
    "pfifo_fast": Kind(),
    "noqueue": Kind(),
    "mq": Kind(),
    **SHOWN,
}

SHAPES: Mapping[str, Mapping[str, Any]] = {
    "rate": tc.RATE,
    "ceil": tc.RATE,
    "maxrate": tc.RATE,
    "burst": tc.SIZE,
    "cburst": tc.SIZE,
    "latency": tc.TIME,
    "limit": {
        **tc.SIZE,
        "description": "Maximum length of the queue: packets, but bytes for tbf and bfifo.",
    },
    "flow_limit": {**tc.COUNT, "description": "Maximum packets of each flow in the queue."},
    "initial_quantum": {
        **tc.COUNT,
        "description": "Bytes that a new flow of fq may send before it is paced.",
    },
}
SHAPES = {
    **{name: part.shape for kind in SHOWN.values() for name, part in kind.units.items()},
    **SHAPES,
}


def burst(options: Mapping[str, Any]) -> int:
    """Return the size in bytes with which tc restores tbf's burst to exactly the same ticks.

    The size that tc shows is not exact enough, since tc rounds it to whole µs. If several sizes
    give the same ticks, return the second smallest, since the kernel may round the smallest down to
    one tick less.
    """
    rate, ticks = int(options["rate"]), int(options["burst_raw"], 16)
    nearest = math.ceil(ticks * TICK * rate - 1e-6) + (TICK * rate >= 2)
    near = (nearest, nearest + 1, nearest - 1)
    exact = [size for size in near if _ticks(rate, size) == ticks]
    return next(iter(exact), nearest) - int(options.get("overhead", 0))


def _ticks(rate: int, size: int) -> int:
    """Return the ticks of a size at a rate in bytes/s, as psched_ratecfg_precompute does."""
    shift = 0
    while not ((10**9 << shift) // rate >> 31 & 1 or (10**9 << shift) >> 63):
        shift += 1
    return (size * ((10**9 << shift) // rate) >> shift) // 64


Word = Callable[[Any, Mapping[str, Any]], tuple[str, ...]]


def _as(name: str, suffix: str = "", scale: int = 1) -> Word:
    return lambda value, _: (name, f"{int(value) * scale}{suffix}")


def _nothing(value: Any, options: Mapping[str, Any]) -> tuple[str, ...]:
    return ()


RESTORABLE: Mapping[str, Mapping[str, Word]] = {
    "tbf": {
        "rate": _as("rate", "bit", 8),
        "burst": _nothing,
        "burst_raw": lambda _, options: ("burst", f"{burst(options)}b"),
        "limit": _as("limit", "b"),
        "lat": _nothing,  # tc computes it from the limit
        "mpu": _as("mpu"),
        "overhead": _as("overhead"),
        # always ethernet, since `unrestorable` rejects the others
        "linklayer": lambda value, _: ("linklayer", str(value)),
    },
    "fq": {
        "limit": _as("limit"),
        "flow_limit": _as("flow_limit"),
        "buckets": _as("buckets"),
        "orphan_mask": _as("orphan_mask"),
        "pacing": lambda value, _: () if value else ("nopacing",),
        "quantum": _as("quantum"),
        "initial_quantum": _as("initial_quantum"),
        "maxrate": _as("maxrate", "bit", 8),
        "low_rate_threshold": _as("low_rate_threshold", "bit", 8),
        "refill_delay": _as("refill_delay", "us"),
        "ce_threshold": _as("ce_threshold", "us"),
        "timer_slack": _as("timer_slack", "ns"),
        "horizon": _as("horizon", "us"),
        "offload_horizon": _as("offload_horizon", "us"),
        "bands": _as("bands"),
        "priomap": lambda value, _: ("priomap", *map(str, value)),
        "weights": lambda value, _: ("weights", *map(str, value)),
        "horizon_cap": lambda *_: ("horizon_cap",),
        "horizon_drop": lambda *_: ("horizon_drop",),
    },
    "pfifo": {"limit": _as("limit")},
    "bfifo": {"limit": _as("limit")},
    "pfifo_fast": {"bands": _nothing, "priomap": _nothing, "multiqueue": _nothing},
    "noqueue": {},
    "mq": {},
}
"""Kind -> option in tc's JSON -> the words that restore it."""


def unrestorable(state: Mapping[str, Any]) -> str:
    """Return why the parameters of a qdisc could not be restored, or ""."""
    kind, options = state["kind"], state["options"]
    if kind in SHOWN:
        return SHOWN[kind].unrestorable(options, state["nanoseconds"])
    if kind not in RESTORABLE:
        return "it has classes or state that netlimits does not read"
    if options.get("linklayer", "ethernet") != "ethernet":
        return f"its linklayer {options['linklayer']} rounds sizes"
    if strange := options.keys() - RESTORABLE[kind].keys():
        return f"netlimits does not restore its {', '.join(sorted(strange))}"
    if kind == "tbf" and "burst_raw" not in options:
        return "tc does not show its burst exactly"
    if kind == "tbf":
        size = burst(options) + int(options.get("overhead", 0))
        if _ticks(int(options["rate"]), size) != int(options["burst_raw"], 16):
            return "no size in bytes gives exactly its burst"
    return ""


def parameters(state: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words that follow the kind in the command that creates the qdisc again."""
    kind, options = state["kind"], state["options"]
    if kind in SHOWN:
        return tuple(SHOWN[kind].found_words(options, state["nanoseconds"]))
    known = RESTORABLE.get(kind, {}).items()
    return tuple(
        word for name, words in known if name in options for word in words(options[name], options)
    )
