"""Verdicts on parts of a run: what limited it before and after its throughput changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from netlimits.archive.reader import Campaign
from netlimits.errors import NetlimitsError
from netlimits.limits.figures import RunFigures, mbps
from netlimits.limits.verdicts import AGREEMENT, UNDETERMINED, of_run

if TYPE_CHECKING:
    import pandas as pd

MEANS = (
    *("cwnd_segs", "rtt_us", "min_rtt_us", "pacing_rate_mbps", "delivery_rate_mbps"),
    *("snd_wnd_bytes", "sndbuf_used_pct", "notsent_bytes", "app_limited_pct", "busy_pct"),
    *("recv_q_bytes", "rcvbuf_used_pct", "rcv_space_bytes", "rcv_ssthresh_bytes"),
    *("cpu_pct", "cpu_peak_pct", "thread_cpu_pct", "process_cpu_pct"),
)
"""Figures of an end that are computed as means over the samples of a part of the run."""

SUMS = {
    "retrans_segs": ("retrans_segs", "tcp_retrans_segs"),
    "qdisc_drops": ("qdisc_drops",),
    "qdisc_overlimits": ("qdisc_overlimits",),
    "reordering_seen": ("reordering_seen",),
    "socket_drops": ("socket_drops",),
}
"""Column of a timeline -> names of an end's figures. Each figure is the sum of the column over a
part of the run."""

KEPT = (
    *("mss_bytes", "processes", "threads", "connections", "own_pace_pct", "sndbuf_bytes"),
    *("rcvbuf_bytes", "qdisc_rate_mbps", "qdisc_flow_rate_mbps", "link_speed_mbps", "cpu_mhz"),
    *("cpu_peak_cpu", "tx_bytes", "rx_bytes"),
)
"""Figures of an end that every part takes from the whole run. `tx_bytes` and `rx_bytes` serve only
to find the sending end."""

SHARES = ("rwnd_limited_pct", "sndbuf_limited_pct")
"""Figures in percent of the busy time. A timeline has them in percent of the interval, so they are
converted."""


def sentence(
    results: Any, part: pd.DataFrame, evidence: Mapping[Any, RunFigures], index: Any | None
) -> str:
    """Return a sentence on when a run's throughput changed, with the verdicts before and after.

    Return "" if throughput changed in a smaller share of the runs than AGREEMENT, or if the run has
    no timeline.
    """
    runs = {at: evidence[at] for at in part.index if at in evidence}
    changed = [at for at, run in runs.items() if run.own("throughput_change_s") is not None]
    if not isinstance(results, Campaign) or len(changed) < max(1, AGREEMENT * len(runs)):
        return ""
    at: Any = index if index in changed else changed[0]
    number = int(part["run"].loc[at])
    try:
        frame = results.timeline(number)
    except NetlimitsError:
        return ""
    return _of_run(evidence[at], frame, number if len(part) > 1 else None)


def _of_run(run: RunFigures, frame: pd.DataFrame, number: int | None) -> str:
    changes: Sequence[tuple[float, float, float]] = frame.attrs["changes"]
    if not changes:
        return ""
    at, before, after = max(changes, key=lambda c: abs(np.log(max(c[2], 1e-9) / max(c[1], 1e-9))))
    starts = [0.0, *(time for time, _, _ in changes)]
    ends = [*starts[1:], float(frame["time_s"].max())]
    place = starts.index(at)
    early, late = (
        figures(run, frame, starts[number], ends[number]) for number in (place - 1, place)
    )
    limits = [of_run(each) for each in (early, late)]
    names = [verdict.limit for verdict in limits]
    head = f"Run {number}: from" if number else "From"
    sentence = (
        f"{head} second {at:.1f} on throughput was {mbps(after)} instead of {mbps(before)}"
        f"{_moved(early, late)}."
    )
    if names[0] == names[1]:
        alike = f" Both parts by themselves: {names[0]}." if names[0] != UNDETERMINED else ""
        return sentence + alike
    tail = "" if names[1] == UNDETERMINED else f" {limits[1].sentence}"
    each = f"the part before is {names[0]} and the part after {names[1]}"
    return f"{sentence} By themselves, {each}.{tail}"


def figures(run: RunFigures, frame: pd.DataFrame, since: float, until: float) -> RunFigures:
    """Return the figures of a run from `since` to `until` (seconds), as known from samples."""
    rows = frame[(frame["time_s"] - frame["interval_s"] >= since - 0.5 * frame["interval_s"])
                 & (frame["time_s"] <= until + 0.5 * frame["interval_s"])]  # fmt: skip
    values: dict[str, Any] = {
        name: value
        for name, value in run.figures.items()
        if name.partition("_")[2] in KEPT or name in ("transport_mss_bytes", "shared_kernel")
    }
    values["elapsed_s"] = until - since
    for end, part in rows.groupby("end"):
        values |= _of_end(str(end), part, run)
    arrived = [_mean(part, "throughput_mbps") for _, part in rows.groupby("end")]
    if known := [rate for rate in arrived if rate is not None]:
        values["throughput_mbps"] = max(known)
    return replace(run, figures=values, rates_by_size={}, rates_by_streams={}, most_mbps=None)


def _of_end(end: str, rows: pd.DataFrame, run: RunFigures) -> dict[str, float]:
    values = {f"{end}_{name}": mean for name in MEANS if (mean := _mean(rows, name)) is not None}
    busy = _mean(rows, "busy_pct")
    for name in SHARES:
        share = _mean(rows, name)
        if busy and share is not None:
            values[f"{end}_{name}"] = min(100.0, 100 * share / busy)
    for column, names in SUMS.items():
        if column in rows.columns and rows[column].notna().any():
            values |= dict.fromkeys((f"{end}_{name}" for name in names), float(rows[column].sum()))
    mss = run.own(f"{end}_mss_bytes")
    if mss and "sent_mbps" in rows.columns:
        sent = float((rows["sent_mbps"] * rows["interval_s"]).sum()) * 1e6 / 8
        values[f"{end}_tcp_out_segs"] = sent / mss
    return values


def _mean(rows: pd.DataFrame, column: str) -> float | None:
    if column not in rows.columns or not (known := rows[rows[column].notna()]).size:
        return None
    return float(np.average(known[column], weights=known["interval_s"]))


def _moved(early: RunFigures, late: RunFigures) -> str:
    """Return in words the large changes of round trip, congestion window and CPU use."""
    words = []
    for name, what, unit, scale in (
        ("rtt_us", "round trip", "ms", 1e-3),
        ("cwnd_segs", "congestion window", "segments", 1.0),
    ):
        before, after = early.sent(name), late.sent(name)
        if before and after and not 2 / 3 < after / before < 3 / 2:
            words.append(f"{what} {scale * before:.3g} to {scale * after:.3g} {unit}")
    for end in ("sender", "receiver"):
        of = getattr(early, end)
        before, after = (part.own(f"{of}_cpu_peak_pct") for part in (early, late))
        if before is not None and after is not None and abs(after - before) >= 30:
            words.append(f"{end}'s busiest CPU {before:.0f} to {after:.0f} %")
    return f" ({', '.join(words)})" if words else ""
