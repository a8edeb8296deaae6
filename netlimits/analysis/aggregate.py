"""Add up parallel streams' interim results over the time in which all of them run.

A stream's data up to time t is interpolated linearly between its interim results. So the sum's rate
changes only where an interval of a stream begins or ends, and a row for each such time is exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from netlimits.analysis import frames
from netlimits.errors import DataError

GAP = 0.1
"""Allowed gap or overlap of a stream's intervals, as a share of the interval."""

CLOCK_S = 0.005
"""Allowed gap in seconds for short intervals: netperf prints milliseconds."""

OF_AN_INTERVAL = ("stream", "ending_s", "interval_s")
"""Columns that distinguish interim results within a run. They are not factors."""

_Curve = tuple[np.ndarray, np.ndarray]
"""A stream's times in s, and the data in Mbit that it has transferred up to each time."""


def aggregate(
    intervals: pd.DataFrame,
    of: str = "throughput",
    stream: str | Sequence[str] = "stream",
    step: float | None = None,
) -> pd.DataFrame:
    """Add up the streams over their common window.

    Args:
        intervals: A row for each interim result, with `ending_s` (since 1970), `interval_s`, the
            rate, and the columns that distinguish streams.
        of: The rate to add up.
        stream: Columns that distinguish the streams. If the frame has no column `stream`, each run
            is a stream (column `run`), as in imported results of netperf programs that ran at the
            same time.
        step: Length of a row in seconds (the last may be shorter). By default a row begins
            wherever the sum changes.

    Returns:
        `start_s` and `end_s` (seconds of the window, from 0), the rate and `streams`. `attrs` has
        `begin_s` (since 1970), `start_skew_s` and `end_skew_s` (differences of the streams' starts
        and ends), and `left_out` (share of the data outside the window).

    Raises:
        DataError: The streams never ran together, or a stream's intervals leave a gap or overlap.
    """
    column = frames.column(intervals, of).column
    curves = _curves(intervals, column, stream)
    begin, end = _window(curves)
    times = np.unique(np.concatenate([times for times, _ in curves]))
    times = np.unique(np.concatenate([[begin], times[(times > begin) & (times < end)], [end]]))
    if step is not None:
        if step <= 0:
            raise DataError(f"step: it must be above 0 seconds, not {step:g}")
        times = np.append(np.arange(begin, end - 1e-9 * step, step), end)
    data = _total(curves, times)
    table = pd.DataFrame(
        {
            "start_s": times[:-1] - begin,
            "end_s": times[1:] - begin,
            column: np.diff(data) / np.diff(times),
            "streams": len(curves),
        }
    )
    everything = sum(float(sums[-1]) for _, sums in curves)
    table.attrs = {
        "begin_s": begin,
        "start_skew_s": begin - min(float(times[0]) for times, _ in curves),
        "end_skew_s": max(float(times[-1]) for times, _ in curves) - end,
        "left_out": 1 - float(data[-1] - data[0]) / everything if everything else 0.0,
    }
    return table


def highest_window(series: pd.DataFrame, seconds: float, of: str = "throughput") -> pd.DataFrame:
    """Find the window of `seconds` with the highest average in an aggregate's series.

    "Aggregate outbound throughput was measured as the highest average bitrate achieved over a two
    minute interval" ("Headers and Data and Bitrates!"). The result is exact: the best window begins
    or ends where the sum changes, so only those windows are tried.

    Args:
        series: The frame of `aggregate`.
        seconds: Length of the window.
        of: The rate.

    Returns:
        One row with `start_s`, `end_s` and the rate.

    Raises:
        DataError: The series is shorter than `seconds`.
    """
    column = frames.column(series, of).column
    times = np.append(series["start_s"].to_numpy(dtype=float), float(series["end_s"].iloc[-1]))
    steps = (series["end_s"] - series["start_s"]).to_numpy(dtype=float)
    data = np.append(0.0, np.cumsum(series[column].to_numpy(dtype=float) * steps))
    if not 0 < seconds <= times[-1] - times[0] + 1e-9:
        raise DataError(
            f"no window of {seconds:g} s: all streams ran together for {times[-1] - times[0]:.3g} s"
        )
    latest = times[-1] - seconds
    starts = np.clip(np.concatenate([times, times - seconds]), times[0], max(latest, times[0]))
    sums = np.interp(starts + seconds, times, data) - np.interp(starts, times, data)
    best = int(np.argmax(sums))
    return pd.DataFrame(
        {
            "start_s": [starts[best]],
            "end_s": [starts[best] + seconds],
            column: [sums[best] / seconds],
        }
    )


def highest_averages(intervals: pd.DataFrame, seconds: float | None = None) -> pd.DataFrame:
    """Find the highest average of each run of a campaign over any `seconds`.

    Args:
        intervals: `campaign.intervals()`; runs that are not ok are ignored.
        seconds: Length of the window, by default all the time that a run's streams share.

    Returns:
        A row for each run: `run`, `attempt`, the factors, `streams`, `highest_average_mbps`,
        `start_s` and `end_s` of the window (seconds after the last stream started), `start_skew_s`
        and `end_skew_s`. `attrs["left_out"]` maps each run without a highest average to the reason.

    Raises:
        DataError: No run has a highest average; the message has the reason of the first run.
    """
    rates = frames.column(intervals, "throughput").column
    keys = [name for name in ("run", "attempt") if name in intervals.columns]
    frames.factors(intervals, "run")
    names = [n for n in frames.varied(intervals) if n not in OF_AN_INTERVAL]
    rows = []
    left_out: dict[int, str] = {}
    for key, part in frames.groups(of_ok_runs(intervals), keys):
        try:
            series = aggregate(part.assign(stream=part.get("stream", 1)))
            shared_s = float(series["end_s"].iloc[-1] - series["start_s"].iloc[0])
            best = highest_window(series, shared_s if seconds is None else seconds).iloc[0]
        except DataError as error:
            left_out[int(str(key[0]))] = str(error)
            continue
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                "streams": int(series["streams"].iloc[0]),
                **{name: part[name].iloc[0] for name in names},
                "highest_average_mbps": best[rates],
                "start_s": best["start_s"],
                "end_s": best["end_s"],
                **{name: series.attrs[name] for name in ("start_skew_s", "end_skew_s")},
            }
        )
    if not rows:
        run, reason = next(iter(left_out.items()))
        raise DataError(f"run {run}: {reason}")
    table = pd.DataFrame(rows)
    table.attrs["left_out"] = left_out
    return table


def with_highest_averages(
    runs: pd.DataFrame, intervals: pd.DataFrame, seconds: float | None = None
) -> pd.DataFrame:
    """Add the column `highest_average_mbps` to a frame of runs.

    Args:
        runs: A row for each attempt, with `run` and `attempt`.
        intervals: The interim results of these runs (`campaign.intervals()`).
        seconds: Length of the window, by default all the time that a run's streams share.

    Returns:
        A new frame with the same rows and an index from 0. The value is NaN for a run without a
        highest average, and a note in `attrs["partial"]` gives the reason.

    Raises:
        DataError: No run has a highest average.
    """
    averages = highest_averages(intervals, seconds)
    left_out = {run: f"run {run}: {why}" for run, why in averages.attrs["left_out"].items()}
    columns = ["run", "attempt", "highest_average_mbps"]
    table = runs.merge(averages[columns], on=columns[:2], how="left", validate="one_to_one")
    table.attrs = dict(runs.attrs)
    counted = frames.usable(table)
    without = counted["run"][counted["highest_average_mbps"].isna()]
    if count := len(without):
        first = int(without.iloc[0])
        why = left_out.get(first, f"run {first} has no interim results (set interim_seconds)")
        note = f"{count} of {len(counted)} runs are left out, because they have none; {why}"
        table.attrs["partial"] = {"highest_average_mbps": note}
    return table


def of_ok_runs(intervals: pd.DataFrame) -> pd.DataFrame:
    """Select the interim results of each run's last ok attempt.

    Args:
        intervals: A row for each interim result (`campaign.intervals()`).

    Returns:
        The rows with their index and all columns.

    Raises:
        DataError: There are no such results.
    """
    rows = intervals
    if "status" in rows.columns:
        rows = rows[rows["status"] == "ok"]
    if rows.empty:
        raise DataError("no run that is ok has interim results; set interim_seconds")
    if "attempt" in rows.columns:
        rows = rows[rows["attempt"] == rows.groupby("run")["attempt"].transform("max")]
    return rows


def _curves(
    intervals: pd.DataFrame,
    column: str,
    stream: str | Sequence[str],
) -> list[_Curve]:
    """Return each stream's cumulative data against time."""
    if stream == "stream" and "stream" not in intervals.columns and "run" in intervals.columns:
        stream = "run"
    keys = frames.factors(intervals, stream)
    frames.factors(intervals, ["ending_s", "interval_s"])
    if intervals.empty:
        raise DataError("there are no interim results in this frame")
    frames.complete(intervals, [column, "ending_s", "interval_s"])
    curves = []
    for key, part in frames.groups(intervals, keys):
        name: Hashable = key[0] if len(key) == 1 else key
        part = part.sort_values("ending_s")
        ends = part["ending_s"].to_numpy(dtype=float)
        lengths = part["interval_s"].to_numpy(dtype=float)
        if (lengths <= 0).any():
            raise DataError(f"stream {name}: interval_s of an interim result is not above zero")
        gaps = ends[1:] - lengths[1:] - ends[:-1]
        wide = np.flatnonzero(np.abs(gaps) > np.maximum(GAP * lengths[1:], CLOCK_S))
        if len(wide):
            at = int(wide[0])
            what = "a gap" if gaps[at] > 0 else "an overlap"
            raise DataError(
                f"stream {name}: {what} of {abs(gaps[at]):.3g} s after its interim result "
                f"{at + 1}; name the columns that distinguish the streams"
            )
        rates = part[column].to_numpy(dtype=float)
        sums = np.append(0.0, np.cumsum(rates * lengths))
        curves.append((np.append(ends[0] - lengths[0], ends), sums))
    return curves


def _window(curves: Sequence[_Curve]) -> tuple[float, float]:
    """Return the latest start and the earliest end of all streams."""
    begin = max(float(times[0]) for times, _ in curves)
    end = min(float(times[-1]) for times, _ in curves)
    if end <= begin:
        raise DataError(
            f"the {len(curves)} streams never ran all together: one ended {begin - end:.3g} s "
            "before another began; if their clocks differ, correct ending_s"
        )
    return begin, end


def _total(curves: Sequence[_Curve], times: np.ndarray) -> np.ndarray:
    """Return the sum of all streams' data up to each time, in Mbit."""
    total = np.zeros_like(times)
    for at, sums in curves:
        total += np.interp(times, at, sums)
    return total
