import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import netlimits as nl
from netlimits import charts
from netlimits.analysis import goodput
from netlimits.analysis.sources import timeline
from netlimits.charts import _labels
from netlimits.cli.shared import drawing, entries
from netlimits.cli.shared.results import opened
from netlimits.errors import DataError
from netlimits.reproduce import ITEMS

GALLERY = Path(__file__).parents[2] / "experiments" / "gallery"
LABELLED = {
    *("acks", "aggregate", "bars", "boxes", "burst_histogram", "bursts", "cost", "first_bursts"),
    *("goodput", "highest_average", "mesh_hosts", "mesh_links", "pacing", "packet_rate"),
    *("percentiles", "spread", "timeline"),
}
"""Kinds of charts whose curves have labels at their ends."""
POINTS = _labels.LINE * 1.35
"""The height of a line of text."""


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_labels_keep_their_distance_their_order_and_stay_inside(positions: list[float]) -> None:
    places = _labels.spaced(positions, 0.05)
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    gaps = [places[b] - places[a] for a, b in itertools.pairwise(order)]
    assert all(gap >= 0.05 - 1e-9 for gap in gaps)
    assert min(places) >= -1e-9
    assert max(places) <= 1 + 1e-9


def shipped() -> Iterator[tuple[str, Figure]]:
    """A chart of each kind of the gallery's campaigns: every kind is among them."""
    drawn = set[str]()
    for folder in sorted(GALLERY.iterdir()):
        results = opened(folder)
        for entry in entries.charts(results.report, {}, results.frame):
            failed: list[DataError] = []
            for chart in drawing.drawings_of(results, entry, failed, lambda _: None):
                if chart.kind in drawn:
                    continue
                try:
                    yield chart.kind, chart.figure()
                except DataError:
                    continue  # runs that cannot make this chart
                drawn.add(chart.kind)


def published() -> Iterator[tuple[str, Figure]]:
    for _, item in ITEMS:
        yield from item.charts().items()


def ends(axes: Axes) -> Iterator[tuple[str, float, float, list[float]]]:
    """Each label beside a line: its text, place, and its leader's begin; ends of lines so coloured.

    Heights in points.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    scale = 72 / figure.dpi
    leaders = [line for line in figure.artists if line.get_transform() == axes.transAxes]
    texts = [
        t
        for t in axes.texts
        if t.get_transform() == axes.transAxes and t.get_position()[0] == _labels.TEXTS
    ]
    assert len(leaders) == len(texts)
    for text, leader in zip(texts, leaders, strict=True):
        place, begin = (
            scale * float(axes.transAxes.transform((0, y))[1])
            for y in (text.get_position()[1], leader.get_ydata()[0])
        )
        colour = to_hex(str(text.get_color()))
        same = [
            scale * float(line.get_transform().transform((float(xs[-1]), float(ys[-1])))[1])
            for line in axes.lines
            if to_hex(line.get_color()) == colour and line.get_linestyle() != "None"
            for xs, ys in [line.get_data()]
            if len(xs)
        ]
        yield text.get_text(), place, begin, same


def misplaced(figure: Figure) -> list[str]:
    """Labels that are not at their curve's end, or further from it than the others' room needs."""
    figure.draw_without_rendering()
    wrong = []
    for axes in figure.axes:
        told = list(ends(axes))
        for label, place, begin, same in told:
            if min((abs(begin - end) for end in same), default=99) > POINTS / 2:
                wrong.append(f"{label}: its line begins at {begin:.0f}, curves end at {same}")
            near = [other for _, _, other, _ in told if abs(other - begin) < POINTS * len(told)]
            if abs(place - begin) > POINTS / 2 + (len(near) - 1) * POINTS:
                wrong.append(f"{label}: at {place:.0f}, its curve ends at {begin:.0f}")
    return wrong


def others() -> Iterator[tuple[str, Figure]]:
    """The kinds that the gallery's reports do not ask for."""
    load = nl.open(GALLERY / "latency-under-load").frame()
    yield "bars", charts.bars(load, "transaction_rate", "load")
    streams = nl.open(GALLERY / "mtu-aggregate").intervals()
    yield "aggregate", charts.aggregate(streams, run=1, bound_mbps=100)
    times = [0.2 * place for place in range(1, 20)]
    sampled = [
        {"time_s": time, "end": end, "role": end, "interval_s": 0.2, "rtt_us": 300 * time}
        for time in times
        for end in ("local", "remote")
    ]
    yield "timeline", charts.timeline(timeline.timeline(sampled).assign(run=1))
    bounds = goodput.curve(range(600, 9001, 100), [[], ["vxlan"]], "1G")
    yield "goodput", charts.goodput(bounds)


@pytest.mark.long
def test_labels_of_every_kind_of_chart_stand_at_their_curves_ends() -> None:
    kinds = set()
    for kind, figure in (*shipped(), *others()):
        kinds.add(kind)
        assert not misplaced(figure), kind
        for axes in figure.axes:
            if axes.get_yscale() == "linear":
                axes.set_ylim(0, 2.5 * axes.get_ylim()[1])
        assert not misplaced(figure), f"{kind}, with other limits"
    assert kinds >= LABELLED


@pytest.mark.long
def test_labels_of_the_published_charts_stand_at_their_curves_ends() -> None:
    drawn = dict(published())
    assert "transport-send-sd-percentiles" in drawn
    for name, figure in drawn.items():
        assert not figure.artists or not misplaced(figure), name  # leaders of labels at ends


@pytest.mark.long
def test_names_of_limits_stand_above_all_bars() -> None:
    results = opened(GALLERY / "mtu-aggregate-capped")
    (entry,) = (e for e in entries.charts(results.report, {}, results.frame))
    (chart,) = drawing.drawings_of(results, entry, [], lambda _: None)
    figure = chart.figure()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    names = [text for text in axes.texts if "egress cap" in text.get_text()]
    assert [text.get_text() for text in names] == [
        "goodput bound 18.8 Mbit/s\negress cap 10 and 20 Mbit/s",
        "goodput bound 19.8 Mbit/s\negress cap 10 and 20 Mbit/s",
    ]
    bars = [bar.get_window_extent() for bar in axes.patches]
    for text in names:
        assert not any(text.get_window_extent().overlaps(bar) for bar in bars)


@pytest.mark.parametrize(("runs", "drawn"), [(3, "dots: runs"), (6, "95 % intervals")])
def test_fewer_than_six_runs_are_drawn_in_place_of_intervals(runs: int, drawn: str) -> None:
    frame = pd.DataFrame(
        {
            "send_size": np.repeat([64, 1024], runs),
            "throughput_mbps": [*np.linspace(10, 90, runs), *np.linspace(100, 300, runs)],
            "status": "ok",
        }
    )
    for figure in (
        charts.spread(frame),
        charts.bars(frame, "throughput", "send_size"),
    ):
        (axes,) = figure.axes
        assert drawn in " ".join(text.get_text() for text in axes.texts).replace("\n", " ")
        dots = [ln for ln in axes.lines if ln.get_marker() == "o" and ln.get_linestyle() == "None"]
        assert sum(len(line.get_xdata()) for line in dots) == (2 * runs if runs < 6 else 0)


@pytest.mark.parametrize(
    ("low", "high", "few"), [(1.0, 60.0, ["1", "2", "5", "10", "20", "50"]), (1, 1e6, ["1", "10"])]
)
def test_a_logarithmic_axis_has_readable_ticks(low: float, high: float, few: list[str]) -> None:
    axes = Figure().subplots()
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    _labels.log_axis(axes.xaxis)
    told = [label.get_text() for label in axes.get_xticklabels()]
    inside = [
        text
        for text, at in zip(told, axes.get_xticks(), strict=True)
        if low <= at <= high * 1.001 and text
    ]
    assert inside[: len(few)] == few
