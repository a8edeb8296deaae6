"""Lay out a summary as blocks of text cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from netlimits.analysis import frames, wording
from netlimits.metrics import metric


@dataclass(frozen=True, slots=True)
class Block:
    """A table of text cells. The first column contains the labels of the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


VERDICT, LIMIT = "verdict", "Limited by"
"""Column of a summary with the limit of each configuration, and the heading for this column."""


def is_summary(table: pd.DataFrame) -> bool:
    """Return True if a frame is a summary.

    Args:
        table: Any frame.

    Returns:
        True if the frame has the columns of `analysis.summary`.
    """
    return list(table.columns[:2]) == ["metric", "statistic"] and "value" in table


def summary_blocks(table: pd.DataFrame, intervals: bool = False) -> list[Block]:
    """Lay out a summary as blocks.

    Args:
        table: A summary (`analysis.summary`).
        intervals: True to add confidence intervals in brackets.

    Returns:
        A block for each separate comparison (`_separate_improvements`), then a block for each
        metric. If the table has limits and several columns, the last block shows the limits.
    """
    layout, direction = _Layout.from_table(table, intervals), table.attrs.get("direction", "send")
    table = pd.DataFrame(table)  # a copy without attrs, since pandas copies attrs to every part
    table.attrs = {}
    blocks: list[Block] = []
    limits = None
    separate = _separate_improvements(table, layout)
    for column, part in table[~separate].groupby("metric", sort=False):
        quantity = metric(str(column)).towards(direction)
        means = part[part["statistic"] == "mean"]
        heads = [key for key, _ in frames.groups(means, layout.columns)]
        labels = [" ".join(wording.phrases(key, layout.names)) or wording.NULL for key in heads]
        counted = means[[not layout.is_unreported(cell) for _, cell in means.iterrows()]]
        decimals = places(means["value"].dropna())
        if intervals:
            decimals = _finer(means, decimals)
        body = list(_body(part, str(column), layout, heads, decimals))
        body.append(("runs", *(_runs(counted, layout.columns, key) for key in heads)))
        header = (layout.corner, *(labels if layout.columns else ["all"]))
        if VERDICT in part.columns and len(heads) > 1:
            limits = _limits(means, layout, heads, header)
        elif VERDICT in part.columns:
            verdicts = {row[0]: row[1:] for row in _limits(means, layout, heads, header).rows}
            header = (*header, LIMIT)
            body = [(*row, *verdicts.get(row[0], ("",))) for row in body]
        about = " - ".join(
            x for x in (quantity.unit, quantity.direction.title().replace("Is", "is")) if x
        )
        title = f"{quantity.title} ({about})" if about else quantity.title
        blocks.append(Block(title, header, tuple(body)))
    gains = _gains(table[separate], layout, direction)
    return [*gains, *blocks, *([limits] if limits else [])]


def _separate_improvements(table: pd.DataFrame, layout: _Layout) -> pd.Series[bool]:
    """Return a mask of the improvements that need a block of their own.

    An improvement that compares rows of a metric's block becomes a row at the end of this block.
    All others, such as improvements that compare its columns, need a block of their own.
    """
    means = table[table["statistic"] == "mean"]
    columns = {_texts(key) for key in means[list(layout.columns)].itertuples(index=False)}
    rows = set(means[layout.rows].map(wording.text)) if layout.rows else set()
    gains = table["statistic"] == "improvement"
    return gains & pd.Series(
        [
            wording.text(row[layout.rows] if layout.rows else "") in rows
            or _texts([row[name] for name in layout.columns]) not in columns
            for _, row in table.iterrows()
        ],
        index=table.index,
        dtype=bool,
    )


def _gains(gains: pd.DataFrame, layout: _Layout, direction: Any) -> Iterator[Block]:
    """Yield a block for each comparison, such as `offloads on over off`.

    A block has a column for each metric and each combination of the factors that the comparison
    does not fix.
    """
    for written, part in gains.groupby("contrast", sort=False) if len(gains) else ():
        common = [name for name in layout.columns if part[name].astype(str).nunique() == 1]
        across = [name for name in layout.columns if name not in common]
        cells: dict[str, dict[str, str]] = {}
        heads: dict[str, None] = {}
        for _, row in part.iterrows():
            quantity = metric(row["metric"]).towards(direction)
            words = wording.phrases([row[name] for name in across], across)
            head = f"{quantity.title}, {' '.join(words)}" if words else quantity.title
            label = wording.text(row[layout.rows]) if layout.rows else "all"
            heads[head] = None
            cells.setdefault(label, {})[head] = _written(row, 2, layout.intervals)
        rows = (
            (label, *(of_row.get(head, "–") for head in heads)) for label, of_row in cells.items()
        )
        yield Block(
            f"Improvement, {wording.comparison(str(written))} (ratio - Above 1 is Better)",
            (layout.corner, *heads),
            tuple(rows),
        )


def _limits(
    means: pd.DataFrame, layout: _Layout, heads: Sequence[tuple[Any, ...]], header: tuple[str, ...]
) -> Block:
    rows = []
    for key, cells in frames.groups(means, [layout.rows] if layout.rows else []):
        by_column = {_texts(k): p for k, p in frames.groups(cells, layout.columns)}
        label = wording.text(key[0]) if key else "all"
        limits = (by_column.get(_texts(head)) for head in heads)
        rows.append((label, *(_verdict(limit) if limit is not None else "–" for limit in limits)))
    return Block(LIMIT, header, tuple(rows))


def _verdict(cells: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(v for v in cells[VERDICT] if v)) or "–"


@dataclass(frozen=True, slots=True)
class _Layout:
    rows: str | None
    columns: tuple[str, ...]
    names: tuple[str, ...]
    corner: str
    intervals: bool
    mixed: frozenset[tuple[str, str]]
    unreported: frozenset[tuple[str, tuple[str, ...]]]

    @classmethod
    def from_table(cls, table: pd.DataFrame, intervals: bool) -> _Layout:
        place = list(table.columns)
        keys = place[2 : place.index("value")]
        names = table.attrs.get("factors", {})
        rows, columns = (keys[0], tuple(keys[1:])) if keys else (None, ())
        return cls(
            rows,
            columns,
            tuple(names.get(name, name) for name in columns),
            wording.title(names.get(rows, rows)) if rows else "",
            intervals,
            frozenset(
                (column, key[0] if key else "") for column, key in table.attrs.get("mixed", ())
            ),
            frozenset((column, tuple(key)) for column, key in table.attrs.get("unreported", ())),
        )

    def is_unreported(self, cell: pd.Series[Any]) -> bool:
        """Return True if the cell has ok runs, but their tool does not report the metric."""
        keys = [*([self.rows] if self.rows else []), *self.columns]
        return (cell["metric"], tuple(wording.text(cell[key]) for key in keys)) in self.unreported


def _body(
    part: pd.DataFrame,
    column: str,
    layout: _Layout,
    heads: Sequence[tuple[Any, ...]],
    decimals: int,
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a metric's block: rows of means, then rows of improvements.

    A row of medians follows a row of means if intervals are shown, or if `layout.mixed` has the
    row.
    """
    by = {name: part[part["statistic"] == name] for name in ("mean", "median", "improvement")}
    keys = [layout.rows] if layout.rows else []
    medians = {_texts(key): cells for key, cells in frames.groups(by["median"], keys)}
    for key, cells in frames.groups(by["mean"], keys):
        label = wording.text(key[0]) if key else "all"
        yield _row(label, cells, layout, heads, decimals)
        median = medians.get(_texts(key), by["median"][:0])
        if len(median) and (layout.intervals or (column, label if key else "") in layout.mixed):
            yield _row(f"{label}, median", median, layout, heads, decimals)
    for key, cells in frames.groups(by["improvement"], keys) if keys else ():
        yield _row(f"improvement, {wording.text(key[0])}", cells, layout, heads, 2)


def _row(
    label: str,
    cells: pd.DataFrame,
    layout: _Layout,
    heads: Sequence[tuple[Any, ...]],
    decimals: int,
) -> tuple[str, ...]:
    """Return a row of a block.

    A dash alone means that there was no run, or that the tool does not report the metric. A dash
    with numbers of runs means that no run succeeded.
    """
    by_column = {_texts(key): part.iloc[0] for key, part in frames.groups(cells, layout.columns)}
    texts = []
    for key in heads:
        cell = by_column.get(_texts(key))
        if cell is None or layout.is_unreported(cell):
            texts.append("–")
            continue
        if math.isnan(cell["value"]):
            texts.append(f"– ({cell['n']} of {cell['runs']})")
            continue
        texts.append(_written(cell, decimals, layout.intervals))
    return (label, *texts)


def _written(cell: pd.Series[Any], decimals: int, intervals: bool) -> str:
    """Return a value as text. If `intervals`, its interval follows: "1.43 [1.19, 1.70]"."""
    written = f"{cell['value']:.{decimals}f}"
    if intervals and not math.isnan(cell["low"]):
        written += f" [{cell['low']:.{decimals}f}, {cell['high']:.{decimals}f}]"
    return written


def _texts(key: Sequence[Any]) -> tuple[str, ...]:
    """Return the values of a key as texts. All missing values become ""."""
    return tuple("" if wording.is_missing(value) else wording.text(value) for value in key)


def _runs(means: pd.DataFrame, columns: Sequence[str], key: tuple[Any, ...]) -> str:
    """Return the number of ok runs in a column: "20", or "18–20 of 20" if some runs failed."""
    for other, part in frames.groups(means, columns):
        if _texts(other) == _texts(key):
            counted = _range(part["n"])
            fell = "runs" in part and bool((part["n"] < part["runs"]).any())
            return f"{counted} of {_range(part['runs'])}" if fell else counted
    return "–"  # no run has the metric


def _range(counts: pd.Series[Any]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low}–{high}"


def places(values: pd.Series[Any]) -> int:
    """Return the number of decimals that shows at least two digits of the smallest value."""
    sizes = values.abs()[values != 0]
    if sizes.empty:
        return 0
    least = float(sizes.min())
    if least >= 100:
        return 0
    return max(2, 1 - math.floor(math.log10(least))) if least < 10 else 1


def _finer(means: pd.DataFrame, decimals: int) -> int:
    """Return `decimals`, or up to two more if the narrowest interval would be rounded to zero."""
    halves = (means["high"] - means["low"])[means["high"] > means["low"]] / 2
    if halves.empty or not math.isfinite(halves.min()):
        return decimals
    return min(max(decimals, -math.floor(math.log10(halves.min()))), decimals + 2)
