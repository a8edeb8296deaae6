"""What one value of the row factor gains over another, in each column of a table.

An improvement is a ratio, turned so that better is above 1, with the interval of
`analysis.contrasts`: within blocks where the campaign has any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlimits.analysis import contrasts, frames, wording
from netlimits.analysis.cells import Cell, Key
from netlimits.analysis.contrasts import FALSE_DISCOVERIES, Contrast
from netlimits.analysis.intervals import ENOUGH
from netlimits.errors import DataError
from netlimits.metrics import Metric

_METHODS = {
    contrasts.WILCOXON: "within blocks: Hodges-Lehmann, Wilcoxon's interval",
    contrasts.TWO_WAY: f"within fewer than {ENOUGH} blocks: log(y) ~ configuration + block",
    contrasts.WELCH: "of runs without blocks: Welch's t on logarithms",
}


@dataclass(frozen=True, slots=True)
class Values:
    """The two values of the row factor that are set against each other, as they are written."""

    over: str
    under: str


@dataclass(frozen=True, slots=True)
class Improvement:
    """One column's ratio; `n` and `runs` are those of both cells."""

    key: Key
    contrast: Contrast
    n: int
    runs: int


def values(frame: pd.DataFrame, rows: str | None, written: str) -> Values:
    """The two values of `rows` that "8192 over 1024" names.

    Raises DataError without `rows`, for other words, and for a value that the factor never has.
    """
    if rows is None:
        raise DataError(f"improvement {written!r} compares two values of a row factor: name one")
    over, word, under = (part.strip() for part in written.partition(" over "))
    if not word or over == under:
        raise DataError(f"improvement reads 'A over B', values of {rows}, not {written!r}")
    frames.factors(frame, rows)
    here = [wording.text(value) for value in sorted(frame[rows].unique(), key=wording.rank)]
    for value in (over, under):
        if value not in here:
            raise DataError(
                f"improvement {written!r}: {rows} is never {value}; it is {', '.join(here)}"
            )
    return Values(over, under)


def improvements(
    cells: Sequence[Cell], metric: Metric, values: Values, confidence: float
) -> tuple[list[Improvement], list[str]]:
    """The improvement in every column that has runs of both values, and notes on those without.

    The row factor is the first of each cell's key.
    """
    columns: dict[Key, dict[str, Cell]] = {}
    for cell in cells:
        columns.setdefault(wording.hashed(cell.key[1:]), {})[wording.text(cell.key[0])] = cell
    ratios, notes = [], []
    pairs = [pair for column in columns.values() if (pair := _pair(column, values))]
    for over, under in pairs:
        top, bottom = (under, over) if metric.better == "lower" else (over, under)
        contrast = _contrast(top, bottom, confidence)
        if contrast is None:
            notes.append(f"{metric.title}: no improvement, a ratio needs means above zero")
            continue
        key = (f"{values.over} over {values.under}", *over.key[1:])
        ratios.append(Improvement(key, contrast, over.n + under.n, over.runs + under.runs))
    if not pairs:
        notes.append(
            f"{metric.title}: no improvement, no column has runs of both {values.over} and "
            f"{values.under}"
        )
    return ratios, notes


def _pair(column: dict[str, Cell], values: Values) -> tuple[Cell, Cell] | None:
    """The two cells of a column; None where one of them has no figures."""
    over, under = column.get(values.over), column.get(values.under)
    if over is None or under is None or not (len(over.sample) and len(under.sample)):
        return None
    return over, under


def _contrast(top: Cell, bottom: Cell, confidence: float) -> Contrast | None:
    """Top over bottom; None where a ratio means nothing, no interval where a value has no log."""
    if not (top.mean > 0 and bottom.mean > 0):
        return None
    every = np.concatenate([top.sample, bottom.sample])
    lone = min(len(top.sample), len(bottom.sample)) < 2
    if top.aggregated or bottom.aggregated or lone or (every <= 0).any():
        ratio = top.mean / bottom.mean
        return Contrast(ratio, np.nan, np.nan, np.nan, contrasts.NONE, top.n + bottom.n)
    blocks = None
    if top.blocks is not None and bottom.blocks is not None:
        blocks = (top.blocks, bottom.blocks)
    return contrasts.ratio(top.sample, bottom.sample, blocks, confidence)


def notes(ratios: Sequence[Contrast]) -> Iterator[str]:
    """How the ratios' intervals came about, and how many of several are more than chance."""
    used = {ratio.method for ratio in ratios}
    yield from (f"improvement {words}" for method, words in _METHODS.items() if method in used)
    chances = [ratio.p for ratio in ratios if not np.isnan(ratio.p)]
    if len(chances) > 1:
        most = contrasts.discovered(chances, FALSE_DISCOVERIES)
        real = sum(p <= most for p in chances)
        yield (
            f"{real} of {len(chances)} improvements are more than chance, at a false discovery "
            f"rate of {100 * FALSE_DISCOVERIES:g} % (Benjamini-Hochberg)"
        )
