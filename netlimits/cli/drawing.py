"""Which figures an entry of `report:` makes of RESULTS: what each kind of chart is drawn from.

A chart's line in `charts.CHARTS` says what it is drawn from: runs, interim results or packet
traces. One that draws a single run draws that of its option `run`, or the first one that is ok of
each configuration, a figure each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlimits.charts import KINDS, REQUIRED, SOURCES, ChartKind
from netlimits.cli import entries
from netlimits.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign


@dataclass(frozen=True)
class Results:
    """What is drawn: the runs and, of a campaign's folder, the campaign."""

    path: Path
    frame: pd.DataFrame
    campaign: Campaign | None = None
    parts: Sequence[tuple[str, Results]] = ()
    """Several campaigns drawn together, by name; then `campaign` is none."""

    @property
    def report(self) -> Sequence[Mapping[str, Any]]:
        """What the experiment's `report:` asks for: nothing, for a file."""
        if self.parts:
            return _together(self.parts)
        return self.campaign.experiment.report if self.campaign else ()

    @property
    def contents(self) -> str:
        """The metrics and factors, in words."""
        from netlimits.analysis import frames, wording

        return (
            f"metrics here: {wording.listed(frames.measured(self.frame))}; "
            f"factors: {wording.listed(frames.varied(self.frame))}"
        )

    def with_highest_averages(self, window_s: float | None) -> pd.DataFrame:
        """The runs with their highest averages; the reason, where these cannot be had."""
        from netlimits.analysis import aggregate

        try:
            return aggregate.with_highest_averages(self.frame, self.intervals(), window_s)
        except DataError as error:
            frame = self.frame.copy()
            frame.attrs["lacking"] = {"highest_average_mbps": str(error)}
            return frame

    def having(self, of: Sequence[str]) -> pd.DataFrame:
        """The runs, with their highest averages where one of the metrics is that."""
        highest = any(name.startswith("highest_average") for name in of)
        return self.with_highest_averages(None) if highest else self.frame

    def intervals(self) -> pd.DataFrame:
        """The interim results of the runs that are ok. Raises DataError where there are none."""
        from netlimits.analysis import aggregate, frames

        if self.parts:
            return _joined(self.parts, [part.intervals() for _, part in self.parts])
        if self.campaign is None:
            raise DataError(
                f"{self.path}: only a campaign's folder holds interim results, not a file of runs"
            )
        frames.usable(self.frame)  # raises, with the reason, when no run is ok
        return aggregate.of_ok_runs(self.campaign.intervals())


def opened(path: Path, *others: Path) -> Results:
    """The results in a campaign's folder, or in a CSV or Parquet file of runs.

    Several campaigns of one experiment become one frame; its column `campaign` holds their names.
    """
    if others:
        parts = [(place.resolve().name, opened(place)) for place in (path, *others)]
        for name, part in parts:
            if part.campaign is None:
                raise DataError(f"{part.path}: only campaigns' folders are drawn together")
            if [n for n, _ in parts].count(name) > 1:
                raise DataError(
                    f"{part.path}: {name} is there twice; their folders' names are shown"
                )
        kinds = {part.campaign.experiment.name for _, part in parts if part.campaign}
        if len(kinds) > 1:
            raise DataError(f"of several experiments ({', '.join(sorted(kinds))}), not of one")
        return Results(path, _joined(parts, [part.frame for _, part in parts]), parts=parts)
    if path.is_dir():
        from netlimits.archive import reader

        campaign = reader.open(path)
        return Results(path, campaign.frame(), campaign)
    if not path.exists():
        raise DataError(f"{path}: there is no such folder or file")
    from netlimits.analysis import frames

    return Results(path, frames.load(path))


def _joined(parts: Sequence[tuple[str, Results]], each: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The campaigns' frames as one: `campaign` says whose a row is, runs are numbered on."""
    from netlimits.analysis import frames

    labelled_frames, before = [], 0
    for (name, part), frame in zip(parts, each, strict=True):
        limits = {f"campaign_{key}": value for key, value in _limits(part).items()}
        labelled_frames.append(frame.assign(campaign=name, run=frame["run"] + before, **limits))
        before += int(part.frame["run"].max())
    return frames.joined(labelled_frames)


def _limits(part: Results) -> Mapping[str, Any]:
    """What a campaign's own `report:` calls its link and its cap."""
    entries = [entry for entry in part.report if "chart" in entry]
    return {key: e[key] for e in entries for key in ("link", "cap") if key in e}


def _together(parts: Sequence[tuple[str, Results]]) -> list[dict[str, Any]]:
    """The first campaign's charts, a series for each campaign, each with its own limits."""
    chart_entries = []
    for entry in parts[0][1].report:
        if "chart" not in entry or "series" not in KINDS[entry["chart"]].options:
            continue
        series = entry.get("series", [])
        own = {key: f"campaign_{key}" for key in ("link", "cap") if _differs(parts, key)}
        whole = ["campaign", *([series] if isinstance(series, str) else series)]
        chart_entries.append({**entry, **own, "series": whole})
    return chart_entries


def _differs(parts: Sequence[tuple[str, Results]], key: str) -> bool:
    """Whether the campaigns name different numbers (a column is each run's own anyway)."""
    values = [_limits(part).get(key) for _, part in parts]
    return None not in values and len(set(map(str, values))) > 1


@dataclass(frozen=True)
class Drawing:
    """One figure to draw: its name, its kind, and what it is drawn from, with which options."""

    name: str
    kind: str
    data: pd.DataFrame
    options: Mapping[str, Any]

    def figure(self) -> Any:
        """The figure."""
        return KINDS[self.kind].draw(self.data, **self.options)


def figures_of(
    results: Results,
    entry: Mapping[str, Any],
    failed: list[DataError],
    say: Callable[[str], None],
) -> Iterator[tuple[str, Any]]:
    """Each figure that an entry asks for, under its name, drawn; as `drawings_of` has them."""
    for drawing in drawings_of(results, entry, failed, say):
        try:
            yield drawing.name, drawing.figure()
        except DataError as error:
            failed.append(DataError(f"chart {drawing.kind}: {error}"))


def drawings_of(
    results: Results,
    entry: Mapping[str, Any],
    failed: list[DataError],
    say: Callable[[str], None],
) -> Iterator[Drawing]:
    """Each figure that an entry asks for, not yet drawn: one a metric, one a run drawn.

    What cannot be drawn is added to `failed`, and the rest goes on; `say` is told of what was
    split.
    """
    name = entry["chart"]
    try:
        if name not in KINDS:
            raise DataError(f"no chart is called {name!r}; there are {', '.join(KINDS)}")
        kind = KINDS[name]
        options = _split(results, kind, dict(entry), say)
        of = options.pop("of", [])
        every = [of] if isinstance(of, str) else list(of) or [None]
        if kind.source == "runs":
            results = replace(results, frame=_complete(results.having([*filter(None, every)]), say))
        parts = list(_data(results, kind, options))
    except DataError as error:
        failed.append(DataError(f"chart {name}: {error}"))
        return
    for suffix, data in parts:
        for metric in every:
            figure = "-".join(part for part in (name, metric, suffix) if part)
            given = {**options, **({"of": metric} if metric else {})}
            try:
                taken = _taken(results, kind, given)
            except DataError as error:
                failed.append(DataError(f"chart {name}: {error}"))
            else:
                yield Drawing(figure, name, data, taken)


def _complete(frame: pd.DataFrame, say: Callable[[str], None]) -> pd.DataFrame:
    """The runs without those that lack a metric which only some have; `say` is told of them."""
    for column, why in frame.attrs.get("partial", {}).items():
        say(f"{column}: {why}")
        frame = frame[frame[column].notna() | (frame["status"] != "ok")]
    return frame


def _split(
    results: Results, kind: ChartKind, entry: dict[str, Any], say: Callable[[str], None]
) -> dict[str, Any]:
    """The entry's options with what else differs among its series, or under `apart`.

    A chart that has no series comes once for each combination of what differs.
    """
    from netlimits.analysis import frames, pooling

    options = {name: value for name, value in entry.items() if name != "chart"}
    if (
        results.parts
        and "series" in kind.options
        and "campaign" not in entries.listed(options.get("series"))
    ):
        options["series"] = ["campaign", *entries.listed(options.get("series"))]
    factors = [*entries.listed(options.get("series")), *entries.listed(options.get("pool"))]
    keys = kind.points(results.frame, factors, options)
    if keys is None:
        return options
    if both := [name for name in entries.listed(options.get("pool")) if name in keys]:
        raise DataError(
            f"its points differ in {both[0]}, which is to be pooled: leave it out of `pool`, or "
            "choose another chart"
        )
    split_options, note = entries.split(options, "series", keys, results.frame)
    factors = [*keys, *entries.listed(split_options.get("series"))]
    pool = entries.listed(options.get("pool"))
    remarks = pooling.remarks(frames.with_outcome(results.frame), factors, pool)
    for sentence in filter(None, (note, *remarks)):
        say(f"{kind.name}: {sentence}")
    if "series" not in kind.options and split_options.get("series"):
        split_options["apart"] = split_options.pop("series")
    return split_options


def _taken(results: Results, kind: ChartKind, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options. Raises DataError for one that this kind of chart has not, and lacks `of`."""
    for name in given:
        if name not in kind.options:
            raise DataError(f"takes no {name!r}; it takes {', '.join(kind.options)}")
    if "of" not in given and kind.options.get("of") is REQUIRED:
        raise DataError(f"{results.path}: say --of METRIC; {results.contents}")
    return given


def _data(
    results: Results, kind: ChartKind, options: dict[str, Any]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """(end of the figure's name, data) of each figure of a kind of chart.

    `run`, `role` and `apart`, which choose it, are taken out of the options.
    """
    from netlimits.analysis import frames, wording

    if kind.source == "runs":
        apart = options.pop("apart", [])
        for key, part in frames.groups(frames.usable(results.frame), apart):
            named = (f"{n}-{wording.text(v)}" for n, v in zip(apart, key, strict=True))
            yield re.sub(r"[^\w.+-]+", "-", "-".join(named)), part if apart else results.frame
        return
    if kind.source == "packets" and "pool" in options and "pool" not in kind.options:
        options.pop("pool")
    if results.parts and kind.source == "intervals" and not kind.single:
        yield "", results.intervals()
        return
    if results.campaign is None:
        raise DataError(
            f"{results.path}: chart {kind.name} is drawn from {SOURCES[kind.source]}, "
            "which only one campaign's folder holds, not a file of runs"
        )
    frames.usable(results.frame)  # raises, with the reason, when no run is ok
    whole = results.intervals() if kind.source == "intervals" else None
    role = options.pop("role", None) if kind.source == "packets" else None
    if not kind.single or results.campaign.imported:
        yield "", results.campaign.traces(role=role) if whole is None else whole
        return
    run = options.pop("run", None)
    chosen = _first_of_each(results.campaign) if run is None else {run: ""}
    for number, suffix in chosen.items():
        frame = (
            results.campaign.traces([number], role)
            if whole is None
            else frames.one_run(whole, number).copy()
        )
        frame.attrs["run"] = _about(results.campaign, number)
        yield suffix, frame


def _first_of_each(campaign: Campaign) -> Mapping[int, str]:
    """The first run of each configuration that is ok -> its factors, as a file name says them."""
    first: dict[str, int] = {}
    for number in campaign.ok_runs():
        first.setdefault(campaign.runs[number].config, number)
    names = {number: _file_name(campaign, number) for number in first.values()}
    return names if len(names) > 1 else dict.fromkeys(names, "")


def _factors(campaign: Campaign) -> list[str]:
    """The factors that differ between the runs, without derived values."""
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
    from netlimits.analysis import wording

    words = [f"run {run}"]
    for name in _factors(campaign):
        value = campaign.runs[run].values[name]
        if value is not None:
            unit = wording.FACTOR_UNITS.get(name, "")
            words.append(f"{wording.name(name)} {wording.text(value)} {unit}".strip())
    return ", ".join(words)
