"""`--share PLACE`: copies a campaign's runs at a command's end, for other machines to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlimits.cli import echo, quoted
from netlimits.errors import NetlimitsError

if TYPE_CHECKING:
    from netlimits.archive.copies import RunsCopy


def _runs_copy(context: click.Context, _: click.Parameter, place: str | None) -> RunsCopy | None:
    if place is None or context.resilient_parsing:
        return None
    from netlimits.archive.copies import RunsCopy

    return RunsCopy.at(place)


SHARE = click.option(
    "--share",
    metavar="PLACE",
    callback=_runs_copy,
    help="Leave the runs as Parquet files there too: a folder, or a URL such as s3://bucket/mesh.",
)


@contextmanager
def sharing(copy: RunsCopy | None, folder: Path, *, as_json: bool) -> Iterator[None]:
    """Leave the runs of the campaign in a folder at the place, however what is within it ends.

    Where that fails, or Ctrl-C interrupts it, an error names the command that does it; what ended
    with an error of its own keeps that, and shows the other one beside it. There are no runs before
    the campaign is made.
    """
    try:
        yield
    except BaseException:
        try:
            _leave(copy, folder, as_json=as_json)
        except NetlimitsError as beside:
            echo(f"netlimits: {beside}", err=True)
        raise
    _leave(copy, folder, as_json=as_json)


def _leave(copy: RunsCopy | None, folder: Path, *, as_json: bool) -> None:
    """Write the copy, and say where it is. Raises NetlimitsError."""
    from netlimits.archive import reader
    from netlimits.campaign.interrupt import Interrupted, interruptible

    if copy is None or not (folder / "campaign.json").exists():
        return
    try:
        with interruptible():
            echo(copy.write(reader.open(folder)), err=as_json)
    except NetlimitsError as error:
        command = f"netlimits export {quoted(folder)} --format parquet --out {quoted(copy.place)}"
        if not isinstance(error, Interrupted):
            error.exit_status = 1
        error.args = (f"{error}; all runs are in {folder}; leave them there with: {command}",)
        raise
