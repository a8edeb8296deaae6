"""The send buffer: the window has space left, but the buffer has no data to fill it."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures, mbps
from netlimits.limits.premises import goal

LIMITED_PCT = 20.0
"""Minimum % of its busy time that the sender waits for the buffer."""
OF_BUFFER = 0.25
"""Minimum ratio of throughput to one send buffer per round trip. It is below 1 because a segment
occupies up to three times its bytes. The ratio was 2.1 to 2.5 for small buffers, and 0.18 for a
buffer that was full because the reader paused."""
OVER_PCT, SHORT_PCT, FLIGHT_PCT = 125.0, 50.0, 60.0
"""Signs of an overfull buffer, in percent. OVER_PCT is its minimum fill; buffers that the kernel
tunes hold at most 122 %. SHORT_PCT is the minimum share of samples with nothing to send. FLIGHT_PCT
is the maximum share of the window in flight."""

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
"""A socket fills its last segment, of up to 64 KiB, even beyond the size of its buffer. So a small
buffer holds four times its size, and doubling it would prove nothing. These buffers hold several
segments."""


class SendBuffer:
    name = "send-buffer"
    title = "The send buffer"
    needs = ("sndbuf_limited_pct",)
    intervention = Intervention("four times the send buffer (wmem)", "send_buffer", 4, 1.3)
    labels = LABELS

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the time spent waiting for the buffer, or from an overfull buffer."""
        limited = run.sent("sndbuf_limited_pct")
        if limited is None:
            return None
        text = f"{limited:.0f} % of its busy time"
        waited = Sign(
            (
                Premise.reached(limited, LIMITED_PCT, f"the sender waited for it only {text}"),
                *_filled(run),
                *goal.premises(run),
            ),
            f"The send buffer: the sender waited for it {text}.",
            {"sndbuf_limited_pct": limited},
        )
        full = None if waited.fires else _full(run)
        return full if full and full.strength > waited.strength else waited


def _filled(run: RunFigures) -> list[Premise]:
    size, rtt, rate = run.sent("sndbuf_bytes"), run.sent("rtt_us"), run.throughput
    if not size or not rtt or not rate:
        return []
    most = size * 8 / rtt * run.flows
    short = f"a buffer a round trip would let {mbps(most)} through, and {mbps(rate)} arrived"
    return [Premise.reached(rate / most, OF_BUFFER, short)]


def _full(run: RunFigures) -> Sign | None:
    used, short_of_data = run.sent("sndbuf_used_pct"), run.sent("app_limited_pct")
    rate, window = run.throughput, run.window_mbps
    if used is None or short_of_data is None or rate is None or not window:
        return None
    flight = 100 * rate / window
    text = f"its socket held {used:.0f} % of it, and {flight:.0f} % of the window was in flight"
    return Sign(
        (
            Premise.reached(used, OVER_PCT, text),
            Premise.reached(short_of_data, SHORT_PCT, "the kernel had more to send"),
            Premise.below(flight, FLIGHT_PCT, text),
            *goal.premises(run),
        ),
        f"The send buffer: {text}.",
        {"sndbuf_used_pct": used, "app_limited_pct": short_of_data, "window_mbps": window},
    )
