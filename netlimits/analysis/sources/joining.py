"""Join frames of runs, and keep the record of which columns are factors or metrics."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from netlimits.errors import DataError

Roles = dict[str, "ColumnNames"]


class ColumnNames(list[str]):
    """Names of columns in a frame's `attrs`.

    pandas deep-copies `attrs` at each step. A copy of this object is the object itself, which saves
    time.
    """

    def __deepcopy__(self, memo: object) -> ColumnNames:
        return self


def roles(factors: Iterable[str], derived: Iterable[str], metrics: Iterable[str]) -> Roles:
    """Return the value of a frame's `attrs["columns"]`."""
    return {
        "factors": ColumnNames(factors),
        "derived": ColumnNames(derived),
        "metrics": ColumnNames(metrics),
    }


def joined(parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the frames of several campaigns, row below row.

        nl.joined({"before": frame, "after": other})

    A factor of one campaign becomes a factor of the whole frame, and likewise a metric.
    `pandas.concat` loses the record of factors and metrics, and confuses runs and blocks that have
    the same number in several campaigns.

    Args:
        parts: Name of each campaign -> its frame.

    Returns:
        The rows of all frames, with the name in the column `campaign`.

    Raises:
        DataError: There are no frames, or one has a column `campaign` already.
    """
    if not parts:
        raise DataError("parts: give one frame or more to join")
    for name, part in parts.items():
        if "campaign" in part.columns:
            raise DataError(
                f"{name}: the frame has a column campaign already; rename it, or join its parts"
            )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)  # fragmented frames
        return stacked([part.assign(campaign=name) for name, part in parts.items()])


def stacked(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join frames row below row, without a column `campaign`.

    Their `attrs["columns"]` are merged, or removed if a frame has none.
    """
    together = pd.concat(parts, ignore_index=True)
    recorded = [part.attrs["columns"] for part in parts if "columns" in part.attrs]
    together.attrs.pop("columns", None)
    if len(recorded) == len(parts):
        varied, derived, metrics = (
            dict.fromkeys(name for columns in recorded for name in columns[role])
            for role in ("factors", "derived", "metrics")
        )
        metrics = {name: None for name in metrics if name not in varied and name not in derived}
        together.attrs["columns"] = roles(varied, derived, metrics)
    return together
