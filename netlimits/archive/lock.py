"""Whether a campaign is being run right now, and by which process.

Whoever runs one holds a lock on its journal. The kernel lists such locks with their process; one
that is held over a network, or outside of what this process may see, only shows by being held.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

JOURNAL = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that runs a campaign; `pid` is 0 and `user` empty where they do not show."""

    pid: int = 0
    user: str = ""

    def __str__(self) -> str:
        if not self.pid:
            return "a process that does not show here, perhaps on another machine"
        return f"process {self.pid}" + (f" of {self.user}" if self.user else "")


def holder(folder: Path) -> LockHolder | None:
    """The process that runs the campaign in a folder; None for none, or without a journal."""
    try:
        journal = os.open(folder / JOURNAL, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        try:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            pid = _holder(os.fstat(journal).st_ino)
            return LockHolder(pid, _user(pid)) if pid else LockHolder()
        return None
    finally:
        os.close(journal)


def _holder(inode: int) -> int:
    """The process that holds a lock on a file of this number, by the kernel's list; 0 for none."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        words = line.split()
        if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(inode):
            return int(words[4]) if words[4].isdigit() else 0
    return 0


def _user(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}").owner()
    except (OSError, KeyError):
        return ""
