"""`netlimits parse`: parse raw output again and rewrite the results."""

from __future__ import annotations

from pathlib import Path

import click

from netlimits.cli import echo
from netlimits.cli.shared import logins
from netlimits.cli.shared.options import RESULTS


@click.command()
@RESULTS
def parse(results: Path) -> None:
    """Read the raw output of every run again, and make results.csv and results.parquet anew.

    A campaign of more than some thousand runs has the folder parts instead: each part that is lost
    or damaged is made again from the journal, whose checksums are all verified.

    The new figures are added to the journal; the previous ones stay there.

    \b
    Example:
      netlimits parse results/stateless-offloads-20260101-120000
    """
    from netlimits.archive import reader
    from netlimits.campaign.figures.reparse import reparse
    from netlimits.importers import folder

    campaign = reader.open(results)
    with logins.locked(campaign):
        if campaign.imported:
            read, changed = folder.reparse(campaign)
        else:
            read, changed = reparse(campaign)
            campaign.archive.compaction.roll_all()
    if problem := campaign.archive.compaction.problem:
        echo(f"netlimits: parts are missing ({problem}); reading the journal instead", err=True)
    echo(f"{read} attempts read again, {changed} changed")
    for path in campaign.write_results():
        echo(str(path))
