"""Notes that a reader of figures must know: runs left out or disturbed, losses, shared CPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from netlimits.analysis import frames
from netlimits.analysis.sources import sketches
from netlimits.analysis.sources.relations import Relation, Runs
from netlimits.metrics import COVERED_NOTED, OTHER_CPU_NOTED
from netlimits.model import tally_of_runs

LOSS = 0.001
"""Share of lost packets above which a note names the divisor of the receiver's figures."""

OTHERS = ("local_other_cpu_pct", "remote_other_cpu_pct")

BREAK = 600.0
"""Seconds without a run after which the next run belongs to another session."""

SHARED_KERNEL = "CPU figures are those of one machine: both roles ran on one kernel"


WHOLE = 0.99
"""Share of a run's time from which on a window counts as all of it."""

SENT = frozenset(("local_send_throughput_mbps", "remote_send_throughput_mbps"))
ARRIVED = frozenset(
    ("throughput_mbps", "remote_recv_throughput_mbps", "local_recv_throughput_mbps")
)


def notes(runs: Runs, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the notes for a table of `columns`."""
    sentences = []
    columns = [*columns]
    if not isinstance(runs, Relation):
        runs = frames.last_attempts(runs)
    if "status" in runs.columns:
        counts, left = _outcomes(runs)
        if left or {*counts} != {"ok"}:
            sentences.append(f"{tally_of_runs(counts, left)}; figures are of those that are ok")
    sentences += filter(
        None, [disturbance(runs), other_programs(runs), covered(runs), sessions(runs)]
    )
    sentences += _of_cpu(runs, columns)
    if {*columns} & SENT and {*columns} & ARRIVED:
        sentences += filter(None, [windows(runs)])
    if {"paced_by", frames.AGGREGATED} & {*runs.columns}:
        some = _of(sketches.sketched(runs), ("paced_by", frames.AGGREGATED))
        sentences += _of_rows(frames.usable(some))
    return tuple(sentences)


def _of_rows(ok: pd.DataFrame) -> Iterator[str]:
    """Yield notes on how ok runs were paced, and on rows that are means of several runs."""
    if "paced_by" in ok.columns and (ways := sorted(ok["paced_by"].dropna().unique())):
        yield f"paced by {' and '.join(ways)}"
    several = frames.weights(ok).loc[lambda n: n > 1]
    if len(several):
        low, high = several.min(), several.max()
        yield (
            "no confidence interval for a row that is the mean of "
            f"{low if low == high else f'{low} to {high}'} runs, whose variance is unknown"
        )


def _outcomes(runs: Runs) -> tuple[dict[str, int], int]:
    """Return status -> number of runs, and how many runs of the campaign have no outcome."""
    if isinstance(runs, Relation):
        return sketches.outcomes(runs), sketches.without_outcome(runs)
    counts = {str(k): int(v) for k, v in runs["status"].value_counts().items() if v}
    return counts, frames.without_outcome(runs)


def of_sides(sides: Iterable[tuple[str, Runs]], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the notes for a comparison of `columns`, each with the names of its sides."""
    sides, columns = [*sides], [*columns]
    named: dict[str, list[str]] = {}
    for name, frame in sides:
        runs = frame if isinstance(frame, Relation) else frames.last_attempts(frame)
        of_hosts = disturbance(runs), other_programs(runs)
        for sentence in filter(None, [*of_hosts, *_of_cpu(runs, columns)]):
            named.setdefault(sentence, []).append(name)
    return tuple(
        sentence if len(names) == len(sides) else f"{' and '.join(names)}: {sentence}"
        for sentence, names in named.items()
    )


def _of_cpu(runs: Runs, columns: Iterable[str]) -> Iterator[str]:
    """Yield notes on columns of CPU time: shared CPUs, and what they are divided by."""
    columns = [*columns]
    of_cpu = any("_sd_" in c or "_cpu_" in c for c in columns)
    if of_cpu and "shared_kernel" in runs.columns and _shared(runs):
        yield SHARED_KERNEL
    if any("remote_sd_" in c for c in columns) and (lossy := losses(runs)):
        yield f"the receiver's service demand is per KiB sent, as netperf's: {lossy}"


def _shared(runs: Runs) -> bool:
    """Return True if a run is known to have had both roles on one kernel."""
    if isinstance(runs, Relation):
        runs = sketches.sketch(runs)
    return bool((runs["shared_kernel"] == True).any())  # noqa: E712 - None counts as no


def _of(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return these columns, as far as present, and those that say which runs count."""
    names = {*columns, "campaign", "run", "attempt", "status", "reason"}
    return frame[[name for name in frame.columns if name in names]]


def windows(frame: Runs) -> str:
    """Note runs whose sent and received rates cover different times (window_s); "" for none."""
    if not {"window_s", "elapsed_s"} <= set(frame.columns):
        return ""
    share = "window_s / nullif(elapsed_s, 0)"
    if not isinstance(frame, Relation):
        frame = frames.usable(_of(frame, ("window_s", "elapsed_s")))
    of, runs, least, most = _flagged(
        frame, share, lambda ok: _numbers(ok["window_s"]) / _numbers(ok["elapsed_s"]), "<", WHOLE
    )
    if not of:
        return ""
    low, high = (f"{100 * share:.0f}" for share in (least, most))
    return (
        "the difference between sent and received rates is not loss: "
        f"in {of} of {runs} runs sent data are counted over the whole time, and received data over "
        f"the {low if low == high else f'{low} to {high}'} % of it in which all streams ran "
        "(window_s)"
    )


def losses(frame: Runs) -> str:
    """Return how many runs lost more than LOSS, as "2 of 6 runs lost packets"; "" for none."""
    sent, arrived = "local_send_throughput_mbps", "remote_recv_throughput_mbps"
    if "loss_pct" not in frame.columns and not {sent, arrived} <= {*frame.columns}:
        return ""
    if isinstance(frame, Relation):
        lossy = f"try_cast(loss_pct as double) > {100 * LOSS}"
        if "loss_pct" not in frame.columns:
            lossy = f"{arrived} < {1 - LOSS} * {sent}"
            if "transport_mss_bytes" in frame.columns:
                lossy += " and transport_mss_bytes is null"
        of, count = frame.counted(
            lossy=f"count(*) filter (where {frame.ok} and {lossy})",
            runs=f"count(*) filter (where {frame.ok})",
        ).values()
        return f"{of} of {count} runs lost packets" if of else ""
    columns = (
        ("loss_pct",) if "loss_pct" in frame.columns else (sent, arrived, "transport_mss_bytes")
    )
    runs = frames.usable(_of(frame, columns))
    if "loss_pct" in frame.columns:
        lost = pd.to_numeric(runs["loss_pct"], errors="coerce") > 100 * LOSS
    else:
        lost = runs[arrived] < (1 - LOSS) * runs[sent]
        if "transport_mss_bytes" in frame.columns:
            lost &= runs["transport_mss_bytes"].isna()
    return f"{int(lost.sum())} of {len(runs)} runs lost packets" if lost.any() else ""


def sessions(runs: Runs) -> str:
    """Note several sessions of runs; "" for one session, or without times."""
    if not {"started", "duration_s"} <= set(runs.columns):
        return ""
    if isinstance(runs, Relation):
        breaks = runs.breaks(BREAK)
        return _sessions(len(breaks) + 1, max(breaks)) if breaks else ""
    if runs["started"].dtype.kind != "M":
        return ""
    runs = _of(runs, ("started", "duration_s"))
    seconds = runs["duration_s"].astype(float)
    if "status" in runs.columns:  # of a run that was cut off nobody knows more than its start
        seconds = seconds.mask(seconds.isna() & (runs["status"] == "interrupted"), 0.0)
    if "campaign" not in runs.columns and _close(runs["started"], seconds):
        return ""
    timed = runs.assign(duration_s=seconds).dropna(subset=["started", "duration_s"])
    if not timed["started"].is_monotonic_increasing:
        timed = timed.sort_values("started")
    ended = timed["started"] + pd.to_timedelta(timed["duration_s"], unit="s")
    several = timed["campaign"] if "campaign" in timed.columns else pd.Series("", timed.index)
    between = (timed["started"] - ended.groupby(several).shift()).dt.total_seconds()
    long = between[between > BREAK]
    if long.empty:
        return ""
    return _sessions(len(long) + several.nunique(), float(long.max()))


def _close(started: pd.Series[Any], seconds: pd.Series[Any]) -> bool:
    """Return True if runs start within BREAK of each other, so that no break fits between them."""
    begins, lengths = started.to_numpy("datetime64[ns]"), seconds.to_numpy()
    timed = ~(np.isnat(begins) | np.isnan(lengths))
    begins, between = begins[timed], np.diff(begins[timed])
    if (between < np.timedelta64(0)).any():
        between = np.diff(np.sort(begins))
    long = (between > np.timedelta64(int(BREAK), "s")) | (lengths[timed] < 0)[1:]
    return not long.any()


def _sessions(count: int, longest: float) -> str:
    return (
        f"means include drift between sessions: the runs were made in {count} sessions, with up to "
        f"{longest / 3600:.2g} h between them"
    )


def disturbance(runs: Runs) -> str:
    """Note how many ok runs had other traffic on their link, and how much; "" for none."""
    if "disturbed_pct" not in runs.columns:
        return ""
    of, count, _, most = _flagged(
        runs, _number("disturbed_pct"), lambda ok: _numbers(ok["disturbed_pct"]), ">", 0
    )
    if not of:
        return ""
    return (
        f"{of} of {count} runs had other traffic on their link, up to "
        f"{most:.2g} % of their own (disturbed_pct)"
    )


def other_programs(runs: Runs) -> str:
    """Note how many ok runs shared a host's CPUs with other programs; "" for none."""
    columns = [name for name in OTHERS if name in runs.columns]
    if not columns:
        return ""
    of, count, _, highest = _flagged(
        runs,
        f"greatest({', '.join(f'coalesce({_number(name)}, 0)' for name in columns)})",
        lambda ok: ok[columns].apply(_numbers).max(axis="columns"),
        ">",
        OTHER_CPU_NOTED,
    )
    if not of:
        return ""
    return (
        f"in {of} of {count} runs other programs used CPU time on a host, up to {highest:.0f} % of "
        f"one CPU ({', '.join(columns)})"
    )


def covered(runs: Runs) -> str:
    """Note how many ok runs have a throughput over part of the time; "" for none."""
    if "covered_pct" not in runs.columns:
        return ""
    of, count, least, _ = _flagged(
        runs,
        _number("covered_pct"),
        lambda ok: _numbers(ok["covered_pct"]),
        "<",
        COVERED_NOTED,
    )
    if not of:
        return ""
    return (
        f"in {of} of {count} runs the throughput is of a part of the time, down to {least:.0f} %, "
        "in which data of all streams arrived (covered_pct)"
    )


def _flagged(
    runs: Runs,
    sql: str,
    share: Callable[[pd.DataFrame], pd.Series[Any]],
    sign: Literal["<", ">"],
    limit: float,
) -> tuple[int, int, float, float]:
    """Return how many ok runs have a share beyond a limit, of how many; the least and the most."""
    if isinstance(runs, Relation):
        flagged = f"filter (where {runs.ok} and {sql} {sign} {limit})"
        of, count, least, most = runs.counted(
            flagged=f"count(*) {flagged}",
            runs=f"count(*) filter (where {runs.ok})",
            least=f"min({sql}) {flagged}",
            most=f"max({sql}) {flagged}",
        ).values()
        return of, count, least, most
    ok = runs[runs["status"] == "ok"] if "status" in runs.columns else runs
    shares = share(ok)
    shares = shares[shares < limit if sign == "<" else shares > limit]
    return len(shares), len(ok), shares.min(), shares.max()


def _number(name: str) -> str:
    """Return SQL for a column as numbers; text is null."""
    return f"try_cast({name} as double)"


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    return pd.to_numeric(column, errors="coerce")
