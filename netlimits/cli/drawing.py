"""Which figures an entry of `report:` makes of RESULTS: what each kind of chart is drawn from.

A chart's function says by the name of its first parameter what it takes (`charts.TAKES`): runs,
interim results or packet traces. One that has an option `run` draws a single run: that run, or
the first one that is ok of each configuration, a figure each.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlimits.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.campaign import Campaign


@dataclass(frozen=True)
class Results:
    """What is drawn: the runs and, of a campaign's folder, the campaign."""

    path: Path
    frame: pd.DataFrame
    campaign: Campaign | None = None

    @property
    def report(self) -> Sequence[Mapping[str, Any]]:
        """What the experiment's `report:` asks for: nothing, for a file."""
        return self.campaign.experiment.report if self.campaign else ()

    @property
    def there(self) -> str:
        """The metrics and factors, in words."""
        from netlimits.analysis import frames

        return (
            f"metrics here: {frames.listed(frames.measured(self.frame))}; "
            f"factors: {frames.listed(frames.varied(self.frame))}"
        )

    def intervals(self) -> pd.DataFrame:
        """The interim results of the runs that are ok. Raises DataError where there are none."""
        from netlimits.analysis import aggregate, frames

        if self.campaign is None:
            raise DataError(
                f"{self.path}: only a campaign's folder holds interim results, not a file of runs"
            )
        frames.usable(self.frame)  # raises, with the reason, when no run is ok
        return aggregate.of_ok_runs(self.campaign.intervals())


def opened(path: Path) -> Results:
    """The results in a campaign's folder, or in a CSV or Parquet file of runs."""
    if path.is_dir():
        from netlimits import campaign

        found = campaign.open(path)
        return Results(path, found.frame(), found)
    if not path.exists():
        raise DataError(f"{path}: there is no such folder or file")
    from netlimits.analysis import frames

    return Results(path, frames.load(path))


def figures_of(results: Results, entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each figure that an entry asks for, under its name: one a metric, one a run drawn."""
    from netlimits import charts

    kinds = dict(charts.CHARTS)
    kind = entry["chart"]
    if kind not in kinds:
        raise DataError(f"no chart is called {kind!r}; there are {', '.join(kinds)}")
    options = {name: value for name, value in entry.items() if name != "chart"}
    wanted = options.pop("of", [])
    takes = inspect.signature(kinds[kind]).parameters
    for suffix, data in _data(results, kind, takes, options):
        for metric in [wanted] if isinstance(wanted, str) else wanted or [None]:
            name = "-".join(part for part in (kind, metric, suffix) if part)
            given = {**options, **({"of": metric} if metric else {})}
            yield name, kinds[kind](data, **_taken(results, kind, takes, given))


Takes = Mapping[str, inspect.Parameter]


def _taken(
    results: Results, kind: str, takes: Takes, given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The options. Raises DataError for one that this kind of chart has not, and lacks `of`."""
    for name in given:
        if name not in takes:
            raise DataError(
                f"chart {kind}: takes no {name!r}; it takes {', '.join(list(takes)[1:])}"
            )
    if "of" not in given and "of" in takes and takes["of"].default is inspect.Parameter.empty:
        raise DataError(f"{results.path}: say --of METRIC; {results.there}")
    return given


def _data(
    results: Results, kind: str, takes: Takes, options: dict[str, Any]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """What a kind of chart is drawn from, with what its figure's name ends in.

    `run` and `role`, which choose it, are taken out of the options.
    """
    from netlimits import charts
    from netlimits.analysis import frames

    source = next(iter(takes))
    if source == "frame":
        yield "", results.frame
        return
    if results.campaign is None:
        raise DataError(
            f"{results.path}: chart {kind} is drawn from {charts.TAKES[source].partition(':')[0]}, "
            "which only a campaign's folder holds, not a file of runs"
        )
    frames.usable(results.frame)  # raises, with the reason, when no run is ok
    whole = results.intervals() if source == "intervals" else None
    role = options.pop("role", None) if source == "packets" else None
    if "run" not in takes or results.campaign.imported:
        yield "", results.campaign.traces(role=role) if whole is None else whole
        return
    run = options.pop("run", None)
    chosen = _first_of_each(results.campaign) if run is None else {run: ""}
    for number, suffix in chosen.items():
        one = (
            results.campaign.traces([number], role)
            if whole is None
            else frames.one_run(whole, number).copy()
        )
        one.attrs["run"] = _about(results.campaign, number)
        yield suffix, one


def _first_of_each(campaign: Campaign) -> Mapping[int, str]:
    """The first run of each configuration that is ok -> its factors, as a file name says them."""
    first: dict[str, int] = {}
    for number in campaign.ok_runs():
        first.setdefault(campaign.runs[number].config, number)
    names = {number: _file_name(campaign, number) for number in first.values()}
    return names if len(names) > 1 else dict.fromkeys(names, "")


def _factors(campaign: Campaign) -> list[str]:
    """Whatever differs between the runs and is not derived."""
    experiment = campaign.experiment
    named = [*experiment.factors, *(name for group in experiment.zips for name in group)]
    runs = list(campaign.runs.values())
    return [name for name in named if len({str(run.values.get(name)) for run in runs}) > 1]


def _file_name(campaign: Campaign, run: int) -> str:
    values = campaign.runs[run].values
    words = [f"{name}-{values[name]}" for name in _factors(campaign) if values[name] is not None]
    return re.sub(r"[^\w.+-]+", "-", "-".join(words))


def _about(campaign: Campaign, run: int) -> str:
    """A run in words: "run 3, MTU 1500 bytes, GRO on"."""
    from netlimits.analysis import frames

    said = [f"run {run}"]
    for name in _factors(campaign):
        value = campaign.runs[run].values[name]
        if value is not None:
            unit = frames.FACTOR_UNITS.get(name, "")
            said.append(f"{frames.name(name)} {frames.text(value)} {unit}".strip())
    return ", ".join(said)
