"""A run as the classes of limits see it. A missing figure is None, never 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from netlimits import tools

TCP_HEADERS, UDP_HEADERS = 66, 42
"""Bytes of headers that interfaces and qdiscs count in each packet. Both numbers include Ethernet
and IPv4; the TCP header has timestamps."""

DERIVED = {
    "bound_mbps": "The rate of data that the link can carry at the run's MTU, Mbit/s",
    "bytes_per_call": "Bytes of each send call",
    "datagrams_lost": "Datagrams that were sent and did not arrive",
    "loss_bound_mbps": "The rate that random losses of this share allow at this round trip, Mbit/s",
    "goal_mbps": "The rate that the tool was asked to send at, all streams together, Mbit/s",
    "most_mbps": "The highest median `wire_mbps` of a configuration on the run's path, Mbit/s",
    "own_cpu_pct": "Share of one CPU of either end that the run itself used (the tool and "
    "softirq), if other programs kept that CPU busy, %",
    "other_packets_per_s": "Packets per second that arrived in the configuration that is compared",
    "packet_bytes": "Mean bytes of user data in a packet",
    "packets_per_s": "Packets with user data that arrived per second",
    "shaper_mbps": "The rate that the experiment sets for the sender's own qdisc, Mbit/s",
    "window_mbps": "The rate that the congestion windows allow: the sum of cwnd x MSS / RTT, "
    "Mbit/s",
    "wire_mbps": "Throughput with the headers of its packets, Mbit/s",
}
"""Name -> meaning, for figures in verdicts that are not columns of a run."""


def mbps(rate: float) -> str:
    """Format a rate with its unit: whole Mbit/s from 1,000 up, else four significant digits."""
    return f"{rate:,.0f} Mbit/s" if rate >= 1000 else f"{rate:.4g} Mbit/s"


@dataclass(frozen=True)
class RunFigures:
    """A run's figures by column, with facts of its link and of comparable configurations.

    Attributes:
        figures: Column -> value.
        bound_mbps: Goodput bound of the link at the run's MTU; None if unknown.
        mtu: MTU of the data link; None if unknown.
        one_machine: True if both ends share CPUs.
        goal_mbps: Target rate of all the tool's streams together; None if not set.
        rates_by_size: Bytes per packet -> median packets/s of a configuration, for the
            configurations that differ from the run's only in sizes.
        rates_by_streams: Number of connections -> median Mbit/s of a configuration, for the
            configurations that differ from the run's only in the number of streams.
        most_mbps: Highest median `wire_mbps` of the configurations on the run's path; None if there
            is only one.
        slowest: Throughput of the configuration's slowest run, divided by the throughput of its
            fastest run; None for fewer than three runs.
        shapers: End -> rate that the experiment sets for its qdisc, in Mbit/s including headers.
        queues: End -> number of receive queues of its NIC.
        send_bytes: Send size that the experiment asks for, in bytes.
        pcie_mbps: End -> capacity of the PCIe link of its NIC, Mbit/s.
        gained: Bytes that the run's tunnel adds to each packet.
        of_file: True for a run from a file, whose experiment is unknown.
    """

    figures: Mapping[str, Any]
    bound_mbps: float | None = None
    mtu: int | None = None
    one_machine: bool = False
    goal_mbps: float | None = None
    rates_by_size: Mapping[float, float] = field(default_factory=dict)
    rates_by_streams: Mapping[float, float] = field(default_factory=dict)
    most_mbps: float | None = None
    slowest: float | None = None
    shapers: Mapping[str, float] = field(default_factory=dict)
    queues: Mapping[str, int] = field(default_factory=dict)
    send_bytes: int | None = None
    pcie_mbps: Mapping[str, float] = field(default_factory=dict)
    gained: int = 0
    of_file: bool = False

    def figure(self, column: str) -> float | None:
        """Return the figure `column`, else a tool's own figure of that name; None if missing."""
        names = (column, *(prefix + column for prefix in tools.COLUMN_PREFIXES))
        return next((value for name in names if (value := self.own(name)) is not None), None)

    def own(self, column: str) -> float | None:
        """Return the figure of exactly this column; None if it is missing."""
        value = self.figures.get(column)
        if isinstance(value, int | float) and not math.isnan(value):
            return float(value)
        return None

    @cached_property
    def sender(self) -> str:
        """The end that sent more bytes: `local` or `remote`.

        If no bytes are known, it is `remote` if that end reports a send rate, else `local`.
        """
        local, remote = (self.own(f"{end}_tx_bytes") for end in ("local", "remote"))
        if local is None or remote is None or not local + remote:
            return "remote" if self.own("remote_send_throughput_mbps") is not None else "local"
        return "remote" if remote > local else "local"

    @property
    def receiver(self) -> str:
        return "local" if self.sender == "remote" else "remote"

    def sent(self, name: str) -> float | None:
        """Return a figure of the sending end, by its name without `local_` or `remote_`."""
        return self.figure(f"{self.sender}_{name}")

    def received(self, name: str) -> float | None:
        """Return a figure of the receiving end, by its name without `local_` or `remote_`."""
        return self.figure(f"{self.receiver}_{name}")

    def thread_pct(self, end: str) -> float | None:
        """Return the CPU use of the tool's thread at an end, in %; None for several threads."""
        single = 1 in (self.own(f"{end}_threads"), self.own(f"{end}_connections"))
        return self.process_pct(end) if single else None

    def process_pct(self, end: str) -> float | None:
        used = self.own(f"{end}_process_cpu_pct")
        return None if used is None else min(100.0, used)

    def wanted_pct(self, end: str) -> float | None:
        """Return the % of the time in which the tool at an end used a CPU or waited for one."""
        used, waited = self.process_pct(end), self.own(f"{end}_cpu_wait_pct") or 0.0
        return None if used is None else min(100.0, used + waited)

    def cpu_name(self, end: str, part: str = "peak") -> str:
        number = self.own(f"{end}_cpu_{part}_cpu")
        return "busiest CPU" if number is None else f"CPU {number:.0f}"

    def busiest_pct(self, end: str) -> float | None:
        """Return the use of an end's busiest CPU, or of the tool's only thread if higher, in %."""
        peak, thread = self.figure(f"{end}_cpu_peak_pct"), self.thread_pct(end)
        return peak if peak is None or thread is None else max(peak, thread)

    @property
    def busiest(self) -> float | None:
        """Return the higher `busiest_pct` of the two ends; None if either is unknown."""
        ends = [self.busiest_pct(end) for end in ("local", "remote")]
        known = [busy for busy in ends if busy is not None]
        return max(known) if len(known) == len(ends) else None

    @property
    def throughput(self) -> float | None:
        return self.figure("throughput_mbps")

    @cached_property
    def udp(self) -> bool:
        """True if the sender sent more UDP datagrams than TCP segments."""
        names = ("udp_out_datagrams", "tcp_out_segs")
        datagrams, segments = (self.own(f"{self.sender}_{name}") for name in names)
        return datagrams is not None and segments is not None and datagrams > segments

    @property
    def transactions(self) -> float | None:
        """Return the transactions per second of a request/response run; None for other runs."""
        return self.figure("transaction_rate_tps")

    @property
    def achieved(self) -> float | None:
        """Return the rate that interventions compare: transactions per second, else throughput."""
        return self.transactions or self.throughput

    @property
    def flows(self) -> float:
        return max(1.0, self.sent("connections") or 1.0)

    @property
    def inflation(self) -> float | None:
        """Return the ratio of the RTT to its minimum, which is 1 if no packet waits in a queue."""
        rtt, least = self.sent("rtt_us"), self.sent("min_rtt_us")
        return rtt / least if rtt and least else None

    @property
    def queueing_us(self) -> float | None:
        """Return the part of the RTT that packets spend in queues, in µs."""
        rtt, least = self.sent("rtt_us"), self.sent("min_rtt_us")
        return None if rtt is None or not least else max(0.0, rtt - least)

    @property
    def retransmitted(self) -> float | None:
        """Return the share of TCP segments that were retransmitted; None if unknown or for UDP."""
        retransmitted, out = self.sent("tcp_retrans_segs"), self.sent("tcp_out_segs")
        return None if retransmitted is None or not out or self.udp else retransmitted / out

    @property
    def unread(self) -> float | None:
        """Return the share of the receive window that holds unread data."""
        waiting, room = self.received("recv_q_bytes"), self.sent("snd_wnd_bytes")
        if waiting is None or room is None or not waiting + room:
            return None
        return waiting / (waiting + room)

    @property
    def sent_datagrams_lost(self) -> float | None:
        """Return the share of the sent datagrams that did not reach a program; None for TCP."""
        sent, arrived = self.sent("udp_out_datagrams"), self.received("udp_in_datagrams")
        if not self.udp or not sent or arrived is None:
            return None
        return max(0.0, 1 - arrived / sent)

    @property
    def elapsed(self) -> float | None:
        return self.figure("elapsed_s")

    @property
    def packet_bytes(self) -> float | None:
        """Return the mean number of bytes of user data in a packet."""
        rate, packets = self.throughput, self.sent("tcp_out_segs")
        if self.udp:
            packets = self.sent("udp_out_datagrams")
            rate = self.own(f"{self.sender}_send_throughput_mbps") or rate
        return (
            rate * 1e6 / 8 * self.elapsed / packets if rate and packets and self.elapsed else None
        )

    @property
    def packet_rate(self) -> float | None:
        """Return the number of packets with user data that arrived per second."""
        rate, size = self.throughput, self.packet_bytes
        return rate * 1e6 / 8 / size if rate and size else None

    @property
    def shaper_mbps(self) -> float | None:
        """Return the rate of the sender's qdisc: from the experiment, else as read on the host."""
        of_flow = self.sent("qdisc_flow_rate_mbps")
        rate = self.sent("qdisc_rate_mbps") or (of_flow and of_flow * self.flows)
        return self.shapers.get(self.sender) or rate or None

    @property
    def window_mbps(self) -> float | None:
        """Return the sum of cwnd x MSS / RTT over all connections, in Mbit/s."""
        cwnd, mss, rtt = (self.sent(name) for name in ("cwnd_segs", "mss_bytes", "rtt_us"))
        if not cwnd or not mss or not rtt:
            return None
        return cwnd * mss * 8 / rtt * (self.sent("connections") or 1)  # bits per µs = Mbit/s

    @property
    def wire_mbps(self) -> float | None:
        """Return throughput including headers; without headers if packet sizes are unknown."""
        rate, size = self.throughput, self.packet_bytes
        if rate is None or not size:
            return rate
        headers = (UDP_HEADERS if self.udp else TCP_HEADERS) + self.gained
        return rate * (1 + headers / size)


Figure = Callable[[RunFigures], float | None]


def median_of(runs: Iterable[RunFigures], figure: Figure) -> float | None:
    """Return the median of a figure over the runs that have it; None if no run does."""
    values = [value for run in runs if (value := figure(run)) is not None]
    return median(values) if values else None
