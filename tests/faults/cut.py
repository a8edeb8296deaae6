"""netlimits whose connection to a host is lost at a command: `cut.py NUMBER HOW LAB COMMAND …`.

Commands are counted over all hosts, programs that are begun beside them too, from the campaign's
first run on. HOW says whether sshd's session is killed before the command goes, or right after.
What was cut is said as the first line on standard error.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import runpy
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from waiting import inside

from netlimits.archive.store import Archive
from netlimits.hosts.server import SessionServer
from netlimits.hosts.shell import Shell, brief
from netlimits.lab import labs

BEFORE, AFTER = "before", "after"


class Cut:
    """Cuts one connection, once, at the command of that number."""

    def __init__(self, number: int, how: str, lab: labs.Lab) -> None:
        self._number, self._how, self._lab = number, how, lab
        self._count = itertools.count()
        self._turn = threading.Lock()
        self.armed = False

    def due(self, how: str, host: str, what: str, number: int) -> None:
        """Cut the connection to a host, if it is time to."""
        if (number, how) == (self._number, self._how):
            sys.stderr.write(f"cut {how} {number} at {host}: {what}\n")
            sys.stderr.flush()
            self._kill(host)

    def next(self) -> int:
        """The number of the next command; -1 before the first run."""
        with self._turn:
            return next(self._count) if self.armed else -1

    def _kill(self, host: str) -> None:
        listens = int((self._lab.host_folder(host) / "sshd.pid").read_text())
        sessions = [p for p in inside(self._lab.namespace(host)) - {listens} if _session(p)]
        for pid in sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + 60
        while any(_session(pid) for pid in sessions) and time.monotonic() < until:
            time.sleep(0.01)


def _session(pid: int) -> bool:
    with contextlib.suppress(OSError):
        line = Path("/proc", str(pid), "cmdline").read_bytes()
        return line.startswith((b"sshd:", b"sshd-session:"))
    return False


def main() -> None:
    """Cut as the first words say, and be netlimits with the others."""
    number, how, name = sys.argv[1:4]
    del sys.argv[1:4]
    lab = labs.find(name)
    assert lab
    cut = Cut(int(number), how, lab)
    add, begin, serve = Archive.add, Shell.begin, SessionServer.__init__

    def added(archive, event, **fields):
        cut.armed = cut.armed or event == "start"
        add(archive, event, **fields)

    def begun(shell, command):
        mine = cut.next()
        cut.due(BEFORE, shell.name, brief(command.argv), mine)
        begin(shell, command)
        cut.due(AFTER, shell.name, brief(command.argv), mine)

    def served(server, login, name, command, patience):
        mine = cut.next()
        cut.due(BEFORE, name, brief(command.argv), mine)
        serve(server, login, name, command, patience)
        cut.due(AFTER, name, brief(command.argv), mine)

    Archive.add, Shell.begin, SessionServer.__init__ = added, begun, served  # type: ignore[method-assign]
    runpy.run_module("netlimits", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
