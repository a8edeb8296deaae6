"""The CPU of one end: the sender's, or the receiver's."""

from __future__ import annotations

from typing import Literal

from netlimits.limits.base import Intervention, Label, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import cpus

SEND_SIZES = {"sender": [1448, 4096, 16384, 65536], "receiver": [4096, 16384, 65536, 131072]}
"""End -> send sizes in bytes for the labelled runs that the CPU of this end limits."""


class EndCpu:
    needs = cpus.NEEDS

    def __init__(self, end: Literal["sender", "receiver"]) -> None:
        self._end = end
        self.name = f"{end}-cpu"
        self.title = f"The {end}'s CPU"
        self.intervention = Intervention(
            f"a load on the {end}'s CPUs: throughput falls as the tool's share of them does",
            f"{end}_load",
            1,
            most=cpus.LOADED,
            specific=False,
        )
        self.labels = (
            Label(
                f"""factors: {{workers: [2, 4], send_size: {SEND_SIZES[end]}}}
settings:
  - {{roles: [{end}], load: {{workers_per_cpu: "${{workers}}"}}}}
measure:
  netperf: {{test: TCP_STREAM, seconds: 2, send_size: "${{send_size}}"}}
"""
            ),
        )

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the load of the end's busiest CPU, or of its only tool thread."""
        return cpus.sign(run, self._end, run.sender if self._end == "sender" else run.receiver)
