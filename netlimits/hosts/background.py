"""A command that runs beside others, in a kept shell and a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

from netlimits.hosts.shell import Shell
from netlimits.model import Command, Completed


class BackgroundCommand:
    """A running command; as `hosts.base.Server`."""

    def __init__(
        self,
        shell: Shell,
        command: Command,
        run: Callable[[], Completed],
        end: Callable[[], None],
    ) -> None:
        """Start it; `run` has the shell run the command and takes the shell back, `end` ends it."""
        self._done: Future[Completed] = Future()
        self._run, self._end = run, end
        name = f"{shell.name} {command.argv[0]}"
        Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        try:
            self._done.set_result(self._run())
        except BaseException as error:  # handed over, to be raised where it is asked for
            self._done.set_exception(error)

    def alive(self) -> bool:
        """Whether it still runs."""
        return not self._done.done()

    def stop(self) -> Completed:
        """End it if need be, and hand over what came of it. Raises ConnectionLost as `run`."""
        if self.alive():
            self._end()
        return self._done.result()
