"""Run commands in the background, each in a shell of its own, while other commands run."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from netlimits.hosts.shell import Shell
from netlimits.hosts.streams import STALL, TICK
from netlimits.hosts.threads import DRAIN, LATER, SOON
from netlimits.model import Command, Completed


class BackgroundCommand:
    """A running command; implements `base.Server`."""

    def __init__(
        self,
        shell: Shell,
        command: Command,
        give_back: Callable[[Shell], None],
        end: Callable[[Shell], None],
    ) -> None:
        """Start `command` in `shell`.

        `end` ends the command early. `give_back` gets the shell when the command is over.
        """
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
        DRAIN.add(self._poll)

    @property
    def stderr(self) -> str:
        self._poll()
        return self._completed.stderr if self._completed else self._shell.stderr

    def alive(self) -> bool:
        self._poll()
        return not self._over

    def stop(self) -> Completed:
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

    def _poll(self) -> float | None:
        """Read the available output, unless another thread is reading it.

        Returns:
            Seconds until the next poll, or None if the command is over.
        """
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
        except BaseException as error:  # for `stop`, which raises it
            self._error = error
        self._give_back(self._shell)
        self._over = True
