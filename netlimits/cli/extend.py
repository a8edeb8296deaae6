"""`netlimits extend`: more runs for a finished campaign."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import click

from netlimits.archive import logbook
from netlimits.cli import quoted
from netlimits.cli.shared.continuation import continuation_options, go_on
from netlimits.cli.shared.options import RESULTS
from netlimits.errors import ArchiveError
from netlimits.experiment.plan import SEED_BITS


@click.command()
@RESULTS
@click.option(
    "--replicates",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="How many more runs each configuration gets.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**48 - 1),
    metavar="INTEGER",
    help="The seed of their order; drawn, and recorded, if left out.",
)
@continuation_options
def extend(results: Path, replicates: int, seed: int | None, **options: Any) -> None:
    """Add runs to a finished campaign: more blocks on the same hosts, ordered by the same rule.

    More runs narrow intervals that are too wide to decide by: four times as many runs halve them.
    The existing runs stay as they are. The added runs have a seed of their own, which the journal
    keeps. Ctrl-C, `resume` and `status` are as for `run`.

    \b
    Examples:
      netlimits extend results/stateless-offloads-20260101-120000 --replicates 10
      netlimits extend results/stateless-offloads-20260101-120000 --replicates 10 --seed 7
    """
    campaign = logbook.open(results)
    if campaign.imported:
        raise ArchiveError(f"{results}: was imported from files, so there are no hosts to run on")
    if left := campaign.state()["left"]:
        raise ArchiveError(
            f"{results}: {left} runs are pending; finish it first with: netlimits resume "
            f"{quoted(results)}"
        )
    added = replicates, secrets.randbits(SEED_BITS) if seed is None else seed
    campaign.plan.extended(*added)  # raises before any host is asked
    go_on(campaign, "extend", added, **options)
