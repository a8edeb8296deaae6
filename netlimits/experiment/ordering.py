"""The order of a plan's runs: blocked, shuffled, listed or coin-flips, from a recorded seed."""

from __future__ import annotations

import itertools
import random
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from netlimits.experiment.mesh import rounds
from netlimits.model import Repeat

Row = tuple[int, int]
"""A block, from 1, and the number of a configuration, from 0."""
Blocks = Callable[[int], "range | array[int]"]
"""Block, from 1 -> the numbers of its configurations."""


def rows(
    repeat: Repeat, count: int, blocks: Blocks, flips: int, configurations: int
) -> Iterator[Row]:
    """Return the rows of `count` blocks, in the order of `repeat`.

    Coin-flips draw `flips` rows from all `configurations` instead.
    """
    numbers = range(1, count + 1)
    if repeat.order == "listed":
        return ((block, number) for block in numbers for number in blocks(block))
    draw = _draw(repeat)
    if repeat.order == "coin-flips":
        # Flipping a coin for each factor, and again after an excluded configuration, gives each
        # remaining configuration the same probability. One draw among these is equivalent.
        return ((1, int(draw() * configurations)) for _ in range(flips))
    if repeat.order == "shuffled":
        # the runs before the shuffle are in the file's order: the seed alone decides the result
        repeated = itertools.chain.from_iterable(map(blocks, numbers))
        return ((1, number) for number in rounds.shuffle(array("I", repeated), draw))
    return (
        (block, number)
        for block in numbers
        for number in rounds.shuffle(array("I", blocks(block)), draw)
    )


def mesh_rows(
    repeat: Repeat,
    count: int,
    blocks: Blocks,
    round_key: Callable[[int, int], tuple[Any, tuple[str, str]]],
) -> Iterator[Row]:
    """Return the rows of a mesh in rounds: within each block, or over all rows if `shuffled`.

    `round_key` returns what the rows of a round have in common, and a row's pair of hosts.
    """
    draw = None if repeat.order == "listed" else _draw(repeat)
    every = ([(block, number) for number in blocks(block)] for block in range(1, count + 1))
    if repeat.order == "shuffled":
        together = _in_rounds(itertools.chain.from_iterable(every), round_key, draw)
        return ((1, number) for _, number in together)
    return (row for rows in every for row in _in_rounds(rows, round_key, draw))


def _in_rounds(
    rows: Iterable[Row],
    key: Callable[[int, int], tuple[Any, tuple[str, str]]],
    draw: rounds.Draw | None,
) -> Iterator[Row]:
    """Return the rows in rounds, shuffled by `draw` if there is one.

    The rows of a round share the first part of `key`, since runs that differ only in their hosts
    take about the same time.
    """
    kinds: dict[Any, list[tuple[Row, tuple[str, str]]]] = {}
    for row in rows:
        kind, pair = key(*row)
        kinds.setdefault(kind, []).append((row, pair))
    parted = [
        tuple(members[place][0] for place in chosen)
        for members in kinds.values()
        for chosen in rounds.matchings([pair for _, pair in members], draw)
    ]
    return itertools.chain.from_iterable(rounds.shuffled(parted, draw))


def _draw(repeat: Repeat) -> Callable[[], float]:
    if repeat.seed is None:
        raise ValueError("the plan has no seed; call plan.seeded first")
    return random.Random(repeat.seed).random  # noqa: S311  an order, not a secret
