"""What an attempt's raw output says: the same reading for a live run and for `netlimits parse`.

Raw entries are what `archive.raw_entry` keeps. The steps that count here: `before` and `after`
(/proc/stat of each end) around `client` (the tool). Everything else is kept, not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from netlimits.errors import ToolFailure
from netlimits.evidence import cpu
from netlimits.model import Command, Completed, Measurement, Scalar
from netlimits.tools import tool

BEFORE, CLIENT, AFTER = "before", "client", "after"

Ends = Mapping[str, str]
"""`local` and `remote` -> role."""


def measured(
    name: str, options: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], ends: Ends
) -> Measurement:
    """The tool's figures, and CPU and service demand of both ends by netperf's formula.

    Raises ToolFailure for an attempt that must not count.
    """
    client = _one(entries, CLIENT, None)
    measurement = tool(name).read(client, options)
    figures: dict[str, Scalar] = dict(measurement.figures)
    for end, role in ends.items():
        before = cpu.times(_one(entries, BEFORE, role))
        after = cpu.times(_one(entries, AFTER, role))
        figures |= cpu.figures(end, cpu.use(before, after), measurement.figures)
    return replace(measurement, figures=figures)


def has_client(entries: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the tool ran at all, so that there is something to read again."""
    return any(entry["step"] == CLIENT for entry in entries)


def completed(entry: Mapping[str, Any]) -> Completed:
    """A raw entry as the Completed that it was."""
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


def _one(entries: Sequence[Mapping[str, Any]], step: str, role: str | None) -> Completed:
    for entry in entries:
        if entry["step"] == step and role in (None, entry["host"]):
            return completed(entry)
    raise ToolFailure(f"the raw output holds no {step!r} of {role or 'the client'}")
