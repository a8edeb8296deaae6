"""Progress of a campaign: a live bar on a terminal, or a line for each run if output is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from netlimits.campaign.progress import Progress
from netlimits.cli.shared.output import echo
from netlimits.errors import escaped, one_line
from netlimits.metrics import COVERED_NOTED, HEADLINES, METRICS, OTHER_CPU_NOTED
from netlimits.model import Experiment, Record, tally

if TYPE_CHECKING:
    from rich.console import Console

NAME = 16
BAR = 10
"""Maximum width of the experiment's name, and width of the bar, in characters."""


@contextmanager
def display(experiment: Experiment, verbosity: str | None) -> Iterator[Callable[[Progress], None]]:
    if verbosity == "quiet":
        yield _print_failure
    elif verbosity == "verbose" and not sys.stderr.isatty():
        yield _print_run
    elif not sys.stderr.isatty():
        yield _print_line
    else:
        from rich.console import Console

        with live(experiment.name, Console(stderr=True), verbosity == "verbose") as update:
            yield update


@contextmanager
def live(name: str, console: Console, verbose: bool) -> Iterator[Callable[[Progress], None]]:
    """Yield a callback that updates a progress bar; failed runs (or all runs) are printed above."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    def fixed(width: int | None) -> Column:
        return Column(no_wrap=True, overflow="ellipsis", width=width, ratio=None if width else 1)

    columns = (
        TextColumn("{task.fields[name]}", markup=False, table_column=fixed(min(NAME, len(name)))),
        BarColumn(bar_width=BAR, table_column=fixed(BAR)),
        TextColumn("{task.fields[line]}", markup=False, table_column=fixed(None)),
    )
    with Bar(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task("", total=None, name=escaped(name), line="")

        def update(progress: Progress) -> None:
            bar.update(task, total=progress.total, completed=progress.done, line=line(progress))
            last = progress.last
            if last and (verbose or last.status != "ok"):
                text = figures(last) if verbose else _outcome(last)
                bar.console.print(text, markup=False, highlight=False)

        yield update


def line(progress: Progress) -> str:
    """Return a text such as "7/18 done: 6 ok, 1 timeout, 0:00:14 left, last: 4321 Mbit/s (…)"."""
    parts = [
        f"{progress.done}/{progress.total} done: {tally(progress.outcomes)}",
        f"{_clock(progress.seconds_left)} left",
    ]
    if progress.last:
        parts.append(f"last: {_outcome(progress.last)}")
    return ", ".join(parts)


def figures(record: Record) -> str:
    values = _values(record)
    head = f"run {record.run.number}, attempt {record.attempt}, {record.duration_s:.1f} s: "
    if record.status != "ok":
        return escaped(f"{head}{record.status}: {one_line(record.reason)}{values}")
    pairs = ((m.column, record.figures.get(m.column)) for m in METRICS)
    written = " ".join(
        f"{column}={value:.6g}" if isinstance(value, float) else f"{column}={value}"
        for column, value in pairs
        if value is not None
    )
    return escaped(f"{head}ok{values} {written}")


def _print_line(progress: Progress) -> None:
    echo(line(progress), err=True)


def _print_run(progress: Progress) -> None:
    if progress.last:
        counted = f"{progress.done}/{progress.total}, {_clock(progress.seconds_left)} left"
        echo(f"{counted}: {figures(progress.last)}", err=True)
    else:
        _print_line(progress)


def _print_failure(progress: Progress) -> None:
    if progress.last and progress.last.status != "ok":
        echo(_outcome(progress.last), err=True)


def _outcome(record: Record) -> str:
    values = _values(record)
    if record.status != "ok":
        reason = one_line(record.reason)
        return escaped(f"run {record.run.number} {record.status}: {reason}{values}")
    for metric in METRICS:
        if metric.name in HEADLINES and record.figures.get(metric.column) is not None:
            headline = f"{record.figures[metric.column]:.0f} {metric.unit}"
            return escaped(f"{headline}{values}{_other_programs(record)}{_covered(record)}")
    return escaped(f"ok{values}{_other_programs(record)}")


def _other_programs(record: Record) -> str:
    busy = [
        (share, end)
        for end in ("local", "remote")
        if isinstance(share := record.figures.get(f"{end}_other_cpu_pct"), float)
        and share > OTHER_CPU_NOTED
    ]
    if not busy:
        return ""
    share, end = max(busy)
    name = record.figures.get(f"{end}_other_cpu_of")
    host = "the client's host" if end == "local" else "the server's host"
    busiest = f", most of it {name}" if name else ""
    return f"; other programs took {share:.0f} % of one CPU of {host}{busiest}"


def _covered(record: Record) -> str:
    figures = record.figures
    share = figures.get("covered_pct")
    if not isinstance(share, float) or share >= COVERED_NOTED:
        return ""
    why = "the intervals in which data began and ended are left out"
    begin, end = figures.get("start_skew_s"), figures.get("end_skew_s")
    if isinstance(begin, float) and isinstance(end, float):
        why = f"its streams began {begin:.2f} s and ended {end:.2f} s apart"
    return f"; the throughput is of {share:.0f} % of the time: {why}"


def _values(record: Record) -> str:
    values = " ".join(f"{name}={value}" for name, value in record.run.values.items())
    return f" ({values})" if values else ""


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
