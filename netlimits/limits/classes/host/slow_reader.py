"""A receiving program that reads too slowly and has CPU left: it sleeps, or waits for a disk."""

from __future__ import annotations

from netlimits.limits.base import Intervention, Label, Premise, Sign
from netlimits.limits.figures import RunFigures
from netlimits.limits.premises import goal, queues

LIMITED_PCT, FULL_PCT, FULL = 50.0, 20.0, 0.8
"""Minimum % of its busy time that the sender waits for the receive window. FULL_PCT applies if
unread data fills at least the share FULL of the window, because a sender that paces itself (BBR)
waits less."""
HELD_MS, HELD = 5.0, 131072
"""Signs of a slow reader whose window is not full yet. HELD_MS is the minimum time that data waits
to be read. HELD is the minimum number of bytes that wait. Data waited 8 ms or more with slow
readers, and 2.4 ms or less with other readers (medians of labelled campaigns)."""
WAITED_PCT = 25.0
"""Maximum % of the time that the reader waits for a CPU. Above this value the reader lacks CPU."""
ROOM_PCT = 75.0
"""Maximum CPU use of the reader, including its waits. Above this value the class is
`receiver-cpu`."""

LABEL = Label(
    """factors: {asleep: ["0.02", "0.05"], send_size: [4096, 16384, 65536, 131072]}
settings:
  - roles: [receiver]
    switch:
      verify: [sh, -c, "cat /run/asleep 2> /dev/null || echo 0"]
      command:
        "0": [sh, -c, "echo 0 > /run/asleep"]
        "*": [sh, -c, "echo {} > /run/asleep; while s=$(cat /run/asleep); [ $s != 0 ]; do
              killall -STOP netserver; sleep $s; killall -CONT netserver; sleep 0.01; done &"]
      to: "${asleep}"
measure:
  netperf: {test: TCP_STREAM, seconds: 2, send_size: "${send_size}"}
"""
)


class SlowReader:
    name = "slow-reader"
    title = "The receiving program"
    needs = ("rwnd_limited_pct", "recv_q_bytes", "process_cpu_pct")
    intervention = Intervention(
        "a second stream with a server process of its own: nearly twice the sum",
        "streams",
        2,
        1.6,
        specific=False,
    )
    labels = (LABEL,)

    def sign(self, run: RunFigures) -> Sign | None:
        """Return a sign from the unread share of the window and the sender's wait for it."""
        limited, unread = run.sent("rwnd_limited_pct"), run.unread
        wanted = run.wanted_pct(run.receiver)
        if limited is None or unread is None or wanted is None:
            return None
        waiting = run.received("recv_q_bytes") or 0.0
        waited = run.own(f"{run.receiver}_cpu_wait_pct") or 0.0
        least = FULL_PCT if unread >= FULL else LIMITED_PCT
        held = _held_ms(run, waiting) / HELD_MS
        thread = f"its program used or waited for {wanted:.0f} % of a CPU"
        text = f"{waiting:,.0f} bytes were unread, {100 * unread:.0f} % of the receive buffer"
        return Sign(
            (
                Premise(max(unread / queues.UNREAD, held), f"only {text}"),
                Premise(
                    max(limited / least, held),
                    f"the sender waited for it {limited:.0f} % of the time",
                ),
                Premise.below(wanted, ROOM_PCT, thread),
                Premise.below(
                    waited, WAITED_PCT, f"it waited for a CPU {waited:.0f} % of the time"
                ),
                *goal.premises(run),
            ),
            f"The receiving program reads too slowly: {text}, while {thread}.",
            {"recv_q_bytes": waiting, "rwnd_limited_pct": limited, "process_cpu_pct": wanted},
        )


def _held_ms(run: RunFigures, waiting: float) -> float:
    """Return the time in ms that `waiting` bytes take at the run's throughput; 0 below HELD."""
    rate = run.throughput
    return waiting * 8 / 1e3 / rate if rate and waiting >= HELD else 0.0
