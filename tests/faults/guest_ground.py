"""The ground of faults on machines: kernels, clocks, disks and boots of their own."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from faults.ground import Ground
from guests import Guests

from netlimits.lab import labs
from netlimits.model import Completed

_PROCESSES = "ps -eo pid=,ppid=,args="


class GuestGround(Ground):
    """A lab of machines, what was found on them, and what was begun there."""

    def __init__(self, lab: labs.Lab, folder: Path, guests: Guests) -> None:
        self.guests = guests
        self._own: dict[str, Counter[str]] = {}
        for host in lab.hosts:
            guests(host, "true")  # our own connection is none that a campaign left
        self._own = {host: Counter(self._lines(host).values()) for host in lab.hosts}
        super().__init__(lab, folder)

    def inside(self, host: str, *argv: str) -> str:
        """What a command prints on a machine; it must succeed."""
        return self.guests(host, *argv)

    def on(self, host: str, *argv: str, check: bool = True) -> str:
        """What a command prints on a machine."""
        ran: Completed = self.guests.run(host, *argv)
        assert not check or ran.status == 0, ran
        return ran.stdout

    def processes(self, host: str) -> dict[int, str]:
        """Process id -> command line of all that runs on a machine beside what always does."""
        spare, left = Counter(self._own[host]), {}
        for pid, line in self._lines(host).items():
            spare[line] -= 1
            if spare[line] < 0:
                left[pid] = line
        return left

    @staticmethod
    def _signal(pids: Iterable[int], number: int) -> None:
        raise NotImplementedError("a process id of a machine is another's here")

    def kill(self, host: str, *beginnings: str, number: int = signal.SIGKILL) -> None:
        """Kill the processes on a machine whose command line begins so; there must be one."""
        pids = self.named(host, *beginnings)
        assert pids, (host, beginnings, self.processes(host))
        self.on(host, "kill", f"-{number}", *map(str, pids))

    def _lines(self, host: str) -> dict[int, str]:
        """Every process but the kernel's and the one that looks."""
        lines = {}
        for row in self.guests.sh(host, _PROCESSES).splitlines():
            pid, parent, line = row.split(None, 2)
            if "2" not in (pid, parent) and _PROCESSES not in line and not line.startswith("ps "):
                lines[int(pid)] = line
        return lines

    @contextlib.contextmanager
    def cut(self, port: str) -> Iterator[None]:
        """A port of the machines' switch that is down: the host sees a link that is up."""
        link = ("ip", "-n", self.lab.switch, "link", "set", port)
        subprocess.run([*link, "down"], check=True)
        try:
            yield
        finally:
            subprocess.run([*link, "up"], check=True)
