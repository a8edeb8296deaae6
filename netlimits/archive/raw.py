"""Raw output: what each command of an attempt printed, one JSON object a line.

`step` says what a command was for. Those that figures are made of: `before` and `after`
(/proc/stat of each host) around `client` (the tool), `before NAME` and `after NAME` (evidence),
`sample` (looks during the run), `trace` (packets), `guard` (whether a host's guard put settings
back meanwhile), `controller` (what the run cost here). Everything else is kept, not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlimits.archive import formats
from netlimits.errors import ArchiveError
from netlimits.model import (
    Command,
    Completed,
    decoding,
)


def raw_entry(completed: Completed, step: str) -> dict[str, Any]:
    """A Completed as raw output keeps it; `step` says what the command was for."""
    return {
        "step": step,
        "host": completed.host,
        "argv": list(completed.command.argv),
        "sudo": completed.command.sudo,
        "deadline": completed.command.deadline,
        "status": completed.status,
        "seconds": round(completed.seconds, 6),
        "timed_out": completed.timed_out,
        "truncated": completed.truncated,
        "stdout": completed.stdout,
        "stderr": completed.stderr,
    }


def completed(entry: Mapping[str, Any]) -> Completed:
    """A raw entry as the Completed that it was; what was fed to it is not kept.

    Raises ArchiveError for an entry that is none.
    """
    if not decoding.has(entry, formats.RawEntry):
        raise ArchiveError(f"the raw output is damaged at {str(entry)[:80]}")
    return Completed(
        host=entry["host"],
        command=Command(tuple(entry["argv"]), entry["sudo"], entry["deadline"]),
        status=entry["status"],
        stdout=entry["stdout"],
        stderr=entry["stderr"],
        seconds=entry["seconds"],
        timed_out=entry["timed_out"],
        truncated=entry["truncated"],
    )


BEFORE, CLIENT, AFTER, SAMPLE, TRACE = "before", "client", "after", "sample", "trace"

GUARD, CONTROLLER = "guard", "controller"
