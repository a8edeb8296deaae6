"""`netlimits report`: a campaign as one HTML page that can be passed on."""

from __future__ import annotations

from pathlib import Path

import click

from netlimits.cli.shared import page
from netlimits.cli.shared.options import RESULTS, Output, refuse_folder
from netlimits.cli.shared.output import echo
from netlimits.errors import InputError


@click.command()
@RESULTS
@click.option(
    "--out",
    type=Output(folder=False),
    metavar="FILE",
    help="File to write; default: RESULTS/report.html.",
)
def report(results: Path, out: Path | None) -> None:
    """Write a report of RESULTS as one self-contained HTML page.

    The page has the question and its answer, tables with intervals, charts, failed runs with
    reasons, the hosts, what was changed and restored, the exact commands of one run, and how to
    repeat the campaign.

    \b
    Example:
      netlimits report results/stateless-offloads-20260101-120000 --out offloads.html
    """
    if not results.is_dir():
        problem = "a report needs a campaign's folder" if results.exists() else "does not exist"
        raise InputError(f"{results}: {problem}; name a results folder")
    if out is None:
        refuse_folder(results)
    echo(page.write(results, out))
