"""Counters of the hosts, which are read right before and right after a run."""

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
"""The kinds of evidence, in the order in which they are read.

`Counters` comes last, so before a run it does not count the work of the other two readings. After
the run, it does.
"""
