"""Check, within rounding, the columns of a table that can be computed from its other columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from netlimits.evidence.cpu import service_demand
from netlimits.metrics import metric
from netlimits.reproduce import published
from netlimits.reproduce.items import Agreement
from netlimits.reproduce.rounding import EDGE, ComparisonKind, half_units, published_rows

SECONDS = (9.995, 10.005)
"""Shortest and longest run that rounds to 10.00 s, a time that the rows imply but do not print."""


def service_demands(
    name: str, end: str, cpus: int, where: Mapping[str, Any] | None = None
) -> Agreement:
    """Recompute one end's service demand (µs/KiB) from its CPU utilization and the send rate."""
    frame = published_rows(name, where)
    texts = published.printed(name).loc[frame.index]
    rate = next(c for c in ("local_send_throughput_mbps", "throughput_mbps") if c in texts)
    cpu, printed = f"{end}_cpu_pct", f"{end}_sd_us_per_kib"

    def demand(sign: int) -> np.ndarray:
        busy = frame[cpu] + sign * half_units(texts[cpu])
        mbps = frame[rate] - sign * half_units(texts[rate])
        pairs = zip(busy / 100 * cpus, mbps * 1e6 / 8 / 1024, strict=True)
        return np.array([service_demand(busy_s, kib) for busy_s, kib in pairs])

    what = f"{metric(printed).title}, recomputed from CPU utilization, {cpus} CPUs and rate"
    return _check(what, frame, texts[printed], demand(-1), demand(1))


def sent(name: str) -> Agreement:
    """Recompute the send throughput (10⁶ bit/s) from the calls, their size and the time."""
    frame, texts = published_rows(name), published.printed(name)
    bits = 8 * frame["local_send_calls"].to_numpy() * frame["send_size"].to_numpy() / 1e6
    what = "Send throughput, recomputed from calls × size in 10.00 s"
    printed = texts["local_send_throughput_mbps"]
    low, high = bits / SECONDS[1], bits / SECONDS[0]
    return _check(what, frame, printed, low, high, kind="transcribed")


def arrived(name: str) -> Agreement:
    """Recompute the receive throughput (10⁶ bit/s) from the send throughput and the calls."""
    frame, texts = published_rows(name), published.printed(name)
    rate = "local_send_throughput_mbps"
    share = (frame["remote_recv_calls"] / frame["local_send_calls"]).to_numpy()
    low, high = (
        share * (frame[rate] + sign * half_units(texts[rate])).to_numpy() for sign in (-1, 1)
    )
    what = "Receive throughput, recomputed from send throughput × calls received / sent"
    return _check(what, frame, texts["remote_recv_throughput_mbps"], low, high)


def _check(
    what: str,
    frame: pd.DataFrame,
    texts: pd.Series[Any],
    low: np.ndarray,
    high: np.ndarray,
    kind: ComparisonKind = "recomputed",
) -> Agreement:
    """Count the rows whose printed figure agrees with [low, high], and name the first that differs.

    `texts` has the printed figures.
    """
    printed, half = texts.to_numpy(dtype=float), half_units(texts)
    meets = (low <= printed + half + EDGE) & (high >= printed - half - EDGE)
    rows = "1 row" if len(meets) == 1 else f"{len(meets)} rows"
    computed = f"{int(meets.sum())} of {rows} within rounding"
    if not meets.all():
        at = int(np.flatnonzero(~meets)[0])
        run, text = frame["run"].iloc[at], texts.iloc[at]
        computed += f"; run {run}: {low[at]:.5g} to {high[at]:.5g}, not {text}"
    return Agreement(what, rows, computed, bool(meets.all()), kind=kind)
