"""Chart of runs over time: panels of samples, above a strip that shows the limit of each end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from netlimits.analysis import frames
from netlimits.analysis.sources.timeline import (
    LIMITS,
    PANELS,
    clock_note,
    columns,
    medians,
    panels,
    values,
)
from netlimits.charts._colours import (
    BLACK,
    GREEN,
    GREY,
    KNOWN,
    LINES,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    SeriesStyle,
)
from netlimits.charts._labels import heading, label_ends
from netlimits.charts._style import Chart, style
from netlimits.errors import DataError

COLOURS = {"local": KNOWN["sender"], "remote": KNOWN["receiver"]}

LIMIT_COLOURS = dict(zip(LIMITS, (SKY, PURPLE, GREY, ORANGE, VERMILION, GREEN), strict=True))
"""Limit -> its colour in the strip."""

KINDS = (SKY, KNOWN["sender"], VERMILION, PURPLE, GREY)
"""Colours of the parts of a stacked panel."""

FAINT, THIN = 0.3, 0.7
"""Opacity and width of the lines of single runs behind their median."""

PANEL, STRIP, MARGIN = 1.25, 0.5, 1.0
"""Heights in inches of a panel, of the strip, and of heading and time axis together."""


def timeline(
    frame: pd.DataFrame,
    of: str | Sequence[str] | None = None,
    run: int | None = None,
    title: str | None = None,
) -> Chart:
    """Draw samples over time, such as throughput, windows and CPUs, and the limit of each end.

    Several runs are drawn with their median.

    Args:
        frame: `campaign.timeline(run)`, or `campaign.timelines(runs)` of one configuration.
        of: Panels to stack (names in `charts.PANELS`), by default the usual panels that have data.
        run: Run to draw, if the frame contains several.
        title: Title of the chart, instead of a standard title.

    Returns:
        The panels over seconds since the first data, above a strip of the limits. A stacked panel
        has one copy for each end.

    Raises:
        DataError: A panel does not exist or has no data, no panel has data, or the run does not
            exist.
    """
    rows = frames.one_run(frame, run)
    rows = rows[rows["time_s"] >= 0]
    chosen = panels(rows, of)
    if not chosen:
        raise DataError("the samples of these runs show nothing that this chart draws")
    places = list(_places(rows, chosen))
    heights = [PANEL] * len(places) + [STRIP]
    with style():
        figure = Chart(figsize=(8.2, sum(heights) + MARGIN), layout="constrained")
        axes = figure.subplots(
            len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
        )[:, 0]
        for at, (panel, end) in zip(axes, places, strict=False):
            if PANELS[panel].stacked:
                _sum(at, rows, panel, end)
            else:
                _lines(at, rows, panel)
        _strip(axes[-1], rows)
        changes = list(_changes(frame, run))
        for at in axes[:-1]:
            for time, _, _ in changes:
                at.axvline(time, color=BLACK, linewidth=0.8, linestyle=(0, (2, 2)))
        axes[-1].set_xlabel("Time since the first data (s)")
        axes[-1].set_xlim(0.0, float(rows["time_s"].max()))
        heading(axes[0], title or _title(rows), *_about(frame, rows, changes))
    return figure


def _places(rows: pd.DataFrame, chosen: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the panel and the end of each axes. The end is "" if the axes show both ends."""
    for panel in chosen:
        if not PANELS[panel].stacked:
            yield panel, ""
            continue
        for end in ("local", "remote"):
            if columns(rows[rows["end"] == end], panel):
                yield panel, end


def _lines(axes: Axes, rows: pd.DataFrame, panel: str) -> None:
    """Draw the median of each column and end, and faint lines for the single runs behind it."""
    ends: list[tuple[float, float, SeriesStyle]] = []
    several = rows["run"].nunique() > 1
    for place, column in enumerate(PANELS[panel].lines):
        if column not in rows.columns:
            continue
        for end, part in rows[rows[column].notna()].groupby("end", sort=False):
            colour, line = COLOURS[str(end)], LINES[place % len(LINES)]
            if several:
                for _, run in part.groupby("run", sort=False):
                    known = values(run, column, panel)
                    axes.plot(run["time_s"], known, color=colour, linestyle=line, alpha=FAINT,
                              linewidth=THIN)  # fmt: skip
            middle = medians(part, column, panel)
            if middle.empty:
                continue
            # mark the points of a line with one or two points, which is hard to see otherwise
            marker = "o" if len(middle) < 3 else ""
            axes.plot(middle["time_s"], middle[column], color=colour, linestyle=line, linewidth=1.5,
                      marker=marker)  # fmt: skip
            words = (_role(part), PANELS[panel].lines[column])
            label = SeriesStyle(" ".join(filter(None, words)), colour, line, "")
            ends.append((float(middle["time_s"].iloc[-1]), float(middle[column].iloc[-1]), label))
    axes.set_ylim(bottom=0)
    _name(axes, panel)
    label_ends(axes, ends)


def _sum(axes: Axes, rows: pd.DataFrame, panel: str, end: str) -> None:
    """Draw a stacked panel of one end, with the median of the runs for each part."""
    part = rows[rows["end"] == end]
    names = columns(part, panel)
    curves = [medians(part[part[name].notna()], name, panel) for name in names]
    times = curves[0]["time_s"].to_numpy(float)
    each = [
        np.interp(times, curve["time_s"], curve[name])
        for name, curve in zip(names, curves, strict=True)
    ]
    colours = [KINDS[list(PANELS[panel].lines).index(name)] for name in names]
    axes.stackplot(times, each, colors=colours, linewidth=0)
    axes.set_ylim(0, max(100.0 if panel == "cpu" else 0.0, float(np.sum(each, axis=0).max())))
    labels = [PANELS[panel].lines[name] for name in names]
    keys = [Patch(color=c, label=text) for c, text in zip(colours, labels, strict=True)]
    axes.legend(handles=keys[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), title=_role(part))
    _name(axes, panel)


def _strip(axes: Axes, rows: pd.DataFrame) -> None:
    """Shade each interval of an end in the colour of the limit that most runs had, if any."""
    names = []
    seen = set()
    for place, end in enumerate(("remote", "local")):
        part = rows[(rows["end"] == end) & rows["interval_s"].notna()]
        names.append(_role(part) if len(part) else end)
        if part.empty:
            continue
        step = float(part["interval_s"].median())
        runs = part["run"].nunique()
        begins = step * np.floor((part["time_s"] - part["interval_s"] / 2) / step)
        for (begin, limit), group in part.groupby([begins, "limited_by"]):
            if limit and group["run"].nunique() * 2 > runs:
                seen.add(limit)
                bar = [(float(str(begin)), step)]
                axes.broken_barh(bar, (place - 0.4, 0.8), color=LIMIT_COLOURS[str(limit)])
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(visible=False)
    keys = [Patch(color=LIMIT_COLOURS[limit], label=limit) for limit in LIMITS if limit in seen]
    if keys:
        axes.legend(handles=keys, loc="center left", bbox_to_anchor=(1.0, 0.5), title="limited by")


def _changes(frame: pd.DataFrame, run: int | None) -> Iterator[tuple[float, float, float]]:
    """Yield (time in s, throughput before, throughput after) of the changes in a single run.

    Yield nothing if several runs are drawn.
    """
    known = frame.attrs.get("changes", ())
    if isinstance(known, dict):
        only = run if run is not None else (next(iter(known)) if len(known) == 1 else None)
        known = known.get(only, ())
    yield from known


def _role(part: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(map(str, part["role"])))


def _name(axes: Axes, panel: str) -> None:
    axes.set_ylabel(f"{PANELS[panel].title}\n({PANELS[panel].unit})")


def _title(rows: pd.DataFrame) -> str:
    runs = rows["run"].unique()
    return f"Run {runs[0]} over time" if len(runs) == 1 else f"{len(runs)} runs over time"


def _about(
    frame: pd.DataFrame, rows: pd.DataFrame, changes: Sequence[tuple[float, float, float]]
) -> list[str]:
    """Return the notes of the subtitle: run, medians, changes of throughput and clock error."""
    count = rows["run"].nunique()
    parts = [
        str(frame.attrs.get("run", "")).removeprefix(f"run {rows['run'].iloc[0]}").lstrip(", ")
    ]
    parts += [f"median of {count} runs, each faint"] if count > 1 else []
    parts += [
        f"from {at:.1f} s on {after:,.4g} instead of {before:,.4g} Mbit/s"
        for at, before, after in changes
    ]
    return [*parts, clock_note(frame)]
