"""What hosts count: read right before and right after each run, and differenced."""

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
"""In the order of reading. The counters come last, so that before a run they are read nearest to
it, and after it once all that the other two could disturb is over.
"""
