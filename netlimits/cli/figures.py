"""`netlimits figures`: the charts of a campaign, or of any table of runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from netlimits import charts
from netlimits.cli.shared import entries
from netlimits.cli.shared.options import (
    LIST,
    SEVERAL_RESULTS,
    Output,
    of_option,
    pool_option,
    refuse_folder,
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
    say,
    say_missing,
    with_needed_columns,
)
from netlimits.errors import DataError, did_you_mean
from netlimits.model.folder import Folder


@click.command()
@SEVERAL_RESULTS
@click.option("--chart", metavar="KIND", help="The kind of chart; `list` prints them.")
@of_option(
    "Metrics, with a chart each; repeatable, or separated by commas. `list` prints all metrics."
)
@table_options
@click.option(
    "--series",
    multiple=True,
    metavar="FACTOR",
    callback=separated,
    help="Factors; each combination of their values is a curve. Repeatable, or separated by "
    "commas.",
)
@pool_option("curve or point")
@click.option("--title", help="The title.")
@click.option(
    "--run",
    type=click.IntRange(1),
    help="Draw one run, by its number: its timeline, or the charts of single runs in `report:`.",
)
@window_option("the highest average of parallel streams")
@click.option(
    "--format", "forms", type=click.Choice(charts.FORMATS), multiple=True, default=("png", "svg")
)
@click.option("--out", type=Output(folder=True), metavar="DIR", help="The folder to write to.")
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
    reading: TableOptions,
) -> None:
    """Draw the charts of RESULTS: a campaign's folder, or a CSV or Parquet file of runs.

    Several campaigns of one experiment, for example of two kinds of machine, are drawn into one
    chart. Each is a series with the name of its folder.

    Options replace the experiment's `report:`. With neither, the charts show the measured metrics.
    Each value of a factor that no option names gets a curve of its own. The charts are written as
    PNG and SVG to RESULTS/figures (for a file or several campaigns: to `figures` beside the first),
    and their names are printed. If the runs are too few or too noisy for a chart, the others are
    drawn, the reason is printed, and the exit status is 1.

    \b
    Examples:
      netlimits figures results/stateless-offloads-20260101-120000
      netlimits figures results/n2-standard-32 results/n2-standard-80
      netlimits figures results/quickstart-20260101-120000 --run 3 --of throughput,cwnd,rtt,cpu
      netlimits figures runs.csv --of throughput --series transport,send_size --format pdf
      netlimits figures theirs.csv --metric 'Mbit/s down=throughput' --series size
    """
    of = reading.metrics_to_show(of)
    if chart == "list":
        for kind in charts.CHARTS:
            echo(f"{kind.name:<17}{(kind.draw.__doc__ or '').splitlines()[0]}")
        return
    if chart is not None and chart not in charts.KINDS:
        raise DataError(f"no chart is called {chart!r}{did_you_mean(chart, charts.KINDS)}")
    options = {
        "chart": chart,
        "of": list(of),
        "series": list(series),
        "title": title,
        "pool": list(pool),
    }
    first, single = results[0], len(results) == 1 and results[0].is_dir()
    folder = out or (first if single else first.parent) / "figures"
    if not out and folder.parent.is_dir() and LIST not in of:
        refuse_folder(folder.parent)

    def figures_of(source: Results) -> tuple[list[tuple[str, Any]], list[DataError]]:
        source = drawing.marked(source)
        drawn: list[tuple[str, Any]] = []
        failed: list[DataError] = []
        chosen = entries.charts(source.report, options, source.frame)
        of_one_run = any(charts.KINDS[entry["chart"]].single for entry in chosen)
        if run is not None and chart is None and not of_one_run:
            chosen = [
                {"chart": "timeline", **{k: options[k] for k in ("of", "title") if options[k]}}
            ]
        for entry in entries.narrowed(chosen, {"run": run, "window_s": window}):
            drawn += drawing.figures_of(source, entry, failed, say)
        return drawn, failed

    narrow = len(results) == 1 and LIST not in of
    source = opened(
        *results,
        needed=partial(entries.needed_by_charts, options=options) if narrow else None,
        reading=reading,
        factors=(*series, *pool),
    )
    say_missing(source)
    from netlimits.cli.shared import drawing  # imports pandas

    if LIST in of:
        list_metrics(drawing.marked(source))
        return
    drawn, failed = with_needed_columns(source, figures_of)
    if failed and not drawn:
        raise failed[0]
    inside = source.campaign is not None and not out
    with writing(folder):
        if inside:
            Folder(folder.parent).make(folder.name)
        else:
            folder.mkdir(parents=True, exist_ok=True)
    for name, figure in _named(drawn):
        for file in (f"{name}.{form}" for form in forms):
            if inside:  # in a results folder, replace a symlink instead of following it
                with writing(folder / file):
                    Folder(folder.parent).remove(f"{folder.name}/{file}")
            echo(charts.save(figure, folder / file))
    exit_if_failed(failed, "not drawn")


def _named(drawn: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the figures under unique names: the second chart of a kind and metric gets -2."""
    seen: dict[str, int] = {}
    named = []
    for name, figure in drawn:
        seen[name] = seen.get(name, 0) + 1
        named.append((name if seen[name] == 1 else f"{name}-{seen[name]}", figure))
    return named
