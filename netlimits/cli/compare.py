"""`netlimits compare`: campaigns against a baseline, for people and for the gate of a merge."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli import echo, gates
from netlimits.cli.options import JSON
from netlimits.cli.results import Results, opened

if TYPE_CHECKING:
    import pandas as pd

WORSE_STATUS, UNCLEAR_STATUS = 4, 5
FORMATS = ("text", "markdown", "csv")


def _share(_: click.Context, __: click.Parameter, text: str) -> float:
    return gates.share(text)


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--of", multiple=True, metavar="METRIC", help="What to compare; repeatable.")
@click.option(
    "--threshold",
    default="3%",
    show_default=True,
    metavar="SHARE",
    callback=_share,
    help="Below it a difference does not matter.",
)
@click.option("--gate", type=click.Path(path_type=Path), metavar="FILE", help="Conditions (YAML).")
@click.option("--strict", is_flag=True, help="Exit with 5 where something is unclear.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@JSON
def compare(
    before: Path,
    after: tuple[Path, ...],
    of: tuple[str, ...],
    threshold: float,
    gate: Path | None,
    strict: bool,
    form: str,
    as_json: bool,
) -> None:
    """Compare campaigns with a baseline: BEFORE, then one AFTER or more.

    Each is a campaign's folder, or a CSV or Parquet file of runs. Configurations are matched by
    their factors. For each metric the ratio, its interval and a verdict by the metric's own
    direction: better, worse, same (the whole interval within the threshold) or unclear, with the
    runs of each side that would decide. A configuration that had runs that are ok, and now has
    none, is failed, which counts as worse. What differs between the hosts stands above.

    A gate's file names what must not grow worse:

    \b
      gate:
        - {of: throughput, threshold: 5%}
        - {of: local_sd, threshold: 10%, where: {send_size: 1024}}

    Exit status: 0 nothing is worse or failed, 4 something is, 5 with --strict where something is
    unclear.

    \b
    Examples:
      netlimits compare results/before results/after
      netlimits compare results/before results/after --of throughput --threshold 5% --strict
      netlimits compare results/main results/branch --gate gate.yaml --format markdown
    """
    baseline = opened(before)
    conditions = gates.conditions(gate) if gate else ()
    parts: list[tuple[Path, list[str], pd.DataFrame]] = []
    verdicts: set[str] = set()
    failures: list[str] = []
    for path in after:
        results = opened(path)
        table = _table(baseline, results, of, threshold)
        broken = list(_broken(baseline, results, conditions))
        failures += [f"{path}: {line}" if len(after) > 1 else line for line in broken]
        verdicts |= set(table["verdict"])
        parts.append((path, _hosts(baseline, results), table))
    if as_json:
        echo(json.dumps([_json(*part) for part in parts], indent=2, ensure_ascii=False))
    else:
        for part in parts:
            echo(_text(before, *part, form), nl=False)
    for line in failures:
        echo(f"gate: {line}", err=True)
    if failures or (not conditions and verdicts & {"worse", "failed"}):
        sys.exit(WORSE_STATUS)
    if strict and "unclear" in verdicts:
        sys.exit(UNCLEAR_STATUS)


def _table(before: Results, after: Results, of: Sequence[str], threshold: float) -> pd.DataFrame:
    from netlimits.analysis import comparison

    return comparison.compare(
        before.having(of), after.having(of), of, threshold, among=_factors(before, after)
    )


def _factors(*sides: Results) -> list[str] | None:
    """The factors and derived values of both campaigns; None for files, which do not tell."""
    from netlimits.experiment import resolution

    names: list[str] = []
    for side in sides:
        if side.campaign is None or side.campaign.imported:
            return None
        names += resolution.names(side.campaign.experiment)
    return list(dict.fromkeys(names))


def _broken(
    before: Results, after: Results, conditions: Sequence[gates.Condition]
) -> Iterator[str]:
    """The conditions that do not hold, each with the ratio that breaks it."""
    for condition in conditions:
        table = _table(before, after, [condition.of], condition.threshold)
        yield from condition.broken(table)


def _hosts(before: Results, after: Results) -> list[str]:
    """What differs between the hosts of two campaigns, a line each."""
    from netlimits.evidence import facts

    if before.campaign is None or after.campaign is None:
        return []
    archives = before.campaign.archive, after.campaign.archive
    return [
        f"{role}: {line}"
        for role in archives[0].machines
        if role in archives[1].machines
        for line in facts.differences(archives[0].facts(role), archives[1].facts(role))
    ]


def _json(path: Path, hosts: Sequence[str], table: pd.DataFrame) -> dict[str, Any]:
    rows = json.loads(table.to_json(orient="records", double_precision=15))
    return {"after": str(path), "hosts": hosts, "rows": rows, "notes": table.attrs["notes"]}


def _text(before: Path, path: Path, hosts: Sequence[str], table: pd.DataFrame, form: str) -> str:
    """The comparison for people: what changed on the hosts, the table, what it rests on."""
    from netlimits import tables

    if form == "csv":
        return tables.render(table, form)
    counts = table["verdict"].value_counts()
    summary = ", ".join(f"{counts[v]} {v}" for v in counts.index)
    lines = [f"{path} against {before}: {summary}", *(f"hosts differ: {line}" for line in hosts)]
    return "\n".join([*lines, "", tables.render(_shown(table), form)])


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """The table with rounded numbers and the metrics' titles."""
    from netlimits.metrics import metric

    texts: pd.DataFrame = table[table.attrs["factors"]].copy()
    rows = table.to_dict("records")
    texts["metric"] = [metric(row["metric"]).label for row in rows]
    for side in ("before", "after"):
        texts[side] = [_figure(row[side], ".4g") for row in rows]
    texts["ratio"] = [f"{_figure(row['ratio'], '.3f')}{_interval(row)}" for row in rows]
    texts["runs"] = [f"{_count(row, 'before')} and {_count(row, 'after')}" for row in rows]
    texts["verdict"] = [f"{row['verdict']}{_needed(row['runs'])}{_side(row)}" for row in rows]
    texts.attrs["notes"] = table.attrs["notes"]
    return texts


def _figure(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


def _count(row: dict[Hashable, Any], side: str) -> str:
    """The runs behind a figure; of how many, where some are not ok: "0 of 3"."""
    ok, tried = row[f"n_{side}"], row[f"of_{side}"]
    return f"{ok}" if ok == tried else f"{ok} of {tried}"


def _side(row: dict[Hashable, Any]) -> str:
    """Of a configuration whose runs all failed on one side, which: "0 of 3 runs ok after"."""
    side = {"failed": "after", "recovered": "before"}.get(row["verdict"])
    return f": 0 of {row[f'of_{side}']} runs ok {side}" if side else ""


def _interval(row: dict[Hashable, Any]) -> str:
    return "" if math.isnan(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"


def _needed(runs: float) -> str:
    return "" if math.isnan(runs) else f": {runs:.0f} runs a side would tell"
