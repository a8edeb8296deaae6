"""The reports' percentile charts as data: the metric's value at each percentile of the runs.

Plotting position: the k-th smallest of n runs stands at 100 (k − 1) / (n − 1), so the least is
at 0, the median at 50 and the greatest at 100; a lone run stands at 50. This is rule 7 of
Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996), which numpy and pandas also
interpolate by: reading the curve at p gives `Series.quantile(p / 100)`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from netlimits.analysis import cells, frames, pooling
from netlimits.analysis.sources.relations import Runs
from netlimits.analysis.sources.sketches import sketched


def percentiles(
    frame: Runs,
    of: str,
    series: str | Sequence[str] = (),
    points: int = 1001,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """One row a run and series: the series' factors, `percentile` (0 to 100), the metric, `n`.

    A series of more than `points` runs is given at `points` evenly spaced percentiles of the
    same rule instead (least and greatest included), so that a million runs still make a chart.
    `frame` may be a relation (`campaign.relation()`). Raises DataError when the metric or a factor
    is not there, some run lacks the metric, or runs of a series differ in something that is
    neither among `series` nor meant to (`pool`).
    """
    whole = sketched(frame, of)
    sketch, (keys, meant) = frames.apart(whole, series, pool)
    metric = frames.metric_beside(sketch, of, keys)
    pooling.refuse(frames.usable(frames.labelled(sketch, *keys, *meant)), keys, meant)
    parts = []
    for key, values in cells.complete(frame, frames.factors(whole, series), metric):
        ordered = np.sort(values)
        n = len(ordered)
        position = np.linspace(0, 100, n) if n > 1 else np.array([50.0])
        if n > points:
            grid = np.linspace(0, 100, points)
            ordered, position = np.interp(grid, position, ordered), grid
        parts.append(
            pd.DataFrame(
                {
                    **dict(zip(keys, key, strict=True)),
                    "percentile": position,
                    metric.column: ordered,
                    "n": n,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
