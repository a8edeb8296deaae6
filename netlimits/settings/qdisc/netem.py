"""netem: delay, jitter, loss, duplicates, corruption, reordering, a rate (tc-netem(8)).

`tc` does not show the distribution of a jitter. It cannot be read back, so another user's netem
with jitter cannot be restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.settings._schema import integer
from netlimits.settings.qdisc.shown import (
    COUNT,
    PERCENT,
    PERCENTS,
    TIME,
    Options,
    Parameter,
    Shown,
    about,
    at,
    count,
    one_of,
    percent,
    percents,
    time,
    written,
)
from netlimits.units import tc

DISTRIBUTIONS = ("normal", "pareto", "paretonormal", "experimental")
"""Distributions for which iproute2 has a table; a jitter without one is uniform."""

_NEAR = 2.0
"""Allowed difference in µs: the kernel's ticks are 64 ns, and tc rounds down to whole µs."""

_SHARE = 1e-6
_STATE, _GEMODEL = ("p13", "p31", "p32", "p23", "p14"), ("p", "r", "1-h", "1-k")


def _several(key: str, names: tuple[str, ...]) -> Any:
    def find(options: Options) -> Any:
        model = options.get(key)
        return None if model is None else tuple(100 * float(model[name]) for name in names)

    return find


def _correlation(of: str, key: str) -> Parameter:
    shape = about(
        PERCENT, f"Correlation of each packet's {of} with that of the packet before, percent."
    )
    return Parameter(shape, percent, at(key, "correlation", scale=100), 0, _SHARE)


def _share(key: str, part: str, what: str) -> Parameter:
    return Parameter(about(PERCENT, what), percent, at(key, part, scale=100), 0, _SHARE)


_WORD = str
PARAMETERS: Mapping[str, Parameter] = {
    "limit": Parameter(COUNT, count, at("limit"), 1000),
    "delay": Parameter(
        about(TIME, "Delay of every packet: 20ms."), time, at("delay", "delay", scale=1e6), 0, _NEAR
    ),
    "jitter": Parameter(
        about(TIME, "Random variation: 2ms."), time, at("delay", "jitter", scale=1e6), 0, _NEAR
    ),
    "delay_correlation": _correlation("delay", "delay"),
    "distribution": Parameter(
        about(one_of("uniform", *DISTRIBUTIONS), "Distribution of the jitter; tc does not print "
        "it, so it cannot be read back."),
        _WORD, None, "",
    ),
    "loss": _share("loss-random", "loss", "Share of packets that are lost independently, percent."),
    "loss_correlation": _correlation("loss", "loss-random"),
    "loss_state": Parameter(
        about(PERCENTS, "Loss by a Markov chain with four states: p13,p31,p32,p23,p14, percent."),
        percents(1, 5), _several("loss-state", _STATE), None, _SHARE,
    ),
    "loss_gemodel": Parameter(
        about(PERCENTS, "Loss by the Gilbert-Elliott model: p,r,1-h,1-k, percent."),
        percents(1, 4), _several("loss-gemodel", _GEMODEL), None, _SHARE,
    ),
    "ecn": Parameter(
        about(one_of("on", "off"), "Mark packets (ECN) instead of dropping them."),
        _WORD, lambda options: "on" if options.get("ecn") is True else "off", "off",
    ),
    "duplicate": _share("duplicate", "duplicate", "Share of packets that are duplicated, percent."),
    "duplicate_correlation": _correlation("duplication", "duplicate"),
    "corrupt": _share("corrupt", "corrupt", "Share of packets with a wrong bit, percent."),
    "corrupt_correlation": _correlation("corruption", "corrupt"),
    "reorder": _share("reorder", "reorder", "Share of packets that are sent without the delay, "
    "percent."),
    "reorder_correlation": _correlation("reordering", "reorder"),
    "gap": Parameter(
        about(COUNT, "Only every gap-th packet may be reordered."), count, at("gap"), 0
    ),
    "rate": Parameter(tc.RATE, tc.rate, at("rate", "rate", scale=8), 0),
    "packet_overhead": Parameter(
        integer(-65535, 65535, "Bytes to add to each packet when the rate is computed."),
        count, at("rate", "packetoverhead"),
    ),
    "cell_size": Parameter(
        about({**COUNT, "maximum": 65535}, "Bytes of a link-layer cell: packets are rounded up to "
        "full cells when the rate is computed."),
        count, at("rate", "cellsize"),
    ),
    "cell_overhead": Parameter(
        integer(-65535, 65535, "Bytes to add to each cell."),
        count, at("rate", "celloverhead"),
    ),
    "slot_min": Parameter(
        about(TIME, "Minimum time between slots; packets leave only in slots."),
        time, at("slot", "min-delay", scale=1e6), 0, _NEAR,
    ),
    "slot_max": Parameter(
        about(TIME, "Maximum time between slots; default: slot_min."),
        time, at("slot", "max-delay", scale=1e6), 0, _NEAR,
    ),
    "slot_distribution": Parameter(
        about(one_of(*DISTRIBUTIONS), "Distribution of the time between slots; tc does not print "
        "it, so it cannot be read back."),
        _WORD, None, "",
    ),
    "slot_delay": Parameter(
        about(TIME, "Mean time between slots, with slot_distribution."),
        time, at("slot", "distribution", scale=1e6), 0, _NEAR,
    ),
    "slot_jitter": Parameter(
        about(TIME, "Random variation."), time, at("slot", "jitter", scale=1e6), 0, _NEAR
    ),
    "slot_packets": Parameter(
        about(COUNT, "Maximum packets in a slot; 0: no limit."), count, at("slot", "packets")
    ),
    "slot_bytes": Parameter(
        about(COUNT, "Maximum bytes in a slot; 0: no limit."), count, at("slot", "bytes")
    ),
}  # fmt: skip

_NEEDS = {
    "delay_correlation": ("jitter",),
    "distribution": ("jitter",),
    "loss_correlation": ("loss",),
    "ecn": ("loss", "loss_state", "loss_gemodel"),
    "duplicate_correlation": ("duplicate",),
    "corrupt_correlation": ("corrupt",),
    "reorder_correlation": ("reorder",),
    "gap": ("reorder",),
    "packet_overhead": ("rate",),
    "cell_size": ("rate",),
    "cell_overhead": ("cell_size",),
    "slot_max": ("slot_min",),
    "slot_distribution": ("slot_delay",),
    "slot_delay": ("slot_distribution",),
    "slot_jitter": ("slot_distribution",),
    "slot_packets": ("slot_min", "slot_distribution"),
    "slot_bytes": ("slot_min", "slot_distribution"),
}
"""Parameter -> parameters of which at least one must be given with it.

If they are given but are all off, the parameter is off too.
"""

_EXCLUDE = (("loss", "loss_state", "loss_gemodel"), ("slot_min", "slot_distribution"))
_OFF = (0, "off", "", None)


def _settle(values: dict[str, Any]) -> None:
    """Complete the options as tc does. Raises ValueError for options that tc rejects."""
    for name, needs in _NEEDS.items():
        if values.get(name) in _OFF or any(values.get(other) not in _OFF for other in needs):
            continue
        if not values.keys() & set(needs):
            raise ValueError(f"{name} needs {' or '.join(needs)}")
        del values[name]
    given = {name for name, value in values.items() if value not in _OFF}
    if "reorder" in given and "delay" not in given:
        raise ValueError("reorder needs delay: what is not delayed cannot be overtaken")
    for names in _EXCLUDE:
        if len(both := [name for name in names if name in given]) > 1:
            raise ValueError(f"{' and '.join(both)} exclude each other")
    if "reorder" in given:
        values["gap"] = values.get("gap") or 1
    if "slot_min" in given:
        values["slot_max"] = values.get("slot_max") or values["slot_min"]
        if values["slot_max"] < values["slot_min"]:
            raise ValueError("slot_max is less than slot_min")
    if values.get("loss_state"):
        p13, *rest = values["loss_state"]
        values["loss_state"] = (p13, *rest, *(100 - p13, 0.0, 100.0, 0.0)[len(rest) :])
    if values.get("loss_gemodel"):
        p, *rest = values["loss_gemodel"]
        values["loss_gemodel"] = (p, *rest, *(100 - p, 100.0, 0.0)[len(rest) :])


def _words(values: Mapping[str, Any]) -> Iterator[str]:
    yield from ("limit", str(values["limit"]))
    if values["delay"] or values["jitter"]:
        yield from ("delay", _span(values["delay"]))
        if values["jitter"]:
            yield _span(values["jitter"])
            yield from _after(values["delay_correlation"])
            if values["distribution"] in DISTRIBUTIONS:
                yield from ("distribution", values["distribution"])
    if values["loss"]:
        yield from ("loss", "random", written(values["loss"]))
        yield from _after(values["loss_correlation"])
    for model in ("state", "gemodel"):
        if values[f"loss_{model}"]:
            yield from ("loss", model, *map(written, values[f"loss_{model}"]))
    if values["ecn"] == "on":
        yield "ecn"
    for what in ("duplicate", "corrupt", "reorder"):
        if values[what]:
            yield from (what, written(values[what]))
            yield from _after(values[f"{what}_correlation"])
    if values["gap"]:
        yield from ("gap", str(values["gap"]))
    if values["rate"]:
        yield from ("rate", f"{values['rate']:.0f}bit")
        yield from (str(values[of]) for of in ("packet_overhead", "cell_size", "cell_overhead"))
    yield from _slot(values)
    if "seed" in values:
        yield from ("seed", str(values["seed"]))


def _span(time: int | str) -> str:
    """Return a time as a word of tc: text unchanged, a number in µs."""
    return time if isinstance(time, str) else f"{time}us"


def _after(correlation: float) -> Iterator[str]:
    if correlation:
        yield written(correlation)


def _slot(values: Mapping[str, Any]) -> Iterator[str]:
    if values["slot_min"]:
        yield from ("slot", _span(values["slot_min"]), _span(values["slot_max"]))
    elif values["slot_delay"]:
        yield from ("slot", "distribution", values["slot_distribution"] or "normal")
        yield from (f"{values['slot_delay']}us", f"{values['slot_jitter']}us")
    else:
        return
    for what in ("packets", "bytes"):
        if values[f"slot_{what}"]:
            yield from (what, str(values[f"slot_{what}"]))


def _lost(options: Options) -> str:
    if options.get("delay", {}).get("jitter") or "distribution" in options.get("slot", {}):
        return "tc does not show the distribution of its jitter"
    return ""


_TICK_NS = 64
"""The kernel's packet clock in ns (PSCHED_SHIFT 6); tc before 6.9 writes a delay in these ticks."""


def _exactly(options: Options, nanoseconds: bool) -> dict[str, Any]:
    """Return the times and seed to give to tc so that it shows the original values again.

    Since 6.9 tc accepts a delay in ns. Earlier versions accept whole µs, round them down to a tick,
    and show the tick rounded down to µs: 500us is shown as 499 µs. Raises ValueError if no delay in
    whole µs shows the original.
    """
    values: dict[str, Any] = {"seed": options["seed"]} if "seed" in options else {}
    if (seconds := options.get("delay", {}).get("delay", 0)) and nanoseconds:
        values["delay"] = _ns(seconds)
    elif seconds:
        near = round(seconds * 1e6)
        steps = sorted(range(-5, 6), key=abs)  # tc shows six digits: try nearby µs, nearest first
        same = [us for step in steps if f"{_shown_us(us := near + step) / 1e6:g}" == f"{seconds:g}"]
        if not same:
            raise ValueError(
                f"this tc cannot write its delay of {near} µs, only {near - 1} or {near + 1}"
            )
        values["delay"] = f"{same[0]}us"
    if slot := options.get("slot", {}):
        for name, key in (("slot_min", "min-delay"), ("slot_max", "max-delay")):
            if slot.get(key):
                values[name] = _ns(slot[key])
    return values


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"


def _shown_us(microseconds: int) -> int:
    """Return the µs that tc before 6.9 shows for a delay that was given in µs."""
    ticks = microseconds * 1000 // _TICK_NS
    return ticks * _TICK_NS // 1000


_KNOWN = (
    *("limit", "delay", "loss-random", "loss-state", "loss-gemodel", "ecn", "duplicate", "corrupt"),
    *("reorder", "gap", "rate", "slot", "seed"),
)

NETEM = Shown(PARAMETERS, _words, _KNOWN, _settle, _lost, _exactly)
