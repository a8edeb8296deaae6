"""A frame in, a Figure out: what each kind of chart is, and where it is drawn.

A kind is one file in `kinds/` and one line of CHARTS, which is data: an experiment's `report:` is
checked by it without importing matplotlib. What draws a chart, and what makes the table beside it,
are imported when they are first called. `charts.spread(frame, …)` draws a chart by its name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.charts._style import Chart, save

Source = Literal["runs", "intervals", "packets"]

SOURCES: Mapping[Source, str] = {
    "runs": "runs",
    "intervals": "interim results",
    "packets": "packet traces",
}
"""What a chart is drawn from: `campaign.frame()`, `.intervals()`, `.traces()` -> in words."""

FORMATS = ("png", "svg", "pdf")
"""What a figure can be written as."""

REQUIRED = ...
"""The default of an option that has none."""


@dataclass(frozen=True)
class ChartKind:
    """A chart: its name in `report:` and on the command line, and all that others know of it.

    `module` is the file in `kinds/` whose function of this name draws it from a frame of `source`.
    `options` are what an entry of `report:` may say of it, with their defaults: the function's
    arguments, and `role` where a packet trace is drawn. `table` is the function that makes the
    table beside it, from the package down, and `looks` the options that do not concern the table.
    `along` says what the points of a chart of many runs differ in, beside `series`: the options
    that name it, or a function that tells it from the runs, what is shown, and the options.
    """

    name: str
    module: str
    source: Source
    options: Mapping[str, Any]
    table: str
    looks: tuple[str, ...] = ("title",)
    along: tuple[str, ...] | str | None = None

    @property
    def single(self) -> bool:
        """Whether it draws a single run."""
        return "run" in self.options

    @property
    def draw(self) -> Callable[..., Chart]:
        """The function that draws it."""
        return _function(f"charts.kinds.{self.module}.{self.name}")

    def alternative(self, data: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
        """The table beside the chart of this frame and these options."""
        own = {name: value for name, value in options.items() if name in self.options}
        taken = {name: value for name, value in own.items() if name not in self.looks}
        table: pd.DataFrame = _function(self.table)(data, **taken)
        return table

    def points(
        self, frame: pd.DataFrame, factors: list[str], given: Mapping[str, Any]
    ) -> list[str] | None:
        """The columns by which the points of a curve differ; None for a chart that does not say."""
        options = {**self.options, **given}
        if isinstance(self.along, str):
            columns: list[str] = _function(self.along)(frame, factors, options)
            return columns
        return None if self.along is None else [options[name] for name in self.along]


def _function(path: str) -> Callable[..., Any]:
    """The function of this dotted name, without `netlimits.`."""
    module, _, name = path.rpartition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(f"netlimits.{module}"), name)
    return function


# fmt: off
CHARTS: tuple[ChartKind, ...] = (
    ChartKind("percentiles", "percentiles", "runs", along=(),
         options={"of": REQUIRED, "series": (), "title": None, "pool": ()},
         table="charts.kinds.percentiles.quartiles"),
    ChartKind("spread", "spread", "runs", along=("by",),
         options={"of": "throughput", "by": "send_size", "series": (), "bound_mbps": None,
                  "title": None, "pool": ()},
         table="analysis.spread.spread", looks=("bound_mbps", "title")),
    ChartKind("boxes", "levels", "runs", along=(),
         options={"of": REQUIRED, "series": (), "title": None, "pool": ()},
         table="charts.kinds.percentiles.quartiles"),
    ChartKind("bars", "levels", "runs", along=(),
         options={"of": REQUIRED, "series": (), "title": None, "pool": ()},
         table="charts.kinds.levels.means"),
    ChartKind("mesh_links", "mesh", "runs", along="analysis.mesh.points",
         options={"of": "throughput", "pool": (), "title": None},
         table="analysis.mesh.links"),
    ChartKind("mesh_hosts", "mesh", "runs", along="analysis.mesh.points",
         options={"of": "throughput", "pool": (), "title": None},
         table="analysis.mesh.hosts"),
    ChartKind("cost", "cost", "runs", along=("size",),
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
    ChartKind("sensitivities", "sensitivities", "runs",
         options={"title": None},
         table="limits.sensitivity.sensitivities"),
    ChartKind("highest_average", "aggregate", "intervals", along=("by",),
         options={"window_s": None, "by": "mtu", "series": (), "link": None, "cap": None,
                  "title": None, "pool": ()},
         table="charts.kinds.aggregate.highest", looks=("link", "cap", "title")),
    ChartKind("aggregate", "aggregate", "intervals",
         options={"of": "throughput", "stream": "stream", "step": None, "window_s": None,
                  "bound_mbps": None, "run": None, "title": None},
         table="charts.kinds.aggregate.steps", looks=("window_s", "bound_mbps", "title")),
    ChartKind("first_bursts", "bursts", "packets", along=(),
         options={"series": (), "first_transaction": 1, "role": None, "title": None},
         table="analysis.bursts.over_transactions", looks=("role", "title")),
    ChartKind("bursts", "bursts", "packets",
         options={"connection": None, "first_transaction": 1, "transactions": None,
                  "gap_s": None, "run": None, "role": None, "title": None},
         table="charts.kinds.bursts.busiest", looks=("transactions", "role", "title")),
    ChartKind("burst_histogram", "bursts", "packets",
         options={"run": None, "role": None, "title": None},
         table="charts.kinds.bursts.sizes", looks=("role", "title")),
)
# fmt: on
"""In the order the help shows. `goodput` is not among them: it draws bounds, without a campaign."""

KINDS: Mapping[str, ChartKind] = {kind.name: kind for kind in CHARTS}
"""Each by its name."""

__all__ = [
    "CHARTS",
    "FORMATS",
    "KINDS",
    "REQUIRED",
    "SOURCES",
    "Chart",
    "ChartKind",
    "Source",
    "goodput",
    "save",
]
__all__ += KINDS


def __getattr__(name: str) -> Callable[..., Chart]:
    """A chart's function, or a name that all charts share, imported when it is first used."""
    if name in KINDS:
        return KINDS[name].draw
    if name in ("Chart", "save"):
        return _function(f"charts._style.{name}")
    if name == "goodput":
        return _function("charts.kinds.goodput.goodput")
    raise AttributeError(f"module 'netlimits.charts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
