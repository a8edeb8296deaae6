"""What is read beside runs: state of the hosts that tells what a run cost and what limited it."""

from netlimits.evidence.base import Evidence

EVIDENCE: tuple[Evidence, ...] = ()
