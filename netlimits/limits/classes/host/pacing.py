"""A pace: the run is as fast as the experiment or the program asked it to be."""

from __future__ import annotations

from netlimits.limits import bounds
from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps

MET_PCT = 1.0
"""Maximum difference between the rate sent and the pace, in percent."""
OF_PACE = 0.9
"""Minimum ratio of throughput to TCP's pacing rate, which includes the headers of frames."""

LABEL = Label(
    """factors: {send_size: [1448, 16384]}
zip: {mbps: [15, 20, 25, 30]}
derive: {rate: mbps * 1e6, frame_rate: rate * 1514 / 1448}
pace: {rate: "${rate}", frame_rate: "${frame_rate}"}
measure:
  netperf: {test: TCP_STREAM, seconds: 4, send_size: "${send_size}"}
"""
)


class Pacing:
    name = "pacing"
    title = "A pace"
    needs = ()
    intervention = Intervention("pace at 10 % more", "pace", 1.1, 1.05)
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign:
        """Return a sign from the difference to the experiment's pace, else to TCP's pacing rate."""
        pace, off = run.figure("pace_mbps"), run.figure("pace_off_pct")
        own, rate = bounds.of_mechanism("pace", run), run.throughput
        if pace is None and own and rate:
            text = f"the socket is paced at {mbps(own.mbps)}, and {mbps(rate)} arrived"
            return Sign(
                (Premise.reached(rate / own.mbps, OF_PACE, text),),
                f"A pace that the program set: {text}.",
                {"pacing_rate_mbps": own.mbps, "throughput_mbps": rate},
            )
        if pace is None or off is None:
            return Sign((Premise(0.0, "no pace was asked for"),), "")
        return Sign(
            (
                Premise.below(
                    abs(off), MET_PCT, f"the run was {abs(off):.2g} % off the {mbps(pace)}"
                ),
            ),
            f"The pace that was asked for: {mbps(pace)}, met within {abs(off):.2g} %.",
            {"pace_mbps": pace, "pace_off_pct": off},
        )
