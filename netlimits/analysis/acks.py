"""The cost of acknowledgements: service demand against segments per ACK.

A run is a *throughput anomaly* if its throughput is below `1 − tolerance` of the link's rate: the
highest throughput of its series, or the given rate. Such a run says nothing about the cost of ACKs,
because its segments per ACK are not what was set. If the rate is not given and more than half of
all runs are that slow, no link limited them, and no run is an anomaly.
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
"""Column that identifies a run's configuration."""


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
    """Compare each run's service demand with that at a base number of segments per ACK.

    Args:
        frame: A row for each run.
        of: Metric to compare: a service demand.
        series: Factors whose combinations are compared separately.
        base: Segments per ACK to compare with, by default the smallest number in each series. If
            the frame has a column `config`, the base is then all runs of the configuration that
            has this smallest number.
        link_mbps: The link's rate in Mbit/s, by default the highest throughput of each series.
        tolerance: Shortfall from the link's rate, as a share, beyond which a run is an anomaly.
        ratio: Column with the segments per ACK.
        pool: Factors that may differ within a series.

    Returns:
        A row for each run, sorted by series and segments per ACK: the factors, `config` if present,
        the column named by `ratio`, `throughput_mbps`, the metric, `change_pct` (from the base to
        this run), `reverse_pct` (from this run to the base) and `anomaly`. `mean_change_pct` is the
        mean change of all runs of the configuration, with its 95 % interval `change_low_pct` and
        `change_high_pct` (`analysis.statistics.contrasts`; NaN for a single run).
        `attrs["link_limited"]` is False if no link limited most runs.

    Raises:
        DataError: A column is missing, a value is not above zero, a series has no run at the base,
            or runs differ in a factor that is not in `series` or `pool`.
    """
    frame, (keys, (ratio,), pooled) = frames.resolve(frame, series, ratio, pool)
    _refuse_several(frame, keys, ratio, pooled)
    metric = frames.metric_for(frame, of, [*keys, ratio]).column
    rate = frames.metric_for(frame, "throughput", [*keys, ratio]).column
    runs = frames.complete(frames.usable(frame), list(dict.fromkeys((ratio, metric, rate))))
    for name in (ratio, metric):
        frames.positive(runs, name)
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
    """Raise DataError if more than one factor changes the segments per ACK along a curve."""
    moving = _varied_along(frame, [*keys, *pool], ratio)
    if len(moving) > (0 if _was_set(frame, ratio) else 1):
        raise DataError(
            f"runs that differ in {pooling.phrase(moving)} would be one curve, on which only one "
            "factor may change the segments per ACK: name the others in series, or in pool to "
            f"combine them (--pool {list(moving)[-1]})"
        )


def _varied_along(frame: pd.DataFrame, keys: Sequence[str], ratio: str) -> dict[str, list[object]]:
    """Return the factors other than the ratio that differ along a curve, with their values."""
    mine = [ratio] if _was_set(frame, ratio) else []
    return pooling.differing_factors(frames.usable(frame), [*keys, *mine])


def points(frame: pd.DataFrame, factors: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Return the column that distinguishes the points of a curve.

    Args:
        frame: A row for each run.
        factors: Factors that distinguish the curves.
        options: Options of the chart; `ratio` is the column with the segments per ACK.

    Returns:
        The ratio if it is a factor, otherwise the factor that changes the measured ratio. An empty
        list if no factor does.

    Raises:
        DataError: A column is missing.
    """
    ratio = options["ratio"]
    frames.factors(frame, [ratio, *factors])
    if _was_set(frame, ratio):
        return [ratio]
    moving = _varied_along(frame, factors, ratio)
    # if several factors differ, the one with the most values gives the most points
    return sorted(moving, key=lambda name: -len(moving[name]))[:1]


def _was_set(frame: pd.DataFrame, ratio: str) -> bool:
    """Return True if the ratio was set as a factor, False if it was measured.

    Without a column `config` this cannot be decided, and the ratio counts as set.
    """
    return CONFIG not in frame.columns or pooling.is_factor(frame, ratio)


def _changes(
    ordered: pd.DataFrame, at_base: pd.DataFrame, metric: str, ratio: str
) -> dict[str, pd.Series[float]]:
    """Return the mean change of each configuration (or ratio) from the base, with its interval."""
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
    """Return the runs to compare with; empty if no run has `base` segments per ACK."""
    column = ratio if base is not None else next(iter(_config(ordered)), ratio)
    same: pd.Series[bool] = ordered[column] == (ordered[column].iloc[0] if base is None else base)
    return ordered[same]
