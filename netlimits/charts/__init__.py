"""A frame in, a Figure out: one file for each kind of chart.

To add a kind: one file with a function `kind(frame, …) -> Chart`, its import here and its name
in CHARTS at the place where the list should show it. Each function takes a frame and the options
that an experiment's `report:` gives the chart; `style` has what all share. The name of its first
parameter says what the frame holds (`TAKES`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlimits.charts._style import Chart, save
from netlimits.charts.acks import acks
from netlimits.charts.aggregate import aggregate, highest_average
from netlimits.charts.bursts import burst_histogram, bursts, first_bursts
from netlimits.charts.cost import cost
from netlimits.charts.goodput import goodput
from netlimits.charts.pacing import pacing
from netlimits.charts.packet_rate import packet_rate
from netlimits.charts.percentiles import percentiles
from netlimits.charts.spread import spread

CHARTS: tuple[tuple[str, Callable[..., Chart]], ...] = (
    ("percentiles", percentiles),
    ("spread", spread),
    ("cost", cost),
    ("packet_rate", packet_rate),
    ("pacing", pacing),
    ("acks", acks),
    ("highest_average", highest_average),
    ("aggregate", aggregate),
    ("first_bursts", first_bursts),
    ("bursts", bursts),
    ("burst_histogram", burst_histogram),
)
"""Name in `report:` and on the command line -> function, in the order the help shows.

`goodput` is not among them: it draws bounds, which need no campaign.
"""

TAKES: Mapping[str, str] = {
    "frame": "runs: `campaign.frame()`, or a table of one's own",
    "intervals": "interim results: `campaign.intervals()`",
    "packets": "packet traces: `campaign.traces()`",
}
"""The first parameter of a chart's function -> what it is. One with `run` draws a single run."""

__all__ = [
    "CHARTS",
    "TAKES",
    "Chart",
    "acks",
    "aggregate",
    "burst_histogram",
    "bursts",
    "cost",
    "first_bursts",
    "goodput",
    "highest_average",
    "pacing",
    "packet_rate",
    "percentiles",
    "save",
    "spread",
]
