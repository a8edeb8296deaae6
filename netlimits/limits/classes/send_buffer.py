"""The send buffer: the sender has window left, and nothing in the buffer to fill it."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures

LIMITED_PCT = 20.0

LABELS = tuple(
    Label(
        """factors: {buffer: [65536, 98304, 131072, 163840]}
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: 16384, local_buffer: "${buffer}"}
""",
        link=f"--delay {delay}",
    )
    for delay in ("10ms", "20ms")
)
"""A socket fills its last segment, of up to 64 KiB, whatever its buffer: it has several here."""


class SendBuffer:
    """`send-buffer`."""

    name = "send-buffer"
    title = "The send buffer"
    needs = ("sndbuf_limited_pct",)
    intervention = Intervention("twice the send buffer (wmem)", "send_buffer", 2, 1.3)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """The share of busy time that waited for send buffer."""
        limited = run.sent("sndbuf_limited_pct")
        if limited is None:
            return None
        told = f"{limited:.0f} % of its busy time"
        return Sign(
            (Premise.reached(limited, LIMITED_PCT, f"the sender waited for it only {told}"),),
            f"The send buffer: the sender waited for it {told}.",
            {"sndbuf_limited_pct": limited},
        )
