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

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import frames, pooling, wording
from netlimits.analysis.statistics import contrasts
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
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Each run's service demand against its segments per ACK, beside those of the base.

    `base` is the segments per ACK to compare with; left out, the smallest of each series (where
    runs have a configuration, all runs of that one).
    Returns, for each series by segments per ACK: the series' factors, `ratio`'s column,
    `throughput_mbps`, the metric, `change_pct` (against the base), `reverse_pct` (the base
    against this), `anomaly`, and of all runs that belong together `mean_change_pct` with its 95 %
    interval `change_low_pct` and `change_high_pct` (`statistics.contrasts`: within blocks where
    there are any; NaN for lone runs); `config` where the frame has it. `attrs["link_limited"]` is
    False where no link limited most runs. Raises DataError for what is not there, or a series
    without the base.
    """
    frame, (keys, (ratio,), meant) = frames.apart(frame, series, ratio, pool)
    _refuse_several(frame, keys, ratio, meant)
    metric = frames.metric_beside(frame, of, [*keys, ratio]).column
    rate = frames.metric_beside(frame, "throughput", [*keys, ratio]).column
    runs = frames.complete(frames.usable(frame), list(dict.fromkeys((ratio, metric, rate))))
    if not (
        pd.api.types.is_numeric_dtype(runs[ratio]) and (runs[[ratio, metric]] > 0).all(axis=None)
    ):
        raise DataError(f"{ratio} and {metric} must be numbers above zero in every run")
    parts = []
    for key, part in frames.groups(runs, keys):
        ordered = part.sort_values(ratio, kind="stable")
        at_base = _at_base(ordered, ratio, base)
        reference = at_base[metric].mean()
        if pd.isna(reference):
            where = ", ".join(wording.phrases(key, keys)) or "these runs"
            raise DataError(f"{where}: no run has {base:g} segments per ACK to compare with")
        link = ordered[rate].max() if link_mbps is None else link_mbps
        parts.append(
            ordered[list(dict.fromkeys((*keys, *_config(ordered), ratio, rate, metric)))].assign(
                change_pct=100 * (ordered[metric] / reference - 1),
                reverse_pct=100 * (reference / ordered[metric] - 1),
                anomaly=ordered[rate] < (1 - tolerance) * link,
                **_changes(ordered, at_base, metric, ratio),
            )
        )
    table = pd.concat(parts, ignore_index=True)
    if link_mbps is None and table["anomaly"].mean() > 0.5:
        table["anomaly"] = False
        table.attrs["link_limited"] = False
    return table


def _refuse_several(
    frame: pd.DataFrame, keys: Sequence[str], ratio: str, pool: Sequence[str]
) -> None:
    """Raise DataError if more than one factor differs along a curve, or any if the ratio is set."""
    moving = along(frame, [*keys, *pool], ratio)
    if len(moving) > (0 if was_set(frame, ratio) else 1):
        raise DataError(
            f"runs that differ in {pooling.phrase(moving)} would be one curve, along which one "
            "thing moves the segments per ACK: put the others into series, or say that it is "
            f"meant: `pool` (--pool {list(moving)[-1]})"
        )


def along(frame: pd.DataFrame, keys: Sequence[str], ratio: str) -> dict[str, list[object]]:
    """The factors that differ along a curve: name -> their values.

    The factors in `keys` are left out, and so is the ratio where it was set.
    """
    mine = [ratio] if was_set(frame, ratio) else []
    return pooling.left_out(frames.usable(frame), [*keys, *mine])


def points(frame: pd.DataFrame, factors: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The one column by which the points of a curve differ: the ratio, or what moves it."""
    ratio = options["ratio"]
    frames.factors(frame, [ratio, *factors])
    if was_set(frame, ratio):
        return [ratio]
    moving = along(frame, factors, ratio)  # that of most values, as it makes most points
    return sorted(moving, key=lambda name: -len(moving[name]))[:1]


def was_set(frame: pd.DataFrame, ratio: str) -> bool:
    """Whether the ratio is a factor, rather than measured in each run."""
    return CONFIG not in frame.columns or pooling.is_factor(frame, ratio)


def _changes(
    ordered: pd.DataFrame, at_base: pd.DataFrame, metric: str, ratio: str
) -> dict[str, pd.Series[float]]:
    """The mean change of each configuration (or ratio) from the base, with its 95 % interval."""
    together = next(iter(_config(ordered)), ratio)
    blocks = frames.blocks(ordered)
    changes = pd.DataFrame(
        np.nan, ordered.index, ["mean_change_pct", "change_low_pct", "change_high_pct"]
    )
    for _, part in ordered.groupby(together, sort=False):
        if part.index.equals(at_base.index):
            changes.loc[part.index, "mean_change_pct"] = 0.0
            continue
        sample, base_sample = (x[metric].to_numpy(dtype=float) for x in (part, at_base))
        pair = None
        if blocks is not None:
            pair = blocks[part.index].to_numpy(), blocks[at_base.index].to_numpy()
        contrast = contrasts.ratio(sample, base_sample, pair)
        changes.loc[part.index] = [100 * (x - 1) for x in contrast[:3]]
    return {str(name): changes[name] for name in changes}


def _config(runs: pd.DataFrame) -> list[str]:
    return [CONFIG] if CONFIG in runs.columns else []


def _at_base(ordered: pd.DataFrame, ratio: str, base: float | None) -> pd.DataFrame:
    """The runs to compare with: those whose ratio is `base`; empty where there are none."""
    column = ratio if base is not None else next(iter(_config(ordered)), ratio)
    same: pd.Series[bool] = ordered[column] == (ordered[column].iloc[0] if base is None else base)
    return ordered[same]
