"""`netlimits export`: a campaign's figures in the formats of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from netlimits.cli import echo
from netlimits.cli.shared.outputs import refuse_file
from netlimits.cli.shared.results import opened
from netlimits.errors import InputError
from netlimits.export import FORMATS


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, "parquet"]),
    default="json",
    show_default=True,
)
@click.option("--out", metavar="FILE", help="Write to this file; Parquet to this folder or URL.")
def export(results: Path, form: str, out: str | None) -> None:
    """Print the figures of RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Every run's last attempt, with its factors as labels and the units of `results.csv`.
    openmetrics is what Prometheus reads, influx InfluxDB's line protocol. csv is the frame itself,
    with every attempt, which a campaign of more than some thousand runs has no results.csv of.
    parquet is a campaign's, the same in files of some thousand attempts, for other machines: --out
    is their folder, or a URL that fsspec knows, and `netlimits.relation` reads them there.

    \b
    Examples:
      netlimits export results/stateless-offloads-20260101-120000 --format openmetrics
      netlimits export runs.csv --format influx --out runs.lp
      netlimits export results/a-million-runs --format csv --out results.csv
      netlimits export results/a-million-runs --format parquet --out s3://bucket/a-million-runs
    """
    from netlimits.analysis import frames
    from netlimits.experiment import resolution
    from netlimits.export.base import Runs

    if form == "parquet":
        _copy(results, out)
        return
    if out is not None:
        refuse_file(Path(out))
    source = opened(results, needed=(lambda _: frozenset()) if form == "csv" else None)
    name, factors = results.stem, frames.varied(source.frame)
    if source.campaign:
        name = source.campaign.experiment.name
        factors = list(resolution.names(source.campaign.experiment))
    pieces = source.campaign.frames() if source.campaign and source.narrow else None
    lines = FORMATS[form](Runs(name, source.frame, factors, pieces))
    if out is None:
        for line in lines:
            echo(line, nl=False)
        return
    try:
        with Path(out).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from error
    echo(out)


def _copy(results: Path, place: str | None) -> None:
    """Leave a copy of a campaign's runs at a place, and say how many files that made."""
    from netlimits.archive import reader
    from netlimits.archive.copies import RunsCopy

    if place is None:
        raise InputError("--format parquet needs --out: a folder for the files, or a URL")
    echo(RunsCopy.at(place).write(reader.open(results)))
