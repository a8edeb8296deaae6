"""Percentile chart: all runs of each configuration, from the lowest value to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from netlimits.analysis import caveats, frames, wording
from netlimits.analysis.percentiles import percentiles as percentile_frame
from netlimits.charts._colours import series_styles
from netlimits.charts._labels import heading, label_ends, thousands, title_of
from netlimits.charts._marks import Marks
from netlimits.charts._style import Chart, blank, style


def percentiles(
    frame: pd.DataFrame,
    of: str,
    series: str | Sequence[str] = (),
    title: str | None = None,
    pool: str | Sequence[str] = (),
) -> Chart:
    """Draw all runs of each combination of `series`, from the lowest value to the highest.

    The x-axis is the percentile of the runs, as `analysis.percentiles` defines it. The y-axis is
    the metric. It includes 0, so that heights are comparable.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metric to draw.
        series: Factors whose combinations are the curves.
        title: Title of the chart, by default made from the metric.
        pool: Factors that may differ within a curve.

    Returns:
        One panel: the metric in its unit over percentiles from 0 to 100.

    Raises:
        DataError: A column is missing, a run lacks the metric, or runs of a curve differ in a
            factor that is not in `series` or `pool`.
    """
    frame, (keys, pooled) = frames.resolve(frame, series, pool)
    metric = frames.metric_for(frame, of, keys)
    table = percentile_frame(frame, of, keys, pool=pooled)
    parts = frames.groups(table, keys)
    styles = series_styles([key for key, _ in parts], keys)
    marks = Marks.from_frame(frame, keys)
    counts = sorted({int(part["n"].iloc[0]) for _, part in parts})
    with style():
        figure, (axes,) = blank()
        ends = []
        for key, part in parts:
            line = styles[key]
            x, y = part["percentile"].to_numpy(), part[metric.column].to_numpy()
            drawn = line.plot | {"clip_on": False}
            axes.plot(x, y, **(drawn if len(x) <= 40 else drawn | {"marker": ""}))
            ends.append((float(x[-1]), float(y[-1]), marks.in_style(line, key)))
        axes.set_xlim(0, 100)
        bottom, top = table[metric.column].min(), table[metric.column].max()
        axes.set_ylim(min(0, bottom * 1.06), max(0, top * 1.06) or 1)
        axes.set_xlabel("Percentile of the runs")
        axes.set_ylabel(metric.label)
        thousands(axes)
        runs = f"{counts[0]} to {counts[-1]} runs"
        if len(counts) == 1:
            runs = f"{counts[0]} run{'' if counts[0] == 1 else 's'}"
        about = f"{runs} a curve" if keys else runs
        title = title or title_of(metric, keys)
        heading(axes, title, metric.direction, about, *caveats.notes(frame, [metric.column]))
        marks.key(figure)
        if keys:
            label_ends(axes, ends)
    return figure


QUARTILES = (0, 25, 50, 75, 100)


def quartiles(
    frame: pd.DataFrame,
    of: str,
    series: str | Sequence[str] = (),
    pool: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Return the table for the charts `percentiles` and `boxes`: the quartiles of each series."""
    frame, (keys, pooled) = frames.resolve(frame, series, pool)
    column = frames.column(frame, of).column
    rows = []
    for key, part in frames.groups(percentile_frame(frame, of, keys, pool=pooled), keys):
        curve = part.set_index("percentile")[column]
        rows.append(
            dict(zip(keys, key, strict=True))
            | {"runs": int(part["n"].iloc[0])}
            | {f"{place} %": _at(curve, place) for place in QUARTILES}
        )
    table = pd.DataFrame(rows)
    table.attrs["notes"] = (
        f"{wording.title(column)} at percentiles of the runs, interpolated on the curve",
    )
    return table


def _at(curve: pd.Series[Any], place: float) -> float:
    """Return the value of a curve at the percentile `place`, interpolated linearly."""
    return float(np.interp(place, curve.index.to_numpy(dtype=float), curve.to_numpy(dtype=float)))
