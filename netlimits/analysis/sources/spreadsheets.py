"""Write frames as CSV and read them back, so that no text becomes a spreadsheet's formula."""

from __future__ import annotations

import csv
from collections.abc import Callable

import pandas as pd

from netlimits.model import cells


def to_csv(frame: pd.DataFrame, *, header: bool = True) -> str:
    """Return the frame as CSV. Texts that a spreadsheet could take for a formula are escaped."""
    texts = [str(name) for name in frame.columns]
    for place in _of_texts(frame):
        texts += [text for text in frame.iloc[:, place].unique() if isinstance(text, str)]
    risky = any(map(cells.needs_quotes, texts))
    return (_mapped(frame, cells.cell) if risky else frame).to_csv(
        index=False,
        header=header,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if risky else csv.QUOTE_MINIMAL,
    )


def from_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Undo the quoting of `to_csv` in the texts of a frame that was read from CSV."""
    return _mapped(frame, cells.text)


def _mapped(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    changed = frame.copy(deep=False)
    for place in _of_texts(frame):
        column = frame.iloc[:, place].astype(object)
        values = column.map(lambda value: change(value) if isinstance(value, str) else value)
        changed.isetitem(place, values.array)
    changed.columns = pd.Index([change(str(name)) for name in frame.columns])
    return changed


def _of_texts(frame: pd.DataFrame) -> list[int]:
    """Return the positions of the columns that may contain texts."""
    return [
        place
        for place, kind in enumerate(frame.dtypes)
        if not pd.api.types.is_numeric_dtype(kind)
        and not pd.api.types.is_datetime64_any_dtype(kind)
    ]
