"""The sender's CPU."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Sign
from netlimits.limits.classes import _cpu
from netlimits.limits.figures import RunFigures


class SenderCpu:
    """`sender-cpu`."""

    name = "sender-cpu"
    title = "The sender's CPU"
    needs = _cpu.NEEDS
    intervention = Intervention("a second stream on another CPU", "streams", 2, 1.2)

    def sign(self, run: RunFigures) -> Sign | None:
        """The busiest CPU, or the tool's only thread there, whichever is busier."""
        return _cpu.sign(run, "sender", run.sender)
