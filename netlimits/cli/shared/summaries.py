"""The summary that a report's entry asks for, with what limited each of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netlimits.cli.shared import entries
from netlimits.cli.shared.results import Results
from netlimits.errors import DataError
from netlimits.experiment.report_schema import VERDICTS

if TYPE_CHECKING:
    import pandas as pd


def summary_of(
    results: Results, entry: dict[str, Any], window: float | None = None
) -> pd.DataFrame:
    """The table that an entry asks for, and what its reader must know of it.

    Where the experiment asks for verdicts too, its rows have them in a column. Raises DataError for
    a window that no metric of the table takes.
    """
    from netlimits.analysis.summary import summary

    if entry.get("table") == VERDICTS:
        derived = results.campaign.experiment.derived if results.campaign else ()
        return _verdicts(results).drop(columns=[*derived], errors="ignore")

    of = entries.listed(entry.get("of"))
    if window is not None and not of_highest(of):
        raise DataError("--window: only highest_average takes it; add --of highest_average")
    frame = results.frame
    if of_highest(of):
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
        _tell_limits(table, _verdicts(results), [*keys, *columns])
    return table


def _verdicts(results: Results) -> pd.DataFrame:
    """What limited each configuration, with the share of the runs that agree and the evidence."""
    from netlimits.limits import explained

    every = explained.explain(results.campaign or results.frame)
    factors = list(every.columns[: list(every.columns).index("class")])
    verdicts = every[[*factors, "class", "state", "confidence", "evidence"]]
    return verdicts.rename(columns={"class": "verdict"})


def _tell_limits(table: pd.DataFrame, verdicts: pd.DataFrame, keys: Sequence[str]) -> None:
    """Put the verdict of each row into a summary; all of them, where its configurations differ.

    Not into one by what tells no configuration apart: a block, or a word that was measured.
    """
    from netlimits.analysis import wording
    from netlimits.limits.base import REFUTED
    from netlimits.limits.explained import heading
    from netlimits.limits.verdicts import UNDETERMINED
    from netlimits.tables import VERDICT

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
    """Return True if a metric of these is a highest average."""
    return any(name.startswith("highest_average") for name in of)
