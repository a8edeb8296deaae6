"""The receiver's CPU."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Sign
from netlimits.limits.classes import _cpu
from netlimits.limits.figures import RunFigures


class ReceiverCpu:
    """`receiver-cpu`."""

    name = "receiver-cpu"
    title = "The receiver's CPU"
    needs = _cpu.NEEDS
    intervention = Intervention(
        "a load on the receiver's CPUs: throughput falls", "load", 1, most=0.9
    )

    def sign(self, run: RunFigures) -> Sign | None:
        """The busiest CPU, or the tool's only thread there, whichever is busier."""
        return _cpu.sign(run, "receiver", run.receiver)
