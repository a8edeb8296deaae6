"""From a journal's events to records, and which runs have an outcome."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.archive.records import Outcomes, record

RUNS = st.integers(1, 70)
STATUSES = st.sampled_from(("ok", "failed", "interrupted"))


@settings(deadline=None, derandomize=True)
@given(attempts=st.lists(st.tuples(RUNS, st.integers(1, 3), STATUSES)))
def test_the_outcome_of_each_run_is_the_last_that_was_told(attempts):
    runs, expected, tried = Outcomes(Path()), {}, {}
    for run, attempt, status in attempts:
        runs.add(run, attempt, status)
        if status != "interrupted":
            expected[run] = status
            tried.pop(run, None)
        elif run not in expected:
            tried[run] = max(attempt, tried.get(run, 0))
    runs.count()
    assert {run for run in range(1, 200) if run in runs} == expected.keys()
    assert runs.counts == Counter(expected.values())
    assert runs.first_left == next(run for run in range(1, 200) if run not in expected)
    assert runs.attempts == tried


def test_an_end_that_does_not_say_when_it_began_has_no_time():
    run = {"run": 1, "block": 1, "config": "a", "values": {}}
    event = {**run, "attempt": 1, "status": "ok", "reason": "", "figures": {}}
    attempt = record({**event, "duration_s": 1.5})
    assert math.isnan(attempt.started)
    assert attempt.duration_s == 1.5
