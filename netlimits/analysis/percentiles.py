"""The reports' percentile charts as data: the metric's value at each percentile of the runs.

The k-th smallest of n runs is at 100 (k − 1) / (n − 1), rule 7 of Hyndman and Fan, "Sample
Quantiles in Statistical Packages" (1996), as in pandas; a single run is at 50.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from netlimits.analysis import frames, pooling
from netlimits.analysis.sources.relations import Runs
from netlimits.analysis.sources.sketches import sketched
from netlimits.analysis.statistics import cells


def percentiles(
    frame: Runs,
    of: str,
    series: str | Sequence[str] = (),
    points: int = 1001,
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Return the percentile of each run within its series.

    Args:
        frame: A row for each run, or a relation (`campaign.relation()`).
        of: The metric.
        series: Factors whose combinations are the series.
        points: Maximum number of rows of a series. A longer series is interpolated at this number
            of evenly spaced percentiles, including minimum and maximum.
        pool: Factors that may differ within a series.

    Returns:
        A row for each run: the factors, `percentile` (0 to 100), the metric, and `n`.

    Raises:
        DataError: A column is missing, a run lacks the metric, or runs of a series differ in a
            factor that is not in `series` or `pool`.
    """
    sketch_of_all = sketched(frame, of)
    sketch, (keys, pooled) = frames.resolve(sketch_of_all, series, pool)
    metric = frames.metric_for(sketch, of, keys)
    pooling.refuse(frames.usable(frames.labelled(sketch, *keys, *pooled)), keys, pooled)
    parts = []
    for key, values in cells.complete(frame, frames.factors(sketch_of_all, series), metric):
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
