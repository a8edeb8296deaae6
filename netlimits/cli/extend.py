"""`netlimits extend`: more runs for a finished campaign."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import click

from netlimits.archive import logbook
from netlimits.cli.shared import logins
from netlimits.cli.shared.continuation import continuation_options, go_on
from netlimits.cli.shared.lines import counted
from netlimits.cli.shared.options import RESULTS
from netlimits.cli.shared.output import quoted
from netlimits.errors import ArchiveError
from netlimits.experiment.plan import SEED_BITS


@click.command()
@RESULTS
@click.option(
    "--replicates",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="Number of runs to add for each configuration.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**48 - 1),
    metavar="INTEGER",
    help="The seed of their order; default: a random one, which is recorded.",
)
@continuation_options
def extend(results: Path, replicates: int, seed: int | None, **options: Any) -> None:
    """Add runs to a finished campaign: more blocks on the same hosts, in the same kind of order.

    More runs narrow intervals that are too wide: four times as many runs halve an interval.
    Existing runs do not change. The new runs are ordered by a new seed, which the journal records.
    Ctrl-C, `resume` and `status` work as for `run`.

    \b
    Examples:
      netlimits extend results/stateless-offloads-20260101-120000 --replicates 10
      netlimits extend results/stateless-offloads-20260101-120000 --replicates 10 --seed 7
    """
    campaign = logbook.open(results)
    if campaign.imported:
        raise ArchiveError(f"{results}: was imported from files, so there are no hosts to run on")
    if left := campaign.state()["left"]:
        with logins.locked(campaign):  # raises an error if another process runs it
            pass
        raise ArchiveError(
            f"{results}: {counted(left, 'run')} pending; finish the campaign first: netlimits "
            f"resume {quoted(results)}"
        )
    added = replicates, secrets.randbits(SEED_BITS) if seed is None else seed
    campaign.plan.extended(*added)  # raises errors before any host is contacted
    go_on(campaign, "extend", added, **options)
