"""Ratios of a metric between two values of a factor, in each configuration that has both values.

A ratio above 1 means that the first value is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlimits.analysis import frames, pooling, wording
from netlimits.analysis.statistics import contrasts
from netlimits.analysis.statistics.cells import Cell, Key
from netlimits.analysis.statistics.contrasts import FALSE_DISCOVERIES, Contrast
from netlimits.analysis.statistics.intervals import ENOUGH
from netlimits.errors import DataError
from netlimits.metrics import Metric

Request = str | Mapping[str, str | Sequence[str]]
""""A over B" for two values of the row factor, or {factor: "A over B"} for any factors."""

Places = Mapping[Key, tuple[str, Key]]
"""A cell's key -> its value of the compared factor as text, and the other factors' values."""

_METHODS = {
    contrasts.WILCOXON: "within blocks: Hodges-Lehmann, Wilcoxon's interval",
    contrasts.TWO_WAY: f"within fewer than {ENOUGH} blocks: log(y) ~ configuration + block",
    contrasts.WELCH: "of runs without blocks: Welch's t on logarithms",
}


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two values of a factor as text, and the cells that have them."""

    factor: str
    over: str
    under: str
    places: Places

    def __str__(self) -> str:
        return f"{self.factor}: {self.over} over {self.under}"


@dataclass(frozen=True, slots=True)
class Improvement:
    """The ratio of a metric between two cells.

    `key` has "A over B" for each factor in which the cells differ. `n` (ok runs with the metric)
    and `runs` (runs with an outcome) are sums over both cells.
    """

    of: Pairing
    key: Key
    contrast: Contrast
    n: int
    runs: int


def pairings(
    frame: pd.DataFrame, keys: Sequence[str], rows: str | None, request: Request
) -> tuple[list[Pairing], list[str]]:
    """Return the requested comparisons, and notes on comparisons of values that no run has."""
    if isinstance(request, str) and rows is None:
        raise DataError(f"improvement {request!r}: name the row factor whose values to compare")
    named = {rows or "": request} if isinstance(request, str) else request
    pairs, missing = [], []
    for factor, written in named.items():
        frames.factors(frame, factor)
        places = _places(frame, keys, factor)
        for text in [written] if isinstance(written, str) else written:
            over, under = _values(factor, text)
            if problem := _absent(frame, factor, (over, under)):
                missing.append(f"improvement {text!r}: {problem}")
            else:
                pairs.append(Pairing(factor, over, under, places))
    if missing and isinstance(request, str):
        raise DataError(missing[0])
    return pairs, missing


def refuse_absent(frame: pd.DataFrame, request: Mapping[str, Sequence[str]]) -> None:
    """Raise DataError for the first comparison of a value that no run has."""
    for factor, written in request.items():
        frames.factors(frame, factor)
        for text in written:
            if problem := _absent(frame, factor, _values(factor, text)):
                raise DataError(f"improvement {text!r}: {problem}")


def _absent(frame: pd.DataFrame, factor: str, values: Sequence[str]) -> str:
    """Return an error message for the first value that no run has, or "" if all have runs."""
    here = [wording.text(value) for value in sorted(frame[factor].unique(), key=wording.rank)]
    absent = [value for value in values if value not in here]
    return (
        f"{factor} has no value {absent[0]!r}; its values are {', '.join(here)}" if absent else ""
    )


def _values(factor: str, written: str) -> tuple[str, str]:
    over, word, under = (part.strip() for part in written.partition(" over "))
    if not word:
        raise DataError(f"improvement {written!r}: write 'A over B', two values of {factor}")
    if over == under:
        raise DataError(f"improvement {written!r}: {factor} {over} is compared with itself")
    return over, under


def _places(frame: pd.DataFrame, keys: Sequence[str], factor: str) -> Places:
    """Return each cell's value of `factor`, and its values of the other factors.

    `factor` need not be in `keys` if they determine its value, as `protocol` and `offloads`
    determine `transport`. A cell whose runs have several values of `factor` is left out.
    """
    others = [key for key in keys if key != factor]
    if factor not in keys:
        others = list(pooling.differing_factors(frame, [factor]))
    names = list(dict.fromkeys([*keys, factor, *others]))
    places: dict[Key, tuple[str, Key]] = {}
    pooled = set()
    for row in frame[names].drop_duplicates().to_dict("records"):
        key = wording.hashed(row[name] for name in keys)
        place = wording.text(row[factor]), wording.hashed(row[name] for name in others)
        if places.setdefault(key, place) != place:
            pooled.add(key)
    return {key: place for key, place in places.items() if key not in pooled}


def improvements(
    cells: Sequence[Cell], metric: Metric, pairing: Pairing, confidence: float
) -> tuple[list[Improvement], list[str]]:
    """Return the improvements of `pairing`, and notes on improvements that cannot be computed."""
    if not metric.better:
        return [], []
    sides: dict[Key, dict[str, Cell]] = {}
    for cell in cells:
        place = pairing.places.get(wording.hashed(cell.key))
        if place and len(cell.sample):
            sides.setdefault(place[1], {})[place[0]] = cell
    pairs = [
        (s[pairing.over], s[pairing.under])
        for s in sides.values()
        if {pairing.over, pairing.under} <= s.keys()
    ]
    ratios, notes = [], []
    for over, under in pairs:
        top, bottom = (under, over) if metric.better == "lower" else (over, under)
        contrast = _contrast(top, bottom, confidence)
        if contrast is None:
            notes.append(f"{metric.title}: no improvement, a ratio needs means above zero")
            continue
        key = tuple(map(_both, over.key, under.key))
        ratios.append(Improvement(pairing, key, contrast, over.n + under.n, over.runs + under.runs))
    if not pairs:
        notes.append(
            f"{metric.title}: no improvement, no configuration has runs of both {pairing.over} and "
            f"{pairing.under}"
        )
    return ratios, notes


def _both(over: object, under: object) -> object:
    """Return a factor's value if two cells have the same, otherwise "A over B"."""
    first, second = wording.text(over), wording.text(under)
    return over if first == second else f"{first} over {second}"


def _contrast(top: Cell, bottom: Cell, confidence: float) -> Contrast | None:
    """Return the ratio of top to bottom, or None if a mean is not above zero."""
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
    """Yield notes on the methods of the ratios' intervals and the number of significant ratios."""
    used = {ratio.method for ratio in ratios}
    yield from (f"improvement {words}" for method, words in _METHODS.items() if method in used)
    p_values = [ratio.p for ratio in ratios if not np.isnan(ratio.p)]
    if len(p_values) > 1:
        limit = contrasts.significance_threshold(p_values, FALSE_DISCOVERIES)
        real = sum(p <= limit for p in p_values)
        yield (
            f"{real} of {len(p_values)} improvements are more than chance, at a false discovery "
            f"rate of {100 * FALSE_DISCOVERIES:g} % (Benjamini-Hochberg)"
        )
