"""`table` and `figures`: what the runs of a campaign, or of any table, say.

By default they make what the experiment's `report:` names, and without one a sensible table and
chart; an option overrides that (`cli.entries`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits import charts
from netlimits.cli import drawing, echo, entries, quoted
from netlimits.errors import DataError, InputError
from netlimits.experiment.report_schema import VERDICTS
from netlimits.model import TABLE_FORMATS
from netlimits.model.folder import Folder

if TYPE_CHECKING:
    import pandas as pd

LIST = "list"
"""In place of a metric: print those that there are."""


def _window(what: str) -> Callable[[Any], Any]:
    return click.option(
        "--window",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Over how long {what} is taken.",
    )


def _pool(what: str) -> Callable[[Any], Any]:
    return click.option(
        "--pool",
        multiple=True,
        metavar="FACTOR",
        help=f"A factor that may differ within one {what}: it is meant. Repeatable.",
    )


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--of",
    "--metric",
    "of",
    multiple=True,
    metavar="METRIC",
    help="What to summarize; repeatable. list: show what there is.",
)
@click.option("--rows", metavar="FACTOR", help="The factor whose values are rows.")
@click.option("--columns", multiple=True, metavar="FACTOR", help="Factors across; repeatable.")
@_pool("figure")
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
    pool: tuple[str, ...],
    improvement: str | None,
    window: float | None,
    intervals: bool,
    form: str,
    out: Path | None,
) -> None:
    """Print the tables of RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Options replace what the experiment's `report:` says; without one the table is of what was
    measured by what was varied. What differs and is named nowhere becomes a column. text, markdown
    and html are for people; csv and json hold every digit, one row a cell.

    \b
    Examples:
      netlimits table results/stateless-offloads-20260101-120000 --intervals
      netlimits table runs.csv --of throughput --of local_sd --rows send_size \\
          --columns transport --improvement '8192 over 1024' --format markdown
    """
    from netlimits import tables

    source = _opened(results)
    if LIST in of:
        _list_metrics(source)
        return
    options = {
        "of": list(of),
        "rows": rows,
        "columns": list(columns),
        "pool": list(pool),
        "improvement": improvement,
        "window_s": window,
    }
    texts, failed = [], []
    for entry in entries.tables(source.report, options, source.frame):
        try:
            frame = summary_of(source, entry, window)
        except DataError as error:
            failed.append(error)
            continue
        texts.append(tables.render(frame, form, intervals, entry.get("title", "")))
    if failed and not texts:
        raise failed[0]
    if form in ("csv", "json") and len(texts) > 1:
        raise DataError(f"{results}: `report:` has {len(texts)} tables; choose one by --of, --rows")
    _put("\n".join(texts), out)
    _end(failed, "not made")


def summary_of(
    results: drawing.Results, entry: dict[str, Any], window: float | None = None
) -> pd.DataFrame:
    """The table that an entry asks for, and what its reader must know of it.

    Where the experiment asks for verdicts too, its rows have them in a column.
    """
    from netlimits.analysis.summary import summary

    if entry.get("table") == VERDICTS:
        return _verdicts(results)

    of = entries.listed(entry.get("of"))
    if window is not None and not _of_highest(of):
        raise DataError("--window: only highest_average takes it; add --of highest_average")
    frame = results.frame
    if _of_highest(of):
        frame = results.with_highest_averages(entry.get("window_s"))
    rows = entry.get("rows")
    keys = [rows] if rows else []
    entry, split = entries.split(entry, "columns", keys, frame)
    columns = [name for name in entries.listed(entry.get("columns")) if name != rows]
    table = summary(
        *(frame, of, rows, columns, entry.get("improvement")),
        pool=entries.listed(entry.get("pool")),
    )
    notes = [*([split] if split else []), *table.attrs["notes"]]
    table.attrs["notes"] = tuple(notes)
    if any(each.get("table") == VERDICTS for each in results.report):
        table["verdict"] = _of_cells(table, _verdicts(results), [*keys, *columns])
    return table


def _verdicts(results: drawing.Results) -> pd.DataFrame:
    """What limited each configuration, with the share of the runs that agree and the evidence."""
    from netlimits import limits

    explained = limits.explain(results.campaign or results.frame)
    factors = list(explained.columns[: list(explained.columns).index("class")])
    verdicts = explained[[*factors, "class", "state", "confidence", "evidence"]]
    return verdicts.rename(columns={"class": "verdict"})


def _of_cells(table: pd.DataFrame, verdicts: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """The verdict of each row of a summary; all of them, where its configurations differ."""
    from netlimits.analysis import wording
    from netlimits.limits.explained import heading

    by_key: dict[tuple[str, ...], list[str]] = {}
    for _, row in verdicts.iterrows():
        key = tuple(wording.text(row[heading(name)]) for name in keys)
        by_key.setdefault(key, []).append(row["verdict"])
    cells = table.iloc[:, 2 : 2 + len(keys)].itertuples(index=False)
    by_cell = [by_key.get(tuple(wording.text(value) for value in cell), []) for cell in cells]
    return [", ".join(dict.fromkeys(each)) for each in by_cell]


def _of_highest(of: Sequence[str]) -> bool:
    return any(name.startswith("highest_average") for name in of)


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--chart", metavar="KIND", help="The kind of chart; --chart list shows them.")
@click.option(
    "--of",
    "--metric",
    "of",
    multiple=True,
    metavar="METRIC",
    help="A chart for each; repeatable. list: show what there is.",
)
@click.option("--series", multiple=True, metavar="FACTOR", help="Factors that make a curve each.")
@_pool("curve or point")
@click.option("--title", help="The title.")
@click.option("--run", type=click.IntRange(1), help="The run to draw, where a chart is of one run.")
@_window("the highest average of parallel streams")
@click.option(
    "--format", "forms", type=click.Choice(charts.FORMATS), multiple=True, default=("png", "svg")
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder to write to.")
def figures(
    results: tuple[Path, ...],
    chart: str | None,
    of: tuple[str, ...],
    series: tuple[str, ...],
    pool: tuple[str, ...],
    title: str | None,
    run: int | None,
    window: float | None,
    forms: tuple[str, ...],
    out: Path | None,
) -> None:
    """Draw the charts of RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Several campaigns of one experiment (two kinds of machine, say) are drawn into one chart, a
    series each, under their folders' names.

    Options replace what the experiment's `report:` says; without one the charts are of what was
    measured. What differs and is named nowhere makes curves of its own. The charts are written as
    PNG and SVG to RESULTS/figures (beside a file, or several: to its folder's `figures`) and named,
    one a
    line. Of several charts, one that the runs are too few or too noisy for does not stop the
    others; it is said, and the exit status is 1.

    \b
    Examples:
      netlimits figures results/stateless-offloads-20260101-120000
      netlimits figures results/n2-standard-32 results/n2-standard-80
      netlimits figures runs.csv --of throughput --series transport --series send_size --format pdf
    """
    if chart == "list":
        for kind in charts.CHARTS:
            echo(f"{kind.name:<17}{(kind.draw.__doc__ or '').splitlines()[0]}")
        return
    if chart is not None and chart not in charts.KINDS:
        raise DataError(f"no chart is called {chart!r}; there are {', '.join(charts.KINDS)}")
    source = _opened(*results)
    if LIST in of:
        _list_metrics(source)
        return
    options = {
        "chart": chart,
        "of": list(of),
        "series": list(series),
        "title": title,
        "pool": list(pool),
    }
    first, alone = results[0], len(results) == 1 and results[0].is_dir()
    folder = out or (first if alone else first.parent) / "figures"
    drawn: list[tuple[str, Any]] = []
    chosen = entries.charts(source.report, options, source.frame)
    failed: list[DataError] = []
    for entry in entries.narrowed(chosen, {"run": run, "window_s": window}):
        for name, figure in drawing.figures_of(source, entry, failed, _say):
            drawn.append((name, figure))
    if failed and not drawn:
        raise failed[0]
    inside = source.campaign is not None and not out
    _make_folder(folder, inside)
    for name, figure in _named(drawn):
        for form in forms:
            echo(charts.save(figure, _place(folder, f"{name}.{form}", inside)))
    _end(failed, "not drawn")


def _say(note: str) -> None:
    echo(f"netlimits: {note}", err=True)


def _end(failed: Sequence[DataError], what: str) -> None:
    """Say what is missing, and leave with the exit status that tells it."""
    for why in failed:
        _say(f"{what}: {why}")
    if failed:
        sys.exit(1)


def _list_metrics(results: drawing.Results) -> None:
    from netlimits.cli.describe import metrics_of

    for line in metrics_of(results.frame):
        echo(line)


def _named(drawn: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The figures under names that differ: a second chart of a kind and metric gets -2."""
    seen: dict[str, int] = {}
    named = []
    for name, figure in drawn:
        seen[name] = seen.get(name, 0) + 1
        named.append((name if seen[name] == 1 else f"{name}-{seen[name]}", figure))
    return named


def _opened(results: Path, *others: Path) -> drawing.Results:
    """The results; of a campaign that is not at its end, it is said how much is missing."""
    source = drawing.opened(results, *others)
    if source.campaign:
        left, planned = source.campaign.left(source.frame)
        if left:
            echo(
                f"netlimits: {left} of {planned} runs have no outcome: netlimits status "
                f"{quoted(results)}",
                err=True,
            )
    return source


def _make_folder(folder: Path, inside: bool) -> None:
    """Make the folder for figures; one inside of a results folder is its owner's, and no link."""
    try:
        if inside:
            Folder(folder.parent).make(folder.name)
        else:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}") from error


def _place(folder: Path, name: str, inside: bool) -> Path:
    """Where a figure goes; what was under that name in a results folder is not written through."""
    if inside:
        try:
            Folder(folder.parent).remove(f"{folder.name}/{name}")
        except OSError as error:
            raise InputError(f"{folder / name}: {error.strerror or error}") from error
    return folder / name


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
