"""Rounds, against brute force and on drawn meshes."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.experiment.mesh import rounds


def every_pair(count: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(count), 2))


@pytest.mark.parametrize("count", [2, 4, 6, 10, 40])
def test_all_pairs_of_an_even_number_take_one_round_less_than_there_are_hosts(count):
    parted = rounds.matchings(every_pair(count), random.Random(1).random)
    assert len(parted) == count - 1
    assert {len(chosen) for chosen in parted} == {count // 2}


@pytest.mark.parametrize("count", [3, 7])
def test_of_an_odd_number_each_rests_once(count):
    assert len(rounds.matchings(every_pair(count))) == count


@pytest.mark.parametrize("half", [1, 3, 8])
def test_two_halves_take_as_many_rounds_as_one_has_hosts(half):
    pairs = list(itertools.product(range(half), range(half, 2 * half)))
    for seed in range(20):
        assert len(rounds.matchings(pairs, random.Random(seed).random)) == half


@pytest.mark.parametrize(("count", "least"), [(4, 2), (10, 2), (5, 3)])
def test_a_ring_takes_two_rounds_or_three(count, least):
    pairs = [(n, (n + 1) % count) for n in range(count)]
    for seed in range(20):
        assert len(rounds.matchings(pairs, random.Random(seed).random)) == least


lists = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda p: p[0] != p[1]),
    min_size=1,
    max_size=30,
    unique=True,
)


@given(lists, st.integers(0, 99))
def test_each_pair_is_in_one_round_and_no_host_twice_in_one(pairs, seed):
    parted = rounds.matchings(pairs, random.Random(seed).random)
    assert sorted(itertools.chain.from_iterable(parted)) == list(range(len(pairs)))
    for chosen in parted:
        hosts = [host for number in chosen for host in pairs[number]]
        assert len(hosts) == len(set(hosts))
    busiest = max(sum(host in pair for pair in pairs) for host in range(9))
    assert busiest <= len(parted) <= 2 * busiest - 1
    assert parted == rounds.matchings(pairs, random.Random(seed).random)


def least_rounds(pairs) -> int:
    """By trying: the fewest rounds that hold all pairs."""
    for count in range(1, len(pairs) + 1):
        for chosen in itertools.product(range(count), repeat=len(pairs)):
            of = [(r, host) for r, pair in zip(chosen, pairs, strict=True) for host in pair]
            if len(of) == len(set(of)):
                return count
    raise AssertionError


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(every_pair(5)), min_size=1, max_size=7, unique=True))
def test_few_pairs_take_at_most_one_round_more_than_they_must(pairs):
    assert len(rounds.matchings(pairs)) <= least_rounds(pairs) + 1


def test_what_meets_in_a_round_is_of_chance():
    orders = {str(rounds.matchings(every_pair(6), random.Random(s).random)) for s in range(20)}
    assert len(orders) == 20


def test_a_new_round_begins_where_a_host_comes_again():
    assert list(rounds.numbered(["ab", "cd", "ac", "bd", "ad"])) == [1, 1, 2, 2, 3]
