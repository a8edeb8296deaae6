"""From a journal's events to records."""

from __future__ import annotations

import math

from netlimits.archive.records import _record
from netlimits.model import Run


def test_an_end_that_does_not_say_when_it_began_has_no_time():
    run = Run(1, 1, "a", {})
    event = {"run": 1, "attempt": 1, "status": "ok", "reason": "", "figures": {}}
    record = _record(run, 1, {**event, "duration_s": 1.5})
    assert math.isnan(record.started)
    assert record.duration_s == 1.5
