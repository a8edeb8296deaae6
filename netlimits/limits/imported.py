"""Sentences on results without counters, such as imported results: rate, losses, RTT, CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from netlimits.analysis.goodput import bound
from netlimits.limits.figures import RunFigures, mbps, median_of

ETHERNET_MBPS = (10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000,
                 400_000)  # fmt: skip
NEAR, OVER = 0.9, 1.005
"""If the ratio of throughput to the goodput bound of an Ethernet speed is in this range, the
sentence names that speed."""

BUSY = 90.0
"""Minimum use of one CPU by the tool's process, in percent, if its CPU may be the limit."""

HEADERS = 52
"""Bytes of IPv4 and TCP headers with timestamps: the difference between MTU and MSS."""


def known(runs: Sequence[RunFigures]) -> str:
    """Return a sentence with the known figures of runs; "" if they have counters or no figures."""
    if not runs or any(run.sent("tx_packets") is not None for run in runs):
        return ""
    parts = [*_rate(runs), *_losses(runs), *_round_trip(runs), *_cpu(runs)]
    return f"Known: {'; '.join(parts)}." if parts else ""


def _rate(runs: Sequence[RunFigures]) -> Iterator[str]:
    rate, mss = (_median(runs, name) for name in ("throughput_mbps", "transport_mss_bytes"))
    if rate is None:
        sent = _median(runs, f"{runs[0].sender}_send_throughput_mbps")
        if sent is not None:
            yield f"{mbps(sent)} sent"
        return
    mss = mss or _median(runs, "mss")
    udp = any(run.figures.get("protocol") == "udp" for run in runs)
    yield f"{mbps(rate)} arrived"
    if mss and not udp:
        for link in ETHERNET_MBPS:
            most = bound(int(mss) + HEADERS, link * 1e6, timestamps=True).goodput_bps / 1e6
            if NEAR <= rate / most <= OVER:
                yield (
                    f"that is {100 * rate / most:.1f} % of what an Ethernet of {link:,} Mbit/s "
                    f"leaves for data at an MSS of {mss:.0f} bytes"
                )
    size = _median(runs, "send_size") if udp else mss
    packets = _median(runs, "packet_rate_pps") or (size and rate * 1e6 / 8 / size)
    if packets:
        yield f"some {packets:,.0f} packets/s"


def hints(run: RunFigures) -> Mapping[str, str]:
    """Return class -> clause with figures that suggest the class but are too few to judge it."""
    parts = {}
    if clause := ", ".join(_losses([run])):
        parts["loss"] = clause
    for limit, end in (("sender-cpu", run.sender), ("receiver-cpu", run.receiver)):
        busy = run.figure(f"{end}_process_cpu_pct")
        if busy is not None and busy >= BUSY:
            parts[limit] = f"its process {busy:.0f} % of one CPU"
    return parts


def _losses(runs: Sequence[RunFigures]) -> Iterator[str]:
    sender = runs[0].sender
    retransmitted = _median(runs, f"{sender}_transport_retrans")
    if retransmitted is not None:
        shares = [share for run in runs if (share := _retransmitted(run)) is not None]
        of = f" ({_share(100 * median(shares))})" if shares and retransmitted else ""
        yield f"{retransmitted:,.0f} segments sent again{of}"
    lost = _median(runs, "loss_pct")
    if lost is not None:
        yield f"{_share(lost)} of the datagrams lost"


def _share(percent: float) -> str:
    """Format a percentage with two significant digits, or as "under 0.01 %"."""
    if 0 < percent < 0.01:
        return "under 0.01 %"
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


def _retransmitted(run: RunFigures) -> float | None:
    retransmitted = run.figure(f"{run.sender}_transport_retrans")
    mss = run.figure("transport_mss_bytes") or run.figure("mss")
    rate, elapsed = run.throughput or run.sent("send_throughput_mbps"), run.elapsed
    if retransmitted is None or not mss or not rate or not elapsed:
        return None
    return retransmitted / (rate * 1e6 / 8 * elapsed / mss + retransmitted)


def _round_trip(runs: Sequence[RunFigures]) -> Iterator[str]:
    sender = runs[0].sender
    rtt = _median(runs, f"{sender}_rtt_us")
    window = _median(runs, f"{sender}_cwnd_bytes")
    if rtt:
        yield f"round trip {rtt:,.0f} µs"
    if window:
        through = ""
        if rtt:
            streams = _median(runs, "streams") or 1
            each = " of each stream" if streams > 1 else ""
            through = f"{each}, which lets {mbps(window * 8 / rtt * streams)} through"
        yield f"congestion window {window:,.0f} bytes{through}"


def _cpu(runs: Sequence[RunFigures]) -> Iterator[str]:
    for column, what in (
        ("cpu_pct", "CPU {} % of the {} machine"),
        ("cpu_peak_pct", "the busiest CPU {} % of the {}"),
        ("process_cpu_pct", "the {1}'s process {0} % of one CPU"),
    ):
        for end, words in (("local", "client"), ("remote", "server")):
            value = _median(runs, f"{end}_{column}")
            if value is not None:
                name = f"{words}'s" if column != "process_cpu_pct" else words
                yield what.format(f"{value:.0f}", name)


def _median(runs: Sequence[RunFigures], name: str) -> float | None:
    return median_of(runs, lambda run: run.figure(name))
