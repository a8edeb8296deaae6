"""What is read beside runs: state of the hosts that tells what a run cost and what limited it.

By when it is read: `facts` and `clocks` once a campaign; EVIDENCE right before and right after each
run, differenced; `cpu` the same but apart, since service demand needs the tool's rate; `sample` in
mid-run, `trace` through the run where the experiment asks for one.
"""

from __future__ import annotations

from netlimits.evidence._base import Evidence
from netlimits.evidence.counters import Counters
from netlimits.evidence.nic import Nic
from netlimits.evidence.queues import Queues

__all__ = ["EVIDENCE", "Evidence"]

EVIDENCE: tuple[Evidence, ...] = (
    Queues(),
    Nic(),
    Counters(),
)
"""In the order of reading. The counters come last, so that before a run they are read nearest to
it, and after it once all that the other two could disturb is over.
"""
