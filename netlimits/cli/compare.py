"""`netlimits compare`: compare campaigns with a baseline, for people and to gate a merge."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits import __version__
from netlimits.cli.shared import entries, gates
from netlimits.cli.shared.both_sides import BothSides, each_part
from netlimits.cli.shared.options import (
    JSON,
    LIST,
    WORSE_STATUS,
    format_option,
    of_option,
    refuse_file,
    refuse_folder,
    share_option,
    writing,
)
from netlimits.cli.shared.options.tables import TableOptions, table_options
from netlimits.cli.shared.output import echo, echo_json, quoted
from netlimits.cli.shared.results import Results, list_metrics, opened
from netlimits.errors import ArchiveError, DataError, InputError
from netlimits.evidence import facts
from netlimits.model.folder import Folder
from netlimits.report.page import render

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.archive.reader import Campaign

UNCLEAR_STATUS = 5
PAGE = "comparison.html"


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", nargs=-1, type=click.Path(path_type=Path))
@of_option("Metrics; repeatable, or separated by commas. `list` prints all metrics.")
@table_options
@share_option("--threshold", "The largest difference that does not matter.", "3%")
@share_option(
    "--sessions-differ-by",
    "The largest difference between two sessions without any change. Larger differences are "
    "called better or worse.",
)
@click.option(
    "--history",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Another campaign of the same side as BEFORE, which shows how much sessions differ. "
    "Repeatable.",
)
@click.option(
    "--together",
    is_flag=True,
    help="Treat all AFTER campaigns as sessions of one side.",
)
@click.option(
    "--gate", type=click.Path(path_type=Path), metavar="FILE", help="The gate's file (YAML)."
)
@click.option(
    "--report",
    "page",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Also write one HTML page; default: comparison.html in the last folder.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 5 if a verdict, or with --gate one of its conditions, is unclear.",
)
@format_option("text", "markdown", "csv", "junit")
@JSON
def compare(
    before: Path,
    after: tuple[Path, ...],
    of: tuple[str, ...],
    threshold: float,
    sessions_differ_by: float | None,
    history: tuple[Path, ...],
    together: bool,
    gate: Path | None,
    page: str | None,
    strict: bool,
    form: str,
    as_json: bool,
    reading: TableOptions,
) -> None:
    """Compare one or more campaigns AFTER with a campaign BEFORE, or the two sides of a duet.

    A duet (`netlimits run --against`) is one folder, whose sides ran in the same blocks, so ratios
    are taken within blocks. Two campaigns are two sessions, which may differ without any change, so
    their verdict is `differ`, never better or worse. To get these verdicts, state how much sessions
    differ (--sessions-differ-by), or add sessions (--history for BEFORE, --together for AFTER).

    Each argument is a campaign's folder, or a CSV or Parquet file of runs. Configurations are
    matched by their factors. For each metric the table has the ratio, its interval and a verdict. A
    ratio above 1 is better, also for metrics where lower is better. Verdicts are better, worse,
    same (the whole interval is within the threshold), differ, and unclear (with the number of runs
    that would decide). If significantly fewer runs ended ok than before, the verdict is fewer; if
    none did, it is failed. Both count as worse. Differences between the hosts are listed above the
    table.

    A gate's file lists what must not get worse:

    \b
      gate:
        - {of: throughput, threshold: 5%}
        - {of: local_sd, threshold: 10%, where: {send_size: 1024}}

    --report writes the comparison as one HTML page. Without FILE it must be the last option.

    Exit status: 0 if no verdict is worse, fewer or failed; 4 if one is; 5 if two sessions differ
    for the worse or, with --strict, a verdict is unclear.

    \b
    Examples:
      netlimits compare results/duet
      netlimits compare results/before results/after
      netlimits compare results/before results/after --of throughput --threshold 5% --strict
      netlimits compare results/before results/after --sessions-differ-by 10%
      netlimits compare results/monday results/today --history results/tuesday
      netlimits compare results/main results/branch --gate gate.yaml --format markdown
      netlimits compare results/main results/branch --gate gate.yaml --format junit > gate.xml
      netlimits compare results/duet --report duet.html
      netlimits compare before.csv after.csv --metric 'Mbit/s down=throughput' --factor size
    """
    for option, given in (("--history", history), ("--together", together)):
        if given and not after:
            raise InputError(f"{option} needs another campaign: compare {before} AFTER {option} …")
    for path in after:
        if path.resolve() == before.resolve():
            echo(f"warning: {path} is compared with itself", err=True)
    of = reading.metrics_to_show(of)
    last = after[-1] if after else before
    if page:
        refuse_file(Path(page))
    elif page is not None and last.is_dir():
        refuse_folder(last)
    if LIST in of:
        list_metrics(opened(before, *history))
        return
    if form == "junit" and (gate is None or as_json):
        raise InputError("--format junit: is the result of a gate; add --gate FILE, without --json")
    conditions = gates.conditions(gate) if gate else ()
    columns = entries.needed_by_comparison(of, [condition.of for condition in conditions])
    options: dict[str, Any] = {"needed": lambda _: columns, "reading": reading}
    baseline = opened(before, *history, **options)
    suites: list[gates.Suite] = []
    parts: list[tuple[BothSides, pd.DataFrame]] = []
    statuses: set[int] = set()
    failures: list[str] = []
    others = [
        opened(first, *rest, **options)
        for first, *rest in ([after] if together and after else [(path,) for path in after])
    ]
    for comparison in _comparisons(baseline, others, sessions_differ_by):
        table = comparison.table(of, threshold)
        judged = list(_judged(comparison, conditions)) if conditions else [([], table)]
        statuses |= {status for _, rows in judged for status in _statuses(rows, strict)}
        every = [of_row for of_rows, _ in judged for of_row in of_rows]
        broken = [of_row.fault for of_row in every if of_row.fault]
        suites.append((comparison.title, every, table.attrs["notes"]))
        failures += [
            f"{comparison.sides[1]}: {line}" if len(after) > 1 else line for line in broken
        ]
        parts.append((comparison, table))
    if as_json:
        echo_json([_json(*part) for part in parts])
    elif form == "junit":
        echo(gates.junit(suites, strict=strict), nl=False)
    else:
        for part in parts:
            echo(_text(*part, form), nl=False)
    for line in failures:
        echo(f"gate: {line}", err=True)
    if page is not None:
        file = _write_page(parts, failures, threshold, page)
        echo(file, err=as_json or form != "text")
    if statuses:
        sys.exit(min(statuses))


def _statuses(table: pd.DataFrame, strict: bool) -> Iterator[int]:
    from netlimits.analysis.comparisons import verdicts

    undecided = (verdicts.DIFFER, verdicts.UNCLEAR) if strict else ()
    for row in table.to_dict("records"):
        verdict = row["verdict"]
        if verdict in verdicts.BAD:
            yield WORSE_STATUS
        elif verdict in undecided or (verdict == verdicts.DIFFER and verdicts.worsened(row)):
            yield UNCLEAR_STATUS


def _comparisons(
    baseline: Results, after: Sequence[Results], sessions_differ_by: float | None
) -> Iterator[BothSides]:
    """Yield the baseline with each campaign of `after`; if there is none, the duet's sides."""
    if not after and (baseline.campaign is None or not baseline.campaign.experiment.sides):
        raise DataError(
            f"{baseline.path}: is not a duet (netlimits run EXPERIMENT --against …); name a "
            "second folder: netlimits compare "
            f"{quoted(baseline.path)} AFTER"
        )
    if not after and sessions_differ_by is not None:
        raise DataError(
            f"{baseline.path}: both sides of a duet are one session; leave out --sessions-differ-by"
        )
    if not after:
        yield BothSides(baseline)
    for results in after:
        yield BothSides(baseline, results, sessions_differ_by)


def _judged(
    comparison: BothSides, conditions: Sequence[gates.Condition]
) -> Iterator[tuple[Sequence[gates.Judged], pd.DataFrame]]:
    for condition in conditions:
        rows = condition.rows(comparison.table([condition.of], condition.threshold))
        yield list(condition.judged(rows)), rows


def _write_page(
    parts: Sequence[tuple[BothSides, pd.DataFrame]],
    failures: Sequence[str],
    threshold: float,
    name: str,
) -> Path:
    from netlimits.report import compared

    each = [
        compared.Compared(
            comparison.title,
            table,
            comparison.shown(table),
            threshold,
            _hosts(comparison),
            _campaigns(comparison),
            comparison.after is None,
            len([*each_part(comparison.before, comparison.after)]) > 2,
        )
        for comparison, table in parts
    ]
    text = render(compared.page(each, failures, f"netlimits {__version__}"))
    last = [*each_part(parts[-1][0].before, parts[-1][0].after)][-1]
    inside = not name and last.campaign is not None
    file = last.path / PAGE if inside else Path(name or PAGE)
    with writing(file):
        if inside:  # readable by its owner only, like all files of a campaign
            Folder(last.path).write(PAGE, text)
        else:
            file.write_text(text, encoding="utf-8")
    return file


def _campaigns(comparison: BothSides) -> dict[str, Campaign]:
    if comparison.after is None:
        assert comparison.before.campaign
        return {"": comparison.before.campaign}
    return {
        str(results.path): results.campaign
        for results in each_part(comparison.before, comparison.after)
        if results.campaign
    }


def _hosts(comparison: BothSides) -> list[str]:
    """Return a line for each difference between the hosts of both campaigns, or of both sides."""
    first, *_, last = [*each_part(comparison.before, comparison.after)] * 2
    if first.campaign is None or last.campaign is None:
        return []
    archives = first.campaign.archive, last.campaign.archive
    roles = {role: role for role in archives[0].machines if role in archives[1].machines}
    if comparison.after is None:
        of_sides = [side.roles for side in first.campaign.experiment.sides.values()]
        roles = dict(zip(*of_sides, strict=True))
    lines = []
    for role, other in roles.items():
        try:
            differing = facts.differences(archives[0].facts(role), archives[1].facts(other))
        except ArchiveError as error:  # the figures can be compared without the facts
            differing = (f"cannot be compared: {error}",)
        lines += [f"{role}: {line}" for line in differing]
    return lines


def _json(comparison: BothSides, table: pd.DataFrame) -> dict[str, Any]:
    rows = json.loads(table.to_json(orient="records", double_precision=15))
    return {
        "after": comparison.sides[1],
        "sides": list(comparison.sides),
        "interleaved": comparison.after is None,
        "hosts": _hosts(comparison),
        "rows": rows,
        "notes": table.attrs["notes"],
    }


def _text(comparison: BothSides, table: pd.DataFrame, form: str) -> str:
    from netlimits import tables

    if form == "csv":
        return tables.render(table, form)
    counts = table["verdict"].value_counts()
    summary = ", ".join(f"{counts[v]} {v}" for v in counts.index)
    hosts = (f"hosts differ: {line}" for line in _hosts(comparison))
    lines = [f"{comparison.title}: {summary}", *hosts]
    shown = comparison.shown(table)
    return "\n".join([*lines, "", tables.render(shown, form)])
