"""Checks that an intervention had its direct effect, because otherwise it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlimits.limits.figures import Figure, RunFigures, median_of
from netlimits.limits.premises.queues import UNREAD

Runs = Sequence[RunFigures]
Check = Callable[[Runs, Runs], str]
"""Function of the runs with a change and the runs without it. It returns why the change proves
nothing, or "" if the check passes."""

GROWN, MORE, FEWER, ENDED = 1.2, 1.5, 0.7, 1 / 3
"""Limits on the ratio of a figure with the change to the figure without it, if the change had its
effect. Minimum ratios: GROWN for a window, buffer, load or round trip; MORE for the number of
connections or the length of a run. Maximum ratios: FEWER for the size of packets; ENDED for losses
or fragments."""
LASTED = 0.8
"""Losses do not depend on the rate if the sender sends less, but more than this share of the loss
percentage remains."""
SHORT_PCT = 10.0
"""Maximum % by which the rate sent may be below the pace that a change sets."""
LOADED_PCT = 95.0
"""Minimum use of the busiest CPU under a load, in percent. A lower use is sufficient if it is at
least GROWN times the use without the load."""
FULL_PCT = 90.0
"""Minimum % of a CPU that runs use or wait for without a load, if a load is to prove a limit. Loads
take half of a CPU, so they slow any run that needs more than half, whatever the limit is."""
EASED = 0.95
"""Maximum ratio of a figure with RPS to the figure without RPS, if RPS moved work to other CPUs.
The figure is either the softirq of the busiest CPU or the share of packets that it processes."""


def _both(changed: Runs, without: Runs, figure: Figure) -> tuple[float, float] | None:
    """Return the medians of a figure with and without the change; None if either is unknown."""
    now, before = median_of(changed, figure), median_of(without, figure)
    return None if now is None or before is None else (now, before)


def _moved(figure: Figure, ratio: float, words: str) -> Check:
    """Return a check that a figure grew to at least `ratio` times its value without the change.

    If `ratio` is below 1, the figure must fall to at most `ratio` times its value. `words` is the
    reason to return otherwise: a format string for the medians with and without the change.
    """

    def check(changed: Runs, without: Runs) -> str:
        pair = _both(changed, without, figure)
        if pair is None:
            return ""
        now, least = pair[0], ratio * pair[1]
        return words.format(*pair) if (now < least if ratio > 1 else now > least) else ""

    return check


def _own_server(changed: Runs, without: Runs) -> str:
    """Return why more streams prove nothing, if they share the same slow reader; else ""."""
    unread = median_of(changed, lambda run: run.unread)
    if unread is None or unread < UNREAD:
        return ""
    pair = _both(changed, without, lambda run: run.received("processes"))
    if pair is None or pair[0] > pair[1]:
        return ""
    return (
        f"{100 * unread:.0f} % of the receive windows is data that nobody read, and all streams "
        f"have the same {pair[0]:.0f} server process{'es' if pair[0] > 1 else ''}"
    )


def _reader(changed: Runs, without: Runs) -> str:
    """Return why more streams do not prove a limit of the path, if the reader is slow; else ""."""
    unread = median_of(changed, lambda run: run.unread)
    if unread is None or unread < UNREAD:
        return ""
    return f"{100 * unread:.0f} % of the receive windows is data that the program has not read"


def _lost_pct(run: RunFigures) -> float | None:
    lost = run.sent_datagrams_lost if run.udp else run.retransmitted
    return None if lost is None else 100 * lost


def contrary(change: str, changed: Runs, without: Runs) -> bool:
    """Return True if sending less did not reduce the losses, which contradicts any rate limit."""
    pair = _both(changed, without, _lost_pct)
    if change != "arrived" or not pair or _missed_pace(changed, without):
        return False
    return pair[0] > LASTED * pair[1] > 0


def slack(change: str, without: Runs) -> str:
    """Return why a load on an end proves nothing, if the end had CPU time left before; else ""."""
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
        # other CPUs process packets now; all CPUs may still be busy, because more packets arrive
        return ""
    if pair and pair[0] > EASED * pair[1]:
        return f"the busiest CPU still has {pair[0]:.0f} % softirq (before: {pair[1]:.0f} %)"
    return ""


def _transactions(changed: Runs, without: Runs) -> str:
    """Return why a longer RTT proves nothing, if the runs have no transactions; else "".

    The throughput of a stream follows the RTT whatever the limit is.
    """
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
"""Change (`Intervention.what`) -> the checks that the change had its direct effect."""

OF_CLASSES: Mapping[str, tuple[Check, ...]] = {
    "slow-reader": (_own_server,),
    "path-cap": (_reader,),
    "link": (_reader,),
    "latency": (_transactions,),
}
"""Class -> further checks that a change must pass to prove anything about the class."""


def unmoved(limit: str, change: str, changed: Runs, without: Runs) -> str:
    """Return why a change proves nothing about the class `limit`; "" if all checks pass."""
    for check in CHECKS.get(change, ()):
        if why := check(changed, without):
            return f"the change had no effect on its cause: {why}"
    for check in OF_CLASSES.get(limit, ()):
        if why := check(changed, without):
            return f"the change shows nothing about it: {why}"
    return ""
