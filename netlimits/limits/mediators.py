"""Checks that an intervention had its direct effect: if it had none, it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlimits.limits.figures import Figure, RunFigures, median_of

Runs = Sequence[RunFigures]
Check = Callable[[Runs, Runs], str]
"""Function of the runs with and without the change -> why it had no effect; "" if it had one."""

GROWN, MORE, FEWER, ENDED = 1.2, 1.5, 0.7, 1 / 3
"""Ratio of a figure to its value without the change from which the change had its effect: at least
GROWN for a window, buffer, load or round trip, MORE for connections or length; at most FEWER for
the packet size, ENDED for losses or fragments."""
LASTED = 0.8
"""Ratio of the losses with and without the change above which they do not depend on the rate."""
SAME_READER = 0.5
"""Minimum unread share of the receive windows if the receiving program is slow
(`premises.queues.UNREAD`)."""
SHORT_PCT = 10.0
"""Maximum shortfall of the rate sent against the pace of a change, in percent."""
LOADED_PCT = 95.0
"""Minimum use of the busiest CPU with a load, in percent, unless the use has GROWN."""
FULL_PCT = 90.0
"""Minimum % of a CPU that a run uses or waits for if CPU time is the limit. A load takes half of a
CPU, which slows any run that needs more than half, whatever limits it."""
EASED = 0.95
"""Maximum ratio of the busiest CPU's softirq, or of its share of the packets, to that without RPS,
for RPS to have moved work to other CPUs."""


def _both(changed: Runs, without: Runs, figure: Figure) -> tuple[float, float] | None:
    """Return the medians with and without the change; None if either is unknown."""
    now, before = median_of(changed, figure), median_of(without, figure)
    return None if now is None or before is None else (now, before)


def _moved(figure: Figure, ratio: float, words: str) -> Check:
    """Return the check that a figure grew to `ratio` times its value, or fell to it if below 1.

    `words` is a format string for the medians with and without the change.
    """

    def check(changed: Runs, without: Runs) -> str:
        pair = _both(changed, without, figure)
        if pair is None:
            return ""
        now, least = pair[0], ratio * pair[1]
        return words.format(*pair) if (now < least if ratio > 1 else now > least) else ""

    return check


def _own_server(changed: Runs, without: Runs) -> str:
    """Return why a second stream proves nothing: the same slow process reads both; else ""."""
    unread = median_of(changed, lambda run: run.unread)
    if unread is None or unread < SAME_READER:
        return ""
    pair = _both(changed, without, lambda run: run.received("processes"))
    if pair is None or pair[0] > pair[1]:
        return ""
    return (
        f"{100 * unread:.0f} % of the receive windows is data that nobody read, and all streams "
        f"have the same {pair[0]:.0f} server process{'es' if pair[0] > 1 else ''}"
    )


def _reader(changed: Runs, without: Runs) -> str:
    """Return why an unchanged sum shows no limit of the path: the reader is slow; else ""."""
    unread = median_of(changed, lambda run: run.unread)
    if unread is None or unread < SAME_READER:
        return ""
    return f"{100 * unread:.0f} % of the receive windows is data that the program has not read"


def _lost_pct(run: RunFigures) -> float | None:
    lost = run.sent_datagrams_lost if run.udp else run.retransmitted
    return None if lost is None else 100 * lost


def contrary(change: str, changed: Runs, without: Runs) -> bool:
    """Return True if as much was lost though less was sent, which no rate limit would do."""
    pair = _both(changed, without, _lost_pct)
    if change != "arrived" or not pair or _missed_pace(changed, without):
        return False
    return pair[0] > LASTED * pair[1] > 0


def slack(change: str, without: Runs) -> str:
    """Return why a load proves nothing: the end had CPU time left without it; else ""."""
    end = {"sender_load": "sender", "receiver_load": "receiver"}.get(change)
    if end is None:
        return ""

    def used(run: RunFigures) -> float | None:
        at = getattr(run, end)
        busy, wanted = run.busiest_pct(at), run.wanted_pct(at)
        return busy if wanted is None or busy is None else max(busy, wanted)

    busy = median_of(without, used)
    if busy is None or busy >= FULL_PCT:
        return ""
    return f"without the load the {end}'s busiest CPU was {busy:.0f} % busy, and had time left"


def _missed_pace(changed: Runs, without: Runs) -> str:
    off = median_of(changed, lambda run: run.figure("pace_off_pct"))
    if off is not None and off < -SHORT_PCT:
        return f"{-off:.0f} % less than that was sent: the sender could not keep the pace"
    return ""


def _load(end: str) -> Check:
    def check(changed: Runs, without: Runs) -> str:
        pair = _both(changed, without, lambda run: run.figure(f"{getattr(run, end)}_cpu_peak_pct"))
        if pair and pair[0] < LOADED_PCT and pair[0] < GROWN * pair[1]:
            return f"the {end}'s busiest CPU was {pair[0]:.0f} % busy (before: {pair[1]:.0f} %)"
        return ""

    return check


def _softirq(changed: Runs, without: Runs) -> str:
    def share(run: RunFigures) -> float | None:
        every, most = run.received("softnet_packets"), run.received("softnet_busiest")
        return most / every if every and most is not None else None

    pair = _both(changed, without, lambda run: run.received("cpu_peak_softirq_pct"))
    spread = _both(changed, without, share)
    if spread and spread[0] < EASED * spread[1]:
        # other CPUs took over packets; with more packets in all, each may be as busy as before
        return ""
    if pair and pair[0] > EASED * pair[1]:
        return f"the busiest CPU still has {pair[0]:.0f} % softirq (before: {pair[1]:.0f} %)"
    return ""


def _transactions(changed: Runs, without: Runs) -> str:
    """Return why runs of a stream prove nothing: they follow the RTT whatever limits; else ""."""
    if any(run.transactions for run in (*changed, *without)):
        return ""
    return "no transactions were measured, and a stream follows the round trip whatever limits it"


CHECKS: Mapping[str, tuple[Check, ...]] = {
    "streams": (
        _moved(
            lambda run: run.sent("connections"),
            MORE,
            "{:.0f} connections carried data, as {:.0f} did before",
        ),
    ),
    "arrived": (
        _missed_pace,
        _moved(
            _lost_pct,
            ENDED,
            "{:.2g} % were still lost (before: {:.2g} %), so the rate is not the cause of the loss",
        ),
    ),
    "seconds": (_moved(lambda run: run.elapsed, MORE, "runs took {:.1f} s (before: {:.1f} s)"),),
    "packet_size": (
        _moved(
            lambda run: run.packet_bytes,
            FEWER,
            "packets still carry {:,.0f} bytes (before: {:,.0f})",
        ),
    ),
    "datagram": (
        _moved(
            lambda run: run.sent("ip_frag_creates"),
            ENDED,
            "{:,.0f} fragments were still made (before: {:,.0f})",
        ),
    ),
    "receive_buffer": (
        _moved(
            lambda run: run.sent("snd_wnd_bytes"),
            GROWN,
            "the window stayed at {:,.0f} bytes (before: {:,.0f}), so something else than this "
            "buffer sets it: a route's `window`, or a program's own SO_RCVBUF",
        ),
    ),
    "send_buffer": (
        _moved(
            lambda run: run.sent("sndbuf_bytes"),
            GROWN,
            "the buffer stayed at {:,.0f} bytes (before: {:,.0f})",
        ),
    ),
    "sender_load": (_load("sender"),),
    "receiver_load": (_load("receiver"),),
    "rps": (_softirq,),
    "delay": (
        _moved(
            lambda run: run.sent("rtt_us") or run.received("rtt_us"),
            GROWN,
            "the round trip took {:,.0f} µs (before: {:,.0f})",
        ),
    ),
}
"""Change -> the checks that it had its direct effect."""

OF_CLASSES: Mapping[str, tuple[Check, ...]] = {
    "slow-reader": (_own_server,),
    "path-cap": (_reader,),
    "link": (_reader,),
    "latency": (_transactions,),
}
"""Class -> further checks that a change must pass to prove anything about it."""


def unmoved(limit: str, change: str, changed: Runs, without: Runs) -> str:
    """Return why a change proves nothing about a class; "" if it had its direct effect."""
    for check in CHECKS.get(change, ()):
        if why := check(changed, without):
            return f"the change had no effect on its cause: {why}"
    for check in OF_CLASSES.get(limit, ()):
        if why := check(changed, without):
            return f"the change shows nothing about it: {why}"
    return ""
