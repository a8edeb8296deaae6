"""Charts of a mesh: its pairs of hosts as a heat map, and its hosts as points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
from matplotlib.patches import Rectangle

from netlimits.analysis import caveats, frames
from netlimits.analysis.mesh import (
    BLOCKS,
    RECEIVER,
    SENDER,
    host_key,
    hosts,
    links,
    outliers,
    too_few,
)
from netlimits.charts._colours import BLUE, GREY, ORANGE
from netlimits.charts._labels import heading
from netlimits.charts._style import Chart, blank, style

NAMED = 6
"""Maximum number of outliers to name in a subtitle."""

LABELLED = 24
"""Number of hosts up to which each host has a label on the axes of the heat map."""


def mesh_links(
    frame: pd.DataFrame,
    of: str = "throughput",
    pool: str | Sequence[str] = (),
    title: str | None = None,
) -> Chart:
    """Draw a heat map of the pairs of hosts, with senders as rows and receivers as columns.

    The colour of a cell is the pair's difference from the median pair in percent. Outliers have a
    black border.

    Args:
        frame: Frame with a row for each run of a mesh.
        of: Metric to draw.
        pool: Factors that may differ within a pair.
        title: Title of the chart, by default made from the metric.

    Returns:
        One panel and a colour bar in percent. The panel is larger for more hosts.

    Raises:
        DataError: The runs are not a mesh's, a value is not above zero, or runs of a pair differ in
            a factor that is not in `pool`.
    """
    table = links(frame, of, pool)
    metric = frames.column(frame, of)
    names = sorted({*table[SENDER], *table[RECEIVER]}, key=host_key)
    place = {name: index for index, name in enumerate(names)}
    cells = np.full((len(names), len(names)), np.nan)
    for row in table.to_dict("records"):
        cells[place[row[SENDER]], place[row[RECEIVER]]] = 100 * (row["ratio"] - 1)
    most = float(np.nanmax(np.abs(cells))) or 1.0
    colours = LinearSegmentedColormap.from_list("mesh", [ORANGE, "#ffffff", BLUE])
    size = min(9.0, 3.6 + 0.2 * len(names))
    with style():
        chart, (axes,) = blank(size + 0.8, size)
        norm = TwoSlopeNorm(0.0, -most, most)
        image = axes.imshow(cells, cmap=colours, norm=norm, interpolation="nearest")
        axes.set_facecolor("#eeeeee")
        for row in table[table["outlier"]].to_dict("records"):
            corner = (place[row[RECEIVER]] - 0.5, place[row[SENDER]] - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#000000", lw=1.6))
        ticks, labels = _ticks(names, LABELLED)
        axes.set_xticks(ticks, labels, rotation=90)
        axes.set_yticks(ticks, labels)
        axes.grid(visible=False)
        axes.set_xlabel("Receiver")
        axes.set_ylabel("Sender")
        bar = chart.colorbar(image, ax=axes, shrink=0.8)
        bar.set_label(f"{metric.title}, % from the median pair")
        heading(axes, title or f"{metric.title} by pair", *_notes(frame, of, pool))
    return chart


def mesh_hosts(
    frame: pd.DataFrame,
    of: str = "throughput",
    pool: str | Sequence[str] = (),
    title: str | None = None,
) -> Chart:
    """Draw the effect of each host as sender and as receiver. Outliers have a circle.

    An effect is the difference from the median of all hosts in percent.

    Args:
        frame: Frame with a row for each run of a mesh.
        of: Metric to draw.
        pool: Factors that may differ within a pair.
        title: Title of the chart, by default made from the metric.

    Returns:
        One panel: a row for each host, over its effects in percent.

    Raises:
        DataError: The runs are not a mesh's, a value is not above zero, or runs of a pair differ in
            a factor that is not in `pool`.
    """
    table = hosts(frame, of, pool)
    metric = frames.column(frame, of)
    names = sorted({*table["host"]}, key=host_key)
    place = {name: index for index, name in enumerate(names)}
    with style():
        chart, (axes,) = blank(6.8, min(9.0, 1.6 + 0.22 * len(names)))
        axes.axvline(0, color=GREY, lw=1)
        for end, colour, marker, offset in (
            (SENDER, BLUE, "o", -0.15),
            (RECEIVER, ORANGE, "s", 0.15),
        ):
            rows = table[table["end"] == end]
            x = 100 * (rows["ratio"] - 1)
            y = [place[name] + offset for name in rows["host"]]
            axes.plot(x, y, marker, color=colour, ms=4.5, label=f"as {end}")
            odd = rows["outlier"].to_numpy(dtype=bool)
            axes.plot(x[odd], np.array(y)[odd], "o", mfc="none", mec="#000000", ms=10, mew=1.4)
        axes.set_yticks(*_ticks(names, 2 * LABELLED))
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"{metric.title}, % from the median of all hosts")
        axes.legend(loc="best")
        heading(axes, title or f"{metric.title} by host", *_notes(frame, of, pool))
    return chart


def _ticks(names: Sequence[str], most: int) -> tuple[Sequence[int], Sequence[str]]:
    """Return the places and names of every host, or of every nth if there are more than `most`."""
    every = -(-len(names) // most)
    return range(0, len(names), every), names[::every]


def _notes(frame: pd.DataFrame, of: str, pool: str | Sequence[str]) -> tuple[str, ...]:
    """Return the notes of the subtitle: the better direction, the outliers, and caveats."""
    metric = frames.column(frame, of)
    odd = outliers(frame, of, pool)
    more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    none = "no outliers"
    if too_few(frame, of, pool):
        none = f"too few blocks to name outliers (fewer than {BLOCKS})"
    named = f"outliers: {', '.join(odd[:NAMED])}{more}" if odd else none
    return metric.direction, named, *caveats.notes(frame, [metric.column])
