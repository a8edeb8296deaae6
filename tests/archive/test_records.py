"""From a journal's events to records."""

from __future__ import annotations

import math

from netlimits.archive.records import record


def test_an_end_that_does_not_say_when_it_began_has_no_time():
    run = {"run": 1, "block": 1, "config": "a", "values": {}}
    event = {**run, "attempt": 1, "status": "ok", "reason": "", "figures": {}}
    attempt = record({**event, "duration_s": 1.5})
    assert math.isnan(attempt.started)
    assert attempt.duration_s == 1.5
