"""The receiver's CPU."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign
from netlimits.limits.classes import _cpu
from netlimits.limits.figures import RunFigures

LABEL = Label(
    """factors: {workers: [2, 4], send_size: [4096, 16384, 65536, 131072]}
settings:
  - {roles: [receiver], load: {workers_per_cpu: "${workers}"}}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: "${send_size}"}
"""
)


class ReceiverCpu:
    """`receiver-cpu`."""

    name = "receiver-cpu"
    title = "The receiver's CPU"
    needs = _cpu.NEEDS
    intervention = Intervention(
        "a load on the receiver's CPUs: throughput falls as the tool's share of them does",
        "receiver_load",
        1,
        most=_cpu.LOADED,
        alone=False,
    )
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """The busiest CPU, or the tool's only thread there, whichever is busier."""
        return _cpu.sign(run, "receiver", run.receiver)
