"""`netlimits parse`: parse raw output again and rewrite the results."""

from __future__ import annotations

from pathlib import Path

import click

from netlimits.cli.shared import logins
from netlimits.cli.shared.options import RESULTS
from netlimits.cli.shared.output import echo


@click.command()
@RESULTS
def parse(results: Path) -> None:
    """Parse the raw output of every run again, and write results.csv and results.parquet again.

    A campaign of more than 4096 runs has the folder `parts` in place of these files. `parse`
    verifies the checksums of the whole journal, and writes each lost or damaged part again.

    The new figures are appended to the journal; the old ones stay in it.

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
