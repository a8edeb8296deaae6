"""Counters of the hosts: how much each grew between right before and right after a run."""

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

The counters come last: reading the other two disturbs them, so nothing may be read between them and
the start of the run.
"""
