"""A pace that was asked for and met: the run is as fast as it was told to be."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Sign
from netlimits.limits.figures import RunFigures

MET_PCT = 1.0
"""How far from the rate asked for a run may be, percent."""

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
    """`pacing`."""

    name = "pacing"
    title = "A pace"
    needs = ("pace_mbps", "pace_off_pct")
    intervention = Intervention("pace at 10 % more", "pace", 1.1, 1.05)
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """The rate asked for, and how far off the run was."""
        pace, off = run.figure("pace_mbps"), run.figure("pace_off_pct")
        if pace is None or off is None:
            return None
        strength = 1.0 if abs(off) <= MET_PCT else MET_PCT / abs(off)
        return Sign(
            strength,
            f"The pace that was asked for: {pace:,.4g} Mbit/s, met within {abs(off):.2g} %.",
            {"pace_mbps": pace, "pace_off_pct": off},
        )
