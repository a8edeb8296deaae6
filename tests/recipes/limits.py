"""A toy that is tired."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures


class TiredToy:
    """`tired-toy`."""

    name = "tired-toy"
    title = "A tired toy"
    needs = ("throughput_mbps",)
    intervention = Intervention("wind the toy up again", "winding", 2, least=1.5)
    labels = (
        Label(
            "factors: {send_size: [64, 128, 256, 512, 1024, 2048, 4096, 8192]}\nmeasure: {netperf: {}}\n"
        ),
    )

    def sign(self, run: RunFigures) -> Sign | None:
        """Any run's throughput tires a toy."""
        rate = run.throughput
        if rate is None:
            return None
        tired = Premise.reached(rate, 0.1, "the toy hardly moves")
        return Sign((tired,), "The toy is tired.", {"throughput_mbps": rate})
