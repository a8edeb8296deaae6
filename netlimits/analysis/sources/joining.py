"""Several frames of runs as one, which still tells what was varied and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from netlimits.analysis.sources import column_roles
from netlimits.errors import DataError


def joined(parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Several campaigns' frames, row below row: the column `campaign` says whose a row is, by name.

    What one of them varied is a factor of all, and what one measured is a metric; `pandas.concat`
    loses both, and takes runs and blocks of the same number for the same. Raises DataError for no
    frames, and for one that has a column `campaign` already.
    """
    if not parts:
        raise DataError("there are no frames to join")
    for name, part in parts.items():
        if "campaign" in part.columns:
            raise DataError(f"{name}: has a column campaign already; rename it, or join its parts")
    return stacked([part.assign(campaign=name) for name, part in parts.items()])


def stacked(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames row below row, which columns are what kept: `joined` without saying whose a row is."""
    together = pd.concat(parts, ignore_index=True)
    told = [part.attrs["columns"] for part in parts if "columns" in part.attrs]
    together.attrs.pop("columns", None)
    if len(told) == len(parts):
        varied, derived, metrics = (
            dict.fromkeys(name for columns in told for name in columns[role])
            for role in ("factors", "derived", "metrics")
        )
        metrics = {name: None for name in metrics if name not in varied and name not in derived}
        together.attrs["columns"] = column_roles.roles(varied, derived, metrics)
    return together
