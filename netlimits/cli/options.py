"""Options and arguments that several commands share, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from netlimits.errors import InputError

HOSTS = click.option(
    "--hosts",
    "hosts_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The hosts file that binds roles to machines; without it the lab is used.",
)
RESULTS = click.argument("results", type=click.Path(path_type=Path))
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change the experiment, such as measure.netperf.seconds=1; may be given often.",
)
GUARD = click.option(
    "--guard",
    default="5m",
    show_default=True,
    metavar="TIME",
    help="Hosts put themselves back when nothing was heard from here for so long beyond a run "
    "(90s, 5m, 1h); off: they never do.",
)


def pairs(overrides: Sequence[str]) -> list[tuple[str, str]]:
    """`--set KEY=VALUE` as (KEY, VALUE). Raises InputError where there is no `=`."""
    split = [text.partition("=") for text in overrides]
    for key, sign, value in split:
        if not (key and sign):
            raise InputError(f"--set {key}{value}: write KEY=VALUE, as in repeat.replicates=3")
    return [(key, value) for key, _, value in split]
