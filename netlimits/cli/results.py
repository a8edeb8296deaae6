"""`table` and `figures`: what the runs of a campaign, or of any table, say.

By default they make what the experiment's `report:` names; an option overrides that entry by
entry, and a CSV or Parquet file, which has no `report:`, needs the options.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits import schema
from netlimits.cli import drawing, echo
from netlimits.errors import DataError, InputError

if TYPE_CHECKING:
    import pandas as pd

TABLE_FORMATS = ("text", "csv", "markdown", "html", "json")
FIGURE_FORMATS = ("png", "svg", "pdf")


def _window(what: str) -> Callable[[Any], Any]:
    return click.option(
        "--window",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Over how long {what} is taken.",
    )


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--of", "--metric", "of", multiple=True, metavar="METRIC", help="What to summarize; repeatable."
)
@click.option("--rows", metavar="FACTOR", help="The factor whose values are rows.")
@click.option("--columns", multiple=True, metavar="FACTOR", help="Factors across; repeatable.")
@click.option("--improvement", metavar="'A over B'", help="Compare two values of --rows.")
@_window("the metric highest_average")
@click.option("--intervals", is_flag=True, help="Add 95 % confidence intervals over the runs.")
@click.option(
    "--format", "form", type=click.Choice(TABLE_FORMATS), default="text", show_default=True
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def table(
    results: Path,
    of: tuple[str, ...],
    rows: str | None,
    columns: tuple[str, ...],
    improvement: str | None,
    window: float | None,
    intervals: bool,
    form: str,
    out: Path | None,
) -> None:
    """Print the tables of RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Options replace what the experiment's `report:` says. text, markdown and html are for
    people; csv and json hold every digit, one row a cell.

    \b
    Examples:
      netlimits table results/stateless-offloads-20260101-120000 --intervals
      netlimits table runs.csv --of throughput --of local_sd --rows send_size \\
          --columns transport --improvement '8192 over 1024' --format markdown
    """
    from netlimits import tables
    from netlimits.analysis.summary import summary

    found = drawing.opened(results)
    said = {"of": list(of), "rows": rows, "columns": list(columns), "improvement": improvement}
    entries = _entries(found.report, "table", "summary", {**said, "window_s": window})
    made = []
    for entry in entries:
        if not entry.get("of") or not entry.get("rows"):
            raise DataError(f"{results}: say --of METRIC and --rows FACTOR; {found.there}")
        shown = summary(
            _with_window(found, entry),
            entry["of"],
            entry["rows"],
            entry.get("columns", ()),
            entry.get("improvement"),
        )
        made.append(tables.render(shown, form, intervals, entry.get("title", "")))
    if form in ("csv", "json") and len(made) > 1:
        raise DataError(f"{results}: `report:` has {len(made)} tables; choose one by --of, --rows")
    _put("\n".join(made), out)


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--chart", metavar="KIND", help="The kind of chart; --chart list shows them.")
@click.option(
    "--of", "--metric", "of", multiple=True, metavar="METRIC", help="A chart for each; repeatable."
)
@click.option("--series", multiple=True, metavar="FACTOR", help="Factors that make a curve each.")
@click.option("--title", help="The title.")
@click.option("--run", type=click.IntRange(1), help="The run to draw, where a chart is of one run.")
@_window("the highest average of parallel streams")
@click.option(
    "--format", "forms", type=click.Choice(FIGURE_FORMATS), multiple=True, default=("png", "svg")
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder to write to.")
def figures(
    results: Path,
    chart: str | None,
    of: tuple[str, ...],
    series: tuple[str, ...],
    title: str | None,
    run: int | None,
    window: float | None,
    forms: tuple[str, ...],
    out: Path | None,
) -> None:
    """Draw the charts of RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Options replace what the experiment's `report:` says. The charts are written as PNG and SVG
    to RESULTS/figures (beside a file: to its folder's `figures`) and named, one a line. Of several
    charts, one that the runs are too few or too noisy for does not stop the others; it is said,
    and the exit status is 1.

    \b
    Examples:
      netlimits figures results/stateless-offloads-20260101-120000
      netlimits figures runs.csv --of throughput --series transport --series send_size --format pdf
    """
    from netlimits import charts

    kinds = dict(charts.CHARTS)
    if chart == "list":
        for name, draw in charts.CHARTS:
            echo(f"{name:<17}{(draw.__doc__ or '').splitlines()[0]}")
        return
    if chart is not None and chart not in kinds:
        raise DataError(f"no chart is called {chart!r}; there are {', '.join(kinds)}")
    found = drawing.opened(results)
    said = {"chart": chart, "of": list(of), "series": list(series), "title": title}
    folder = out or (results if results.is_dir() else results.parent) / "figures"
    drawn: list[tuple[str, Any]] = []
    entries = _entries(found.report, "chart", "percentiles", said)
    failed = []
    for entry in _narrowed(entries, {"run": run, "window_s": window}):
        try:
            drawn += drawing.figures_of(found, entry)
        except DataError as error:
            failed.append(DataError(f"chart {entry['chart']}: {error}"))
    if failed and not drawn:
        raise failed[0]
    _make_folder(folder, 0o700 if results.is_dir() and not out else 0o777)
    for name, figure in _named(drawn):
        for form in forms:
            echo(charts.save(figure, folder / f"{name}.{form}"))
    for why in failed:
        echo(f"netlimits: not drawn: {why}", err=True)
    if failed:
        sys.exit(1)


def _entries(
    report: Sequence[Mapping[str, Any]], sort: str, default: str, said: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The entries of `report:` of this sort with the options laid over.

    Options about what is shown make one entry of them all, or each chart would come again.
    """
    laid = {key: value for key, value in said.items() if value}
    found = [dict(entry) for entry in report if sort in entry]
    if not laid and found:
        return found
    first = next((e for e in found if not laid.get(sort) or e[sort] == laid[sort]), {})
    if "of" not in laid and sort == "chart" and found:
        return [entry | laid for entry in found if entry[sort] == laid.get(sort, entry[sort])] or [
            laid
        ]
    kept = {k: v for k, v in first.items() if k != "title" or "of" not in laid}
    return [{sort: default} | kept | laid]


def _narrowed(
    entries: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The entries with these options at the charts that take them; one of them has to."""
    found = [dict(entry) for entry in entries]
    for name, value in options.items():
        taking = [entry for entry in found if name in schema.CHARTS.get(entry["chart"], ())]
        if value is not None and not taking:
            drawn = ", ".join(dict.fromkeys(entry["chart"] for entry in found))
            takes = [kind for kind, named in schema.CHARTS.items() if name in named]
            raise DataError(
                f"--{name.removesuffix('_s')}: {drawn}: only {', '.join(takes)} take it"
            )
        for entry in taking:
            entry |= {} if value is None else {name: value}
    return found


def _with_window(found: drawing.Results, entry: Mapping[str, Any]) -> pd.DataFrame:
    """The runs, with their highest averages where an entry says over how long."""
    if "window_s" not in entry:
        return found.frame
    from netlimits.analysis import aggregate

    return aggregate.with_highest_averages(found.frame, found.intervals(), entry["window_s"])


def _named(drawn: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The figures under names that differ: a second chart of a kind and metric gets -2."""
    seen: dict[str, int] = {}
    found = []
    for name, figure in drawn:
        seen[name] = seen.get(name, 0) + 1
        found.append((name if seen[name] == 1 else f"{name}-{seen[name]}", figure))
    return found


def _make_folder(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}") from error


def _put(text: str, out: Path | None) -> None:
    """Print, or write to a file and name it."""
    if out is None:
        echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from error
    echo(out)
