"""Which runs have an outcome: a bit a run, however they are added."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.archive.done import Done

RUNS = st.integers(1, 70)


@settings(deadline=None, derandomize=True)
@given(ranges=st.lists(st.tuples(RUNS, st.integers(0, 40))), single=st.lists(RUNS))
def test_runs_that_are_added_are_those_that_are_there(ranges, single):
    runs, expected = Done(Path()), set(single)
    runs.attempts = dict.fromkeys(range(1, 120), 1)
    for run in single:
        runs.add(run)
    for low, more in ranges:
        runs.add_all(low, low + more)
        expected |= {*range(low, low + more + 1)}
    assert {run for run in range(1, 200) if run in runs} == expected
    assert runs.first_left == next(run for run in range(1, 200) if run not in expected)
    assert runs.attempts.keys() == {*range(1, 120)} - expected
