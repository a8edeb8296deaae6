"""Stop and continue the programs of one name in this network namespace, in turns.

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


def processes(name: str) -> list[int]:
    """Return the processes of that name in this network namespace."""
    mine = Path("/proc/self/ns/net").readlink()
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            named = (folder / "comm").read_text().strip() == name
            if named and (folder / "ns/net").readlink() == mine:
                pids.append(int(folder.name))
    return pids


def send(pids: list[int], what: signal.Signals) -> None:
    """Send a signal to the processes that still exist."""
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
                pids, looked = processes(name), time.monotonic()
            send(pids, signal.SIGSTOP)
            time.sleep(stop)
            send(pids, signal.SIGCONT)
            time.sleep(run)
    finally:
        send(processes(name), signal.SIGCONT)


if __name__ == "__main__":
    main()
