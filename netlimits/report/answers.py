"""Answer an experiment's question in at most five sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd

from netlimits.analysis import pooling, wording
from netlimits.analysis.packet_rate import regimes
from netlimits.errors import DataError
from netlimits.metrics import Metric, metric
from netlimits.report.page import Answer
from netlimits.tables import summaries

AT_MOST = 5
CONTRASTS_AT_MOST = 3
"""Maximum number of sentences on contrasts; the tables have all contrasts."""
PLACES_AT_MOST = 4
"""Number of configurations up to which a sentence gives all ratios, instead of the extremes."""
NAMED_AT_MOST = 2
"""Number of configurations up to which a sentence names them, instead of giving their number."""
UNDETERMINED, PROVEN, REFUTED, OPEN = "undetermined", "proven", "refuted", "open"


def answers(
    summaries: Sequence[pd.DataFrame],
    explained: pd.DataFrame | None = None,
    derived: Collection[str] = (),
    folder: str = "",
    sides: Sequence[Answer] = (),
    sizes: Sequence[Answer] = (),
) -> list[Answer]:
    """Return at most five sentences, in this order: sizes, contrasts, limits, costs.

    `sizes` are the sentences of `regimes_of`. `sides` compares the sides of a duet (`run
    --against`); if given, it replaces sizes and contrasts. `explained` is the frame that
    `netlimits.explain` returned.
    """
    contrast = list(sides) or [*sizes, *_contrast(summaries)]
    limits = [] if explained is None else list(limited(explained, derived, folder))
    costs = list(_costs(summaries[:1], has_contrast=bool(contrast)))
    kept = contrast[: AT_MOST - len(limits)]
    first = kept or costs[:1]
    return [*first, *limits, *(answer for answer in costs if answer not in first)][:AT_MOST]


def limited(explained: pd.DataFrame, derived: Collection[str], folder: str) -> Iterator[Answer]:
    """Yield a sentence on what limited the runs, or nothing if `explained` has no rows."""
    keys = list(explained.columns[: list(explained.columns).index("class")])
    keys = [key for key in keys if key not in derived]
    names = list(pooling.differing_factors(explained, [], keys))
    named = explained["class"] != UNDETERMINED
    decided = explained[named & ~explained["state"].isin([REFUTED, OPEN])]
    proven = decided[decided["state"] == PROVEN]
    suggested = decided[decided["state"] != PROVEN]
    tried = explained[named & (explained["state"] == OPEN)]
    rest = explained.drop(index=[*decided.index, *tried.index])

    def where(rows: pd.DataFrame) -> str:
        if len(explained) == 1:
            return "in all runs"
        if len(rows) > NAMED_AT_MOST or len(rows) == len(explained) or not names:
            return f"in {len(rows)} of {len(explained)} configurations"
        each = [wording.phrases([row[n] for n in names], names) for _, row in rows.iterrows()]
        return f"at {' and '.join(', '.join(words) for words in each)}"

    def classes(rows: pd.DataFrame) -> list[str]:
        return [f"{limit!s} {where(of)}" for limit, of in rows.groupby("class", sort=False)]

    parts = {
        "proven": classes(proven),
        "suggested by counters": classes(suggested),
        "open": classes(tried),
    }
    clauses = [f"{', '.join(each)} ({state})" for state, each in parts.items() if each]
    if len(rest):
        clauses.append(f"{UNDETERMINED} {where(rest)}")
    if clauses:
        yield Answer(
            f"What limited the runs: {'; '.join(clauses)}.",
            f"(netlimits explain {folder} has the evidence, and what would decide)",
        )


def regimes_of(
    report: Sequence[Mapping[str, Any]], read: Callable[[], pd.DataFrame]
) -> list[Answer]:
    """Return a sentence on regimes for each chart `packet_rate` in `report`.

    The sentence gives the send size up to which packets per second limit throughput, and the size
    from which bytes limit it. A chart whose runs do not determine the regimes has no sentence.
    `report` has the entries of `report:`. `read` returns the frame of runs, which may take time.
    """
    sentences = []
    for entry in report:
        if entry.get("chart") != "packet_rate":
            continue
        with suppress(DataError):
            options = {key: entry[key] for key in ("of", "size", "pool") if key in entry}
            frame = read()
            fit = regimes(frame, **options)
            sizes = frame[options.get("size", "send_size")]
            clauses = []
            if fit.packets_until >= sizes.min():
                reach = _bytes(fit.packets_until, fit.packets_until_interval)
                clauses.append(f"packets per second limit the throughput of sends up to {reach}")
            if fit.bytes_from <= sizes.max():
                since = _bytes(fit.bytes_from, fit.bytes_from_interval)
                clauses.append(f"bytes limit the throughput of sends from {since} on")
            if clauses:
                text = "; ".join(clauses)
                sentences.append(Answer(f"{text[:1].upper()}{text[1:]}."))
    return sentences


def _bytes(size: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{size:.0f} bytes [{low:.0f}, {high:.0f}]"


def _contrast(summaries: Sequence[pd.DataFrame]) -> list[Answer]:
    for summary in summaries:
        gains = summary[summary["statistic"] == "improvement"]
        if gains.empty:
            continue
        first, *others = gains["metric"].unique()
        names = [first, *sorted(others, key=lambda name: "_sd_" not in name)][:CONTRASTS_AT_MOST]
        each = (
            gains[(gains["contrast"] == contrast) & (gains["metric"] == name)]
            for contrast in gains["contrast"].unique()
            for name in names
        )
        sentences = [part for part in each if not part.empty][:CONTRASTS_AT_MOST]
        return [
            Answer(_gain(metric(str(part["metric"].iloc[0])), part, summary)) for part in sentences
        ]
    return []


def _gain(of: Metric, gains: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Return "Improvement of throughput, offloads on over off: ×1.43 [1.19, 1.70] (…), …"."""
    keys = [
        key
        for key in summary.attrs["factors"]
        if not _compared(gains, key) and _distinguishes(gains, key, summary)
    ]
    factors = {key: summary.attrs["factors"][key] for key in keys}
    several = len(gains) > PLACES_AT_MOST
    rows = gains.sort_values("value", kind="stable").iloc[[0, -1]] if several else gains
    cells = [_cell(f"×{row['value']:.2f}", row, factors, 2) for _, row in rows.iterrows()]
    ratios_text = f"from {' to '.join(cells)}" if several else ", ".join(cells)
    compared = wording.comparison(gains["contrast"].iloc[0])
    return f"Improvement of {_lower(of.title)}, {compared}: {ratios_text}."


def _lower(title: str) -> str:
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _compared(gains: pd.DataFrame, key: str) -> bool:
    return bool(gains[key].map(lambda value: " over " in str(value)).all())


def _distinguishes(gains: pd.DataFrame, key: str, summary: pd.DataFrame) -> bool:
    means = summary[summary["statistic"] == "mean"]
    return bool(gains[key].nunique() > 1 or means[key].nunique() > 1)


def _costs(summaries: Sequence[pd.DataFrame], *, has_contrast: bool) -> Iterator[Answer]:
    for summary in summaries:
        names = [str(name) for name in summary["metric"].unique()]
        costs = [name for name in names if "_sd_" in name][:1]
        for name in dict.fromkeys([*([] if has_contrast else names[:1]), *costs]):
            part = summary[(summary["metric"] == name) & (summary["statistic"] == "mean")]
            yield from _range(metric(name), part, summary.attrs["factors"])


def _range(of: Metric, cells: pd.DataFrame, factors: Mapping[str, str]) -> Iterator[Answer]:
    cells = cells[cells["value"].notna()]
    if cells.empty:
        return
    decimals = summaries.places(cells["value"])
    ordered = [row for _, row in cells.sort_values("value", kind="stable").iterrows()]
    bottom, top = ordered[0], ordered[-1]
    low, high = (
        _cell(f"{row['value']:,.{decimals}f} {of.unit}".strip(), row, factors, decimals)
        for row in (bottom, top)
    )
    between = f"from {low} to {high}" if top["value"] > bottom["value"] else high
    mean = ", ".join(("mean", *([of.direction.lower()] if of.direction else [])))
    yield Answer(f"{of.title} ({mean}): {between}.")


def _cell(written: str, row: pd.Series[Any], factors: Mapping[str, str], decimals: int) -> str:
    """Return a cell in words: "4,837 Mbit/s [4,180, 5,494] (TCP on)"."""
    phrases = wording.phrases([row[key] for key in factors], list(factors.values()))
    interval, where = "", ", ".join(phrases)
    if not math.isnan(row["low"]):
        interval = f"[{row['low']:,.{decimals}f}, {row['high']:,.{decimals}f}]"
    return " ".join(part for part in (written, interval, where and f"({where})") if part)
