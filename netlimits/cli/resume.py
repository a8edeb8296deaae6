"""`netlimits resume`: go on with an interrupted campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from netlimits.archive import logbook
from netlimits.cli.shared.continuation import continuation_options, go_on
from netlimits.cli.shared.options import RESULTS


@click.command()
@RESULTS
@continuation_options
def resume(results: Path, **options: Any) -> None:
    """Continue an interrupted campaign: restore what it left changed, then do the pending runs.

    A run that has an outcome keeps it; a run that was interrupted gets a new attempt. If hosts of a
    mesh are unreachable, the runs of the other hosts are done, and theirs stay pending. For a
    campaign that you did not start on this machine add --hosts: netlimits shows what it would
    restore there, and asks first.

    \b
    Examples:
      netlimits resume results/stateless-offloads-20260101-120000
      netlimits resume results/from-elsewhere --hosts hosts.yaml
    """
    go_on(logbook.open(results), "resume", **options)
