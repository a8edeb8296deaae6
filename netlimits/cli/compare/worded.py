"""The table of a comparison for people: rounded numbers, titles, and verdicts in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.metrics import metric

if TYPE_CHECKING:
    import pandas as pd


def shown(table: pd.DataFrame, sides: Sequence[str]) -> pd.DataFrame:
    texts: pd.DataFrame = table[table.attrs["factors"]].copy()
    rows = table.to_dict("records")
    texts["metric"] = [metric(row["metric"]).label for row in rows]
    for side, name in zip(("before", "after"), sides, strict=True):
        texts[_free(name, texts)] = [_figure(row[side], ".4g") for row in rows]
    texts["ratio"] = [_ratio(row) for row in rows]
    texts["runs"] = [f"{_count(row, 'before')} and {_count(row, 'after')}" for row in rows]
    if "blocks" in table:
        texts["blocks"] = [f"{row['blocks']}" for row in rows]
    texts["verdict"] = [f"{_verdict(row)}{_needed(row)}{_side(row, sides)}" for row in rows]
    texts.attrs["notes"] = table.attrs["notes"]
    return texts


def _verdict(row: dict[Hashable, Any]) -> str:
    names = {"differ": "these two sessions differ", "fewer": "fewer runs", "more": "more runs"}
    return names.get(row["verdict"], str(row["verdict"]))


def _ratio(row: dict[Hashable, Any]) -> str:
    interval = "" if math.isnan(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{_figure(row['ratio'], '.3f')}{interval}"


def _figure(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


def _count(row: dict[Hashable, Any], side: str) -> str:
    """Return the runs behind a figure; of how many, where some are not ok: "0 of 3"."""
    ok, tried = row[f"n_{side}"], row[f"of_{side}"]
    return f"{ok}" if ok == tried else f"{ok} of {tried}"


def _side(row: dict[Hashable, Any], sides: Sequence[str]) -> str:
    """Return on which side fewer runs ended, or none: "0 of 3 runs ok after"."""
    called = dict(zip(("before", "after"), sides, strict=True))
    about = {"failed": "after", "fewer": "after", "recovered": "before", "more": "before"}
    if (side := about.get(row["verdict"])) is None:
        return ""
    return f": {row[f'ok_{side}']} of {row[f'of_{side}']} runs ok {called[side]}"


def _needed(row: dict[Hashable, Any]) -> str:
    if math.isnan(row["runs"]):
        return ""
    what = "blocks" if "blocks" in row else "runs a side"
    return f": {row['runs']:.0f} {what} would decide"


def _free(name: str, table: pd.DataFrame) -> str:
    """Return a side's name as a column: with a `_` behind one that is there."""
    while name in table:
        name += "_"
    return name
