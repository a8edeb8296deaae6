"""The sender's CPU."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign
from netlimits.limits.classes import _cpu
from netlimits.limits.figures import RunFigures

LABEL = Label(
    """factors: {workers: [2, 4], send_size: [1448, 4096, 16384, 65536]}
settings:
  - {roles: [sender], load: {workers_per_cpu: "${workers}"}}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: "${send_size}"}
"""
)


class SenderCpu:
    """`sender-cpu`."""

    name = "sender-cpu"
    title = "The sender's CPU"
    needs = _cpu.NEEDS
    intervention = Intervention(
        "a load on the sender's CPUs: throughput falls as the tool's share of them does",
        "sender_load",
        1,
        most=_cpu.LOADED,
        alone=False,
    )
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """The busiest CPU, or the tool's only thread there, whichever is busier."""
        return _cpu.sign(run, "sender", run.sender)
