"""Whatever ends when and is lost, no host is in two runs at once, and hosts are kept busy."""

from __future__ import annotations

import heapq
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.experiment.mesh import dispatch, rounds
from netlimits.experiment.mesh.dispatch import Dispatch
from netlimits.experiment.mesh.workload import Job, Workload, bound

lists = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda p: p[0] != p[1]),
    min_size=1,
    max_size=30,
    unique=True,
)


def carried_out(jobs, groups=None, at_once=0, lengths=None, lost=()):
    """(begin, end, job) of a dispatch that is held to its rules as it goes; `lost` (time, host)."""
    dispatch = Dispatch(jobs, groups, at_once)
    lengths = lengths or [job.seconds for job in jobs]
    begun, ends, gone, now = [], [], set(), 0.0
    left = list(lost)
    while True:
        while left and left[0][0] <= now:
            dispatch.lose(left[0][1])
            gone.add(left.pop(0)[1])
        for number in dispatch.ready(now):
            begun.append((now, now + lengths[number], number))
            heapq.heappush(ends, (now + lengths[number], number))
        assert len(dispatch) == len(ends)
        if not ends:
            break
        now, number = heapq.heappop(ends)
        dispatch.over(number, now)
    numbers = [number for *_, number in begun]
    assert len({*numbers}) == len(numbers)
    assert all(gone & {*jobs[number].hosts} for number in {*range(len(jobs))} - {*numbers})
    assert not dispatch.jobs, "none is kept that is over"
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
    pairs = [(f"h{a}", f"h{b}") for a, b in itertools.combinations(range(count), 2)]
    jobs = []
    for _ in range(blocks):
        parted = [(k, r) for k in range(kinds) for r in rounds.matchings(pairs, chance.random)]
        chance.shuffle(parted)
        jobs += [Job(pairs[n], seconds(k)) for k, chosen in parted for n in chosen]
    return jobs


@pytest.mark.long
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
    took = dispatch.makespan(jobs, lengths=lengths)
    least = bound(Job(job.hosts, length) for job, length in zip(jobs, lengths, strict=True))
    assert least / took >= 0.95


@pytest.mark.parametrize(
    ("count", "blocks", "spread"),
    [(40, 1, 0.07), (16, 1, 0.05), (10, 1, 0.05), (6, 3, 0.05), (40, 2, 0.2)],
)
def test_nor_does_it_matter_that_all_take_longer_than_planned(count, blocks, spread):
    chance = random.Random(5)
    jobs = mesh_jobs(count, 1, blocks, chance, lambda k: 1.0)
    lengths = [1.4 * chance.lognormvariate(0, spread) for _ in jobs]
    took = dispatch.makespan(jobs, lengths=lengths)
    least = bound(Job(j.hosts, n) for j, n in zip(jobs, lengths, strict=True))
    assert least / took >= 0.95


@pytest.mark.parametrize(("count", "blocks"), [(8, 3), (16, 1)])
def test_nor_that_each_takes_some_seconds_more(count, blocks):
    chance = random.Random(5)
    jobs = mesh_jobs(count, 3, blocks, chance, lambda k: (2.0, 5.0, 10.0)[k])
    lengths = [(job.seconds + 1) * chance.lognormvariate(0, 0.03) for job in jobs]
    took = dispatch.makespan(jobs, lengths=lengths)
    least = bound(Job(j.hosts, n) for j, n in zip(jobs, lengths, strict=True))
    assert least / took >= 0.96


def test_a_run_that_hangs_is_no_reason_for_all_others_to_wait():
    jobs = mesh_jobs(16, 1, 2, random.Random(1), lambda k: 1.0)
    lengths = [30.0, *[1.0] * (len(jobs) - 1)]
    begun = carried_out(jobs, lengths=lengths)
    others = [end for _, end, number in begun if not {*jobs[0].hosts} & {*jobs[number].hosts}]
    assert max(others) < 38, "14 hosts have 13 partners but those two, twice"


@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "racks", "share"), [(16, 4, 0.98), (24, 6, 0.97), (24, 3, 0.91), (20, 5, 0.95)]
)
def test_racks_are_as_busy_as_they_can_be(count, racks, share):
    groups = {f"h{n}": f"rack{n % racks}" for n in range(count)}
    shares = []
    for seed in range(6):
        chance = random.Random(seed)
        jobs = mesh_jobs(count, 1, 2, chance, lambda k: 1.0)
        lengths = [chance.lognormvariate(0, 0.05) for _ in jobs]
        least = bound((Job(j.hosts, n) for j, n in zip(jobs, lengths, strict=True)), groups)
        shares.append(least / dispatch.makespan(jobs, groups, lengths=lengths))
    assert sum(shares) / len(shares) >= share


@pytest.mark.parametrize(("count", "blocks", "lost"), [(8, 3, 2), (16, 4, 4), (40, 3, 4)])
def test_hosts_that_are_lost_leave_no_rounds_whole(count, blocks, lost):
    jobs = mesh_jobs(count, 1, blocks, random.Random(1), lambda k: 1.0)
    gone = {f"h{n}" for n in range(lost)}
    begun = carried_out(jobs, lost=[(0.0, host) for host in sorted(gone)])
    least = bound(job for job in jobs if not gone & {*job.hosts})
    assert least / max(end for _, end, _ in begun) >= 0.85


def test_one_odd_run_does_not_empty_a_long_campaign():
    chance = random.Random(1)
    jobs = mesh_jobs(8, 1, 40, chance, lambda k: 1.0)
    lengths = [chance.uniform(0.995, 1.005) for _ in jobs]
    lengths[100] = 3.0
    least = bound(Job(j.hosts, n) for j, n in zip(jobs, lengths, strict=True))
    assert least / dispatch.makespan(jobs, lengths=lengths) >= 0.98


def test_jobs_of_one_host_have_no_partner_to_choose():
    jobs = [Job((f"h{n % 3}",), 1.0 + n) for n in range(9)]
    assert bound(jobs) == dispatch.makespan(jobs) == 18.0


def test_hosts_whose_racks_are_busy_are_not_looked_at_all_the_time():
    """How often a job is looked at, for each that begins: not how long that takes."""
    jobs = mesh_jobs(200, 1, 1, random.Random(1), lambda k: 1.0)[:1000]
    groups = {f"h{n}": f"rack{n % 10}" for n in range(200)}
    going, looked_at = Dispatch(jobs, groups), 0

    class Counted(dict):
        def __getitem__(self, number):
            nonlocal looked_at
            looked_at += 1
            return super().__getitem__(number)

    going.jobs = Counted(going.jobs)
    ends, now = [], 0.0
    while (begun := going.ready(now)) or ends:
        for number in begun:
            heapq.heappush(ends, (now + 1.0 + number % 7 / 100, number))
        now, number = heapq.heappop(ends)
        going.over(number, now)
    assert looked_at <= 500 * len(jobs)


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
    assert bound(jobs) == 5
    assert bound(jobs, {"b": "r", "d": "r", "c": "r"}) == 9
    assert bound(jobs, at_once=1) == 9
    assert dispatch.makespan(jobs, at_once=1) == 9


@pytest.mark.parametrize(("count", "rounds_"), [(2, 1), (3, 3), (7, 7), (8, 7)])
def test_of_an_odd_number_of_hosts_one_rests(count, rounds_):
    jobs = mesh_jobs(count, 1, 2, random.Random(1), lambda k: 3.0)
    assert bound(jobs) == dispatch.makespan(jobs) == 2 * 3 * rounds_


@settings(max_examples=30, deadline=None)
@given(lists, st.randoms(use_true_random=False), st.integers(1, 4), st.booleans())
def test_hosts_that_are_away_keep_nobody_and_have_their_jobs_when_they_are_back(
    pairs, chance, blocks, lose
):
    jobs = [Job((f"h{a}", f"h{b}"), chance.uniform(0.5, 3)) for a, b in pairs] * blocks
    going, now, ends, begun, away, gone = Dispatch(jobs), 0.0, [], [], {}, set()
    busy: set[str] = set()
    for step in range(60 * len(jobs)):
        trouble = step < 20 * len(jobs)
        for number in going.ready(now):
            hosts = {*jobs[number].hosts}
            assert not hosts & (busy | away.keys() | gone)
            busy |= hosts
            begun.append(number)
            heapq.heappush(ends, (now + chance.uniform(0.5, 3), number))
        idle = sorted({*going.hosts} - busy - away.keys())
        if trouble and idle and chance.random() < 0.2:
            host = chance.choice(idle)
            going.hold(host)
            away[host] = now + chance.uniform(0, 9)
        if not ends and not away:
            break
        if away and (not ends or min(away.values()) < ends[0][0]):
            now, host = min((at, host) for host, at in away.items())
            del away[host]
            if lose and chance.random() < 0.3:
                going.lose(host)
                gone.add(host)
            else:
                going.back(host)
            continue
        now, number = heapq.heappop(ends)
        busy -= {*jobs[number].hosts}
        again = trouble and chance.random() < 0.1
        going.over(number, now, repeat=again)
        if again:
            begun.remove(number)
    assert len({*begun}) == len(begun)
    assert all(gone & {*jobs[n].hosts} for n in {*range(len(jobs))} - {*begun})
    assert not going.jobs


def test_all_others_go_on_while_a_host_is_away():
    jobs = mesh_jobs(6, 1, 60, random.Random(1), lambda k: 1.0)
    going, ends, now, begun = Dispatch(jobs), [], 0.0, set()
    going.hold("h2")
    while (numbers := going.ready(now)) or ends:
        begun |= {*numbers}
        for number in numbers:
            heapq.heappush(ends, (now + 1.0, number))
        now, number = heapq.heappop(ends)
        going.over(number, now)
    assert begun == {n for n, job in enumerate(jobs) if "h2" not in job.hosts}


def ring(count, blocks):
    return [Job((f"h{n}", f"h{(n + 1) % count}"), 1.0) for _ in range(blocks) for n in range(count)]


@pytest.mark.long
@pytest.mark.parametrize("slow", ["", "h1"])
@pytest.mark.parametrize(
    "jobs",
    [mesh_jobs(8, 1, 60, random.Random(3), lambda k: 1.0), ring(8, 400)],
    ids=["all pairs", "ring"],
)
@pytest.mark.parametrize("racks", [False, True], ids=["no racks", "racks"])
def test_no_more_jobs_are_held_than_hosts_choose_from_however_many_there_are(
    jobs, slow, racks, monkeypatch
):
    monkeypatch.setattr(dispatch, "HELD", 32)
    chance = random.Random(3)
    load = Workload(jobs, {f"h{n}": f"rack{n}" for n in range(8)} if racks else None)
    going, ends, now, held = Dispatch(iter(jobs), workload=load), [], 0.0, 0
    spent = [0.0] * len(jobs)
    while (begun := going.ready(now)) or ends:
        for number in begun:
            spent[number] = 5.0 if slow in jobs[number].hosts else chance.uniform(0.9, 1.1)
            heapq.heappush(ends, (now + spent[number], number))
        held = max(held, len(going.jobs))
        now, number = heapq.heappop(ends)
        going.over(number, now)
    assert held <= dispatch.HELD * 8
    least = bound(Job(j.hosts, s) for j, s in zip(jobs, spent, strict=True))
    assert least / now >= 0.95
