"""What knows how far a journal went once, so that lines lost at its end are told.

No line can tell that those after it are gone. results.json knows how many there were when tables
were made of them, the last part which lines it is of, and the registry how many this user's own
netlimits left.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from netlimits.archive import parts, registry
from netlimits.archive.checksums import made_of
from netlimits.archive.journal import Journal
from netlimits.errors import ArchiveError


@dataclass(frozen=True, slots=True)
class Witness:
    """So many lines there were at some time."""

    lines: int
    when: str


def of(journal: Journal, identity: str) -> tuple[Witness, ...]:
    """What knows of the journal of the campaign with this id."""
    witnesses = []
    folder = journal.folder
    if sources := made_of(folder):
        witnesses.append(Witness(sources["lines"], "when results.csv was made of it"))
    if last := parts.newest(folder):
        when = f"when {parts.json_name(last.number)} was made of it"
        witnesses.append(Witness(last.about["end"][0], when))
    try:
        entry = registry.entry(identity)
        with folder.reader("journal.jsonl") as file:
            if entry and os.fstat(file.fileno()).st_ino == entry.inode:
                witnesses.append(Witness(entry.lines, "when it was last written to"))
    except OSError:
        pass  # the journal's reader says what is wrong with it
    return tuple(witnesses)


def hold(journal: Journal, witnesses: tuple[Witness, ...], lines: int) -> None:
    """Raise ArchiveError where a journal with so many lines is known to have had more."""
    for witness in witnesses:
        if lines < witness.lines:
            raise ArchiveError(
                f"{journal.path}:{lines + 1}: is lost, and all after it: it had "
                f"{witness.lines} lines {witness.when}; restore it from a copy"
            )
