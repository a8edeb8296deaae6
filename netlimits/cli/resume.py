"""`netlimits resume`: continue an interrupted campaign."""

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
    """Continue an interrupted campaign: restore what it left changed, then run the pending runs.

    Finished runs are not repeated; an interrupted run gets a second attempt. If hosts of a mesh are
    unreachable, `resume` runs the runs of the other hosts, and the rest stay pending. If you did
    not start the campaign on this machine, add --hosts: netlimits shows what it would restore
    there, and asks first.

    \b
    Examples:
      netlimits resume results/stateless-offloads-20260101-120000
      netlimits resume results/from-elsewhere --hosts hosts.yaml
    """
    go_on(logbook.open(results), "resume", **options)
