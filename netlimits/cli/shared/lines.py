"""Lines about a campaign that several commands print: counts, skipped runs, restored settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.cli import echo
from netlimits.errors import one_line
from netlimits.model import tally_of_runs

if TYPE_CHECKING:
    from netlimits.checks import Finding


def counts(state: Mapping[str, Any]) -> str:
    """Return a text such as "18 runs: 17 ok, 1 failed; 2 had other traffic on their link"."""
    disturbed = (
        f"; {state['disturbed']} had other traffic on their link" if state["disturbed"] else ""
    )
    cut_off = state["interrupted"]
    plural = "" if cut_off == 1 else "s"
    interrupted = f" ({cut_off} attempt{plural} interrupted)" if cut_off else ""
    return f"{tally_of_runs(state, state['left'])}{interrupted}{disturbed}"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows of cells as lines, in columns as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  ".join(cell.ljust(width) for cell, width in cells).rstrip()


def skipped_lines(skipped: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for part in skipped:
        reason = one_line(part["reason"])
        yield f"  {part['runs']} more are skipped, {part['tool']}: {reason}"


def say_warnings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.severity == "warning":
            echo(f"warning: {one_line(str(finding))}", err=True)


def lasting(seconds: float) -> str:
    """Two units at most: `20 min 12 s`."""
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    left = max(1, round(seconds))
    parts: list[str] = []
    for name, size in units:
        number, left = divmod(left, size)
        if number or parts:
            parts.append(f"{number} {name}")
    return " ".join(parts[:2])
