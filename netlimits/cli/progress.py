"""Progress of a campaign: a live bar on a terminal, a line for each run where it is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from netlimits.cli import echo, printable
from netlimits.metrics import METRICS
from netlimits.model import Experiment, Record
from netlimits.session import Progress

HEADLINE = ("throughput", "transaction_rate")
"""The metric that stands for a run in one line: the first of these that it has."""


@contextmanager
def shown(experiment: Experiment) -> Iterator[Callable[[Progress], None]]:
    """A function to call with each Progress, on standard error."""
    if not sys.stderr.isatty():
        yield _print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(experiment.name, markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[line]}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, line="")

        def update(progress: Progress) -> None:
            bar.update(task, total=progress.total, completed=progress.done, line=line(progress))
            if progress.last and progress.last.status != "ok":
                bar.console.print(_outcome(progress.last), markup=False, highlight=False)

        yield update


def line(progress: Progress) -> str:
    """ "7/18 done, 0 failed, 0:00:14 left, last 4321 Mbit/s (tcp 1024)"."""
    parts = [
        f"{progress.done}/{progress.total} done",
        f"{progress.failed} failed",
        f"{_clock(progress.seconds_left)} left",
    ]
    if progress.last:
        parts.append(f"last: {_outcome(progress.last)}")
    return ", ".join(parts)


def _print_line(progress: Progress) -> None:
    echo(line(progress), err=True)


def _outcome(record: Record) -> str:
    values = " ".join(f"{name}={value}" for name, value in record.run.values.items())
    if record.status != "ok":
        reason = " ".join(record.reason.split())
        return printable(f"run {record.run.number} {record.status}: {reason} ({values})")
    for metric in METRICS:
        if metric.name in HEADLINE and record.figures.get(metric.column) is not None:
            return printable(f"{record.figures[metric.column]:.0f} {metric.unit} ({values})")
    return printable(f"ok ({values})")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
