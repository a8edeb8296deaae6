"""The send buffer: the sender has window left, and nothing in the buffer to fill it."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Sign
from netlimits.limits.figures import RunFigures

LIMITED_PCT = 20.0


class SendBuffer:
    """`send-buffer`."""

    name = "send-buffer"
    title = "The send buffer"
    needs = ("sndbuf_limited_pct",)
    intervention = Intervention("twice the send buffer (wmem)", "send_buffer", 2, 1.3)

    def sign(self, run: RunFigures) -> Sign | None:
        """The share of busy time that waited for send buffer."""
        limited = run.sent("sndbuf_limited_pct")
        if limited is None:
            return None
        return Sign(
            limited / LIMITED_PCT,
            f"The send buffer: the sender waited for it {limited:.0f} % of its busy time.",
            {"sndbuf_limited_pct": limited},
        )
