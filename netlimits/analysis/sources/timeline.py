"""Timelines of runs: a frame of samples, what limited each interval, and medians over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from netlimits.errors import DataError
from netlimits.model import Scalar

KEY = ("run", "attempt", "time_s", "end", "role", "interval_s")
"""The first columns of a timeline; columns with figures follow."""

LIMITS = {
    "receive window": ("rwnd_limited_pct", 50.0),
    "send buffer": ("sndbuf_limited_pct", 50.0),
    "program": ("app_limited_pct", 50.0),
    "thread": ("thread_cpu_pct", 95.0),
    "CPU": ("cpu_peak_pct", 95.0),
    "receive queue": ("rcvbuf_used_pct", 50.0),
}
"""What limits an end in an interval -> the column that shows this, from which value on.

If several apply, the first counts.
"""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of the chart; `lines` are column -> label, "" for the end's name alone."""

    title: str
    unit: str
    lines: Mapping[str, str]
    scale: float = 1.0
    stacked: bool = False


PANELS: Mapping[str, Panel] = {
    "throughput": Panel("Throughput", "Mbit/s", {"throughput_mbps": ""}),
    "latency": Panel("Latency", "ms", {"latency_us": "transactions"}, 1e-3),
    "rtt": Panel("Round-trip time", "ms", {"rtt_us": "mean", "min_rtt_us": "minimum"}, 1e-3),
    "cwnd": Panel("Congestion window", "segments",
                  {"cwnd_segs": "cwnd", "ssthresh_segs": "ssthresh", "in_flight_segs": "sent"}),
    "rates": Panel("TCP's rates", "Mbit/s",
                   {"delivery_rate_mbps": "delivery", "pacing_rate_mbps": "pacing"}),
    "windows": Panel("Windows", "KiB",
                     {"snd_wnd_bytes": "peer's window", "rcv_ssthresh_bytes": "largest to offer",
                      "rcv_space_bytes": "receive buffer's tuning"}, 1 / 1024),
    "retransmits": Panel("Retransmits", "segments/s", {"retrans_segs": "resent"}),
    "ce_marks": Panel("CE marks", "segments/s", {"ce_marked_segs": "marked"}),
    "queue": Panel("Qdisc", "KiB", {"qdisc_bytes": "", "bql_queued_bytes": "NIC (BQL)"}, 1 / 1024),
    "sockets": Panel("Sockets", "KiB",
                     {"notsent_bytes": "not sent", "recv_q_bytes": "not read"}, 1 / 1024),
    "cpu": Panel("CPU time", "% of all", {"cpu_user_pct": "user", "cpu_system_pct": "system",
                 "cpu_softirq_pct": "softirq", "cpu_irq_pct": "irq", "cpu_steal_pct": "steal"},
                 stacked=True),
    "cpu_peak": Panel("Busiest CPU", "%", {"cpu_peak_pct": "", "thread_cpu_pct": "tool's thread"}),
    "frequency": Panel("Frequency", "MHz", {"cpu_mhz": ""}),
    "drops": Panel("Drops", "packets/s", {"qdisc_drops": "qdisc", "socket_drops": "sockets",
                                          "udp_rcvbuf_errors": "UDP receive buffer"}),
}  # fmt: skip
"""Name in `of` -> panel, in the order in which they are stacked."""

COUNTED = ("retrans_segs", "ce_marked_segs", "qdisc_drops", "socket_drops", "udp_rcvbuf_errors")
"""Columns with the number of events in an interval; charts draw them per second."""

MEDIAN = "latency_p50_us"
"""The latency in the interim results of a tool that measures it itself (irtt)."""

DEFAULT = ("throughput", "latency", "rtt", "cwnd", "retransmits", "cpu_peak")
"""The panels of a chart without `of`; panels without data are left out."""


def timeline(
    rows: Sequence[Mapping[str, Any]],
    changes: Sequence[tuple[float, float, float]] = (),
    *,
    begin_s: float = 0.0,
    clock_error_s: float = 0.0,
) -> pd.DataFrame:
    """Return a run's samples as a frame: a row for each sample of a host, in order of time.

    `changes` has (time, Mbit/s before, Mbit/s after) for each change of throughput. `begin_s` is
    time 0 in seconds since 1970.
    """
    frame = pd.DataFrame(rows).sort_values(["time_s", "end"], kind="stable", ignore_index=True)
    first = [name for name in KEY if name in frame.columns]
    frame = frame[[*first, *(name for name in frame.columns if name not in first)]]
    frame["limited_by"] = _limited(frame)
    frame.attrs = {"begin_s": begin_s, "clock_error_s": clock_error_s, "changes": [*changes]}
    return frame


def interim(
    results: Sequence[Mapping[str, Scalar]], begin_s: float, outstanding: int
) -> list[dict[str, Any]]:
    """Return rows with latency or received throughput from interim results, without end and role.

    `begin_s` is time 0 in seconds since 1970, by the clock of `ending_s`. Mean latency is
    `outstanding`, the number of transactions in flight, divided by the transaction rate.
    """
    rows: dict[tuple[str, float], dict[str, Any]] = {}
    for result in results:
        at = float(result.get("ending_s") or 0.0) - begin_s
        for name in ("transaction_rate_tps", "throughput_mbps"):
            if rate := float(result.get(name) or 0.0):
                length = float(result.get("interval_s") or 0.0)
                empty = {"time_s": at, "interval_s": length, name: 0.0}
                rows.setdefault((name, at), empty)[name] += rate
        if latency := float(result.get(MEDIAN) or 0.0):  # irtt's round trips
            length = float(result.get("interval_s") or 0.0)
            rows[MEDIAN, at] = {"time_s": at, "interval_s": length, "latency_us": latency}
    for row in rows.values():
        if "transaction_rate_tps" in row:
            row["latency_us"] = 1e6 * outstanding / row["transaction_rate_tps"]
    return list(rows.values())


def _limited(frame: pd.DataFrame) -> pd.Series:
    """Return what limited the host in each interval, or "" if no column shows a limit."""
    limit = pd.Series("", index=frame.index, dtype=object)
    active = frame.get("connections", pd.Series(0.0, index=frame.index)).fillna(0) > 0
    for name, (column, least) in reversed(LIMITS.items()):
        if column in frame.columns:
            limit[active & (frame[column] >= least)] = name
    return limit


def panels(frame: pd.DataFrame, of: str | Sequence[str] | None) -> list[str]:
    """Return the panels to draw: the chosen panels, or the panels of DEFAULT that have data."""
    chosen = [of] if isinstance(of, str) else list(of or ())
    for name in chosen:
        if name not in PANELS:
            raise DataError(f"no panel is called {name!r}; there are {', '.join(PANELS)}")
        if not columns(frame, name):
            raise DataError(f"the samples of these runs have no {name}")
    return chosen or [
        name
        for name in DEFAULT
        if any(
            column not in COUNTED or frame[column].gt(0).any() for column in columns(frame, name)
        )
    ]


def columns(frame: pd.DataFrame, panel: str) -> list[str]:
    """Return the columns of a panel that have values."""
    names = [name for name in PANELS[panel].lines if name in frame.columns]
    return [name for name in names if frame[name].notna().any()]


def values(rows: pd.DataFrame, column: str, panel: str) -> pd.Series:
    """Return a column in the panel's unit; counters are converted to a rate per second."""
    known = rows[column] / rows["interval_s"] if column in COUNTED else rows[column]
    scaled: pd.Series = known * PANELS[panel].scale
    return scaled


def medians(frame: pd.DataFrame, column: str, panel: str) -> pd.DataFrame:
    """Return the median over runs at each step, where at least half of the runs have a value."""
    curves = []
    for _, rows in frame[frame[column].notna()].groupby("run", sort=False):
        curves.append((rows["time_s"].to_numpy(float), values(rows, column, panel).to_numpy(float)))
    step = float(frame["interval_s"].median())
    begin = min(float(times[0]) for times, _ in curves)
    end = float(np.median([times[-1] for times, _ in curves]))
    grid = np.arange(begin, end + step / 2, step)
    each = np.array([np.interp(grid, t, v, left=np.nan, right=np.nan) for t, v in curves])
    enough = (~np.isnan(each)).sum(axis=0) * 2 >= len(curves)
    grid, each = grid[enough], each[:, enough]
    return pd.DataFrame({"time_s": grid, column: np.nanmedian(each, axis=0)})


def table(
    frame: pd.DataFrame, of: str | Sequence[str] | None = None, run: int | None = None
) -> pd.DataFrame:
    """Return the chart's table: the median of each column by second and end."""
    rows = frame if run is None else frame[frame["run"] == run]
    parts = []
    for panel in panels(rows, of):
        for column in columns(rows, panel):
            known = rows[rows[column].notna()]
            seconds = np.floor(known["time_s"]).clip(lower=0).astype(int)
            grouped = values(known, column, panel).groupby([seconds, known["end"]]).median()
            parts.append(grouped.rename(f"{column} ({PANELS[panel].unit})"))
    result = pd.concat(parts, axis=1).rename_axis(["second", "end"]).reset_index()
    result.attrs["notes"] = (f"medians of each second; {clock_note(frame)}",)
    return result


def clock_note(frame: pd.DataFrame) -> str:
    """Return how far the clocks of both ends may be apart, in words."""
    error = float(frame.attrs.get("clock_error_s", 0.0))
    if not error:
        return "both ends have one clock"
    if error == float("inf"):
        return "the offset of the ends' clocks is unknown"
    return f"times of both ends within {1e3 * error:.2g} ms"
