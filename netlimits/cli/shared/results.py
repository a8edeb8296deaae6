"""Open RESULTS of a command line: one campaign's folder, several folders, or a file of runs."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from netlimits.charts import KINDS
from netlimits.cli.shared.output import echo, quoted
from netlimits.errors import DataError, InputError
from netlimits.metrics import metric

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign
    from netlimits.cli.shared.options.tables import TableOptions


Needed = Callable[[Sequence[Mapping[str, Any]]], frozenset[str] | None]
"""Function of an experiment's `report:` -> the columns needed, None for all."""


@dataclass(frozen=True)
class Results:
    """The runs to show and, if they come from a campaign's folder, the campaign."""

    path: Path
    frame: pd.DataFrame
    campaign: Campaign | None = None
    parts: Sequence[tuple[str, Results]] = ()
    """Several campaigns shown together, with their names; `campaign` is then None."""

    @property
    def narrow(self) -> bool:
        """True if columns were left out when the runs were read."""
        return "narrowed" in self.frame.attrs

    @property
    def report(self) -> Sequence[Mapping[str, Any]]:
        if self.parts:
            return _joint_charts(self.parts)
        return self.campaign.experiment.report if self.campaign else ()

    @property
    def contents(self) -> str:
        from netlimits.analysis import frames, wording

        return (
            f"metrics here: {wording.listed(frames.measured(self.frame))}; "
            f"factors: {wording.listed(frames.varied(self.frame))}"
        )

    def with_highest_averages(self, window_s: float | None) -> pd.DataFrame:
        """Return the runs with the highest average rate of each over a window of `window_s`.

        If that is impossible, `attrs["lacking"]` has the reason.
        """
        from netlimits.analysis import aggregate

        try:
            return aggregate.with_highest_averages(self.frame, self.intervals(), window_s)
        except DataError as error:
            frame = self.frame.copy()
            frame.attrs["lacking"] = {"highest_average_mbps": str(error)}
            return frame

    def having(self, of: Sequence[str]) -> pd.DataFrame:
        highest = any(name.startswith("highest_average") for name in of)
        return self.with_highest_averages(None) if highest else self.frame

    def intervals(self) -> pd.DataFrame:
        from netlimits.analysis import aggregate, frames

        if self.parts:
            return _joined(self.parts, [part.intervals() for _, part in self.parts])
        if self.campaign is None:
            raise DataError(
                f"{self.path}: only a campaign's folder holds interim results, not a file of runs"
            )
        frames.usable(self.frame)  # raises an error with the reason if no run is ok
        return aggregate.of_ok_runs(self.campaign.intervals())


@contextmanager
def _loading() -> Iterator[None]:
    """Save time: disable garbage collection while modules load, and freeze what they create."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


atexit.register(gc.freeze)  # the interpreter then ends without collecting each module


@_loading()
def opened(
    path: Path,
    *others: Path,
    needed: Needed | None = None,
    reading: TableOptions | None = None,
    factors: Iterable[str] = (),
) -> Results:
    """Return the results in folders of one experiment, or in a file of runs."""
    if others:
        parts = [(place.resolve().name, opened(place, needed=needed)) for place in (path, *others)]
        for name, part in parts:
            if part.campaign is None:
                raise DataError(f"{part.path}: only campaigns' folders are drawn together")
            if [n for n, _ in parts].count(name) > 1:
                raise DataError(
                    f"{part.path}: two folders are called {name}; rename one, or name it only once"
                )
        kinds = {part.campaign.experiment.name for _, part in parts if part.campaign}
        if len(kinds) > 1:
            raise DataError(
                f"the folders are of several experiments ({', '.join(sorted(kinds))}); name "
                "folders of a single one"
            )
        return Results(path, _joined(parts, [part.frame for _, part in parts]), parts=parts)
    if reading and (folder := next((p for p in (path, *others) if p.is_dir()), None)):
        raise InputError(
            f"{folder}: is a results folder, whose columns are known; leave {reading.named} out"
        )
    if path.is_dir():
        from netlimits.analysis.attempts import to_last_attempts
        from netlimits.archive import reader

        campaign = reader.open(path)
        columns = needed(campaign.experiment.report) if needed and campaign.large else None
        frame = campaign.frame(columns, coded=columns is not None)
        return Results(path, frame if columns is None else to_last_attempts(frame), campaign)
    if not path.exists():
        raise DataError(f"{path}: there is no such folder or file")
    if reading:
        frame, note = reading.frame(path, factors)
        if note:
            say(note)
        return Results(path, frame)
    from netlimits.analysis.sources import run_files

    return Results(path, run_files.load(path))


def _joined(parts: Sequence[tuple[str, Results]], each: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    from netlimits.analysis.sources import joining

    numbered, before = {}, 0
    for (name, part), frame in zip(parts, each, strict=True):
        limits = {f"campaign_{key}": value for key, value in _limits(part).items()}
        if part.campaign and "started" in frame and frame["started"].isna().all():
            created = pd.to_datetime(part.campaign.archive.meta["created"], utc=True)
            frame = frame.assign(started=created)  # imported runs whose files state no time
        numbered[name] = frame.assign(run=frame["run"] + before, **limits)
        before += int(part.frame["run"].max())
    return joining.joined(numbered)


def _limits(part: Results) -> Mapping[str, Any]:
    entries = [entry for entry in part.report if "chart" in entry]
    return {key: e[key] for e in entries for key in ("link", "cap") if key in e}


def _joint_charts(parts: Sequence[tuple[str, Results]]) -> list[dict[str, Any]]:
    """Return the first campaign's chart entries, with a series for each campaign.

    If all campaigns state a `link` or `cap` and these differ, each campaign keeps its own.
    """
    chart_entries = []
    for entry in parts[0][1].report:
        if "chart" not in entry or "series" not in KINDS[entry["chart"]].options:
            continue
        series = entry.get("series", [])
        own = {key: f"campaign_{key}" for key in ("link", "cap") if _differs(parts, key)}
        every_series = ["campaign", *([series] if isinstance(series, str) else series)]
        chart_entries.append({**entry, **own, "series": every_series})
    return chart_entries


def _differs(parts: Sequence[tuple[str, Results]], key: str) -> bool:
    """Return True if all campaigns state the limit `key` (a link or cap), and these differ."""
    values = [_limits(part).get(key) for _, part in parts]
    return None not in values and len(set(map(str, values))) > 1


Shown = TypeVar("Shown")


def with_needed_columns(
    results: Results, show: Callable[[Results], tuple[Shown, list[DataError]]]
) -> tuple[Shown, list[DataError]]:
    """Return the result of `show`. If columns are missing, read all and call `show` again."""
    try:
        shown, failed = show(results)
    except DataError:
        if not results.narrow:
            raise
    else:
        if not (failed and results.narrow):
            return shown, failed
    return show(opened(results.path))


def say_missing(results: Results) -> None:
    if results.campaign is None:
        return
    left, planned = results.campaign.left(results.frame)
    if left:
        say(f"{left} of {planned} runs have no outcome: netlimits status {quoted(results.path)}")


def say(note: str) -> None:
    echo(f"netlimits: {note}", err=True)


def exit_if_failed(failed: Sequence[DataError], what: str) -> None:
    """Print each error after `what`, and exit with status 1 if there is any."""
    for why in failed:
        say(f"{what}: {why}")
    if failed:
        sys.exit(1)


def list_metrics(results: Results) -> None:
    """Print the available metrics, and how many runs have each."""
    from netlimits.analysis import frames
    from netlimits.cli.shared.lines import section_lines
    from netlimits.cli.shared.reference import Section

    rows = []
    for of in map(metric, frames.measured(results.frame)):
        known = str(int(results.frame[of.column].notna().sum()))
        rows.append((of.name, of.column, of.unit, known, of.title))
    head = ("name", "column", "unit", "runs", "what it is")
    for line in section_lines(Section("metrics here", "", head, tuple(rows))):
        echo(line)
