"""Chart of the runs in the order of the plan, which shows drift and outliers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from netlimits.analysis import caveats, frames, wording
from netlimits.charts._colours import series_styles
from netlimits.charts._labels import heading, label_ends, thousands
from netlimits.charts._style import Chart, blank, style


def run_order(
    frame: pd.DataFrame,
    of: str,
    series: str | Sequence[str] = (),
    title: str | None = None,
) -> Chart:
    """Draw each run as a point, in the order of the plan.

    Args:
        frame: Frame with a row for each run (`campaign.frame()`).
        of: Metric to draw.
        series: Factors whose combinations have their own colours.
        title: Title of the chart, by default made from the metric.

    Raises:
        DataError: A column is missing, or no run is ok.
    """
    table = in_order(frame, of, series)
    frame, (keys,) = frames.resolve(frame, series)
    metric = frames.metric_for(frame, of, keys)
    parts = frames.groups(table, keys)
    styles = series_styles([key for key, _ in parts], keys)
    with style():
        figure, (axes,) = blank()
        ends = []
        for key, part in parts:
            x, y = part["run"].to_numpy(), part[metric.column].to_numpy()
            axes.plot(x, y, **styles[key].plot | {"linewidth": 0.5})
            ends.append((float(x[-1]), float(y[-1]), styles[key]))
        axes.set_xlabel("Run")
        axes.set_ylabel(metric.label)
        thousands(axes)
        by = " and ".join(wording.name(key) for key in keys)
        title = title or f"{metric.title} of each run{f' by {by}' if by else ''}"
        heading(axes, title, metric.direction, *caveats.notes(frame, [metric.column]))
        if keys:
            label_ends(axes, ends)
    return figure


def in_order(frame: pd.DataFrame, of: str, series: str | Sequence[str] = ()) -> pd.DataFrame:
    """Return the table for the chart `run_order`: a row for each run, with its number."""
    frame, (keys,) = frames.resolve(frame, series)
    column = frames.metric_for(frame, of, keys).column
    usable = frames.usable(frame).reset_index(drop=True)
    numbers = usable["run"] if "run" in usable else usable.index + 1
    return usable.assign(run=numbers)[[*keys, "run", column]].sort_values("run")
