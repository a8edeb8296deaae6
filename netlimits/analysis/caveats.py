"""Notes that qualify the figures: runs left out or disturbed, losses, shared CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from netlimits.analysis import attempts, frames
from netlimits.analysis.sources import sketches, streams
from netlimits.analysis.sources.relations import Relation, Runs
from netlimits.metrics import COVERED_NOTED, OTHER_CPU_NOTED, PROFILED
from netlimits.model import tally_of_runs

LOSS = 0.001
"""Share of lost packets above which `losses` counts a run."""

OTHERS = ("local_other_cpu_pct", "remote_other_cpu_pct")

BREAK = 600.0
"""Seconds without a run after which the next run belongs to another session."""

SHARED_KERNEL = "CPU figures are those of one machine: both roles ran on one kernel"


WHOLE = 0.99
"""A window that covers at least this share of a run's time counts as the whole run."""

SENT = frozenset(("local_send_throughput_mbps", "remote_send_throughput_mbps"))
ARRIVED = frozenset(
    ("throughput_mbps", "remote_recv_throughput_mbps", "local_recv_throughput_mbps")
)


def notes(runs: Runs, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the notes for a table of `columns`."""
    sentences = []
    columns = [*columns]
    if not isinstance(runs, Relation):
        runs = attempts.last_attempts(runs)
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
        some = _select(sketches.sketched(runs), ("paced_by", frames.AGGREGATED))
        sentences += _of_rows(frames.usable(some))
    return tuple(sentences)


def _of_rows(ok: pd.DataFrame) -> Iterator[str]:
    """Yield notes on the pacing of ok runs, and on rows that are means of several runs."""
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
    return counts, attempts.without_outcome(runs)


def of_sides(sides: Iterable[tuple[str, Runs]], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the notes for a comparison of `columns`.

    A note that does not hold for all sides starts with the names of the sides it is about.
    """
    sides, columns = [*sides], [*columns]
    named: dict[str, list[str]] = {}
    for name, frame in sides:
        runs = frame if isinstance(frame, Relation) else attempts.last_attempts(frame)
        of_hosts = disturbance(runs), other_programs(runs)
        for sentence in filter(None, [*of_hosts, *_of_cpu(runs, columns)]):
            named.setdefault(sentence, []).append(name)
    return tuple(
        sentence if len(names) == len(sides) else f"{' and '.join(names)}: {sentence}"
        for sentence, names in named.items()
    )


def _of_cpu(runs: Runs, columns: Iterable[str]) -> Iterator[str]:
    """Yield notes on CPU columns: roles on one kernel, a receiver's service demand under loss."""
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


def _select(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return the given columns, if present, and the columns that decide which runs count."""
    names = {*columns, *frames.RUN_COLUMNS, PROFILED}
    return frame[[name for name in frame.columns if name in names]]


def _figures(runs: Runs, *columns: str) -> pd.DataFrame:
    """Return the given columns of the ok runs as numbers."""
    if isinstance(runs, Relation):
        return streams.figures(runs, columns)
    last = attempts.last_attempts(_select(runs, columns))
    ok = last[last["status"] == "ok"] if "status" in last.columns else last
    figures: pd.DataFrame = ok[[*columns]].apply(pd.to_numeric, errors="coerce")
    return figures


def windows(runs: Runs) -> str:
    """Return a note on runs whose sent and received rates cover different times, or ""."""
    if not {"window_s", "elapsed_s"} <= {*runs.columns}:
        return ""
    figures = _figures(runs, "window_s", "elapsed_s")
    shares = figures["window_s"] / figures["elapsed_s"]
    partly = 100 * shares[shares < WHOLE]
    if partly.empty:
        return ""
    low, high = f"{partly.min():.0f}", f"{partly.max():.0f}"
    return (
        "the difference between sent and received rates is not loss: "
        f"in {len(partly)} of {len(shares)} runs sent data are counted over the whole time, and "
        f"received data over the {low if low == high else f'{low} to {high}'} % of it in which all "
        "streams ran (window_s)"
    )


def losses(runs: Runs) -> str:
    """Return how many runs lost more than LOSS, as "2 of 6 runs lost packets", or "".

    TCP runs are ignored: TCP retransmits lost segments, so data not yet received is only late.
    """
    sent, arrived = "local_send_throughput_mbps", "remote_recv_throughput_mbps"
    mss = "transport_mss_bytes"
    if "loss_pct" in runs.columns:
        lost = _figures(runs, "loss_pct")["loss_pct"] > 100 * LOSS
    elif {sent, arrived} <= {*runs.columns}:
        figures = _figures(runs, sent, arrived, *([mss] if mss in runs.columns else []))
        lost = figures[arrived] < (1 - LOSS) * figures[sent]
        if mss in figures:
            lost &= figures[mss].isna()
    else:
        return ""
    return f"{int(lost.sum())} of {len(lost)} runs lost packets" if lost.any() else ""


def sessions(runs: Runs) -> str:
    """Return a note if the runs form several sessions, or "" if they do not or have no times."""
    if not {"started", "duration_s"} <= set(runs.columns):
        return ""
    if isinstance(runs, Relation):
        breaks = runs.breaks(BREAK)
        return _sessions(len(breaks) + 1, max(breaks)) if breaks else ""
    if runs["started"].dtype.kind != "M":
        return ""
    runs = _select(runs, ("started", "duration_s"))
    seconds = runs["duration_s"].astype(float)
    if "status" in runs.columns:  # an interrupted run has no known end, so its start counts
        seconds = seconds.mask(seconds.isna() & (runs["status"] == "interrupted"), 0.0)
    timed = runs.assign(duration_s=seconds).dropna(subset=["started", "duration_s"])
    if not timed["started"].is_monotonic_increasing:
        timed = timed.sort_values("started")
    ended = timed["started"] + pd.to_timedelta(timed["duration_s"], unit="s")
    count, before = 1, ended.shift()
    if "campaign" in timed.columns:
        count, before = timed["campaign"].nunique(), ended.groupby(timed["campaign"]).shift()
    between = (timed["started"] - before).dt.total_seconds()
    long = between[between > BREAK]
    return _sessions(len(long) + count, float(long.max())) if len(long) else ""


def _sessions(count: int, longest: float) -> str:
    return (
        f"means include drift between sessions: the runs were made in {count} sessions, with up to "
        f"{longest / 3600:.2g} h between them"
    )


def disturbance(runs: Runs) -> str:
    """Return a note on how many ok runs had other traffic on their link, or ""."""
    if "disturbed_pct" not in runs.columns:
        return ""
    shares = _figures(runs, "disturbed_pct")["disturbed_pct"]
    some = shares[shares > 0]
    if some.empty:
        return ""
    return (
        f"{len(some)} of {len(shares)} runs had other traffic on their link, up to "
        f"{some.max():.2g} % of their own (disturbed_pct)"
    )


def other_programs(runs: Runs) -> str:
    """Return a note on how many ok runs shared a host's CPUs with other programs, or ""."""
    columns = [name for name in OTHERS if name in runs.columns]
    if not columns:
        return ""
    shares = _figures(runs, *columns).max(axis="columns")
    some = shares[shares > OTHER_CPU_NOTED]
    if some.empty:
        return ""
    return (
        f"in {len(some)} of {len(shares)} runs other programs used CPU time on a host, up to "
        f"{some.max():.0f} % of one CPU ({', '.join(columns)})"
    )


def covered(runs: Runs) -> str:
    """Return a note on how many ok runs have a throughput over only part of their time, or ""."""
    if "covered_pct" not in runs.columns:
        return ""
    shares = _figures(runs, "covered_pct")["covered_pct"]
    some = shares[shares < COVERED_NOTED]
    if some.empty:
        return ""
    return (
        f"in {len(some)} of {len(shares)} runs the throughput covers only the part of the time in "
        f"which data of all streams arrived, down to {some.min():.0f} % (covered_pct)"
    )
