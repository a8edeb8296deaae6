"""Loading, summary and percentiles of a million runs, beside plain pandas on the same file.

    python benchmarks/analysis.py            # 1,000,000 runs
    python benchmarks/analysis.py 100000

Prints one line a step, the peak of resident memory, and the ratio to `pandas.read_parquet` plus
one `groupby().agg()` (best of three each, in turn). Exit status 1 when a target is missed: a
ratio of 5 (most of which is Wilcoxon's intervals within the blocks), 3 s, 1.5 GB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from netlimits.analysis import frames
from netlimits.analysis.percentiles import percentiles
from netlimits.analysis.sources import run_files
from netlimits.analysis.summary import summary

METRICS = ["throughput", "local_sd", "remote_sd"]
KEYS = ["send_size", "transport"]
RATIO, SECONDS, BYTES = 5.0, 3.0, 1.5e9


def runs(count: int) -> pd.DataFrame:
    """A campaign's frame of `count` runs with the columns that results.parquet has."""
    draw = np.random.default_rng(2021)
    transport = draw.choice(["UDP", "TCP on", "TCP off"], count)
    size = draw.choice([1024, 8192], count)
    demand = draw.lognormal(0, 0.2, count)
    return pd.DataFrame(
        {
            "run": np.arange(1, count + 1),
            "block": np.arange(count) // 6 + 1,
            "config": np.char.add(transport, size.astype(str)),
            "attempt": 1,
            "status": "ok",
            "reason": "",
            "started": "2026-01-01T12:00:00Z",
            "duration_s": 10.0,
            "shared_kernel": False,
            "protocol": np.where(transport == "UDP", "udp", "tcp"),
            "send_size": size,
            "offloads": np.where(transport == "TCP off", "off", "on"),
            "mss": size + 12,
            "transport": transport,
            "throughput_mbps": size * draw.lognormal(1, 0.1, count),
            "local_send_throughput_mbps": size * draw.lognormal(1, 0.1, count),
            "remote_recv_throughput_mbps": size * draw.lognormal(1, 0.1, count),
            "local_sd_us_per_kib": demand,
            "remote_sd_us_per_kib": demand * 1.3,
            "local_cpu_pct": draw.uniform(1, 3, count),
            "remote_cpu_pct": draw.uniform(1, 4, count),
            "local_cpu_peak_pct": draw.uniform(50, 100, count),
            "remote_cpu_peak_pct": draw.uniform(50, 100, count),
        }
    )


def plain(path: Path) -> None:
    """What anybody would write: read, group, aggregate."""
    frame = pd.read_parquet(path)
    columns = [frames.column(frame, name).column for name in METRICS]
    frame.groupby(KEYS)[columns].agg(["mean", "std", "count"])


def ours(path: Path) -> None:
    """The summary table with intervals, and the percentile chart's curves."""
    frame = run_files.load(path)
    summary(frame, METRICS, "send_size", "transport", "8192 over 1024")
    percentiles(frame, "throughput", KEYS[::-1])


def seconds(step: Callable[[Path], None], path: Path) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    step(path)
    return time.perf_counter() - begin


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=1_000_000, help="Runs.")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.parquet"
        writer = runs(count)
        writer.to_parquet(path)
        writing_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        del writer
        times = [(seconds(plain, path), seconds(ours, path)) for _ in range(3)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    plainly, ourly = min(a for a, _ in times), min(b for _, b in times)
    ratio = ourly / plainly
    print(f"{count:,} runs")
    print(f"read_parquet + groupby().agg()      {plainly:6.2f} s")
    print(f"load + summary + percentiles        {ourly:6.2f} s   (target {SECONDS:g} s)")
    print(f"ratio                               {ratio:6.2f}     (target {RATIO:g})")
    print(
        f"peak resident memory                {peak / 1e9:6.2f} GB  "
        f"(target {BYTES / 1e9:g} GB; {writing_peak / 1e9:.2f} GB of it when the file was made)"
    )
    return int(ratio > RATIO or ourly > SECONDS or peak > BYTES)


if __name__ == "__main__":
    sys.exit(main())
