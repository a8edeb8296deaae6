"""What acknowledgements cost: service demand against the segments that one ACK answers.

The sender's CPU handles an ACK for every so many segments; the more segments, the less CPU
("Data demonstrating the CPU overhead of ACKs", 2005). A change reads both ways: from 2 to 8
segments per ACK is so many percent less, from 8 to 2 so many percent more.

A run is a *throughput anomaly* when its throughput is below `1 − tolerance` (99 %) of the
link's rate: the highest throughput of the frame, or the one given. There the sender does not
fill its congestion window, the receiver's delayed ACKs come in, and segments per ACK are no
longer what was set; such a run says nothing about the cost of ACKs.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlimits.analysis import frames
from netlimits.errors import DataError

TOLERANCE = 0.01


def acks(
    frame: pd.DataFrame,
    of: str = "local_sd",
    series: str | Sequence[str] = (),
    base: float | None = None,
    link_mbps: float | None = None,
    tolerance: float = TOLERANCE,
    ratio: str = "segments_per_ack",
) -> pd.DataFrame:
    """Each run's service demand against its segments per ACK, beside those of the base.

    `base` is the segments per ACK to compare with, the smallest of each series when left out.
    Returns, for each series by segments per ACK: the series' factors, `ratio`'s column,
    `throughput_mbps`, the metric, `change_pct` (against the base), `reverse_pct` (the base
    against this), and `anomaly`. Raises DataError for what is not there, or a series without
    the base.
    """
    keys = frames.factors(frame, series)
    frames.factors(frame, ratio)
    metric = frames.column(frame, of).column
    rate = frames.column(frame, "throughput").column
    runs = frames.complete(frames.usable(frame), [ratio, metric, rate])
    link = runs[rate].max() if link_mbps is None else link_mbps
    parts = []
    for key, part in frames.groups(runs, keys):
        ordered = part.sort_values(ratio, kind="stable")
        start = ordered[ratio].iloc[0] if base is None else base
        at_base = ordered.loc[ordered[ratio] == start, metric]
        if at_base.empty:
            where = ", ".join(frames.said(key, keys)) or "these runs"
            raise DataError(f"{where}: no run has {start:g} segments per ACK to compare with")
        reference = at_base.mean()
        parts.append(
            ordered[[*keys, ratio, rate, metric]].assign(
                change_pct=100 * (ordered[metric] / reference - 1),
                reverse_pct=100 * (reference / ordered[metric] - 1),
                anomaly=ordered[rate] < (1 - tolerance) * link,
            )
        )
    return pd.concat(parts, ignore_index=True)
