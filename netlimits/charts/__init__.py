"""The registry of charts: each turns a frame into a matplotlib Figure.

    import netlimits as nl
    figure = nl.charts.spread(frame, of="throughput", series="transport")
    nl.charts.save(figure, "throughput.svg")

A chart's function is imported when it is first used. So netlimits validates `report:` without
importing matplotlib.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from netlimits.charts._formats import FORMATS, check_format

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.charts._style import Chart, save

Source = Literal["runs", "intervals", "packets", "timelines", "sensitivities"]

SOURCES: Mapping[Source, str] = {
    "runs": "runs",
    "intervals": "interim results",
    "packets": "packet traces",
    "timelines": "samples during runs",
    "sensitivities": "runs with a change",
}
"""Source -> its name in messages. The methods `frame`, `intervals`, `traces` and `timelines` of a
campaign return the first four frames, in this order, and `nl.sensitivities` returns the last."""

PANELS = (
    *("throughput", "latency", "rtt", "cwnd", "rates", "windows", "retransmits", "ce_marks"),
    *("queue", "sockets", "cpu", "cpu_peak", "frequency", "drops"),
)
"""Names of the panels of a timeline; `analysis.sources.timeline` defines the panels."""

REQUIRED = ...
"""Default of an option that must be given."""


@dataclass(frozen=True)
class ChartKind:
    """An entry of the registry of charts.

    Attributes:
        name: Name of the chart in `report:` and on the command line, and of the function that draws
            the chart.
        module: Module in `charts.kinds` that contains the function.
        source: Kind of frame that the chart is drawn from.
        options: Options of the chart in `report:` -> their defaults. They are keyword arguments of
            the function that draws the chart. Charts of packet traces also have the option `role`.
        table: Dotted name, without `netlimits.`, of the function that returns the chart's table.
            None if the frame that the chart is drawn from is the table.
        cosmetic: Options that the table's function does not take, such as `title`.
        panels: Names of panels that the option `of` accepts; () if `of` takes metrics.
        narrow: True if the chart reads only the columns that its options name, and those that
            every chart needs (`cli.shared.entries`).
        along: How to find the columns that distinguish the points of a curve. A tuple lists the
            options that name these columns; () means that each run is a point. A string is the
            dotted name of a function that returns the columns for (frame, factors, options).
            None means that the chart does not pool runs into points.
    """

    name: str
    module: str
    source: Source
    options: Mapping[str, Any]
    table: str | None
    cosmetic: tuple[str, ...] = ("title",)
    along: tuple[str, ...] | str | None = None
    panels: tuple[str, ...] = ()
    narrow: bool = False

    @property
    def single(self) -> bool:
        """True if the chart has the option `run`, which selects a single run."""
        return "run" in self.options

    @property
    def draw(self) -> Callable[..., Chart]:
        """The function that draws the chart; it is imported on access."""
        return _function(f"charts.kinds.{self.module}.{self.name}")

    def alternative(self, data: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
        """Return the chart's table, for readers who cannot see the chart or want its numbers.

        Args:
            data: Frame that the chart is drawn from.
            options: Options of the chart. Unknown and cosmetic options are ignored.

        Returns:
            The frame that the function named by `table` returns.

        Raises:
            DataError: The frame does not hold the data that the table needs.
        """
        if self.table is None:
            return data
        own = {name: value for name, value in options.items() if name in self.options}
        taken = {name: value for name, value in own.items() if name not in self.cosmetic}
        table: pd.DataFrame = _function(self.table)(data, **taken)
        return table

    def points(
        self, frame: pd.DataFrame, factors: list[str], given: Mapping[str, Any]
    ) -> list[str] | None:
        """Return the columns that distinguish the points of a curve.

        Args:
            frame: Frame that the chart is drawn from.
            factors: Factors that distinguish the curves.
            given: Options of the entry in `report:`. Other options have their defaults.

        Returns:
            Names of columns of `frame`; None if `along` is None.
        """
        options = {**self.options, **given}
        if isinstance(self.along, str):
            columns: list[str] = _function(self.along)(frame, factors, options)
            return columns
        return None if self.along is None else [options[name] for name in self.along]


def _function(path: str) -> Callable[..., Any]:
    """Import a function by its dotted name, which is given without `netlimits.`."""
    module, _, name = path.rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(f"netlimits.{module}"), name)
    return function


# fmt: off
CHARTS: tuple[ChartKind, ...] = (
    ChartKind("percentiles", "percentiles", "runs", along=(), narrow=True,
         options={"of": REQUIRED, "series": (), "title": None, "pool": ()},
         table="charts.kinds.percentiles.quartiles"),
    ChartKind("spread", "spread", "runs", along=("by",), narrow=True,
         options={"of": "throughput", "by": "send_size", "series": (), "bound_mbps": None,
                  "title": None, "pool": ()},
         table="analysis.spread.spread", cosmetic=("bound_mbps", "title")),
    ChartKind("boxes", "levels", "runs", along=(), narrow=True,
         options={"of": REQUIRED, "series": (), "title": None, "pool": ()},
         table="charts.kinds.percentiles.quartiles"),
    ChartKind("bars", "levels", "runs", along=(), narrow=True,
         options={"of": REQUIRED, "series": (), "title": None, "pool": ()},
         table="charts.kinds.levels.means"),
    ChartKind("history", "history", "runs", along="analysis.history.points",
         options={"of": "throughput", "series": (), "threshold": 0.03, "title": None, "pool": ()},
         table="analysis.history.history"),
    ChartKind("mesh_links", "mesh", "runs", along="analysis.mesh.points",
         options={"of": "throughput", "pool": (), "title": None},
         table="analysis.mesh.links"),
    ChartKind("mesh_hosts", "mesh", "runs", along="analysis.mesh.points",
         options={"of": "throughput", "pool": (), "title": None},
         table="analysis.mesh.hosts"),
    ChartKind("cost", "cost", "runs", along=("size",), narrow=True,
         options={"of": ("local_sd", "remote_sd"), "size": "send_size", "series": (),
                  "title": None, "pool": ()},
         table="analysis.cost.cost"),
    ChartKind("packet_rate", "packet_rate", "runs", along=("size",),
         options={"of": None, "size": "send_size", "title": None, "pool": ()},
         table="analysis.packet_rate.packet_rate"),
    ChartKind("pacing", "pacing", "runs", along=("size",),
         options={"requested": None, "of": None, "size": "send_size", "title": None, "pool": ()},
         table="analysis.pacing.pacing"),
    ChartKind("acks", "acks", "runs", along="analysis.acks.points",
         options={"of": "local_sd", "series": (), "ratio": "segments_per_ack", "tolerance": 0.01,
                  "title": None, "pool": ()},
         table="analysis.acks.acks"),
    ChartKind("profile", "profile", "runs", along=(),
         options={"series": (), "title": None, "pool": ()},
         table="charts.kinds.profile.costs"),
    ChartKind("sensitivities", "sensitivities", "sensitivities",
         options={"title": None},
         table=None),
    ChartKind("search", "search", "runs",
         options={"title": None},
         table="analysis.statistics.search.trials"),
    ChartKind("highest_average", "aggregate", "intervals", along=("by",),
         options={"window_s": None, "by": "mtu", "series": (), "link": None, "cap": None,
                  "title": None, "pool": ()},
         table="charts.kinds.aggregate.highest", cosmetic=("link", "cap", "title")),
    ChartKind("aggregate", "aggregate", "intervals",
         options={"of": "throughput", "stream": "stream", "step": None, "window_s": None,
                  "bound_mbps": None, "run": None, "title": None},
         table="charts.kinds.aggregate.steps", cosmetic=("window_s", "bound_mbps", "title")),
    ChartKind("timeline", "timeline", "timelines", panels=PANELS,
         options={"of": None, "run": None, "title": None},
         table="analysis.sources.timeline.table"),
    ChartKind("first_bursts", "bursts", "packets", along=(),
         options={"series": (), "first_transaction": 1, "role": None, "title": None},
         table="analysis.bursts.over_transactions", cosmetic=("role", "title")),
    ChartKind("bursts", "bursts", "packets",
         options={"connection": None, "first_transaction": 1, "transactions": None,
                  "run": None, "role": None, "title": None},
         table="charts.kinds.bursts.busiest", cosmetic=("transactions", "role", "title")),
    ChartKind("burst_histogram", "bursts", "packets",
         options={"run": None, "role": None, "title": None},
         table="charts.kinds.bursts.sizes", cosmetic=("role", "title")),
)
# fmt: on
"""All charts, in the order in which the help lists them.

`goodput` is not among them, since it draws no data of a campaign.
"""

KINDS: Mapping[str, ChartKind] = {kind.name: kind for kind in CHARTS}
"""Name of a chart -> its entry in CHARTS."""

__all__ = [
    "CHARTS",
    "FORMATS",
    "KINDS",
    "REQUIRED",
    "SOURCES",
    "Chart",
    "ChartKind",
    "Source",
    "check_format",
    "goodput",
    "save",
]
__all__ += KINDS


def __getattr__(name: str) -> Callable[..., Chart]:
    """Import the function of a chart, `Chart` or `save` on its first use."""
    if name in KINDS:
        return KINDS[name].draw
    if name in ("Chart", "save"):
        return _function(f"charts._style.{name}")
    if name == "goodput":
        return _function("charts.kinds.goodput.goodput")
    raise AttributeError(f"module 'netlimits.charts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
