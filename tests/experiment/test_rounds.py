"""Rounds and their dispatch, against brute force and on drawn meshes."""

from __future__ import annotations

import heapq
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.experiment import rounds
from netlimits.experiment.rounds import Dispatch, Job


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


def carried_out(jobs, groups=None, at_once=0, lengths=None, lost=()):
    """(begin, end, job) of a dispatch that is held to its rules as it goes; `lost` (time, host)."""
    dispatch = Dispatch(jobs, groups, at_once)
    lengths = lengths or [job.seconds for job in jobs]
    begun, ends, gone, now = [], [], [], 0.0
    left = list(lost)
    while True:
        while left and left[0][0] <= now:
            gone += dispatch.lose(left.pop(0)[1])
        for number in dispatch.ready(now):
            begun.append((now, now + lengths[number], number))
            heapq.heappush(ends, (now + lengths[number], number))
        assert len(dispatch) == len(ends)
        if not ends:
            break
        now, number = heapq.heappop(ends)
        dispatch.over(number, now)
    assert sorted([*gone, *(number for *_, number in begun)]) == list(range(len(jobs)))
    for (b1, e1, one_job), (b2, e2, other) in itertools.combinations(begun, 2):
        if b1 < e2 and b2 < e1:
            hosts, others = set(jobs[one_job].hosts), set(jobs[other].hosts)
            assert not hosts & others
            if groups:
                assert not {groups[h] for h in hosts} & {groups[h] for h in others}
    if at_once:
        for begin, _, _ in begun:
            assert sum(b <= begin < e for b, e, _ in begun) <= at_once
    return begun


@settings(max_examples=60, deadline=None)
@given(
    lists,
    st.integers(0, 4),
    st.sampled_from([0, 2, 3]),
    st.randoms(use_true_random=False),
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 8)), max_size=2),
)
def test_whatever_happens_no_host_and_no_group_is_taken_twice_and_each_job_once(
    pairs, at_once, racks, chance, lost
):
    jobs = [Job((f"h{a}", f"h{b}"), chance.uniform(0.1, 9)) for a, b in pairs]
    groups = {f"h{n}": f"rack{n % racks}" for n in range(9)} if racks else None
    lengths = [chance.uniform(0.1, 12) for _ in jobs]
    carried_out(jobs, groups, at_once, lengths, sorted((t, f"h{n}") for t, n in lost))


def mesh_jobs(count, kinds, blocks, chance, seconds):
    pairs = [(f"h{a}", f"h{b}") for a, b in every_pair(count)]
    jobs = []
    for _ in range(blocks):
        parted = [(k, r) for k in range(kinds) for r in rounds.matchings(pairs, chance.random)]
        chance.shuffle(parted)
        jobs += [Job(pairs[n], seconds(k)) for k, chosen in parted for n in chosen]
    return jobs


@pytest.mark.parametrize(
    ("planned", "spread"),
    [
        (lambda k, chance: 10.0, 0.02),
        (lambda k, chance: (2.0, 5.0, 10.0)[k], 0.02),
        (lambda k, chance: chance.uniform(1, 10), 0.0),
        (lambda k, chance: chance.choice((1.0, 10.0)), 0.0),
        (lambda k, chance: 10 * chance.lognormvariate(0, 0.2), 0.02),
    ],
    ids=["equal", "by configuration", "any length", "short and long", "about 20 %"],
)
@pytest.mark.parametrize(("count", "kinds", "blocks"), [(40, 3, 1), (40, 1, 3), (10, 3, 3)])
def test_95_percent_of_the_bound_are_reached_with_runs_of_unequal_length(
    planned, spread, count, kinds, blocks
):
    chance = random.Random(5)
    jobs = mesh_jobs(count, kinds, blocks, chance, lambda k: planned(k, chance))
    lengths = [job.seconds * chance.lognormvariate(0, spread) for job in jobs]
    took = rounds.makespan(jobs, lengths=lengths)
    least = rounds.bound(Job(job.hosts, length) for job, length in zip(jobs, lengths, strict=True))
    assert least / took >= 0.95


def test_a_host_that_is_lost_takes_its_own_pairs_along_and_no_other():
    jobs = mesh_jobs(6, 1, 2, random.Random(1), lambda k: 1.0)
    begun = carried_out(jobs, lost=[(2.5, "h3")])
    late = [number for begin, _, number in begun if begin >= 2.5]
    assert late
    assert all("h3" not in jobs[number].hosts for number in late)
    missing = set(range(len(jobs))) - {number for *_, number in begun}
    assert missing
    assert all("h3" in jobs[number].hosts for number in missing)


def test_the_bound_is_the_busiest_host_or_group_or_all_in_turn():
    jobs = [Job(("a", "b"), 2), Job(("a", "c"), 3), Job(("d", "e"), 4)]
    assert rounds.bound(jobs) == 5
    assert rounds.bound(jobs, {"b": "r", "d": "r", "c": "r"}) == 9
    assert rounds.bound(jobs, at_once=1) == 9
    assert rounds.makespan(jobs, at_once=1) == 9


def test_a_new_round_begins_where_a_host_comes_again():
    assert list(rounds.numbered(["ab", "cd", "ac", "bd", "ad"])) == [1, 1, 2, 2, 3]
