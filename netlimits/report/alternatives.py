"""What a chart shows as a table: for who cannot see it, and for who wants the numbers.

Each kind of chart is drawn from a frame that an analysis makes; the table is that frame, or where
it has a row for every run or packet, what a reader takes from the curve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from netlimits.analysis import (
    acks,
    aggregate,
    bursts,
    cost,
    frames,
    pacing,
    packet_rate,
    spread,
    wording,
)
from netlimits.analysis.percentiles import percentiles
from netlimits.errors import DataError

QUARTILES = (0, 25, 50, 75, 100)
ROWS = 60
"""More are left to `results.csv`."""


def alternative(kind: str, data: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """The table beside a chart of this kind; `attrs["notes"]` says what is left out.

    Raises DataError as the chart itself does, and for a kind that has no table here.
    """
    if kind not in ALTERNATIVES:
        raise DataError(f"chart {kind} has no table beside it")
    make, takes = ALTERNATIVES[kind]
    table = make(data, **{name: value for name, value in options.items() if name in takes})
    notes = list(table.attrs.get("notes", ()))
    if len(table) > ROWS:
        notes.append(f"the first {ROWS} of {len(table)} rows")
        table = table.head(ROWS)
    return _plain(table, notes)


def _plain(table: pd.DataFrame, notes: Sequence[str]) -> pd.DataFrame:
    """The table with these notes and no other attributes, which may hold frames."""
    copy = pd.DataFrame(table)
    copy.attrs = {"notes": tuple(notes)}
    return copy


def _quartiles(
    frame: pd.DataFrame,
    of: str,
    series: str | Sequence[str] = (),
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """The curve of each series at five places."""
    frame, (keys, meant) = frames.apart(frame, series, pool)
    column = frames.column(frame, of).column
    rows = []
    for key, part in frames.groups(percentiles(frame, of, keys, pool=meant), keys):
        curve = part.set_index("percentile")[column]
        rows.append(
            dict(zip(keys, key, strict=True))
            | {"runs": int(part["n"].iloc[0])}
            | {f"{place} %": _at(curve, place) for place in QUARTILES}
        )
    table = pd.DataFrame(rows)
    table.attrs["notes"] = (
        f"{wording.title(column)} at percentiles of the runs, read off the curve",
    )
    return table


def _at(curve: pd.Series[Any], place: float) -> float:
    """The curve at a percentile, between its points a straight line, as it is drawn."""
    import numpy as np

    return float(np.interp(place, curve.index.to_numpy(dtype=float), curve.to_numpy(dtype=float)))


def _highest(
    intervals: pd.DataFrame,
    window_s: float | None = None,
    by: str = "mtu",
    series: str | Sequence[str] = (),
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Least, mean and greatest of the runs' highest averages in each bar."""
    runs = aggregate.highest_averages(intervals, window_s)
    return spread.spread(runs, "highest_average", by, series, pool=pool)


def _sum(
    intervals: pd.DataFrame,
    of: str = "throughput",
    stream: str | Sequence[str] = "stream",
    step: float | None = None,
    run: int | None = None,
) -> pd.DataFrame:
    """The streams' sum over time, in at most ROWS steps."""
    rows = frames.one_run(intervals, run)
    table = aggregate.aggregate(rows, of, stream, step=step)
    if len(table) > ROWS:
        seconds = float(table["end_s"].iloc[-1] - table["start_s"].iloc[0])
        table = aggregate.aggregate(rows, of, stream, step=seconds / ROWS)
    return table


def _bursts(
    packets: pd.DataFrame,
    connection: int | None = None,
    first_transaction: int = 1,
    gap_s: float | None = None,
    run: int | None = None,
) -> pd.DataFrame:
    """The bursts of the connection with most data."""
    rows = frames.one_run(packets, run)
    held = rows.groupby("connection")["length_bytes"].sum()
    chosen = held.idxmax() if connection is None else connection
    table = bursts.bursts(
        rows[rows["connection"] == chosen], gap_s=gap_s, first_transaction=first_transaction
    )
    return table[["transaction", "burst", "start_s", "end_s", "segments"]]


def _sizes(packets: pd.DataFrame, run: int | None = None) -> pd.DataFrame:
    return bursts.burst_sizes(bursts.bursts(frames.one_run(packets, run)))


ALTERNATIVES: Mapping[str, tuple[Callable[..., pd.DataFrame], tuple[str, ...]]] = {
    "percentiles": (_quartiles, ("of", "series", "pool")),
    "spread": (spread.spread, ("of", "by", "series", "pool")),
    "cost": (cost.cost, ("of", "size", "series", "pool")),
    "packet_rate": (packet_rate.packet_rate, ("of", "size", "pool")),
    "pacing": (pacing.pacing, ("requested", "of", "size", "pool")),
    "acks": (acks.acks, ("of", "series", "ratio", "tolerance", "pool")),
    "highest_average": (_highest, ("window_s", "by", "series", "pool")),
    "aggregate": (_sum, ("of", "stream", "step", "run")),
    "first_bursts": (bursts.over_transactions, ("series", "first_transaction")),
    "bursts": (_bursts, ("connection", "first_transaction", "gap_s", "run")),
    "burst_histogram": (_sizes, ("run",)),
}
"""Kind of chart -> what makes its table, and the chart's options that concern it."""
