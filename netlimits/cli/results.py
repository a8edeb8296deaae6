"""What `table` and `figures` share: opened results, options, and what is said at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from netlimits.cli import drawing, echo, quoted
from netlimits.errors import DataError

LIST = "list"
"""In place of a metric: print those that there are."""


def window_option(what: str) -> Callable[[Any], Any]:
    """`--window`, over which `what` is taken."""
    return click.option(
        "--window",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Over how long {what} is taken.",
    )


def pool_option(what: str) -> Callable[[Any], Any]:
    """`--pool`, of factors within one `what`."""
    return click.option(
        "--pool",
        multiple=True,
        metavar="FACTOR",
        help=f"A factor that may differ within one {what}: it is meant. Repeatable.",
    )


def opened(results: Path, *others: Path) -> drawing.Results:
    """The results; of a campaign that is not at its end, it is said how much is missing."""
    source = drawing.opened(results, *others)
    if source.campaign:
        left, planned = source.campaign.left(source.frame)
        if left:
            echo(
                f"netlimits: {left} of {planned} runs have no outcome: netlimits status "
                f"{quoted(results)}",
                err=True,
            )
    return source


def say(note: str) -> None:
    """A line for people, beside what is printed."""
    echo(f"netlimits: {note}", err=True)


def end(failed: Sequence[DataError], what: str) -> None:
    """Say what is missing, and leave with the exit status that tells it."""
    for why in failed:
        say(f"{what}: {why}")
    if failed:
        sys.exit(1)


def list_metrics(results: drawing.Results) -> None:
    """Print the metrics that there are, in place of a table or charts."""
    from netlimits.cli.describe import metrics_of

    for line in metrics_of(results.frame):
        echo(line)
