"""`netlimits export`: a campaign's figures in the formats of other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from netlimits.cli.shared.options import SEVERAL_RESULTS, refuse_file, writing
from netlimits.cli.shared.options.tables import TableOptions, table_options
from netlimits.cli.shared.output import echo
from netlimits.cli.shared.results import Needed, Results, opened
from netlimits.errors import DataError, InputError
from netlimits.evidence.profiles.stacks import folded
from netlimits.experiment import resolution
from netlimits.export import FORMATS, OF_PROFILES, SECOND_FILES


@click.command()
@SEVERAL_RESULTS
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, "parquet"]),
    default="json",
    show_default=True,
)
@click.option("--out", metavar="FILE", help="Write to this file; parquet: to this folder or URL.")
@table_options
def export(results: tuple[Path, ...], form: str, out: str | None, reading: TableOptions) -> None:
    """Print the figures of RESULTS: campaigns' folders, or a CSV or Parquet file of runs.

    Each run's last attempt is exported, with its factors as labels and the units of `results.csv`.
    openmetrics is for Prometheus, influx is InfluxDB's line protocol, and opensearch is the body of
    a bulk request. otava is a CSV file for Apache Otava, with a row for each campaign. With --out,
    opensearch also writes the index template (FILE.template.json), and otava its configuration
    (FILE.yaml). csv has every attempt; it is for campaigns of more than 4096 runs, which have no
    results.csv. parquet writes one campaign's attempts to a folder, or to a URL that fsspec knows,
    where `netlimits.relation` reads them. folded and speedscope have the stacks of profiles, for
    flame graph programs and https://www.speedscope.app.

    \b
    Examples:
      netlimits export results/stateless-offloads-20260101-120000 --format openmetrics
      netlimits export runs.csv --format influx --out runs.lp
      netlimits export results/nightly-* --format otava --out nightly.csv
      netlimits export results/nightly-* --format opensearch --out runs.ndjson
      netlimits export results/profiled --format speedscope --out profile.json
      netlimits export results/a-million-runs --format csv --out results.csv
      netlimits export results/a-million-runs --format parquet --out s3://bucket/a-million-runs
    """
    from netlimits.analysis import attempts, frames
    from netlimits.export.base import Runs

    reading.refuse_names()
    if form == "parquet":
        if len(results) > 1:
            raise InputError("--format parquet: copies one campaign; name one folder")
        _copy(results[0], out)
        return
    if out is not None:
        refuse_file(Path(out))
    narrow = len(results) == 1 and form != "otava"
    needed: Needed | None = (lambda _: frozenset(("status",))) if narrow else None
    source = opened(*results, needed=needed, reading=reading, factors=["campaign"])
    name, factors = results[0].stem, frames.varied(source.frame)
    campaign = source.campaign or (source.parts[0][1].campaign if source.parts else None)
    if campaign:
        name = campaign.experiment.name
        factors = [*(["campaign"] if source.parts else []), *resolution.names(campaign.experiment)]
    pieces = source.campaign.frames if source.campaign and source.narrow else None
    tools = list(campaign.experiment.measure) if campaign else []
    tool = tools[0] if len(tools) == 1 else ""
    frame = source.frame if form == "csv" else attempts.without_profiled(source.frame)
    stacks = _stacks(source) if form in OF_PROFILES else {}
    runs = Runs(name, frame, factors, pieces, _campaigns(source), tool, stacks)
    if out is None:
        for line in FORMATS[form](runs):
            echo(line, nl=False)
        return
    _write(out, FORMATS[form](runs))
    if form in SECOND_FILES:
        suffix, lines = SECOND_FILES[form]
        _write(str(Path(out).with_suffix(suffix)), lines(runs, out))


def _stacks(source: Results) -> dict[str, Mapping[str, int]]:
    from netlimits.report.profiles import profiles

    every = list(profiles(source.campaign)) if source.campaign else []
    if not every:
        raise DataError(
            f"{source.path}: no run recorded a profile; measure with `profile:` or run --profile"
        )
    return {each.title: folded(each.profile) for each in every}


def _campaigns(source: Results) -> dict[str, tuple[str, int]]:
    """Return campaign name -> its id, and the number of runs in all campaigns before it."""
    if source.campaign:
        return {"": (source.campaign.archive.identity, 0)}
    before, campaigns = 0, {}
    for name, part in source.parts:
        assert part.campaign
        campaigns[name] = part.campaign.archive.identity, before
        before += int(part.frame["run"].max())
    return campaigns


def _write(out: str, lines: Iterable[str]) -> None:
    with writing(Path(out)), Path(out).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
    echo(out)


def _copy(results: Path, place: str | None) -> None:
    from netlimits.archive import reader
    from netlimits.archive.copies import RunsCopy

    if place is None:
        raise InputError("--format parquet needs --out: a folder for the files, or a URL")
    echo(RunsCopy.at(place).write(reader.open(results)))
