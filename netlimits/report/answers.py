"""What the figures answer, in sentences: what limited each configuration, and what was measured.

Of verdicts those that name a limit are told; of metrics the best and the worst cell, and the gains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from netlimits import tables
from netlimits.analysis import wording
from netlimits.metrics import Metric, metric
from netlimits.report.page import Answer

METRICS_AT_MOST = 3
VERDICTS_AT_MOST = 8


def verdicts(explained: pd.DataFrame, folder: str) -> Iterator[Answer]:
    """A sentence for each of the first configurations that a limit is known of, one of the others.

    `folder` is what `netlimits explain` is to be given for the rest.
    """
    keys = list(explained.columns[: list(explained.columns).index("class")])
    decided = explained[(explained["class"] != "undetermined") & (explained["state"] != "refuted")]
    for _, row in decided.head(VERDICTS_AT_MOST).iterrows():
        where = ", ".join(wording.phrases([row[key] for key in keys], keys)) or "all runs"
        share = f"suggested by {100 * row['confidence']:.0f} % of {row['runs']} runs"
        basis = row["proof"] or f"({share})."
        rival = f" Not {row['runner_up']}: {row['why_not']}." if row["runner_up"] else ""
        yield Answer(f"What limited {where}: {row['class']}.", f"{row['evidence']} {basis}{rival}")
    parts = []
    if len(decided) > VERDICTS_AT_MOST:
        parts.append(f"{len(decided) - VERDICTS_AT_MOST} more have a verdict")
    if len(decided) < len(explained):
        parts.append(f"what limited {len(explained) - len(decided)} is undetermined")
    if parts:
        text = f"Of {len(explained)} configurations {', and '.join(parts)}."
        yield Answer(text, f"Why, and what would decide it: netlimits explain {folder}")


def answers(summary: pd.DataFrame) -> Iterator[Answer]:
    """A sentence for each of the first metrics of a summary, and one for each improvement."""
    place = list(summary.columns)
    keys = place[2 : place.index("value")]
    names = list(summary["metric"].unique())[:METRICS_AT_MOST]
    for name in names:
        part = summary[summary["metric"] == name]
        cells = part[part["statistic"] == "mean"]
        yield from _range(metric(str(name)), cells, keys)
        yield from _gains(metric(str(name)), part[part["statistic"] == "improvement"], keys)


def _gains(of: Metric, gains: pd.DataFrame, keys: list[str]) -> Iterator[Answer]:
    """What each column gains from one row to another, better above 1."""
    if gains.empty:
        return
    parts = [_cell(f"×{row['value']:.2f}", row, keys[1:], 2) for _, row in gains.iterrows()]
    text = f"{of.title}, {gains.iloc[0][keys[0]]}: {', '.join(parts)}."
    yield Answer(text, "Turned so that better is above 1; how it was found stands at the table.")


def _range(of: Metric, cells: pd.DataFrame, keys: list[str]) -> Iterator[Answer]:
    """The cell with the greatest mean and the one with the least."""
    cells = cells[cells["value"].notna()]
    if cells.empty:
        return
    decimals = tables.places(cells["value"])
    ordered = [row for _, row in cells.sort_values("value", kind="stable").iterrows()]
    bottom, top = ordered[0], ordered[-1]
    low, high = (
        _cell(f"{row['value']:,.{decimals}f} {of.unit}".strip(), row, keys, decimals)
        for row in (bottom, top)
    )
    between = f"from {low} to {high}" if top["value"] > bottom["value"] else high
    direction = f"{of.direction}; means of the runs." if of.direction else "Means of the runs."
    yield Answer(f"{of.title}: {between}.", direction)


def _cell(written: str, row: pd.Series[Any], keys: list[str], decimals: int) -> str:
    """A value with its interval and its configuration: "4,837 Mbit/s [4,180, 5,494] (TCP on)"."""
    interval, where = "", ", ".join(wording.phrases([row[key] for key in keys], keys))
    if not math.isnan(row["low"]):
        interval = f"[{row['low']:,.{decimals}f}, {row['high']:,.{decimals}f}]"
    return " ".join(part for part in (written, interval, where and f"({where})") if part)
