"""What a campaign at work rolls up: its journal into parts, their raw output into packs.

It is for readers' sake alone: where it cannot be written, nothing is lost, and the campaign goes
on without. The raw output of the last part stays in files, with that of all after it: people look
at the newest runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from netlimits.archive import parts, raw_output, rolling
from netlimits.archive.parts import Part
from netlimits.errors import ArchiveError

if TYPE_CHECKING:
    from netlimits.archive.store import Archive


class Roller:
    """The rolling of one campaign by the process that holds its journal's lock.

    It keeps the `last` part: what a campaign takes of memory does not grow with its runs.
    """

    def __init__(self, archive: Archive) -> None:
        self.last: Part | None = None
        self.on_part: Callable[[str], None] = lambda _: None
        self._archive = archive
        self._rolling = self._packing = True
        self._unpacked: deque[Part] | None = None

    def roll(self) -> bool:
        """Write the next part, where there is enough for one, and the next pack; whether it was.

        One pack at most, so that no run waits for long.
        """
        part = self._next_part()
        if part:
            before, self.last = self.last, part
            self.on_part(part.about["sha256"])
            if self._unpacked is not None and before:
                self._unpacked.append(before)
        self._pack()
        return part is not None

    def roll_all(self) -> None:
        """Write every part and pack that is due, and parts again that are lost or damaged."""
        from netlimits.archive import chunks

        self.last, self._unpacked = None, None
        for part in self._archive.parts():
            if not chunks.whole(self._archive, part):
                break
            self.last = part
        while self.roll() or self._unpacked:
            pass

    def _next_part(self) -> Part | None:
        journal = self._archive.journal
        if not self._rolling or not rolling.due(rolling.end_of(self.last), journal.head):
            return None
        durable = self._archive.sync()  # a part tells of nothing that is not on disk
        try:
            return rolling.next_part(journal, self.last, durable)
        except (OSError, ArchiveError):  # whoever reads the journal is told of the latter
            self._rolling = False
            return None

    def _pack(self) -> None:
        """Pack the raw output of the first part that has any in files."""
        if not self._packing or (self._unpacked is not None and not self._unpacked):
            return
        raw = self._archive.raw
        try:
            if self._unpacked is None:
                raw.finish()
                self._unpacked = deque(self._with_files())
            if self._unpacked:
                part = self._unpacked.popleft()
                raw.pack(zip(*self._attempts(part), strict=True))
        except (OSError, ArchiveError):
            self._packing = False
            self._unpacked = deque()

    def _with_files(self) -> list[Part]:
        """The parts but the last one among whose runs are some whose raw output is in files."""
        runs = sorted(run for run, _ in raw_output.files(self._archive.raw.names()))

        def any_of(part: Part) -> bool:
            low, high = part.about["runs"] or (1, 0)
            after = bisect_left(runs, low)
            return after < len(runs) and runs[after] <= high

        before = self.last.number if self.last else 0
        chosen = [p for p in self._archive.parts() if p.number < before and any_of(p)]
        parts.forget()
        return chosen

    def _attempts(self, part: Part) -> tuple[list[int], list[int]]:
        """The run and the attempt of each row of a part."""
        from netlimits.archive import chunks

        runs, attempts = chunks.of_part(self._archive, part).table(chunks.KEY).columns
        return runs.to_pylist(), attempts.to_pylist()
