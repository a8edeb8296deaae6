"""`netlimits upgrade`: a results folder of an older netlimits made one of this."""

from __future__ import annotations

import json
from pathlib import Path

import click

from netlimits.cli import echo
from netlimits.cli.options import JSON, RESULTS


@click.command()
@RESULTS
@JSON
def upgrade(results: Path, as_json: bool) -> None:
    """Make a results folder of version 1 one of version 2.

    In version 2 a line of the journal that is lost or changed is told, and so is a changed
    experiment, plan or host's facts; a large campaign has its columns in parts and its raw output
    in packs. The new folder is built beside the old one, held against it event by event and file
    by file, and only then takes its place. The old one stays as RESULTS.version-1, which may be
    removed. The files that both have, raw output above all, are on the disk once.

    What was killed on the way is finished by the same command. A folder of version 2 stays as it
    is. `resume` and `restore` ask for --hosts FILE as they did.

    \b
    Examples:
      netlimits upgrade results/stateless-offloads-20260101-120000
      netlimits upgrade results/stateless-offloads-20260101-120000 --json
    """
    from netlimits.archive.upgrade import upgraded
    from netlimits.archive.versions import VERSION

    done = upgraded(results)
    if as_json:
        old = None if done.old is None else str(done.old)
        about = {"path": str(results), "version": VERSION, "from": done.version}
        echo(json.dumps({**about, "events": done.events, "old": old}, indent=2))
    elif done.old is None:
        echo(f"{results}: is of version {VERSION} already")
    else:
        echo(f"{results}: of version {VERSION} now, {done.events} events")
        echo(f"{done.old}: the old one, as it was")
