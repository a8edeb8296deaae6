"""Print a share of the next 0.3 s, percent; nothing while no program of that name runs here.

`share.py NAME` prints how long its busiest thread ran or waited for a CPU, `share.py NAME wait` how
long it waited for one, `share.py NAME idle` how long the CPUs were idle.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

from pauses import processes

SPAN = 0.3


def threads(name: str) -> dict[str, tuple[int, int]]:
    """Return the nanoseconds that each thread ran, and waited for a CPU."""
    times = {}
    for pid in processes(name):
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                ran, waited, _ = path.read_text().split()
                times[str(path)] = int(ran), int(waited)
    return times


def idle() -> tuple[int, int]:
    """Return the ticks that the CPUs were idle, and all their ticks."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def main() -> None:
    """Look twice, and print."""
    name, what = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "busy"
    before, all_before, start = threads(name), idle(), time.monotonic()
    time.sleep(SPAN)
    after, all_after, span = threads(name), idle(), time.monotonic() - start
    both = before.keys() & after.keys()
    grown = [[b - a for a, b in zip(before[key], after[key], strict=True)] for key in both]
    ran, waited = max(grown, key=sum, default=(0, 0))
    if ran < 0.01 * span * 1e9:
        return
    if what == "idle":
        spare, every = (b - a for a, b in zip(all_before, all_after, strict=True))
        print(100 * spare / every)
    else:
        print(100 * ((waited if what == "wait" else ran + waited) / 1e9) / span)


if __name__ == "__main__":
    main()
