"""The search for the highest load within bounds: its options, and the verdict on a trial."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.experiment.around_schema import LATENCIES
from netlimits.metrics import metric
from netlimits.model import Scalar, Search
from netlimits.model.searches import LOAD, MISSED, OF, TRIALS, WHY

ORDERS = ("blocked", "listed")
"""The orders of runs that a search allows."""

_MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}
_THROUGHPUT = "throughput_mbps"

LATE = 0.01
"""Seconds by which the measurement on a busy host may end too late."""


def limits(options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the lowest and the highest load."""
    return _load(options["from"]), _load(options["to"])


def read(options: Mapping[str, Any], load: int) -> Search:
    low, high = limits(options)
    return Search(
        of=options["of"],
        load=load,
        low=low,
        high=high,
        loss_pct=options.get("loss"),
        latency_us={
            metric(name).column: _microseconds(options[name])
            for name in LATENCIES
            if name in options
        },
        width=options.get("width", 1) / 100,
        trials=options.get("trials", 3),
    )


def judged(
    search: Search, asked_mbps: float | None, figures: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    """Return the columns of a trial: the bound that it missed most, and by how much.

    The requested rate (`asked_mbps`) must arrive; otherwise a queue grows, and a longer trial would
    lose data. The loss that iperf3 prints is preferred: it excludes data in flight at the end.
    """
    missed, why = max(_misses(search, asked_mbps, figures), default=(0.0, ""))
    return {
        OF: search.of,
        LOAD: search.load,
        TRIALS: search.trials,
        MISSED: 100 * missed,
        WHY: why,
    }


def lacking(search: Search, figures: Mapping[str, Scalar]) -> list[str]:
    """Return the keys of the bounds whose metric a trial did not measure."""
    names = [
        name
        for name in LATENCIES
        if metric(name).column in search.latency_us.keys() - figures.keys()
    ]
    lossless = search.loss_pct is not None and metric("loss").column not in figures
    return [*(["loss"] if lossless else []), *names]


def _misses(
    search: Search, asked_mbps: float | None, figures: Mapping[str, Scalar]
) -> Iterator[tuple[float, str]]:
    """Yield the share by which a trial missed a bound, and a sentence, for each missed bound."""
    allowed = search.loss_pct or 0.0
    own = _figure(figures, metric("iperf3_loss").column)
    loss = _figure(figures, metric("loss").column) if own is None else own
    if loss is not None and loss > allowed:
        yield loss / 100, f"loss {loss:.3g} %"
    arrived = _figure(figures, _THROUGHPUT)
    if asked_mbps and arrived is not None:
        missing = 1 - arrived / asked_mbps
        late = LATE / (_figure(figures, "elapsed_s") or 1.0)
        if missing > search.width / 2 + allowed / 100 + late:
            yield missing, f"{arrived:.4g} of {asked_mbps:.4g} Mbit/s arrived in time"
    for column, most in search.latency_us.items():
        latency = _figure(figures, column)
        if latency is not None and latency > most:
            title = metric(column).title.lower()
            yield 1 - most / latency, f"{title} {latency / 1e3:.3g} ms"


def _figure(figures: Mapping[str, Scalar], column: str) -> float | None:
    value = figures.get(column)
    number = float(value) if isinstance(value, int | float) else math.nan
    return None if math.isnan(number) else number


def _load(written: int | str) -> int:
    """Return a load as a number; the suffixes K, M and G are powers of 1000."""
    text = str(written).lower()
    number = text.rstrip("kmg")
    return round(float(number) * 1000.0 ** ("kmg".find(text[len(number) :] or "-") + 1))


def _microseconds(written: float | str) -> float:
    if match := re.fullmatch(r"([0-9.]+) ?(us|ms|s)", str(written)):
        return float(match[1]) * _MICROSECONDS[match[2]]
    return float(written)
