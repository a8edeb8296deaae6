"""Change points of a rate: planted levels with noise, and noise alone."""

from __future__ import annotations

import random

import pytest

from netlimits.evidence.sample.changes import RateInterval, changes


def intervals(levels: list[tuple[int, float]], cv: float = 0.05, alike: float = 0.0, seed: int = 1):
    """Intervals of 0.2 s at these levels, each for so many, with autocorrelated noise."""
    chance, deviation, at, rows = random.Random(seed), 0.0, 0.0, []
    for count, level in levels:
        for _ in range(count):
            innovation = chance.gauss(0, cv * (1 - alike**2) ** 0.5)
            deviation = alike * deviation + innovation
            rows.append(RateInterval(at, at + 0.2, level * (1 + deviation)))
            at += 0.2
    return rows


@pytest.mark.parametrize("after", [5.0, 9.0, 25.0])
def test_a_planted_change_is_within_one_interval_of_its_place(after: float):
    hits = 0
    for seed in range(20):
        levels = changes(intervals([(20, 12.0), (30, after)], cv=0.06, seed=seed))
        hits += len(levels) == 1 and abs(levels[0].at - 4.0) <= 0.2
    assert hits >= 19


def test_noise_alone_is_no_change():
    alarms = sum(
        bool(changes(intervals([(50, 100.0)], cv=0.2, alike=alike, seed=seed)))
        for alike in (0.0, 0.6)
        for seed in range(50)
    )
    assert alarms <= 3


def test_two_changes_have_the_levels_between_them():
    up, down = changes(intervals([(15, 10.0), (15, 20.0), (15, 5.0)]))
    assert (up.at, down.at) == (pytest.approx(3.0), pytest.approx(6.0))
    assert up.ratio == pytest.approx(2.0, rel=0.1)
    assert down.ratio == pytest.approx(0.25, rel=0.1)


def test_a_burst_between_the_levels_hides_no_change():
    """A link that is replaced lets what waits pass at once."""
    rows = intervals([(20, 20.0), (1, 300.0), (25, 10.0)])
    (change,) = changes(rows)
    assert change.at == pytest.approx(4.0, abs=0.21)


def test_a_start_that_grows_is_no_change():
    ramp = [(1, 2.0**power) for power in range(7)]
    assert not changes(intervals([*ramp, (30, 128.0)], cv=0.01))


def test_a_short_run_has_none():
    assert not changes(intervals([(4, 1.0), (4, 9.0)]))
