"""Notes below a comparison: the method of its ratios, and what limits their validity."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netlimits.analysis import frames
from netlimits.analysis.comparisons import survivors
from netlimits.analysis.comparisons.sessions import Sessions
from netlimits.analysis.comparisons.sides import Key, listed
from netlimits.analysis.statistics import dependence, intervals
from netlimits.analysis.statistics.contrasts import FALSE_DISCOVERIES
from netlimits.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

INTERLEAVED = (
    "drift affected both sides alike: they were interleaved in the same blocks, and each ratio is "
    "within blocks (Hodges and Lehmann's estimate with Wilcoxon's interval; with fewer than six "
    "blocks Student's t of the logarithms)"
)


def ended(
    rows: Sequence[Mapping[str, Any]],
    lost: Collection[Key],
    factors: Sequence[str],
    called: Sequence[str],
) -> Iterator[str]:
    """Yield a note for each side that has a smaller share of ok runs in some configuration.

    The note's example is a configuration in `lost`, where the shares differ significantly, if any.
    """
    for fewer, name in enumerate(called):
        some = {
            row["key"]: row
            for row in rows
            if not row["verdict"] and survivors.fewer_side(row) == fewer
        }
        if not some:
            continue
        first = next((row for key, row in some.items() if key in lost), next(iter(some.values())))
        ordered = [first["key"], *(key for key in some if key != first["key"])]
        where = listed(ordered, factors)
        worse = f", and worse only if it stays so without the slowest runs {called[1]}"
        yield (
            f"figures {name} may be too good, because fewer runs ended ok: "
            f"{survivors.counts(first, called)}{f' ({where})' if where else ''}; their ratio is "
            f"never called better{worse if fewer == 0 else ''}"
        )


def few(rows: Sequence[Mapping[str, Any]], unit: Sessions | None) -> Iterator[str]:
    """Yield notes on too few runs or blocks.

    The notes have rates of wrong differences. These come from simulated comparisons of 18 ratios
    whose true value is 1, with a coefficient of variation of 1 to 5 %.
    """
    if unit is None:
        if any(row["blocks"] < intervals.ENOUGH for row in rows):
            yield (
                f"too few blocks to trust the intervals (fewer than {intervals.ENOUGH} with both "
                "sides): a few slow runs would make them wrong; `netlimits extend` adds blocks"
            )
        return
    counts = [min(row["n_before"], row["n_after"]) for row in rows if not math.isnan(row["low"])]
    if not any(count < intervals.ENOUGH for count in counts):
        return
    yield (
        f"too few runs to trust the intervals (fewer than {intervals.ENOUGH} on a side): if one "
        "run in five were 30 % slower, up to 15 % of comparisons of three runs a side (33 % of "
        f"two) would find a difference where there is none, not {100 * FALSE_DISCOVERIES:g} %"
    )


def aggregated(good: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Yield a note if rows are means of several runs, since each row counts as one run."""
    weights = [frames.weights(side) for side in good if len(side)]
    if any((each > 1).any() for each in weights):
        low, high = min(int(w.min()) for w in weights), max(int(w.max()) for w in weights)
        several = f"{low}" if low == high else f"{low} to {high}"
        yield (
            f"numbers of runs are numbers of rows: a row is the mean of {several} runs "
            f"({frames.AGGREGATED}), and counts as one"
        )


def mixed_kinds(
    rows: Sequence[dict[str, Any]],
    metrics: Sequence[Metric],
    factors: Sequence[str],
    called: Sequence[str],
) -> Iterator[str]:
    """Yield notes on means that mix fast and slow runs; remove `kinds` from the rows."""
    kinds = [(row["metric"], row["key"], row.pop("kinds")) for row in rows]
    for metric in metrics:
        for side, name in enumerate(called):
            keys = [key for of, key, several in kinds if of == metric.name and several[side]]
            if keys:
                where = listed(keys, factors)
                yield (
                    f"{metric.title} {name}: fast and slow runs are mixed, so no run is near the "
                    f"mean{f': {where}' if where else ''}"
                )


def dependent_runs(
    rows: Sequence[dict[str, Any]], metrics: Sequence[Metric], called: Sequence[str]
) -> Iterator[str]:
    """Yield notes on sides whose runs depend on one another; remove `series` from the rows."""
    every = [(row["metric"], row.pop("series")) for row in rows]
    for metric in metrics:
        for side, name in enumerate(called):
            series = [of[side] for named, of in every if named == metric.name]
            samples = [sample for sample in series if sample is not None]
            if samples:
                about = f"{name}: the interval of a ratio"
                yield from dependence.notes(dependence.by_place(samples), metric, about)


def verdict_notes(count: int, threshold: float, how: str) -> tuple[str, ...]:
    """Return notes on the method of the ratios and the meaning of the verdicts."""
    return (
        how,
        "ratios: above 1 is better, also where lower is better",
        f"better and worse: by more than {100 * threshold:g} %, and more than chance at a false "
        f"discovery rate of {100 * FALSE_DISCOVERIES:g} % over {count} ratios (Benjamini-Hochberg)",
        f"same: the whole interval within {100 * threshold:g} %",
    )
