"""What a chart shows as a table: for who cannot see it, and for who wants the numbers.

Each kind of chart is drawn from a frame that an analysis makes; the table is that frame, or where
it has a row for every run or packet, what a reader takes from the curve (`charts.ChartKind.table`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from netlimits.charts import KINDS

ROWS = 60
"""More are left to `results.csv`."""


def alternative(kind: str, data: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """The table beside a chart of this kind; `attrs["notes"]` says what is left out.

    Raises DataError as the chart itself does.
    """
    table = KINDS[kind].alternative(data, options)
    notes = list(table.attrs.get("notes", ()))
    if len(table) > ROWS:
        notes.append(f"the first {ROWS} of {len(table)} rows")
        table = table.head(ROWS)
    return _plain(table, notes)


def _plain(table: pd.DataFrame, notes: Sequence[str]) -> pd.DataFrame:
    """The table with these notes and no other attributes, which may hold frames."""
    copy = pd.DataFrame(table)
    copy.attrs = {"notes": tuple(notes)}
    return copy
