"""CSV: the frame itself, one row an attempt, as in results.csv."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.export.base import Runs


def csv(runs: Runs) -> Iterator[str]:
    """A line of column names, and one an attempt; of a large campaign some thousand at a time."""
    from netlimits.analysis import spreadsheets

    for number, piece in enumerate(runs.pieces or (runs.frame,)):
        yield spreadsheets.to_csv(piece, header=number == 0)
