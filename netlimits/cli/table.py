"""`netlimits table`: tables of the runs of a campaign, or of a file of runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from netlimits.cli.shared import entries
from netlimits.cli.shared.entries import summary_of
from netlimits.cli.shared.options import (
    LIST,
    RESULTS,
    Output,
    format_option,
    of_option,
    pool_option,
    separated,
    window_option,
    writing,
)
from netlimits.cli.shared.options.tables import TableOptions, table_options
from netlimits.cli.shared.output import echo
from netlimits.cli.shared.results import (
    Results,
    exit_if_failed,
    list_metrics,
    opened,
    say_missing,
    with_needed_columns,
)
from netlimits.errors import DataError, InputError
from netlimits.experiment.report_schema import WORDS
from netlimits.model import TABLE_FORMATS


@click.command()
@RESULTS
@of_option("Metrics; repeatable, or separated by commas. `list` prints all metrics of RESULTS.")
@table_options
@click.option("--rows", metavar="FACTOR", help="The factor whose values are rows.")
@click.option(
    "--columns",
    multiple=True,
    metavar="FACTOR",
    callback=separated,
    help="The factors whose values are columns; repeatable, or separated by commas.",
)
@pool_option("figure")
@click.option(
    "--improvement",
    multiple=True,
    metavar="'FACTOR=A over B'",
    help="Compare two values of a factor; without FACTOR=, of the factor of --rows. Repeatable.",
)
@window_option("the metric highest_average")
@click.option("--intervals", is_flag=True, help="Add 95 % confidence intervals.")
@format_option(*TABLE_FORMATS)
@click.option("--out", type=Output(folder=False), metavar="FILE", help="Write to this file.")
def table(
    results: Path,
    of: tuple[str, ...],
    rows: str | None,
    columns: tuple[str, ...],
    pool: tuple[str, ...],
    improvement: tuple[str, ...],
    window: float | None,
    intervals: bool,
    form: str,
    out: Path | None,
    reading: TableOptions,
) -> None:
    """Print the tables of RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Options replace the experiment's `report:`. With neither, the table has the measured metrics by
    the factors. A factor that no option names becomes a column. The formats csv and json have all
    digits, and one row for each figure.

    \b
    Examples:
      netlimits table results/stateless-offloads-20260101-120000 --intervals
      netlimits table runs.csv --of throughput,local_sd --rows send_size \\
          --columns transport --improvement '8192 over 1024' --format markdown
      netlimits table results/tso-20260101-120000 --improvement 'tso=on over off' --intervals
      netlimits table theirs.csv --metric 'Mbit/s down=throughput' --rows size
    """
    of = reading.metrics_to_show(of)
    options = {
        "of": list(of),
        "rows": rows,
        "columns": list(columns),
        "pool": list(pool),
        "improvement": _comparisons(improvement, rows),
        "window_s": window,
    }

    def rendered(source: Results) -> tuple[list[str], list[DataError]]:
        texts, failed = [], []
        wanted = list(entries.tables(source.report, options, source.frame))
        summaries = [entry for entry in wanted if entry.get("table") not in WORDS] or wanted
        if form in ("csv", "json") and len(summaries) == 1:  # it has a column of verdicts
            wanted = summaries
        for entry in wanted:
            try:
                frame = summary_of(source, entry, window)
            except DataError as error:
                failed.append(error)
                continue
            texts.append(tables.render(frame, form, intervals, entry.get("title", "")))
        return texts, failed

    narrow = LIST not in of
    comparison = options["improvement"]
    source = opened(
        results,
        needed=partial(entries.needed_by_tables, options=options) if narrow else None,
        reading=reading,
        factors=[
            *([rows] if rows else ()),
            *(*columns, *pool),
            *(comparison if isinstance(comparison, dict) else ()),
        ],
    )
    say_missing(source)
    if not narrow:
        list_metrics(source)
        return
    from netlimits import tables
    from netlimits.analysis.comparisons import improvements

    if isinstance(options["improvement"], dict):
        improvements.refuse_absent(source.frame, options["improvement"])
    texts, failed = with_needed_columns(source, rendered)
    if failed and not texts:
        raise failed[0]
    if form in ("csv", "json") and len(texts) > 1:
        raise DataError(f"{results}: `report:` has {len(texts)} tables; choose one by --of, --rows")
    if out is None:
        echo("\n".join(texts), nl=False)
    else:
        with writing(out):
            out.write_text("\n".join(texts), encoding="utf-8")
        echo(out)
    exit_if_failed(failed, "not made")


def _comparisons(written: tuple[str, ...], rows: str | None) -> str | dict[str, list[str]] | None:
    if len(written) == 1 and "=" not in written[0]:
        return written[0]
    request: dict[str, list[str]] = {}
    for text in written:
        factor, equals, values = text.rpartition("=")
        if not equals and rows is None:
            raise InputError(f"--improvement {text}: name the factor: 'FACTOR={text}'")
        request.setdefault(factor if equals else str(rows), []).append(values)
    return request or None
