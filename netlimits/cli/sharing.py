"""`--share PLACE`: a campaign's runs left where other machines read them, when a command ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlimits.cli import echo, quoted
from netlimits.errors import NetlimitsError

if TYPE_CHECKING:
    from netlimits.archive.part_folder import PartFolder


def _part_folder(
    context: click.Context, _: click.Parameter, place: str | None
) -> PartFolder | None:
    if place is None or context.resilient_parsing:
        return None
    from netlimits.archive.part_folder import PartFolder

    return PartFolder.at(place)


SHARE = click.option(
    "--share",
    metavar="PLACE",
    callback=_part_folder,
    help="Leave the runs as Parquet files there too: a folder, or a URL such as s3://bucket/mesh.",
)


@contextmanager
def sharing(place: PartFolder | None, folder: Path, *, as_json: bool) -> Iterator[None]:
    """Leave the runs of the campaign in a folder at the place, however what is within it ends.

    Where that fails, it is said, with the command that does it; the campaign is as it is.
    """
    if place is None:
        yield
        return
    try:
        yield
    except BaseException:
        _copied(place, folder, as_json=as_json)
        raise
    if not _copied(place, folder, as_json=as_json):
        sys.exit(1)


def _copied(place: PartFolder, folder: Path, *, as_json: bool) -> bool:
    """Whether all runs are at the place now; there are none before the campaign is made."""
    from netlimits.archive import reader

    if not (folder / "campaign.json").exists():
        return True
    try:
        count = place.write(reader.open(folder))
    except NetlimitsError as error:
        again = f"netlimits export {quoted(folder)} --format parquet --out {quoted(place.place)}"
        echo(
            f"netlimits: {error}; all runs are in {folder}; leave them there with: {again}",
            err=True,
        )
        return False
    echo(f"{place.place}: {count} {'file' if count == 1 else 'files'}", err=as_json)
    return True
