"""A frame in, a Figure out: one file for each kind of chart.

To add a kind: one file with a function `kind(frame, …) -> Chart`, its import here and its name
in CHARTS at the place where the list should show it. Each function takes a frame of runs and
the options that an experiment's `report:` gives the chart; `style` has what all share.
"""

from __future__ import annotations

from collections.abc import Callable

from netlimits.charts.acks import acks
from netlimits.charts.aggregate import aggregate
from netlimits.charts.bursts import burst_histogram, bursts
from netlimits.charts.cost import cost
from netlimits.charts.goodput import goodput
from netlimits.charts.pacing import pacing
from netlimits.charts.packet_rate import packet_rate
from netlimits.charts.percentiles import percentiles
from netlimits.charts.spread import spread
from netlimits.charts.style import Chart, save

CHARTS: tuple[tuple[str, Callable[..., Chart]], ...] = (
    ("percentiles", percentiles),
    ("spread", spread),
    ("cost", cost),
    ("packet_rate", packet_rate),
    ("pacing", pacing),
    ("acks", acks),
)
"""Name in `report:` and on the command line -> function, in the order the help shows.

Charts of something other than runs are not among them: `aggregate` (interim results), `goodput`
(bounds), `bursts` and `burst_histogram` (a packet trace).
"""

__all__ = [
    "CHARTS",
    "Chart",
    "acks",
    "aggregate",
    "burst_histogram",
    "bursts",
    "cost",
    "goodput",
    "pacing",
    "packet_rate",
    "percentiles",
    "save",
    "spread",
]
