"""Choose the entries of `report:`: those of the experiment, changed by options, or defaults.

An option of the command line replaces its part of the entry, and removes parts that contradict it.
Every factor that has several values and is not named becomes a column or series, with a note. So
only factors in `pool` are pooled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.charts import CHARTS, KINDS, REQUIRED
from netlimits.cli.shared.results import Results
from netlimits.errors import DataError, InputError
from netlimits.experiment.report_schema import SEARCH, VERDICTS, WORDS, contradictions
from netlimits.limits.base import REFUTED
from netlimits.limits.verdicts import UNDETERMINED
from netlimits.metrics import IDENTITY, metric
from netlimits.model import SIDE

if TYPE_CHECKING:
    import pandas as pd


Entry = dict[str, Any]


def tables(
    report: Sequence[Mapping[str, Any]], options: Mapping[str, Any], frame: pd.DataFrame
) -> list[Entry]:
    from netlimits.analysis import defaults

    named = [_without_sides(entry, frame) for entry in report if "table" in entry]
    laid = _consistent(options)
    if not laid and named:
        only_verdicts = all(entry["table"] == VERDICTS for entry in named)
        return [*named, *([defaults.table(frame)] if only_verdicts else [])]
    named = [entry for entry in named if entry["table"] not in WORDS]
    if not (named or (laid.get("of") and laid.get("rows"))):
        named = [defaults.table(frame)]
    if set(laid) <= {"pool"}:
        return [_without_pooled(entry | laid) for entry in named]
    return [_laid_over(named[0] if named else {"table": "summary"}, laid)]


def charts(
    report: Sequence[Mapping[str, Any]], options: Mapping[str, Any], frame: pd.DataFrame
) -> list[Entry]:
    from netlimits.analysis import defaults

    named = [_without_sides(entry, frame) for entry in report if "chart" in entry]
    laid = _consistent(options)
    if not named and not laid.get("chart"):
        chosen = defaults.chart(frame)
        named = [{"chart": "percentiles", **laid} if laid.get("of") else chosen]
    fitting = [e for e in named if laid.get("chart", e["chart"]) == e["chart"]]
    if "of" not in laid and fitting:
        return [_without_pooled(entry | laid) for entry in fitting]
    first = next(iter(fitting), {} if laid.get("chart") else named[0])
    kept = {k: v for k, v in first.items() if k != "title" or "of" not in laid}
    entry = {"chart": "percentiles"} | kept | laid
    kind = KINDS.get(entry["chart"])
    if not first and "of" not in entry and kind and kind.options.get("of") is REQUIRED:
        entry["of"] = defaults.metrics(frame)[:1]
    return [_without_pooled(entry)]


def _consistent(options: Mapping[str, Any]) -> Entry:
    """Return the given options. Raises InputError if two of them contradict each other."""
    laid = {key: value for key, value in options.items() if value}
    for name, first, second in contradictions(laid):
        raise InputError(
            f"--{first} {name}: is in --{second} too, and a factor has one place; "
            f"leave it out of one of the two"
        )
    return laid


def _laid_over(entry: Mapping[str, Any], laid: Mapping[str, Any]) -> Entry:
    """Return a table's entry with options applied: a factor is a row or a column, not both."""
    base = dict(entry)
    if "of" in laid:
        base.pop("title", None)
    rows, columns = laid.get("rows", base.get("rows")), listed(laid.get("columns"))
    if "columns" not in laid:
        columns = [name for name in listed(base.get("columns")) if name != rows]
    elif rows in columns and "rows" not in laid:
        rows = next((n for n in listed(base.get("columns")) if n not in columns), None)
    if rows != base.get("rows") and isinstance(base.get("improvement"), str):
        del base["improvement"]
    return _without_pooled({**base, **laid, "rows": rows, "columns": columns})


def _without_sides(entry: Mapping[str, Any], frame: pd.DataFrame) -> Entry:
    """Return the entry without the factor `side` unless the campaign has two sides."""
    if SIDE in frame.columns:
        return dict(entry)
    without = _without_pooled({**entry, "pool": [*listed(entry.get("pool")), SIDE]})
    without.pop("pool")
    return without | ({"pool": entry["pool"]} if "pool" in entry else {})


def _without_pooled(entry: Entry) -> Entry:
    pool = listed(entry.get("pool"))
    if not pool:
        return entry
    unpooled = dict(entry)
    for part in ("columns", "series"):
        if part in unpooled:
            unpooled[part] = [name for name in listed(unpooled[part]) if name not in pool]
    request = unpooled.pop("improvement", None)
    if isinstance(request, Mapping):
        request = {factor: written for factor, written in request.items() if factor not in pool}
    if request and not (isinstance(request, str) and unpooled.get("rows") in pool):
        unpooled["improvement"] = request
    if unpooled.get("rows") in pool:
        unpooled["rows"], *unpooled["columns"] = unpooled.get("columns") or [None]
    return unpooled


def narrowed(entries: Sequence[Entry], options: Mapping[str, Any]) -> list[Entry]:
    """Return the entries with each option added to the charts that accept it.

    Raises:
        DataError: No chart takes one of the options.
    """
    copies = [dict(entry) for entry in entries]
    for name, value in options.items():
        taking = [
            entry for entry in copies if (k := KINDS.get(entry["chart"])) and name in k.options
        ]
        if value is not None and not taking:
            drawn = ", ".join(dict.fromkeys(entry["chart"] for entry in copies))
            takes = [kind.name for kind in CHARTS if name in kind.options]
            raise DataError(
                f"--{name.removesuffix('_s')}: {drawn} has no such option; use {', '.join(takes)}"
            )
        for entry in taking:
            entry |= {} if value is None else {name: value}
    return copies


def split(entry: Entry, part: str, keys: Iterable[str], frame: pd.DataFrame) -> tuple[Entry, str]:
    """Return the entry, with each varying factor that it does not name in `part`, and a note."""
    from netlimits.analysis import attempts, frames, pooling

    runs = attempts.with_outcome(frame)
    factors = [*dict.fromkeys([*keys, *listed(entry.get(part))])]
    pool = listed(entry.get("pool"))
    frames.factors(runs, [*factors, *pool])
    pooled = pooling.differing_factors(runs, [*factors, *pool])
    if not pooled:
        return entry, ""
    note = (
        f"split by {pooling.phrase(pooled)}, so that no configurations that differ are pooled; "
        f"--pool {next(iter(pooled))} pools them"
    )
    return {**entry, part: [*listed(entry.get(part)), *pooled]}, note


def listed(names: Any) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def summary_of(
    results: Results, entry: dict[str, Any], window: float | None = None
) -> pd.DataFrame:
    """Return the table that an entry asks for, with a column of verdicts if `report:` has them."""
    from netlimits.analysis.summary import summary

    if entry.get("table") == VERDICTS:
        derived = results.campaign.experiment.derived if results.campaign else ()
        return _verdicts(results).drop(columns=[*derived], errors="ignore")
    if entry.get("table") == SEARCH:
        from netlimits.analysis.statistics.search import searches

        return searches(results.frame)

    of = listed(entry.get("of"))
    if window is not None and not of_highest(of):
        raise DataError("--window: only highest_average takes it; add --of highest_average")
    frame = results.frame
    if of_highest(of):
        frame = results.with_highest_averages(entry.get("window_s"))
    rows = entry.get("rows")
    keys = [rows] if rows else []
    entry, note = split(entry, "columns", keys, frame)
    columns = [name for name in listed(entry.get("columns")) if name != rows]
    table = summary(
        *(frame, of, rows, columns, entry.get("improvement")),
        pool=listed(entry.get("pool")),
    )
    notes = [*([note] if note else []), *table.attrs["notes"]]
    table.attrs["notes"] = tuple(notes)
    if any(each.get("table") == VERDICTS for each in results.report):
        _tell_limits(table, _verdicts(results), [*keys, *columns])
    return table


def _verdicts(results: Results) -> pd.DataFrame:
    from netlimits.limits import explained

    every = explained.explain(results.campaign or results.frame)
    factors = list(every.columns[: list(every.columns).index("class")])
    verdicts = every[[*factors, "class", "state", "confidence", "evidence"]]
    return verdicts.rename(columns={"class": "verdict"})


def _tell_limits(table: pd.DataFrame, verdicts: pd.DataFrame, keys: Sequence[str]) -> None:
    """Add the verdicts of each row to a summary whose rows are configurations."""
    from netlimits.analysis import wording
    from netlimits.limits.explained import heading
    from netlimits.tables.summaries import VERDICT

    if not all(heading(name) in verdicts.columns for name in keys):
        return
    by_key: dict[tuple[str, ...], list[str]] = {}
    for _, row in verdicts.iterrows():
        key = tuple(wording.text(row[heading(name)]) for name in keys)
        verdict = row["verdict"] if row["state"] != REFUTED else UNDETERMINED
        by_key.setdefault(key, []).append(verdict)
    cells = table.iloc[:, 2 : 2 + len(keys)].itertuples(index=False)
    by_cell = [by_key.get(tuple(wording.text(value) for value in cell), []) for cell in cells]
    table[VERDICT] = [", ".join(dict.fromkeys(each)) for each in by_cell]


def of_highest(of: Sequence[str]) -> bool:
    return any(name.startswith("highest_average") for name in of)


LIMITED_BY = "limited_by"
"""The column of verdicts. `metrics.IDENTITY` has it, but the files of a campaign do not."""

ALWAYS_READ = (
    *(
        "disturbed_pct",
        "local_other_cpu_pct",
        "remote_other_cpu_pct",
        "covered_pct",
        "loss_pct",
        "transport_mss_bytes",
        "paced_by",
    ),
    *("aggregated_runs", "transaction_rate_tps", "throughput_mbps"),
    *("local_send_throughput_mbps", "remote_recv_throughput_mbps"),
    *("local_recv_throughput_mbps", "remote_send_throughput_mbps"),
)
"""Columns that every table and chart needs, for caveats and defaults."""
WINDOWS = ("window_s", "elapsed_s")
"""Columns needed where both sent and received rates are shown."""


def needed_by_tables(
    report: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> frozenset[str] | None:
    """Return the columns that the report's tables, or the options, need; None for all."""
    named = [entry for entry in report if "table" in entry and entry["table"] != VERDICTS]
    if any(entry["table"] in WORDS for entry in named):
        return None
    return _columns([*named, options])


def needed_by_charts(
    report: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> frozenset[str] | None:
    named = [entry for entry in report if "chart" in entry]
    chart = options.get("chart")
    kinds = [chart] if chart else [entry["chart"] for entry in named]
    if not kinds or not all(kind in KINDS and KINDS[kind].narrow for kind in kinds):
        return None
    return _columns([*named, options])


def needed_by_page(report: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    tables, charts = needed_by_tables(report, {}), needed_by_charts(report, {})
    return None if tables is None or charts is None else tables | charts


def needed_by_comparison(names: Sequence[str], gated: Sequence[str]) -> frozenset[str] | None:
    from netlimits.analysis import defaults

    return _columns([{"of": [*(names or defaults.TABLES), *gated]}])


def _columns(entries: Iterable[Mapping[str, Any]]) -> frozenset[str] | None:
    """Return the columns that entries need, or None if the columns are not known beforehand."""
    from netlimits.analysis.caveats import ARRIVED, SENT

    columns, shown = {*IDENTITY, *ALWAYS_READ} - {"reason", LIMITED_BY}, set[str]()
    for entry in entries:
        for key, value in entry.items():
            words = [value] if isinstance(value, str) else value
            if not isinstance(words, list | tuple) or key in ("title", "chart", "table"):
                continue
            columns.update(str(word) for word in words)
            if key != "of":
                continue
            for name in words:
                try:
                    column = metric(name).column
                except InputError:
                    return None
                if "process_cpu" in column or column.startswith("highest_average"):
                    return None
                shown.add(column)
    if shown & SENT and shown & ARRIVED:
        columns.update(WINDOWS)
    return frozenset(columns | shown) if shown else None
