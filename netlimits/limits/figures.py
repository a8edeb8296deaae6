"""A run as the classes of limits see it: its figures by end, and the link it ran over.

A figure that a run does not have is None, never 0: a class that needs it says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits import tools

TCP_HEADERS, UDP_HEADERS = 66, 42
"""Bytes of Ethernet and IPv4, and of TCP with timestamps or UDP, which interfaces and qdiscs count
in each packet beside its data."""

DERIVED = {
    "bound_mbps": "What the link leaves for data at the run's MTU, headers counted, Mbit/s",
    "bytes_per_call": "Bytes that the sender hands over with each call",
    "datagrams_lost": "Datagrams that were sent and did not arrive",
    "loss_bound_mbps": "What losses by chance of this share allow at this round trip, Mbit/s",
    "goal_mbps": "The rate that the tool was told to send at, of all its streams, Mbit/s",
    "most_mbps": "The highest median `wire_mbps` of a configuration on the run's path, Mbit/s",
    "own_cpu_pct": "How busy one CPU of either end was with the run itself, % of it: what the tool "
    "used and softirq took, where others kept it busy",
    "other_packets_per_s": "Packets that arrived each second of that configuration",
    "packet_bytes": "Bytes of user data that a packet carries on the average",
    "packets_per_s": "Packets with user data that arrived each second",
    "shaper_mbps": "The rate of frames that the experiment gives the sender's own qdisc, Mbit/s",
    "window_mbps": "What the congestion windows let through, cwnd x MSS / RTT of all, Mbit/s",
    "wire_mbps": "Throughput with the headers of its packets, Mbit/s",
}
"""Figures of verdicts that are no column of a run: what each is. The others `metrics` describes."""


def mbps(rate: float) -> str:
    """Return a rate with its unit, in four digits or whole Mbit/s."""
    return f"{rate:,.0f} Mbit/s" if rate >= 1000 else f"{rate:.4g} Mbit/s"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """A run's figures under their columns, and what is known of the link.

    `bound_mbps` is the goodput bound of the link at the run's MTU, headers counted; `mtu` is the
    data link's; None where they are not known. `one_machine` says that both ends share CPUs.
    `goal_mbps` is the rate that the tool was told to send at, if any.
    Three are evidence from other configurations, which no run has by itself, medians of their runs:
    `rates_by_size`, of those that differ from the run's in sizes alone, bytes a packet ->
    packets/s; `rates_by_streams`, of those that differ in the number of streams, connections ->
    Mbit/s; and `most_mbps`, the highest `wire_mbps` of those with the run's path. And one from
    other runs of the same: `slowest` over the fastest of them, where there are three and more.
    `shapers` are the rates of frames, Mbit/s, that the experiment gives an end's own qdisc,
    `queues` the receive queues of an end's NIC, and `send_bytes` is the send size that it asks the
    tool for. `pcie_mbps` is what the PCIe link of an end's NIC carries, and `gained` the bytes by
    which the run's own tunnel makes each packet longer. Of a run `of_file` no experiment is known.
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
        """Return a figure, or a tool's own of that name; None without one."""
        for name in (column, *(prefix + column for prefix in tools.OWN)):
            value = self.figures.get(name)
            if isinstance(value, int | float) and not math.isnan(value):
                return float(value)
        return None

    def own(self, column: str) -> float | None:
        """Return a figure under this very name; None without one."""
        value = self.figures.get(column)
        if isinstance(value, int | float) and not math.isnan(value):
            return float(value)
        return None

    @property
    def sender(self) -> str:
        """`local` or `remote`: the end that sent the data, the client unless it received more.

        By what both interfaces sent; where one of them does not count it, by whose rate is known.
        """
        local, remote = (self.own(f"{end}_tx_bytes") for end in ("local", "remote"))
        if local is None or remote is None or not local + remote:
            return "remote" if self.own("remote_send_throughput_mbps") is not None else "local"
        return "remote" if remote > local else "local"

    @property
    def receiver(self) -> str:
        """The other end."""
        return "local" if self.sender == "remote" else "remote"

    def sent(self, name: str) -> float | None:
        """Return a figure of the sending end, by its name without the end."""
        return self.figure(f"{self.sender}_{name}")

    def received(self, name: str) -> float | None:
        """Return a figure of the receiving end, by its name without the end."""
        return self.figure(f"{self.receiver}_{name}")

    def thread_pct(self, end: str) -> float | None:
        """How busy the tool's thread at an end was, % of one CPU; None unless one does the work.

        One connection is one thread's work: a server's others only wait for the next.
        """
        single = 1 in (self.own(f"{end}_threads"), self.own(f"{end}_connections"))
        return self.process_pct(end) if single else None

    def process_pct(self, end: str) -> float | None:
        """How busy the tool was at an end, % of one CPU, which it cannot be for more than 100."""
        used = self.own(f"{end}_process_cpu_pct")
        return None if used is None else min(100.0, used)

    def cpu_name(self, end: str, part: str = "peak") -> str:
        """Return a name for an end's busiest CPU (or the one with most softirq)."""
        number = self.own(f"{end}_cpu_{part}_cpu")
        return "busiest CPU" if number is None else f"CPU {number:.0f}"

    def busiest_pct(self, end: str) -> float | None:
        """How busy an end's busiest CPU was, or the tool's thread there if that is more."""
        peak, thread = self.figure(f"{end}_cpu_peak_pct"), self.thread_pct(end)
        return peak if peak is None or thread is None else max(peak, thread)

    @property
    def busiest(self) -> float | None:
        """The busier end's `busiest_pct`; None where an end's is not known."""
        ends = [self.busiest_pct(end) for end in ("local", "remote")]
        known = [busy for busy in ends if busy is not None]
        return max(known) if len(known) == len(ends) else None

    @property
    def throughput(self) -> float | None:
        """Throughput that arrived, in Mbit/s."""
        return self.figure("throughput_mbps")

    @property
    def udp(self) -> bool:
        """True if datagrams carried the data: there were more of them than TCP segments.

        False if either count is unknown, since a host's other datagrams could be taken for the
        data.
        """
        names = ("udp_out_datagrams", "tcp_out_segs")
        datagrams, segments = (self.own(f"{self.sender}_{name}") for name in names)
        return datagrams is not None and segments is not None and datagrams > segments

    @property
    def transactions(self) -> float | None:
        """Return the transactions a second of a run of requests and responses; None of another."""
        return self.figure("transaction_rate_tps")

    @property
    def achieved(self) -> float | None:
        """Return what interventions are judged by: transactions a second, else what arrived."""
        return self.transactions or self.throughput

    @property
    def flows(self) -> float:
        """Return how many connections carry the data, at least one."""
        return max(1.0, self.sent("connections") or 1.0)

    @property
    def inflation(self) -> float | None:
        """Return the round trip over its minimum: 1 where no packet waits for another."""
        rtt, least = self.sent("rtt_us"), self.sent("min_rtt_us")
        return rtt / least if rtt and least else None

    @property
    def queueing_us(self) -> float | None:
        """Return the part of the round trip that packets wait in queues, µs."""
        rtt, least = self.sent("rtt_us"), self.sent("min_rtt_us")
        return None if rtt is None or not least else max(0.0, rtt - least)

    @property
    def retransmitted(self) -> float | None:
        """Return the share of TCP's segments that were sent again; None where it is not known."""
        retransmitted, out = self.sent("tcp_retrans_segs"), self.sent("tcp_out_segs")
        return None if retransmitted is None or not out or self.udp else retransmitted / out

    @property
    def unread(self) -> float | None:
        """Return the share of the receive window that is full of data nobody has read yet."""
        waiting, room = self.received("recv_q_bytes"), self.sent("snd_wnd_bytes")
        if waiting is None or room is None or not waiting + room:
            return None
        return waiting / (waiting + room)

    @property
    def sent_datagrams_lost(self) -> float | None:
        """Return the share of the datagrams sent that no program took; None of TCP."""
        sent, arrived = self.sent("udp_out_datagrams"), self.received("udp_in_datagrams")
        if not self.udp or not sent or arrived is None:
            return None
        return max(0.0, 1 - arrived / sent)

    @property
    def elapsed(self) -> float | None:
        """How long it was measured, seconds."""
        return self.figure("elapsed_s")

    @property
    def packet_bytes(self) -> float | None:
        """Bytes of user data that a packet carries on the average.

        Of datagrams by what was sent, of which both counts are of the whole run.
        """
        rate, packets = self.throughput, self.sent("tcp_out_segs")
        if self.udp:
            packets = self.sent("udp_out_datagrams")
            rate = self.own(f"{self.sender}_send_throughput_mbps") or rate
        return (
            rate * 1e6 / 8 * self.elapsed / packets if rate and packets and self.elapsed else None
        )

    @property
    def packet_rate(self) -> float | None:
        """Packets with user data that arrived each second."""
        rate, size = self.throughput, self.packet_bytes
        return rate * 1e6 / 8 / size if rate and size else None

    @property
    def shaper_mbps(self) -> float | None:
        """Return the rate that the sender's own qdisc has: by the experiment, else as found."""
        of_flow = self.sent("qdisc_flow_rate_mbps")
        rate = self.sent("qdisc_rate_mbps") or (of_flow and of_flow * self.flows)
        return self.shapers.get(self.sender) or rate or None

    @property
    def window_mbps(self) -> float | None:
        """Rate that the congestion windows allow: cwnd x mss / rtt of every connection."""
        cwnd, mss, rtt = (self.sent(name) for name in ("cwnd_segs", "mss_bytes", "rtt_us"))
        if not cwnd or not mss or not rtt:
            return None
        return cwnd * mss * 8 / rtt * (self.sent("connections") or 1)  # bytes in µs: Mbit/s

    @property
    def wire_mbps(self) -> float | None:
        """Throughput with the headers of its packets, Mbit/s; as it is where sizes are unknown."""
        rate, size = self.throughput, self.packet_bytes
        if rate is None or not size:
            return rate
        headers = (UDP_HEADERS if self.udp else TCP_HEADERS) + self.gained
        return rate * (1 + headers / size)
