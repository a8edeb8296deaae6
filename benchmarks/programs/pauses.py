"""Let the programs of one name in this network namespace run and stop by turns.

    pauses.py NAME RUN STOP

They run for RUN seconds and are stopped (SIGSTOP) for STOP seconds, until this program ends.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path


def found(name: str) -> list[int]:
    """The processes of that name in this network namespace."""
    mine = Path("/proc/self/ns/net").readlink()
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            named = (folder / "comm").read_text().strip() == name
            if named and (folder / "ns/net").readlink() == mine:
                pids.append(int(folder.name))
    return pids


def tell(pids: list[int], what: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


def main() -> None:
    """Stop and continue until SIGTERM."""
    name, run, stop = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    pids: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    looked = 0.0
    try:
        while True:
            if time.monotonic() - looked > 0.1:
                pids, looked = found(name), time.monotonic()
            tell(pids, signal.SIGSTOP)
            time.sleep(stop)
            tell(pids, signal.SIGCONT)
            time.sleep(run)
    finally:
        tell(found(name), signal.SIGCONT)


if __name__ == "__main__":
    main()
