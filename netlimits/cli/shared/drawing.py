"""The figures that an entry of `report:` asks for, and the data that each is drawn from."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from netlimits.analysis import attempts, frames, pooling, wording
from netlimits.analysis.frames import LIMITED_BY
from netlimits.charts import KINDS, REQUIRED, SOURCES, ChartKind
from netlimits.cli.shared import entries
from netlimits.cli.shared.results import Results
from netlimits.errors import ArchiveError, DataError, did_you_mean
from netlimits.experiment.report_schema import VERDICTS
from netlimits.model import Run

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign


FAINT_RUNS = 10
"""Maximum number of runs of a configuration in a timeline; later runs are left out."""


@dataclass(frozen=True)
class Drawing:
    name: str
    kind: str
    data: pd.DataFrame
    options: Mapping[str, Any]

    def figure(self) -> Any:
        return KINDS[self.kind].draw(self.data, **self.options)


def marked(results: Results) -> Results:
    """Return the results with a column `limited_by`, if `report:` asks for verdicts."""
    wanted = any(entry.get("table") == VERDICTS for entry in results.report)
    if not wanted or results.campaign is None:
        return results
    from netlimits.limits import explained

    try:
        limits = explained.limits_of(results.campaign)
    except DataError:
        return results
    limited = explained.with_limits(results.frame, limits)
    return replace(results, frame=results.frame.assign(**{LIMITED_BY: limited}))


def figures_of(
    results: Results,
    entry: Mapping[str, Any],
    failed: list[DataError],
    say: Callable[[str], None],
) -> Iterator[tuple[str, Any]]:
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
    """Yield each figure that an entry asks for.

    Errors go to `failed`, and notes on factors that were added to the series go to `say`.
    """
    name = entry["chart"]
    try:
        if name not in KINDS:
            raise DataError(f"no chart is called {name!r}{did_you_mean(name, KINDS)}")
        kind = KINDS[name]
        options = _split(results, kind, dict(entry), say)
        of = options.pop("of", [])
        every = [of] if isinstance(of, str) else list(of) or [None]
        if kind.panels:  # all metrics in one figure
            options |= {"of": every} if of else {}
            every = [None]
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
                of_runs = metric and kind.source == "runs"
                part = _with_metric(data, metric, say) if of_runs else data
            except DataError as error:
                failed.append(DataError(f"chart {name}: {error}"))
            else:
                yield Drawing(figure, name, part, taken)


def _complete(frame: pd.DataFrame, say: Callable[[str], None]) -> pd.DataFrame:
    """Leave out ok runs that lack a figure in `attrs["partial"]`; report the reason to `say`."""
    for column, why in frame.attrs.get("partial", {}).items():
        say(f"{column}: {why}")
        frame = frame[frame[column].notna() | (frame["status"] != "ok")]
    return frame


def _with_metric(frame: pd.DataFrame, metric: str, say: Callable[[str], None]) -> pd.DataFrame:
    """Leave out configurations whose ok runs all lack the metric, unless all of them lack it."""
    if "config" not in frame.columns or "status" not in frame.columns:
        return frame
    column = frames.column(frame, metric).column
    ok = frame[frame["status"] == "ok"]
    if column not in ok.columns:
        return frame
    known = ok[column].notna().groupby(ok["config"]).any()
    lacking = known.index[~known]
    if lacking.empty or not known.any():
        return frame
    say(f"{metric}: {len(lacking)} of {len(known)} configurations have none, and are left out")
    return frame[~frame["config"].isin(lacking)]


def _split(
    results: Results, kind: ChartKind, entry: dict[str, Any], say: Callable[[str], None]
) -> dict[str, Any]:
    """Return the entry's options; `series` or `apart` gets each varying factor it does not name."""
    options = {name: value for name, value in entry.items() if name != "chart"}
    if (
        results.parts
        and "series" in kind.options
        and "campaign" not in entries.listed(options.get("series"))
        and "campaign" not in (kind.points(results.frame, [], options) or ())
    ):
        options["series"] = ["campaign", *entries.listed(options.get("series"))]
    factors = [
        *entries.listed(options.get("series")),
        *entries.listed(options.get("pool")),
    ]
    keys = kind.points(results.frame, factors, options)
    if keys is None:
        return options
    if both := [name for name in entries.listed(options.get("pool")) if name in keys]:
        raise DataError(
            f"its points differ in {both[0]}, which `pool` names; remove it from `pool`, or "
            "choose another chart"
        )
    split_options, note = entries.split(options, "series", keys, results.frame)
    factors = [*keys, *entries.listed(split_options.get("series"))]
    pool = entries.listed(options.get("pool"))
    remarks = pooling.remarks(attempts.with_outcome(results.frame), factors, pool)
    for sentence in filter(None, (note, *remarks)):
        say(f"{kind.name}: {sentence}")
    if "series" not in kind.options and split_options.get("series"):
        split_options["apart"] = split_options.pop("series")
    return split_options


def _taken(results: Results, kind: ChartKind, given: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in given:
        if name not in kind.options:
            raise DataError(f"takes no {name!r}; it takes {', '.join(kind.options)}")
    if "of" not in given and kind.options.get("of") is REQUIRED:
        raise DataError(f"{results.path}: add --of METRIC; {results.contents}")
    return given


def _data(
    results: Results, kind: ChartKind, options: dict[str, Any]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a name suffix and the data for each figure; remove the options that select data."""
    if kind.source == "sensitivities":
        from netlimits.limits.ladder.sensitivity import sensitivities

        yield "", sensitivities(results.frame)
        return
    if kind.source == "runs":
        separate = options.pop("apart", [])
        if not separate:
            # raises DataError with the reason if no run is ok
            frames.ok(attempts.last_attempts(frames.labelled(results.frame)))
            yield "", results.frame
            return
        for key, part in frames.groups(frames.usable(results.frame), separate):
            named = (f"{n}-{wording.text(v)}" for n, v in zip(separate, key, strict=True))
            yield re.sub(r"[^\w.+-]+", "-", "-".join(named)), part
        return
    if kind.source == "packets" and "pool" in options and "pool" not in kind.options:
        options.pop("pool")
    limits = _limits(results)
    if results.parts and kind.source == "intervals" and not kind.single:
        yield "", results.intervals()
        return
    if results.campaign is None:
        raise DataError(
            f"{results.path}: chart {kind.name} is drawn from {SOURCES[kind.source]}, "
            "which only one campaign's folder holds, not a file of runs"
        )
    frames.usable(results.frame)  # raises an error with the reason if no run is ok
    if kind.source == "timelines":
        yield from _timelines(results.campaign, options.pop("run", None), limits)
        return
    interim = results.intervals() if kind.source == "intervals" else None
    if interim is not None and limits:
        interim = interim.assign(**{LIMITED_BY: interim["run"].map(limits)})
    role = options.pop("role", None) if kind.source == "packets" else None
    if not kind.single or results.campaign.imported:
        yield "", results.campaign.traces(role=role) if interim is None else interim
        return
    run = options.pop("run", None)
    chosen = _first_of_each(results.campaign) if run is None else {run: ""}
    runs = results.campaign.runs_of({*chosen})
    for number, suffix in chosen.items():
        frame = (
            results.campaign.traces([number], role)
            if interim is None
            else frames.one_run(interim, number).copy()
        )
        limit = f", limited by {limits[number]}" if number in limits else ""
        frame.attrs["run"] = _about(results.campaign, runs[number]) + limit
        yield suffix, frame


def timelines(results: Results, most: int) -> Iterator[Drawing]:
    assert results.campaign
    limits = _limits(results)
    for suffix, frame in itertools.islice(_timelines(results.campaign, None, limits), most):
        yield Drawing(f"timeline-{suffix}".rstrip("-"), "timeline", frame, {})


def _timelines(
    campaign: Campaign, run: int | None, limits: Mapping[int, str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    runs = {run: ""} if run is not None else _first_of_each(campaign)
    alike = {} if run is not None else _ok_of_each(campaign, FAINT_RUNS)
    together = {same[0]: same for same in alike.values()}
    of_plan = campaign.runs_of({*runs})
    for number, suffix in runs.items():
        same = together.get(number, [])
        try:
            frame = campaign.timelines(same or [number])
        except ArchiveError as error:
            raise DataError(str(error)) from None
        run_name, _, about = _about(campaign, of_plan[number]).partition(", ")
        limit = f"limited by {limits[number]}" if number in limits else ""
        words = [run_name if len(same) < 2 else "", about, limit]
        frame.attrs["run"] = ", ".join(filter(None, words))
        yield suffix, frame


def _limits(results: Results) -> Mapping[int, str]:

    if LIMITED_BY not in results.frame.columns:
        return {}
    limited = results.frame[results.frame[LIMITED_BY].notna()]
    return dict(zip(limited["run"], limited[LIMITED_BY], strict=True))


def _first_of_each(campaign: Campaign) -> Mapping[int, str]:
    """Return the first ok run of each configuration, mapped to a name for its file."""
    first = {config: same[0] for config, same in _ok_of_each(campaign, 1).items()}
    names = {number: _file_name(campaign, config) for config, number in first.items()}
    return names if len(names) > 1 else dict.fromkeys(names, "")


def _ok_of_each(campaign: Campaign, most: int) -> Mapping[str, list[int]]:
    measured = attempts.without_profiled(campaign.frame(("status", "config")))
    frame = measured.drop_duplicates("run", keep="last")
    runs = frame.loc[frame["status"] == "ok", ["run", "config"]].sort_values("run")
    first = runs.groupby("config", sort=False, observed=True).head(most)
    numbers: dict[str, list[int]] = {}
    for number, config in zip(first["run"], first["config"], strict=True):
        numbers.setdefault(str(config), []).append(int(number))
    return numbers


def _factors(campaign: Campaign) -> list[str]:
    """Return the factors that differ between the runs, without derived values."""
    experiment = campaign.experiment
    named = [*experiment.factors, *(name for group in experiment.zips for name in group)]
    runs = list(campaign.configurations.values())
    return [name for name in named if len({str(run.values.get(name)) for run in runs}) > 1]


def _file_name(campaign: Campaign, config: str) -> str:
    values = campaign.configurations[config].values
    words = [f"{name}-{values[name]}" for name in _factors(campaign) if values[name] is not None]
    return re.sub(r"[^\w.+-]+", "-", "-".join(words))


def _about(campaign: Campaign, run: Run) -> str:
    """Return a description of a run: "run 3, MTU 1500 bytes, GRO on"."""
    words = [f"run {run.number}"]
    for name in _factors(campaign):
        value = run.values[name]
        if value is not None:
            unit = wording.FACTOR_UNITS.get(name, "")
            words.append(f"{wording.name(name)} {wording.text(value)} {unit}".strip())
    return ", ".join(words)
