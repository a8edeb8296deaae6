"""Checks that an intervention had its direct effect; without it, it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from netlimits.limits.figures import RunFigures

Runs = Sequence[RunFigures]
Check = Callable[[Runs, Runs], str]
"""Function of the runs with and without the change -> why it had no effect; "" if it had one."""

GROWN, MORE, FEWER, ENDED = 1.2, 1.5, 0.7, 1 / 3
"""Minimum or maximum ratio of a figure to its value before the change: GROWN of a window, buffer,
load or round trip, MORE of connections or length, FEWER of packet size, ENDED of losses or
fragments."""
LASTED = 0.8
"""Ratio of losses to those before from which they do not depend on how much is sent."""
SAME_READER = 0.5
"""Share of the receive windows that is unread from which streams wait for one reader
(`premises.queues.UNREAD`)."""
SHORT_PCT = 10.0
"""Allowed shortfall of a pace that is a little below the rate before, in percent."""
LOADED_PCT = 95.0
FULL_PCT = 90.0
"""Minimum share of a CPU used or waited for if CPU time is the limit. (Half of a CPU is too little
for any run that takes 60 % of one, whatever limits it.)"""
EASED = 0.95
"""Maximum ratio of the busiest CPU's softirq, or of its share of the packets, to that before, if
some of it went to other CPUs."""


def _median(runs: Runs, figure: Callable[[RunFigures], float | None]) -> float | None:
    values = [value for run in runs if (value := figure(run)) is not None]
    return median(values) if values else None


def _both(
    changed: Runs, without: Runs, figure: Callable[[RunFigures], float | None]
) -> tuple[float, float] | None:
    """Return the medians with and without the change; None if either is unknown."""
    now, before = _median(changed, figure), _median(without, figure)
    return None if now is None or before is None else (now, before)


def _connections(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, lambda run: run.sent("connections"))
    if pair and pair[0] < MORE * pair[1]:
        return f"{pair[0]:.0f} connections carried data, as {pair[1]:.0f} did before"
    return ""


def _own_server(changed: Runs, without: Runs) -> str:
    """Return why a second stream proves nothing if it waits for the same reader, or ""."""
    unread = _median(changed, lambda run: run.unread)
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
    """Return why an unchanged sum is not the path's limit if receiving programs lag, or ""."""
    unread = _median(changed, lambda run: run.unread)
    if unread is None or unread < SAME_READER:
        return ""
    return f"{100 * unread:.0f} % of the receive windows is data that the program has not read"


def _window(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, lambda run: run.sent("snd_wnd_bytes"))
    if pair and pair[0] < GROWN * pair[1]:
        return (
            f"the window stayed at {pair[0]:,.0f} bytes (before: {pair[1]:,.0f}), so that another "
            "thing than this buffer sets it: a route's `window`, or a program's own SO_RCVBUF"
        )
    return ""


def _send_buffer(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, lambda run: run.sent("sndbuf_bytes"))
    if pair and pair[0] < GROWN * pair[1]:
        return f"the buffer stayed at {pair[0]:,.0f} bytes (before: {pair[1]:,.0f})"
    return ""


def _lost(run: RunFigures) -> float | None:
    return run.sent_datagrams_lost if run.udp else run.retransmitted


def _losses(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, _lost)
    if pair and pair[0] > ENDED * pair[1]:
        return (
            f"{100 * pair[0]:.2g} % were lost still (before: {100 * pair[1]:.2g} %), so that it is "
            "not how much is sent that loses them"
        )
    return ""


def contrary(change: str, changed: Runs, without: Runs) -> bool:
    """Return True if as much was lost though less was sent: then no rate limit drops packets."""
    pair = _both(changed, without, _lost)
    if change != "arrived" or not pair or _kept(changed, without):
        return False
    return pair[0] > LASTED * pair[1] > 0


def slack(change: str, without: Runs) -> str:
    """Return why a load proves nothing: the end had CPU time left without it; "" if it had none."""
    end = {"sender_load": "sender", "receiver_load": "receiver"}.get(change)
    if end is None:
        return ""

    def wanted(run: RunFigures) -> float | None:
        at = run.sender if end == "sender" else run.receiver
        busy, used = run.busiest_pct(at), run.process_pct(at)
        waited = run.own(f"{at}_cpu_wait_pct") or 0.0
        return busy if used is None or busy is None else max(busy, min(100.0, used + waited))

    busy = _median(without, wanted)
    if busy is None or busy >= FULL_PCT:
        return ""
    return f"without the load the {end}'s busiest CPU was {busy:.0f} % busy, and had time left"


def _kept(changed: Runs, without: Runs) -> str:
    off = _median(changed, lambda run: run.figure("pace_off_pct"))
    if off is not None and off < -SHORT_PCT:
        return f"{-off:.0f} % less than that was sent: the sender could not keep the pace"
    return ""


def _load(end: str) -> Check:
    def check(changed: Runs, without: Runs) -> str:
        def peak(run: RunFigures) -> float | None:
            return run.figure(f"{run.sender if end == 'sender' else run.receiver}_cpu_peak_pct")

        pair = _both(changed, without, peak)
        if pair and pair[0] < LOADED_PCT and pair[0] < GROWN * pair[1]:
            return f"the {end}'s busiest CPU was {pair[0]:.0f} % busy (before: {pair[1]:.0f} %)"
        return ""

    return check


def _softirq(changed: Runs, without: Runs) -> str:
    def softirq(run: RunFigures) -> float | None:
        return run.received("cpu_peak_softirq_pct")

    def share(run: RunFigures) -> float | None:
        every, most = run.received("softnet_packets"), run.received("softnet_busiest")
        return most / every if every and most is not None else None

    pair = _both(changed, without, softirq)
    spread = _both(changed, without, share)
    if spread and spread[0] < EASED * spread[1]:
        return ""  # all CPUs may now be as busy as that one was, with more packets
    if pair and pair[0] > EASED * pair[1]:
        return f"the busiest CPU has {pair[0]:.0f} % softirq still (before: {pair[1]:.0f} %)"
    return ""


def _packets(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, lambda run: run.packet_bytes)
    if pair and pair[0] > FEWER * pair[1]:
        return f"packets carry {pair[0]:,.0f} bytes still (before: {pair[1]:,.0f})"
    return ""


def _fragments(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, lambda run: run.sent("ip_frag_creates"))
    if pair and pair[0] > ENDED * pair[1]:
        return f"{pair[0]:,.0f} fragments were made still (before: {pair[1]:,.0f})"
    return ""


def _length(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, lambda run: run.elapsed)
    if pair and pair[0] < MORE * pair[1]:
        return f"runs took {pair[0]:.1f} s (before: {pair[1]:.1f} s)"
    return ""


def _delay(changed: Runs, without: Runs) -> str:
    pair = _both(changed, without, lambda run: run.sent("rtt_us") or run.received("rtt_us"))
    if pair and pair[0] < GROWN * pair[1]:
        return f"the round trip took {pair[0]:,.0f} µs (before: {pair[1]:,.0f})"
    return ""


def _transactions(changed: Runs, without: Runs) -> str:
    """Return why a stream proves nothing: it follows the RTT whatever limits it, or ""."""
    if any(run.transactions for run in (*changed, *without)):
        return ""
    return "no transactions were measured, and a stream's window has it follow the round trip"


CHECKS: Mapping[str, tuple[Check, ...]] = {
    "streams": (_connections,),
    "arrived": (_kept, _losses),
    "seconds": (_length,),
    "packet_size": (_packets,),
    "datagram": (_fragments,),
    "receive_buffer": (_window,),
    "send_buffer": (_send_buffer,),
    "sender_load": (_load("sender"),),
    "receiver_load": (_load("receiver"),),
    "rps": (_softirq,),
    "delay": (_delay,),
}
"""Change -> the checks of its direct effect."""

OF_CLASSES: Mapping[str, tuple[Check, ...]] = {
    "slow-reader": (_own_server,),
    "path-cap": (_reader,),
    "link": (_reader,),
    "latency": (_transactions,),
}
"""Class -> further checks, without which a change proves nothing about it."""


def unmoved(limit: str, change: str, changed: Runs, without: Runs) -> str:
    """Return why a change proves nothing about a class; "" if it had its direct effect."""
    for check in CHECKS.get(change, ()):
        if why := check(changed, without):
            return f"the change had no effect on its cause: {why}"
    for check in OF_CLASSES.get(limit, ()):
        if why := check(changed, without):
            return f"the change tells nothing of it: {why}"
    return ""
