"""Upper bounds on throughput, one for each mechanism, in Mbit/s, from a run's own figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from netlimits.limits.figures import RunFigures, mbps

MATHIS = 1.22
"""Rate = MSS / RTT × MATHIS / √p of Reno (Mathis, Semke, Mahdavi and Ott, 1997)."""
CUBIC = 1.054
"""Segments per round trip = CUBIC × (RTT in s)^0.75 / p^0.75 (RFC 9438, section 5.2, C = 0.4)."""
INITIAL_WINDOW = 10.0
"""Segments that Linux sends in the first round trip (RFC 6928)."""
LONG = 40.0
"""Number of round trips after which slow start has ended: it would have sent 2⁴⁰ segments."""
LOST = 0.01
"""Maximum share of lost datagrams to compute a bound of the sender's CPU. With more losses, fewer
datagrams arrive than the CPU sends."""
MISREAD = 1.5
"""Ratio of throughput to a bound above which the bound must be wrong. Sentences omit such
bounds."""
NEAR = 5.0
"""Maximum ratio of a bound to throughput for sentences to name the bound. Sentences always name
the link's bound."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The upper bound that one mechanism sets, in Mbit/s; `how` derives it in words."""

    mbps: float
    how: str


def _pcie(run: RunFigures) -> Ceiling | None:
    if not run.pcie_mbps:
        return None
    end = min(run.pcie_mbps, key=run.pcie_mbps.__getitem__)
    who = "sender" if end == run.sender else "receiver"
    return Ceiling(run.pcie_mbps[end], f"the {who}'s slot, before headers of its own")


def _shaper(run: RunFigures) -> Ceiling | None:
    rate, wire = run.throughput, run.wire_mbps
    if not run.shaper_mbps or not rate or not wire:
        return None
    return Ceiling(run.shaper_mbps * rate / wire, "less headers")


def _window(run: RunFigures, column: str) -> Ceiling | None:
    size, rtt = run.sent(column), run.sent("min_rtt_us")
    if not size or not rtt:
        return None
    return Ceiling(size * 8 / rtt * run.flows, f"{size:,.0f} bytes a round trip of {rtt:,.0f} µs")


def _congestion_window(run: RunFigures) -> Ceiling | None:
    rate, cwnd, rtt = run.window_mbps, run.sent("cwnd_segs"), run.sent("rtt_us")
    if not rate or not cwnd or not rtt:
        return None
    return Ceiling(rate, f"{cwnd:,.0f} segments a round trip of {rtt:,.0f} µs")


def _loss(run: RunFigures) -> Ceiling | None:
    """Return the greater of the rates that Reno and CUBIC reach at this loss; None for BBR."""
    share, rtt, mss = run.retransmitted, run.sent("rtt_us"), run.sent("mss_bytes")
    if not share or not rtt or not mss or (run.sent("own_pace_pct") or 0) > 50:
        return None
    segments = max(MATHIS / math.sqrt(share), CUBIC * (rtt / 1e6 / share) ** 0.75)
    how = f"{100 * share:.2g} % sent again at a round trip of {rtt:,.0f} µs"
    return Ceiling(segments * mss * 8 / rtt * run.flows, how)


def _pace(run: RunFigures) -> Ceiling | None:
    """Return TCP's pacing rate if the congestion window allows more; None for BBR."""
    rate, window, own = (
        run.sent("pacing_rate_mbps"),
        run.window_mbps,
        run.sent("own_pace_pct"),
    )
    if not rate or not window or own is None or own > 50:
        return None
    return Ceiling(rate, "TCP's pacing rate") if rate < window else None


def _slow_start(run: RunFigures) -> Ceiling | None:
    """Return the mean rate of a run that doubles its window each round trip from the start."""
    rtt, mss, elapsed = run.sent("min_rtt_us"), run.sent("mss_bytes"), run.elapsed
    if not rtt or not mss or not elapsed or elapsed * 1e6 / rtt > LONG:
        return None
    segments = INITIAL_WINDOW * (2 ** (elapsed * 1e6 / rtt) - 1)
    how = f"{elapsed * 1e6 / rtt:.0f} round trips from {INITIAL_WINDOW:.0f} segments"
    return Ceiling(segments * mss * 8 / 1e6 / elapsed * run.flows, how)


def _cpu(run: RunFigures, end: str) -> Ceiling | None:
    """Return the rate at which the busiest CPU or thread would be full.

    On a shared machine only the tool's thread counts. None for the sender if more than LOST of the
    datagrams are lost after it sent them.
    """
    if end == run.sender and (run.sent_datagrams_lost or 0.0) > LOST:
        return None
    busy, rate = run.busiest_pct(end), run.throughput
    if run.one_machine:
        busy = run.thread_pct(end)
    if not busy or not rate or busy < 1:
        return None
    return Ceiling(rate * 100 / busy, f"at {busy:.0f} % now")


BOUNDS: Mapping[str, Callable[[RunFigures], Ceiling | None]] = {
    "link": lambda run: Ceiling(run.bound_mbps, "less headers") if run.bound_mbps else None,
    "PCIe": _pcie,
    "the sender's qdisc": _shaper,
    "the rate asked for": lambda run: (
        Ceiling(run.goal_mbps, "the tool's target") if run.goal_mbps else None
    ),
    "pace": _pace,
    "receive window": lambda run: _window(run, "snd_wnd_bytes"),
    "send buffer": lambda run: _window(run, "sndbuf_bytes"),
    "congestion window": _congestion_window,
    "loss": _loss,
    "slow start": _slow_start,
    "the sender's CPU": lambda run: _cpu(run, run.sender),
    "the receiver's CPU": lambda run: _cpu(run, run.receiver),
}
"""Mechanism -> function of its bound, which is None if it does not apply or a figure is missing."""

SHARED = ("link", "PCIe", "the sender's CPU", "the receiver's CPU")
"""Mechanisms that all connections share. A bound of theirs is wrong if the same configuration was
faster with a change, such as more streams."""

OF_CONNECTIONS = ("pace", "receive window", "send buffer", "congestion window", "slow start")
"""Mechanisms of TCP connections, which do not apply to datagrams."""


def of_mechanism(name: str, run: RunFigures) -> Ceiling | None:
    """Return the bound of one mechanism; None if it cannot be computed."""
    applies = run.throughput and not (run.udp and name in OF_CONNECTIONS)
    return BOUNDS[name](run) if applies else None


def of_run(run: RunFigures) -> dict[str, Ceiling]:
    """Return the bounds that can be computed for a run, by mechanism."""
    return {name: bound for name in BOUNDS if (bound := of_mechanism(name, run))}


def sentence(bounds: Mapping[str, Ceiling], rate: float, run: int | None = None) -> str:
    """Return in words the link's bound and other bounds near a rate, nearest first; "" for none."""
    near = {
        name: bound
        for name, bound in bounds.items()
        if rate / MISREAD <= bound.mbps and (bound.mbps <= NEAR * rate or name == "link")
    }
    ordered = sorted(near, key=lambda name: abs(math.log(near[name].mbps / rate)))
    parts = [
        f"{name} {mbps(near[name].mbps)} ({near[name].how}; "
        f"{100 * rate / near[name].mbps:.0f} % of it arrived)"
        for name in ordered
    ]
    of = f" (run {run})" if run is not None else ""
    return f"Bounds{of}: {'; '.join(parts)}." if parts else ""


def transactions(run: RunFigures) -> str:
    """Return the bound of one transaction per round trip, in words; "" for runs of streams."""
    rate, rtt = run.transactions, run.sent("min_rtt_us") or run.received("min_rtt_us")
    if not rate or not rtt:
        return ""
    most = 1e6 / rtt * run.flows
    return (
        f"Bounds: {most:,.0f} transactions/s at one in each round trip of {rtt:,.0f} µs "
        f"({100 * rate / most:.0f} % of it reached)."
    )
