"""What acknowledgements cost: service demand against the segments that one ACK answers.

The sender's CPU handles an ACK for every so many segments; the more segments, the less CPU
("Data demonstrating the CPU overhead of ACKs", 2005). A change reads both ways: from 2 to 8
segments per ACK is so many percent less, from 8 to 2 so many percent more.

A run is a *throughput anomaly* when its throughput is below `1 − tolerance` (99 %) of the
link's rate: the highest throughput of its series (another MSS has other headers), or the one
given. There the sender does not fill its congestion window, the receiver's delayed ACKs come in,
and segments per ACK are no longer what was set; such a run says nothing about the cost of ACKs.
It is an exception, though, and needs a rule: where fewer than half of all runs reach their
series' highest throughput, it is not a link that limited them, and none is called an anomaly.

Segments per ACK may be set, as in the mail, or measured in each run. Then no two runs have quite
the same, and what belongs together is a configuration (`config`), here as in the chart.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlimits.analysis import frames
from netlimits.errors import DataError

TOLERANCE = 0.01
CONFIG = "config"
"""The column that tells which runs are repetitions of each other."""


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

    `base` is the segments per ACK to compare with; left out, the smallest of each series (where
    runs have a configuration, all runs of that one).
    Returns, for each series by segments per ACK: the series' factors, `ratio`'s column,
    `throughput_mbps`, the metric, `change_pct` (against the base), `reverse_pct` (the base
    against this), and `anomaly`; `config` where the frame has it. `attrs["link_limited"]` is
    False where no link limited most runs. Raises DataError for what is not there, or a series
    without the base.
    """
    keys = frames.factors(frame, series)
    frames.factors(frame, ratio)
    metric = frames.column(frame, of).column
    rate = frames.column(frame, "throughput").column
    runs = frames.complete(frames.usable(frame), [ratio, metric, rate])
    parts = []
    for key, part in frames.groups(runs, keys):
        ordered = part.sort_values(ratio, kind="stable")
        reference = _at_base(ordered, ratio, base)[metric].mean()
        if pd.isna(reference):
            where = ", ".join(frames.said(key, keys)) or "these runs"
            raise DataError(f"{where}: no run has {base:g} segments per ACK to compare with")
        link = ordered[rate].max() if link_mbps is None else link_mbps
        parts.append(
            ordered[[*keys, *_config(ordered), ratio, rate, metric]].assign(
                change_pct=100 * (ordered[metric] / reference - 1),
                reverse_pct=100 * (reference / ordered[metric] - 1),
                anomaly=ordered[rate] < (1 - tolerance) * link,
            )
        )
    table = pd.concat(parts, ignore_index=True)
    if link_mbps is None and table["anomaly"].mean() > 0.5:
        table["anomaly"] = False
        table.attrs["link_limited"] = False
    return table


def _config(runs: pd.DataFrame) -> list[str]:
    return [CONFIG] if CONFIG in runs.columns else []


def _at_base(ordered: pd.DataFrame, ratio: str, base: float | None) -> pd.DataFrame:
    """The runs to compare with, of runs by their ratio; none where no run has `base`."""
    column = ratio if base is not None else next(iter(_config(ordered)), ratio)
    same: pd.Series[bool] = ordered[column] == (ordered[column].iloc[0] if base is None else base)
    return ordered[same]
