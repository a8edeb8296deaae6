"""An undo log for tests of settings, which keeps original states in a list."""

from __future__ import annotations

from collections.abc import Callable

from netlimits.hosts.base import Host
from netlimits.model import Command, Completed
from netlimits.restore.originals import Changed, Original


class ListLog:
    """Keep original states in `originals`, and run changes directly."""

    def __init__(self, host: Callable[[str], Host]) -> None:
        self.originals: list[Original] = []
        self._host = host

    def keep(self, original: Original) -> None:
        self.originals.append(original)

    def run(self, role: str, command: Command) -> Completed:
        return self._host(role).run(command)

    def begin_change(self, role, commands, then, guarded):
        def changed() -> Changed:
            answers = tuple(self.run(role, command) for command in commands)
            return Changed(answers, tuple(map(self._host(role).run, then)))

        return changed

    def begin_restore(self, original: Original) -> None:
        pass

    def end_restore(self, original: Original) -> None:
        pass
