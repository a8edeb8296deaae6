"""Select the attempt that counts for each run: the last with an outcome, or else the last.

Runs that recorded a profile do not count, since profiling slows a run.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from netlimits.errors import DataError
from netlimits.metrics import PROFILE_COLUMN, PROFILED
from netlimits.model import OUTCOMES


def without_profiled(frame: pd.DataFrame) -> pd.DataFrame:
    """Remove the attempts that recorded a profile, and the columns of profiles."""
    if PROFILED not in frame.columns:
        return frame
    names = [name for name in frame.columns if not _of_profile(name)]
    rows = frame.loc[~frame[PROFILED].fillna(False).astype(bool), names]
    planned, of_frame = frame.attrs.get("planned", (0, 0))
    rows.attrs = dict(frame.attrs)
    if of_frame == len(frame):
        rows.attrs["planned"] = [planned - frame.attrs.get("planned_profiled", 0), len(rows)]
    return rows


def _of_profile(name: Hashable) -> bool:
    return name == PROFILED or bool(PROFILE_COLUMN.fullmatch(str(name)))


def last_attempts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each run's last attempt with an outcome, or its last attempt if none has one.

    Raises DataError if an attempt occurs twice, as in joined campaigns without a column `campaign`.
    """
    frame = without_profiled(frame)
    if not {"run", "attempt"} <= set(frame.columns) or not (frame["attempt"] > 1).any():
        return frame
    several = _several(frame)
    if not several.any():
        return frame
    frame = frame.reset_index(drop=True)  # concatenated frames repeat index labels
    repeated = frame[several]  # usually only a few rows, so the following steps are fast
    if repeated.duplicated([*_run(frame), "attempt"]).any():
        raise DataError(
            "an attempt occurs twice: frames of several campaigns need a column campaign; join "
            "them with netlimits.joined"
        )
    place = repeated["attempt"]
    if "status" in frame.columns:
        place = place.where(repeated["status"] != "interrupted", place - place.max() - 1)
    groups = place.groupby([repeated[n] for n in _run(frame)], sort=False)
    last, first = groups.idxmax().to_numpy(), groups.head(1).index.to_numpy()
    places = np.arange(len(frame))
    places[repeated.index] = -1
    places[last] = first  # the row takes the place of the run's first attempt
    kept = np.flatnonzero(places >= 0)
    if (np.diff(places[kept]) < 0).any():
        kept = kept[np.argsort(places[kept])]
    return frame.iloc[kept]


def to_last_attempts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `last_attempts`; to save memory, `frame` may lose all its columns."""
    frame = without_profiled(frame)
    names = [name for name in ("campaign", "run", "attempt", "status") if name in frame.columns]
    numbered = frame[names].reset_index(drop=True)
    last = last_attempts(numbered)
    if last is numbered:
        return frame
    places, attrs = last.index.to_numpy(), frame.attrs
    columns = {name: frame.pop(name).array.take(places) for name in [*frame.columns]}
    rows = pd.DataFrame(columns, copy=False)
    rows.attrs = attrs
    return rows


def _several(frame: pd.DataFrame) -> np.ndarray:
    """Return a mask of the rows whose run has more than one row."""
    runs = frame["run"].to_numpy()
    if "campaign" in frame.columns or not (runs[1:] >= runs[:-1]).all():
        return frame.duplicated(_run(frame), keep=False).to_numpy(bool)
    alike = runs[1:] == runs[:-1]
    several: np.ndarray = np.append(alike, False) | np.append(False, alike)
    return several


def without_outcome(runs: pd.DataFrame) -> int:
    """Return how many runs of a campaign have no outcome, including runs that never began.

    `attrs["planned"]` has the number of planned runs and the number of rows of the whole frame.
    """
    done = int(runs["status"].isin(OUTCOMES).sum())
    planned, rows = runs.attrs.get("planned", (0, 0))
    return max(0, (planned if rows == len(runs) else len(runs)) - done)


def with_outcome(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run that has an outcome, ok or not; an interrupted run has none."""
    rows = last_attempts(frame)
    if "status" not in rows.columns:
        return rows
    ended = rows["status"].isin(OUTCOMES)
    return rows if ended.all() else rows[ended]


def _run(frame: pd.DataFrame) -> list[str]:
    """Return the columns that identify a run."""
    return [name for name in ("campaign", "run") if name in frame.columns]
