"""`netlimits history`: finished campaigns in order of time, and where a metric's level changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits import charts
from netlimits.cli.shared.options import (
    JSON,
    SEVERAL_RESULTS,
    WORSE_STATUS,
    Output,
    format_option,
    of_option,
    pool_option,
    share_option,
    writing,
)
from netlimits.cli.shared.options.tables import TableOptions, table_options
from netlimits.cli.shared.output import echo, echo_json
from netlimits.cli.shared.results import Results, opened, say
from netlimits.errors import DataError
from netlimits.metrics import metric

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@SEVERAL_RESULTS
@of_option(
    "Metrics; repeatable, or separated by commas. Default: throughput, or the transaction rate."
)
@table_options
@pool_option("configuration")
@share_option("--threshold", "The largest change that does not matter.", "3%")
@click.option(
    "--out", type=Output(folder=True), metavar="DIR", help="Also draw charts into this folder."
)
@format_option("text", "markdown", "csv")
@JSON
def history(
    results: tuple[Path, ...],
    of: tuple[str, ...],
    reading: TableOptions,
    pool: tuple[str, ...],
    threshold: float,
    out: Path | None,
    form: str,
    as_json: bool,
) -> None:
    """Find where a metric changed over RESULTS, the campaigns of one experiment.

    Finished campaigns are sorted by time. Each campaign is one value for each configuration, the
    mean of its runs. `history` reports where the level of these values changed by more than noise
    explains. It needs six campaigns, and a new level must last for two campaigns. In place of
    folders it reads a table of runs with a column `campaign`.

    Exit status: 4 if the last change of a configuration is for the worse, 0 otherwise.

    \b
    Examples:
      netlimits history results/nightly-*
      netlimits history results/nightly-* --of throughput,local_sd --threshold 5% --out figures
    """
    from netlimits.analysis import defaults
    from netlimits.analysis.history import WORSE, last_changes
    from netlimits.analysis.history import history as history_of

    source = _finished(opened(*results, reading=reading, factors=["campaign"]))
    names = reading.metrics_to_show(of) or defaults.metrics(source.frame)[:1]
    tables = {
        name: history_of(source.having([name]), name, None, threshold, pool) for name in names
    }
    if as_json:
        every = [row for name, table in tables.items() for row in _records(name, table)]
        echo_json(every)
    elif form == "csv":
        for table in tables.values():
            echo(table.to_csv(index=False), nl=False)
    else:
        for name, table in tables.items():
            for line in _lines(name, table, form):
                echo(line)
    if out is not None:
        for path in _draw(source, tables, threshold, pool, out):
            echo(path, err=as_json or form == "csv")
    if any((last_changes(table)["verdict"] == WORSE).any() for table in tables.values()):
        sys.exit(WORSE_STATUS)


def _finished(source: Results) -> Results:
    if not source.parts:
        if source.campaign is not None:
            raise DataError(f"{source.path}: is one campaign; a history needs several")
        return source
    pending = []
    for name, part in source.parts:
        left, planned = part.campaign.left(part.frame) if part.campaign else (0, 0)
        if left:
            say(f"left out: {part.path}: {left} of {planned} runs have no outcome")
            pending.append(name)
    frame = source.frame[~source.frame["campaign"].isin(pending)]
    if frame.empty:
        raise DataError("no campaign is finished; see netlimits status")
    return replace(source, frame=frame)


def _records(name: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table.to_json(orient="records", double_precision=15, date_format="iso")
    return [{"metric": name, **row} for row in json.loads(rows)]


def _lines(name: str, table: pd.DataFrame, form: str) -> Iterator[str]:
    import pandas as pd

    from netlimits import tables
    from netlimits.analysis.history import CAMPAIGN
    from netlimits.analysis.statistics.changes import ENOUGH

    keys = list(table.columns[: list(table.columns).index(CAMPAIGN)])
    count = table[CAMPAIGN].nunique()
    begun = table["started"].dropna()
    span = f", {begun.min():%Y-%m-%d} to {begun.max():%Y-%m-%d}" if len(begun) else ""
    changed = table[table["verdict"] != ""]
    configurations = len(table[keys].drop_duplicates()) if keys else 1
    several = "" if configurations == 1 else f" of {configurations} configurations"
    total = f"{len(changed)} change{'s' * (len(changed) != 1)}" if len(changed) else "no change"
    if count < ENOUGH:
        total = f"too few to find a change, which takes at least {ENOUGH}"
    yield f"{metric(name).label}{several} over {count} campaigns{span}: {total}"
    if changed.empty:
        return
    before = table["level"].shift(1)
    shown = pd.DataFrame(
        {
            **{key: changed[key] for key in keys},
            "since": changed[CAMPAIGN],
            "before": before[changed.index],
            "after": changed["level"],
            "change": [f"{share:+.1f} %" for share in changed["change_pct"]],
            "verdict": changed["verdict"],
        }
    )
    yield ""
    yield tables.render(shown, form).rstrip("\n")


def _draw(
    source: Results,
    every: dict[str, pd.DataFrame],
    threshold: float,
    pool: Sequence[str],
    folder: Path,
) -> Iterator[Path]:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, table in every.items():
        options = {"series": table.attrs["series"], "threshold": threshold, "pool": pool}
        figure = charts.KINDS["history"].draw(source.having([name]), of=name, **options)
        for form in ("png", "svg"):
            yield charts.save(figure, folder / f"history-{name}.{form}")
