"""Parallel streams as one: their interim results added up where all of them ran.

An interim result is a rate over [ending − interval, ending]. The streams' intervals do not
coincide, so each is spread evenly over its own time and weighted by overlap: a stream's data up
to time t is its cumulated data, straight between its interim results. Only the window common to
all streams counts; before and after it a sum would lack a stream. (Adding the final throughputs
instead overstates: streams that run alone at the ends had the link to themselves.)

The sum is exact, not sampled: it changes only where some stream's interval ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from netlimits.analysis import frames
from netlimits.errors import DataError

GAP = 0.1
"""An interim result may begin this share of its interval before or after the last one's end."""

CLOCK_S = 0.005
"""Or so many seconds: netperf prints milliseconds, and its last result may be as short as that."""

OF_AN_INTERVAL = ("ending_s", "interval_s")
"""The columns of an interim result that are neither factor nor rate."""

_Curve = tuple[np.ndarray, np.ndarray]
"""A stream's times, s, and its data up to each, Mbit."""


def aggregate(
    intervals: pd.DataFrame,
    of: str = "throughput",
    stream: str | Sequence[str] = "stream",
    offsets: Mapping[Hashable, float] | None = None,
    step: float | None = None,
) -> pd.DataFrame:
    """The streams' sum over their common window.

    `intervals` has a row an interim result: `ending_s` (epoch), `interval_s`, the rate, and the
    columns that tell streams apart. Where there is no `stream` column the runs are the streams
    (column `run`): netperf programs that ran side by side and were
    imported are a run each; a run with parallel streams of its own tells their sum alone.
    `offsets` are seconds to subtract from a stream's clock, by
    its value (by tuple where `stream` is several columns). `step` averages over steps of so many
    seconds, the last one shorter; without it there is a row wherever the sum changes.

    Returns `start_s`, `end_s` (seconds of the window, from 0), the rate and `streams`. `attrs`
    hold `begin_s` (epoch), `start_skew_s` and `end_skew_s` (how far the streams' starts and ends
    lie apart), and `left_out` (the share of all data outside the window). Raises DataError for
    streams that never ran together, and for interim results that leave a gap or overlap.
    """
    column = frames.column(intervals, of).column
    curves = _curves(intervals, column, stream, offsets or {})
    begin, end = _window(curves)
    times = np.unique(np.concatenate([times for times, _ in curves]))
    times = np.unique(np.concatenate([[begin], times[(times > begin) & (times < end)], [end]]))
    if step is not None:
        if step <= 0:
            raise DataError(f"a step is above zero seconds, not {step:g}")
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
    """The highest average over any window of `seconds` within an aggregate's series.

    "Aggregate outbound throughput was measured as the highest average bitrate achieved over a
    two minute interval" ("Headers and Data and Bitrates!"). The best window begins or ends where
    the sum changes, so only those are tried: the result is exact. Returns one row: `start_s`,
    `end_s`, the rate. Raises DataError when the series is shorter.
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
    """The highest average of each run of a campaign over any `seconds` of it, a row a run.

    Without `seconds` over all the time that the streams of a run share.

    `intervals` is `campaign.intervals()`; runs that are not ok do not count. Returns `run`,
    `attempt`, the factors, `streams`, `highest_average_mbps`, `start_s` and `end_s` of that
    window (since all streams ran), and of `aggregate`'s attributes `start_skew_s` and
    `end_skew_s`. A run that has none is left out, with the reason in `attrs["left_out"]`, by its
    number. Raises DataError, naming the first, where all are.
    """
    rates = frames.column(intervals, "throughput").column
    keys = [name for name in ("run", "attempt") if name in intervals.columns]
    frames.factors(intervals, "run")
    names = [n for n in frames.varied(intervals) if n not in (*OF_AN_INTERVAL, "stream")]
    rows = []
    left_out: dict[int, str] = {}
    for key, part in frames.groups(of_ok_runs(intervals), keys):
        try:
            series = aggregate(part.assign(stream=part.get("stream", 1)))
            whole = float(series["end_s"].iloc[-1] - series["start_s"].iloc[0])
            best = highest_window(series, whole if seconds is None else seconds).iloc[0]
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
    """The frame of runs with the column `highest_average_mbps`; missing for what is not ok.

    And for ok runs that have none, which `attrs["partial"]` tells of, by the column.
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
        why = left_out.get(first, f"run {first}: it has no interim results (interim_seconds)")
        told = f"{count} of {len(counted)} runs have none and count for nothing here; {why}"
        table.attrs["partial"] = {"highest_average_mbps": told}
    return table


def of_ok_runs(intervals: pd.DataFrame) -> pd.DataFrame:
    """The interim results of runs that count. Raises DataError when there are none."""
    rows = intervals
    if "status" in rows.columns:
        rows = rows[rows["status"] == "ok"]
    if rows.empty:
        raise DataError("no run that is ok has interim results: set interim_seconds")
    if "attempt" in rows.columns:
        rows = rows[rows["attempt"] == rows.groupby("run")["attempt"].transform("max")]
    return rows


def _curves(
    intervals: pd.DataFrame,
    column: str,
    stream: str | Sequence[str],
    offsets: Mapping[Hashable, float],
) -> list[_Curve]:
    """Each stream's cumulated data against time."""
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
        ends = part["ending_s"].to_numpy(dtype=float) - offsets.get(name, 0.0)
        lengths = part["interval_s"].to_numpy(dtype=float)
        if (lengths <= 0).any():
            raise DataError(f"stream {name}: an interim result over no time")
        gaps = ends[1:] - lengths[1:] - ends[:-1]
        wide = np.flatnonzero(np.abs(gaps) > np.maximum(GAP * lengths[1:], CLOCK_S))
        if len(wide):
            at = int(wide[0])
            what = "a gap" if gaps[at] > 0 else "an overlap"
            raise DataError(
                f"stream {name}: {what} of {abs(gaps[at]):.3g} s after its interim result "
                f"{at + 1}; are its columns those that tell streams apart?"
            )
        rates = part[column].to_numpy(dtype=float)
        sums = np.append(0.0, np.cumsum(rates * lengths))
        curves.append((np.append(ends[0] - lengths[0], ends), sums))
    return curves


def _window(curves: Sequence[_Curve]) -> tuple[float, float]:
    """From the last stream's start to the first one's end."""
    begin = max(float(times[0]) for times, _ in curves)
    end = min(float(times[-1]) for times, _ in curves)
    if end <= begin:
        raise DataError(
            f"the {len(curves)} streams never ran all together: one ended {begin - end:.3g} s "
            "before another began; are their clocks apart? Give offsets"
        )
    return begin, end


def _total(curves: Sequence[_Curve], times: np.ndarray) -> np.ndarray:
    """The data of all streams up to each time, Mbit."""
    total = np.zeros_like(times)
    for at, sums in curves:
        total += np.interp(times, at, sums)
    return total
