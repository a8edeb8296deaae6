"""The order of a plan's runs: blocked, shuffled, listed, or by coin-flips, from a recorded seed."""

from __future__ import annotations

import itertools
import random
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from netlimits.experiment.mesh import pairs, rounds
from netlimits.model import Repeat

Row = tuple[int, int]
"""A block, from 1, and the number of a configuration, from 0."""
Blocks = Callable[[int], "range | array[int]"]
"""The configurations of a block."""


def rows(
    repeat: Repeat, count: int, blocks: Blocks, flips: int, configurations: int
) -> Iterator[Row]:
    """Return the rows of `count` blocks in the order that the rule and the seed give."""
    numbers = range(1, count + 1)
    if repeat.order == "listed":
        return ((block, number) for block in numbers for number in blocks(block))
    draw = _draw(repeat)
    if repeat.order == "coin-flips":
        # A coin for each factor, tossed again when the configuration is excluded, lands on
        # each configuration that is left with one chance: so one toss among those will do.
        return ((1, int(draw() * configurations)) for _ in range(flips))
    if repeat.order == "shuffled":
        # In the file's order, so that the shuffle alone decides
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
    """Return the rows of a mesh in rounds within each block, all shuffled, or as listed."""
    numbers = range(1, count + 1)
    draw = None if repeat.order == "listed" else _draw(repeat)
    if repeat.order == "shuffled":
        every = ((block, number) for block in numbers for number in blocks(block))
        chosen = pairs.ordered(every, lambda row: round_key(*row), draw)
        return ((1, number) for _, number in chosen)
    return (
        (block, number)
        for block in numbers
        for number in pairs.ordered(blocks(block), partial(round_key, block), draw)
    )


def _draw(repeat: Repeat) -> Callable[[], float]:
    if repeat.seed is None:
        raise ValueError("no seed: plan.seeded draws one")
    return random.Random(repeat.seed).random  # noqa: S311  an order, not a secret
