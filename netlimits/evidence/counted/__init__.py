"""Counters of the hosts, read right before and right after each run, as differences."""

from __future__ import annotations

from netlimits.evidence.counted._base import Evidence
from netlimits.evidence.counted.counters import Counters
from netlimits.evidence.counted.nic import Nic
from netlimits.evidence.counted.queues import Queues

__all__ = ["EVIDENCE", "Evidence"]

EVIDENCE: tuple[Evidence, ...] = (
    Queues(),
    Nic(),
    Counters(),
)
"""In the order of reading.

The counters come last: before a run they are read closest to it, and after a run only once the
other two, which disturb them, are done.
"""
