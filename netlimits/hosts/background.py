"""A command that runs beside others, in a kept shell of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from netlimits.hosts.drain import DRAIN, LATER, SOON
from netlimits.hosts.shell import Shell
from netlimits.hosts.streams import STALL, TICK
from netlimits.model import Command, Completed


class BackgroundCommand:
    """A running command; as `hosts.base.Server`."""

    def __init__(
        self,
        shell: Shell,
        command: Command,
        give_back: Callable[[Shell], None],
        end: Callable[[Shell], None],
    ) -> None:
        """Start it in the shell, which is given back when it is over; `end` ends it before."""
        self._shell, self._give_back, self._end = shell, give_back, end
        self._turn = Lock()
        self._over = False
        self._completed: Completed | None = None
        self._error: BaseException | None = None
        try:
            shell.begin(command)
        except BaseException:
            give_back(shell)
            raise
        DRAIN.add(self._look)

    @property
    def stderr(self) -> str:
        """What it has printed to standard error so far."""
        self._look()
        return self._completed.stderr if self._completed else self._shell.stderr

    def alive(self) -> bool:
        """Whether it still runs."""
        self._look()
        return not self._over

    def stop(self) -> Completed:
        """End it if need be, and hand over what came of it. Raises ConnectionLost as `run`."""
        if self.alive():
            until = time.monotonic() + STALL
            while not self._over and not self._shell.began and time.monotonic() < until:
                self._read(TICK)
            if not self._over:
                self._end(self._shell)
        while not self._over:
            self._read(TICK)
        if self._error:
            raise self._error
        assert self._completed
        return self._completed

    def _look(self) -> float | None:
        """Read what is there, unless somebody is at it; when to look again."""
        began = time.monotonic()
        if self._turn.acquire(blocking=False):
            try:
                self._step(0)
            finally:
                self._turn.release()
        return None if self._over else SOON if self._shell.moved_since(began) else LATER

    def _read(self, wait: float) -> None:
        with self._turn:
            self._step(wait)

    def _step(self, wait: float) -> None:
        if self._over:
            return
        try:
            if not self._shell.reached_end(wait):
                return
            self._completed = self._shell.completed()
        except BaseException as error:  # handed over, to be raised where it is asked for
            self._error = error
        self._give_back(self._shell)
        self._over = True
