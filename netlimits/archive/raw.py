"""Raw output: what each command of an attempt printed, one JSON object a line.

`step` says what a command was for. Those that figures are made of: `before` and `after`
(/proc/stat of each host) around `client` (the tool), `before NAME` and `after NAME` (evidence),
`sample` (looks during the run), `trace` (packets), `before watch` and `after watch` (changes by
others), `after setting` (each setting of the run, read again), `guard` (whether a host's guard put
settings back meanwhile). Everything else is kept, not read. Archives from before the journal had it
hold what a run cost here as a command of no host, `controller`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec

from netlimits.archive import formats
from netlimits.model import Command, Completed, decoding


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One command of an attempt: its purpose (`step`) and its result."""

    step: str
    completed: Completed

    @property
    def host(self) -> str:
        """Where it ran."""
        return self.completed.host

    @property
    def stdout(self) -> str:
        """What it printed."""
        return self.completed.stdout

    @property
    def argv(self) -> tuple[str, ...]:
        """The command's words."""
        return self.completed.command.argv


def line(entry: RawEntry) -> bytes:
    """An entry as a line of raw output; what of it is no text (an argument's bytes) is escaped."""
    completed = entry.completed
    fields = {
        "step": entry.step,
        "host": completed.host,
        "argv": list(completed.command.argv),
        "sudo": completed.command.sudo,
        "deadline": completed.command.deadline,
        "status": completed.status,
        "seconds": completed.seconds,
        "timed_out": completed.timed_out,
        "truncated": completed.truncated,
        "stdout": completed.stdout,
        "stderr": completed.stderr,
    }
    try:
        return msgspec.json.encode(fields) + b"\n"
    except UnicodeEncodeError:
        text = json.dumps(fields, ensure_ascii=False) + "\n"
        return text.encode("utf-8", "backslashreplace")


def entries(text: str) -> list[RawEntry]:
    """The entries of raw output, in order; the commands' standard input is not in them.

    Raises ValueError for a text that is none.
    """
    # by line feeds alone: output may hold the other line breaks that splitlines() knows
    lines = [decoding.parsed(ln) for ln in text.split("\n") if ln]
    if not decoding.has(lines, list[formats.RawLine]):
        raise ValueError("it is damaged")
    return [RawEntry(fields["step"], _completed(fields)) for fields in lines]


def _completed(fields: formats.RawLine) -> Completed:
    return Completed(
        host=fields["host"],
        command=Command(tuple(fields["argv"]), fields["sudo"], fields["deadline"]),
        status=fields["status"],
        stdout=fields["stdout"],
        stderr=fields["stderr"],
        seconds=fields["seconds"],
        timed_out=fields["timed_out"],
        truncated=fields["truncated"],
    )


BEFORE, CLIENT, AFTER, SAMPLE, TRACE = "before", "client", "after", "sample", "trace"

WATCH_BEFORE, WATCH_AFTER = f"{BEFORE} watch", f"{AFTER} watch"

SETTING_AFTER = f"{AFTER} setting"

GUARD, CONTROLLER = "guard", "controller"
