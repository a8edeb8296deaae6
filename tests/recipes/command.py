"""`netlimits toy`: how many toys there are."""

from __future__ import annotations

import click

from netlimits.cli.shared.output import echo


@click.command()
@click.option("--count", type=click.IntRange(0), default=3, show_default=True, help="How many.")
def toy(count: int) -> None:
    """Count toys.

    \b
    Example:
      netlimits toy --count 2
    """
    echo(f"there are {count} toys")
