"""Rounds: pairs that can measure at the same time, since no host is in two of them.

All pairs of n hosts need n − 1 rounds if n is even (the circle method). Rounds only set
the order of runs: waiting for a round to end would let one late run delay all hosts.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MutableSequence,
    Sequence,
)
from typing import Any, TypeVar

H = TypeVar("H", bound=Hashable)
S = TypeVar("S", bound=MutableSequence[Any])
Draw = Callable[[], float]


def shuffle(order: S, draw: Draw) -> S:
    """Shuffle a sequence in place (Fisher and Yates), and return it."""
    for last in range(len(order) - 1, 0, -1):
        other = int(draw() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def shuffled(items: Iterable[H], draw: Draw | None) -> list[H]:
    """Return the items in a random order, or in their own order without `draw`."""
    return shuffle(list(items), draw) if draw else list(items)


def matchings(
    pairs: Sequence[tuple[Hashable, Hashable]], draw: Draw | None = None
) -> list[list[int]]:
    """Return the pairs' numbers in rounds: each pair once, and no host twice in a round."""
    hosts = shuffled(dict.fromkeys(itertools.chain.from_iterable(pairs)), draw)
    ends = [frozenset(pair) for pair in pairs]
    number = dict(zip(ends, itertools.count(), strict=False))
    complete = len(number) == len(pairs) == len(hosts) * (len(hosts) - 1) // 2
    if complete:
        rounds = [[number[frozenset(pair)] for pair in pairing] for pairing in circle(hosts)]
    else:
        rounds = _coloured(pairs, shuffled(range(len(pairs)), draw))
    return [shuffled(chosen, draw) for chosen in shuffled(map(tuple, rounds), draw)]


def circle(hosts: Sequence[H]) -> Iterator[list[tuple[H, H]]]:
    """Yield the rounds of all pairs: one host stays, the others rotate.

    With an odd number of hosts, one of them rests in each round.
    """
    fixed, *ring = [*hosts, None] if len(hosts) % 2 else list(hosts)
    turning = deque(ring)
    for _ in ring:
        order = [fixed, *turning]
        facing = zip(order, reversed(order), strict=True)
        chosen = list(itertools.islice(facing, len(order) // 2))
        yield [(a, b) for a, b in chosen if a is not None and b is not None]
        turning.rotate(1)


def _coloured(pairs: Sequence[tuple[Hashable, Hashable]], order: Iterable[int]) -> list[list[int]]:
    """Return rounds for any pairs (Kempe chains): as few as possible if bipartite (König)."""
    of: dict[Hashable, dict[int, int]] = defaultdict(dict)  # host -> round -> pair
    degree: dict[Hashable, int] = defaultdict(int)
    for pair in pairs:
        for host in pair:
            degree[host] += 1
    count = max(degree.values(), default=0)
    for number in order:
        a, b = pairs[number]
        while (chosen := _free_at_both(of, a, b, count)) is None:
            if not _freed(of, pairs, a, b, count):
                count += 1
        of[a][chosen] = of[b][chosen] = number
    rounds: list[list[int]] = [[] for _ in range(count)]
    for number, (a, _) in enumerate(pairs):
        rounds[next(r for r, chosen in of[a].items() if chosen == number)].append(number)
    return [chosen for chosen in rounds if chosen]


def _free_at_both(
    of: Mapping[Hashable, Mapping[int, int]], a: Hashable, b: Hashable, count: int
) -> int | None:
    return next((r for r in range(count) if r not in of[a] and r not in of[b]), None)


def _freed(
    of: Mapping[Hashable, dict[int, int]],
    pairs: Sequence[tuple[Hashable, Hashable]],
    a: Hashable,
    b: Hashable,
    count: int,
) -> bool:
    """Free a round at both hosts by exchanging two rounds along a chain of pairs, if possible."""
    free_a = [r for r in range(count) if r not in of[a]]
    free_b = [r for r in range(count) if r not in of[b]]
    for mine, yours in itertools.product(free_a, free_b):
        chain, host, turn = [], b, mine
        while turn in of[host]:
            chain.append(of[host][turn])
            first, second = pairs[chain[-1]]
            host = second if host == first else first
            turn = yours if turn == mine else mine
        if host == a:
            continue
        rounds = [mine if place % 2 == 0 else yours for place in range(len(chain))]
        for number, was in zip(chain, rounds, strict=True):
            for end in pairs[number]:
                if of[end].get(was) == number:
                    del of[end][was]
        for number, was in zip(chain, rounds, strict=True):
            for end in pairs[number]:
                of[end][yours if was == mine else mine] = number
        return True
    return False


def numbered(pairs: Iterable[Sequence[Hashable]]) -> Iterator[int]:
    """Yield the number of each pair's round, from 1; a host that repeats begins a new round."""
    taken: set[Hashable] = set()
    number = 1
    for hosts in pairs:
        if not taken.isdisjoint(hosts):
            taken, number = set(), number + 1
        taken.update(hosts)
        yield number
