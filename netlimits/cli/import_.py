"""`netlimits import`: make a results folder from files of other tools."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli.shared.lines import counted
from netlimits.cli.shared.options import JSON, Output, refuse_folder
from netlimits.cli.shared.output import echo, echo_json, quoted
from netlimits.errors import InputError, nearest
from netlimits.experiment.validation.names import RESERVED
from netlimits.metrics import metric

if TYPE_CHECKING:
    from netlimits.importers.base import Given
    from netlimits.importers.folder import ImportReport
    from netlimits.model import Scalar

NAMED = 2
"""Maximum number of runs to list for each reason."""


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILES...", type=click.Path(path_type=Path)
)
@click.option(
    "--out",
    type=Output(folder=True),
    metavar="DIR",
    help="The folder for results, which may be a folder of imported results to add to; default: "
    "results/imported-DATE-TIME.",
)
@click.option(
    "--columns",
    metavar="SELECTORS",
    help="The selectors that netperf's -o or -O got, for rows without a header (-P 0).",
)
@click.option(
    "--given",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value that the files do not state: a netperf selector or a factor. Repeatable.",
)
@click.option(
    "--name",
    metavar="PATTERN",
    default="",
    help="Pattern of the file names, with factors: 'buf{buffer}/{delay}ms_{replicate}.json'; * "
    "matches any text.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 2**20),
    default=64,
    metavar="MIB",
    help="Maximum size of a file in MiB, also after decompression; default: 64.",
)
@JSON
def import_(
    files: tuple[Path, ...],
    out: Path | None,
    columns: str | None,
    given: tuple[str, ...],
    name: str,
    limit: int,
    as_json: bool,
) -> None:
    """Make a results folder, like that of `run`, from output that you already have.

    FILES are files and folders. Reads the output of netperf (-o, -k, -O, classic tables), iperf3
    (text, -J, --json-stream), iperf 2 (text, -y C), flent, nuttcp, neper, sockperf, uperf and
    ntttcp, of clients and servers, the JSON results of PerfKitBenchmarker and k8s-netperf, and the
    files of the Turin scripts. A file may hold many runs, also between the lines of a log, and may
    be compressed with gzip, xz, bzip2 or Zstandard. Protocol, direction, sizes, streams and MSS
    become factors if the file states them. netlimits never guesses a value: if a file cannot be
    read, or could mean two things, it is left out with the reason, and the exit status is 1. If
    netperf's output has a banner but no unit, its throughput is read as 10^6bits/s, or as Trans/s
    for a request/response test. Without a banner, state the unit with --given THROUGHPUT_UNITS=...

    A tool's own CPU figures keep its name in their columns: netperf_local_sd_us_per_kib,
    iperf3_local_process_cpu_pct. Each row of a Turin file has the minimum, mean and maximum of
    several runs; aggregated_runs is their number. If you ran the scripts with another number of
    runs, add --given aggregated_runs=N.

    --name reads factors from the names of files and folders. Runs with equal factors are
    replicates; the column `file` names the file of each run.

    \b
    Examples:
      netlimits import percentiles.csv --out results/percentiles
      netlimits import *.json old/*.txt --given offloads=off
      netlimits import bbr*/*.json --name 'bbr_buf{buffer}/{delay}ms_P{streams}_{replicate}.json'
      netlimits import rows.csv --columns throughput,elapsed_time,result_brand \\
          --given THROUGHPUT_UNITS=10^6bits/s
    """
    from netlimits.importers.folder import import_files

    folder = out or _default_path()
    refuse_folder(folder)
    stated = replace(_given(columns, given), name=name, limit=limit << 20)
    report = import_files(files, folder, stated)
    for _, reason in report.refused:
        echo(f"netlimits: left out: {reason}", err=True)
    absent = any(not os.path.lexists(path) for path in files)
    mistaken = absent or not (report.files or report.refused)
    incomplete = InputError.exit_status if mistaken else 1
    if not report.files:
        left = f"{counted(len(report.refused), 'file')} left out"
        why = left if report.refused else "there are no files in the folders; name others"
        echo(f"netlimits: nothing was imported: {why}", err=True)
        sys.exit(incomplete)
    if as_json:
        echo_json(_as_json(report))
    else:
        _say(report)
    if report.refused:
        sys.exit(incomplete)


def _say(report: ImportReport) -> None:
    runs = sum(report.outcomes.values())
    counts = ", ".join(f"{count} {status}" for status, count in report.outcomes.items())
    left = f"; {counted(len(report.refused), 'file')} left out" if report.refused else ""
    echo(f"{counted(len(report.files), 'file')}, {counted(runs, 'run')}: {counts}{left}")
    for reason, count in list(report.reasons.items())[:5]:
        echo(f"  {count} × {reason} ({_named(report.places[reason])})")
    for source in report.files:
        if source["repaired"]:
            rows = counted(source["repaired"], "row")
            echo(
                f"  {source['file']}: {rows} with an empty field for a "
                "selector that netperf did not know; removed, so that the values match the header"
            )
    if report.offered:
        echo(
            "runs of different files count as replicates; to make factors of what differs in the "
            f"names of the files, add --name {shlex.quote(report.offered)}"
        )
    for path in report.written:
        echo(str(path))
    if report.outcomes.get("ok"):
        echo(f"next: netlimits table {quoted(report.path)} {_table_options(report.path)}")


def _named(places: Sequence[str]) -> str:
    """Return "a.txt:3, b.txt:9 and 8 more"."""
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    return ", ".join(places[:NAMED]) + more


def _table_options(folder: Path) -> str:
    """Return options for a first `table` of these results: a metric by a factor that varies.

    A metric that some runs of a configuration lack is the last choice, since `table` rejects it.
    """
    from netlimits.analysis import frames
    from netlimits.archive import reader

    campaign = reader.open(folder)
    frame = campaign.frame()
    good = frame[frame["status"] == "ok"].dropna(axis=1, how="all")
    shares = good.notna().groupby(good["config"]).mean()
    metrics = frames.measured(good)
    complete = [name for name in metrics if shares[metric(name).column].isin([0, 1]).all()]
    named = campaign.experiment.factors
    factors = [name for name in frames.varied(good) if name in named]
    varied = [name for name in factors if good[name].nunique() > 1]
    order = sorted(varied, key=lambda name: name in ("tool", "mss"))
    of = (complete or metrics or ["throughput"])[0]
    return f"--of {of} --rows {(order or factors or ['tool'])[0]}"


def _as_json(report: ImportReport) -> dict[str, Any]:
    return {
        "path": str(report.path),
        "runs": sum(report.outcomes.values()),
        **report.outcomes,
        "reasons": dict(report.reasons),
        "places": {reason: [*places] for reason, places in report.places.items()},
        "files": [*report.files],
        "refused": [{"file": name, "reason": reason} for name, reason in report.refused],
        "written": [str(path) for path in report.written],
        "name": report.offered or None,
    }


def _given(columns: str | None, pairs: Sequence[str]) -> Given:
    from netlimits.importers.base import Given, scalar
    from netlimits.importers.netperf.headers import HEADERS

    named = [name.strip().upper() for name in columns.split(",")] if columns else []
    if not all(re.fullmatch(r"[A-Z][A-Z0-9_]*", name) for name in named):
        raise InputError(f"--columns {columns}: write selectors, as in throughput,elapsed_time")
    if named and not set(named) & set(HEADERS):
        raise InputError(f"--columns {columns}: none of these is an output selector of netperf")
    selectors: dict[str, str] = {}
    factors: dict[str, Scalar] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not (sign and value and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)):
            raise InputError(f"--given {pair}: write NAME=VALUE, as in offloads=off")
        if name.isupper():
            if name not in HEADERS:
                near = nearest(name, HEADERS)
                hint = f"; did you mean {near}?" if near else ""
                raise InputError(f"--given {name}: netperf has no such selector{hint}")
            selectors[name] = value
        elif name in RESERVED:
            raise InputError(f"--given {name}: is a column of every result; choose another name")
        else:
            factors[name] = scalar(value)
    return Given(tuple(named), selectors, factors)


def _default_path() -> Path:
    stem = f"imported-{time.strftime('%Y%m%d-%H%M%S')}"
    path, number = Path("results") / stem, 2
    while path.exists():
        path, number = Path("results") / f"{stem}-{number}", number + 1
    return path
