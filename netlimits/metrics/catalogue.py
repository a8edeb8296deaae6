"""The table of all metrics: name, column, title, unit and better direction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

Better = Literal["higher", "lower", ""]
Direction = Literal["send", "recv", "both", "rr", ""]
"""Direction of the data, as seen from the client.

"rr" stands for transactions, and "" for a set of runs with several directions.
"""

_ENDS: Mapping[str, Mapping[str, str]] = {
    "recv": {"sender": "receiver", "receiver": "sender", "send": "receive", "receive": "send"},
    "both": {"sender": "client", "receiver": "server", "send": "client", "receive": "server"},
}
"""Direction -> (word in a title for the direction "send" -> its replacement).

"rr" and "" use the replacements for "both".
"""


SUFFIX_UNITS = {
    "gbps": "Gbit/s",
    "mbps": "Mbit/s",
    "bps": "bit/s",
    "pps": "packets/s",
    "mhz": "MHz",
    "s": "s",
    "ms": "ms",
    "us": "µs",
    "ns": "ns",
    "pct": "%",
    "bytes": "bytes",
}
"""Suffix of a column -> unit as tables print it."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity that is measured in runs.

    Attributes:
        name: Short name in experiments and on the command line, such as "throughput".
        column: Column of frames and CSV files, such as "throughput_mbps". By default it is the name
            with a suffix for the unit.
        title: Title in tables and charts, for data that the client sends. By default it is the name
            with spaces for underscores.
        unit: Unit as printed, such as "Mbit/s"; "" for counts.
        better: "higher" or "lower" if such values are better; "" if neither is better.

    Example:
        >>> Metric("page_load", unit="ms", better="lower").label
        'Page load (ms)'
    """

    name: str
    column: str = ""
    title: str = ""
    unit: str = ""
    better: Better = ""

    def __post_init__(self) -> None:
        """Set the defaults of the column and the title."""
        suffix = next((end for end, unit in SUFFIX_UNITS.items() if unit == self.unit), "")
        if not self.column:
            object.__setattr__(self, "column", f"{self.name}_{suffix}" if suffix else self.name)
        if not self.title:
            words = self.name.replace("_", " ").strip()
            object.__setattr__(self, "title", words[:1].upper() + words[1:])

    @property
    def label(self) -> str:
        """The title with the unit in brackets, such as "Throughput (Mbit/s)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def extreme(self, end: str) -> str:
        """Return the column of the slowest or fastest stream, such as `throughput_min_mbps`.

        Args:
            end: "min" or "max".

        Returns:
            The metric's column, with `end` before the suffix for the unit.
        """
        unit = self.column.removeprefix(self.name)
        return f"{self.name}_{end}{unit}" if unit != self.column else f"{self.column}_{end}"

    def towards(self, direction: Direction) -> Metric:
        """Return the metric with a title that fits the direction of the data.

        If the client receives, "sender" in the title becomes "receiver", for example.

        Args:
            direction: Direction of the data, as `analysis.frames.direction` returns it.

        Returns:
            A copy with another title, or the metric itself if its title fits.
        """
        if direction == "send" or not _OF_AN_END.match(self.name):
            return self
        words = _ENDS.get(direction, _ENDS["both"])

        def other(match: re.Match[str]) -> str:
            word = words[match[0].lower()]
            return word.capitalize() if match[0][0].isupper() else word

        return replace(self, title=_ROLE_WORDS.sub(other, self.title))

    @property
    def direction(self) -> str:
        """The note "Higher is better" or "Lower is better"; "" if neither is better."""
        return f"{self.better.capitalize()} is better" if self.better else ""


_OF_AN_END = re.compile(r"(\w+_)?(local|remote)_(?!send_|recv_)")
"""Pattern of names of metrics that belong to one end, such as `local_sd`.

Names such as `local_send_size` do not match, because their titles are right in both directions.
"""
_ROLE_WORDS = re.compile(
    r"\b(sender|receiver|send|receive)\b(?! (buffer|window|drops))", re.IGNORECASE
)


def _metric(name: str, suffix: str, title: str, unit: str = "", better: Better = "") -> Metric:
    """Return a metric whose column is the name and `suffix`."""
    return Metric(name, f"{name}_{suffix}" if suffix else name, title, unit, better)


_OF_BOTH_ENDS: tuple[Metric, ...] = (
    # use of CPU time (evidence.cpu)
    _metric("cpu_peak_cpu", "", "Busiest CPU's number"),
    _metric("cpu_peak_softirq", "pct", "Most softirq of any CPU", "%", "lower"),
    _metric("softirq", "pct", "CPU time in softirq", "%", "lower"),
    _metric("irq", "pct", "CPU time in interrupts", "%", "lower"),
    _metric("steal", "pct", "CPU time stolen by the host", "%", "lower"),
    _metric("other_cpu", "pct", "CPU time of other programs", "% of one CPU", "lower"),
    # counters of the kernel (evidence.counted.counters)
    _metric("tcp_in_segs", "", "TCP segments in, after GRO"),
    _metric("tcp_out_segs", "", "TCP segments out"),
    _metric("tcp_retrans_segs", "", "TCP segments retransmitted", "", "lower"),
    _metric("tcp_lost_retransmits", "", "TCP retransmits lost", "", "lower"),
    _metric("tcp_timeouts", "", "TCP timeouts", "", "lower"),
    _metric("tcp_recoveries", "", "TCP recoveries from loss", "", "lower"),
    _metric("tcp_backlog_drops", "", "TCP backlog drops", "", "lower"),
    _metric("mptcp_connections", "", "MPTCP connections begun"),
    _metric("mptcp_fallbacks", "", "MPTCP connections that fell back to TCP", "", "lower"),
    _metric("tcp_rcvq_drops", "", "TCP receive queue drops", "", "lower"),
    _metric("udp_in_datagrams", "", "UDP datagrams in"),
    _metric("udp_out_datagrams", "", "UDP datagrams out"),
    _metric("udp_in_errors", "", "UDP input errors", "", "lower"),
    _metric("udp_rcvbuf_errors", "", "UDP receive buffer errors", "", "lower"),
    _metric("udp_sndbuf_errors", "", "UDP send buffer errors", "", "lower"),
    _metric("ip_frag_creates", "", "IP fragments created", "", "lower"),
    _metric("ip_reasm_fails", "", "IP reassembly failures", "", "lower"),
    _metric("softnet_dropped", "", "Backlog (softnet) drops", "packets", "lower"),
    _metric("softnet_squeezed", "", "NAPI budget exhausted", "times", "lower"),
    _metric("rx_packets", "", "Interface packets in", "packets"),
    _metric("tx_packets", "", "Interface packets out", "packets"),
    _metric("rx_bytes", "", "Interface bytes in", "bytes"),
    _metric("tx_bytes", "", "Interface bytes out", "bytes"),
    _metric("rx_dropped", "", "Interface receive drops", "packets", "lower"),
    _metric("tx_dropped", "", "Interface transmit drops", "packets", "lower"),
    _metric("rx_errors", "", "Interface receive errors", "packets", "lower"),
    _metric("rx_missed", "", "Interface packets missed", "packets", "lower"),
    # counters of the qdisc (evidence.counted.queues) and the NIC (evidence.counted.nic)
    _metric("qdisc_drops", "", "Qdisc drops", "packets", "lower"),
    _metric("qdisc_overlimits", "", "Qdisc overlimits", "times"),
    _metric("qdisc_rate", "mbps", "Rate of the qdisc", "Mbit/s"),
    _metric("qdisc_flow_rate", "mbps", "Rate of the qdisc, each flow", "Mbit/s"),
    _metric("qdisc_requeues", "", "Qdisc requeues", "times", "lower"),
    _metric("ingress_drops", "", "Drops by policers on the way in", "packets", "lower"),
    _metric("nic_rx_drops", "", "NIC receive drops, at least", "packets", "lower"),
    # drops in the kernel for all reasons (evidence.drops); `metric` creates `local_dropped_REASON`
    _metric("dropped", "", "Packets dropped by the kernel", "packets", "lower"),
    # samples of connections and processes during a run (evidence.sample)
    _metric("processes", "", "Tool's processes"),
    _metric("threads", "", "Tool's threads"),
    _metric("connections", "", "Data connections"),
    _metric("cwnd", "segs", "Congestion window", "segments"),
    _metric("mss", "bytes", "MSS in use", "bytes"),
    _metric("rtt", "us", "TCP's round-trip time", "µs", "lower"),
    _metric("min_rtt", "us", "TCP's minimum round-trip time", "µs", "lower"),
    _metric("pacing_rate", "mbps", "TCP's pacing rate", "Mbit/s"),
    _metric("delivery_rate", "mbps", "TCP's delivery rate", "Mbit/s"),
    _metric("busy", "pct", "Time with data in flight", "%"),
    _metric("rwnd_limited", "pct", "Busy time limited by the receive window", "%"),
    _metric("sndbuf_limited", "pct", "Busy time limited by the send buffer", "%"),
    _metric("app_limited", "pct", "Connections limited by the program", "%"),
    _metric("sampled_segments_per_ack", "", "Segments per ACK, sampled"),
    # CPU time by clock ticks, which netperf's formula uses (evidence.cpu)
    _metric("cpu_ticks", "pct", "CPU utilization by ticks", "%", "lower"),
    _metric("instrument_cpu", "pct", "Sampler's CPU utilization", "%", "lower"),
    _metric("lost_ticks", "pct", "CPU time missed by ticks", "%", "lower"),
    _metric("sd_ticks", "us_per_kib", "Service demand by ticks", "µs CPU/KiB", "lower"),
    Metric(
        "sd_ticks_tran", "sd_ticks_us_per_tran", "Service demand by ticks", "µs CPU/Tran", "lower"
    ),
    # more counters of the kernel and the NIC (evidence.counted)
    _metric("tcp_orig_data_segs", "", "TCP segments sent for the first time"),
    _metric("tcp_loss_probes", "", "TCP tail loss probes", "", "lower"),
    _metric("tcp_spurious_rtos", "", "Spurious TCP timeouts", "", "lower"),
    _metric("tcp_held_by_own_queue", "", "TCP held by its own queue", "", "lower"),
    _metric("tcp_zero_windows_sent", "", "TCP windows closed", "", "lower"),
    _metric("tcp_zero_windows_ended", "", "TCP windows reopened"),
    _metric("tcp_zero_windows_wanted", "", "TCP windows nearly closed"),
    _metric("tcp_rcvq_pruned", "", "TCP receive queues pruned", "", "lower"),
    _metric("tcp_rcvq_collapsed", "", "TCP packets collapsed", "", "lower"),
    _metric("ip_congestion_marks", "", "IP packets with a congestion mark"),
    _metric("nic_tx_stops", "", "NIC transmit queues stopped, at least", "times", "lower"),
    _metric("nic_pauses", "", "Pause frames, at least", "", "lower"),
    _metric("nic_pcie_stalls", "", "PCIe stalls, at least", "", "lower"),
    _metric("nic_allowance_exceeded", "", "Packets over a cloud's allowance", "packets", "lower"),
    _metric(
        "nic_bw_allowance_exceeded",
        "",
        "Packets over a cloud's allowance of bandwidth",
        "packets",
        "lower",
    ),
    _metric(
        "nic_pps_allowance_exceeded",
        "",
        "Packets over a cloud's allowance of packets",
        "packets",
        "lower",
    ),
    _metric("softnet_packets", "", "Packets processed by softirq", "packets"),
    _metric("softnet_busiest", "", "Packets processed by the busiest CPU", "packets"),
    _metric("softnet_rps", "", "Wake-ups by RPS", "times"),
    _metric("softnet_flow_limited", "", "Flow limit's drops", "packets", "lower"),
    _metric("nic_interrupts", "", "NIC's interrupts"),
    _metric("nic_interrupts_busiest", "", "Interrupts of the busiest queue"),
    _metric("nic_rx_drops_busiest", "", "NIC receive drops of one queue", "packets", "lower"),
    _metric("cpu_pressure", "ms", "Time that tasks waited for a CPU", "ms", "lower"),
    _metric("memory_pressure", "ms", "Time that tasks waited for memory", "ms", "lower"),
    _metric("nic_pause_us", "", "Time paused, at least", "µs", "lower"),
    _metric("nic_pcie_stalled", "pct", "Time that PCIe delayed writes", "%", "lower"),
    _metric("class_drops", "", "Drops of shaper's classes", "packets", "lower"),
    _metric("class_overlimits", "", "Overlimits of shaper's classes", "times"),
    _metric("class_borrowed", "", "Packets on borrowed tokens of a class", "packets"),
    _metric("cpu_peak_softirq_cpu", "", "CPU with most softirq"),
    # more samples of connections (evidence.sample)
    _metric("retrans_segs", "", "Segments retransmitted, sampled", "segments", "lower"),
    _metric("reordering_seen", "", "Reordering events, sampled", "times", "lower"),
    _metric("snd_wnd", "bytes", "Peer's window", "bytes"),
    _metric("notsent", "bytes", "Unsent data in the send buffer", "bytes"),
    _metric("sndbuf_used", "pct", "Send buffer in use", "%"),
    _metric("sndbuf", "bytes", "Send buffer", "bytes"),
    _metric("own_pace", "pct", "Connections that pace by their model (BBR)", "%"),
    _metric("late_data", "pct", "Data sent in the later half of the samples", "%"),
    _metric("recv_q", "bytes", "Data waiting for the program", "bytes", "lower"),
    _metric("rcvbuf_used", "pct", "Receive buffer in use", "%"),
    _metric("rcvbuf", "bytes", "Receive buffer", "bytes"),
    _metric("rcv_space", "bytes", "Receive buffer's tuning", "bytes"),
    _metric("rcv_ssthresh", "bytes", "Largest window to offer", "bytes"),
    _metric("socket_drops", "", "Dropped by sockets", "packets", "lower"),
    # samples of the host's resources (evidence.sample.resources)
    _metric("thread_cpu", "pct", "Tool's busiest thread", "% of one CPU"),
    _metric("cpu_wait", "pct", "Time a thread waited for a CPU", "%", "lower"),
    _metric("throttled_times", "", "Throttled by a CPU quota", "times", "lower"),
    _metric("throttled", "pct", "Time held back by a CPU quota", "%", "lower"),
    _metric("cpu_mhz", "", "CPUs' frequency", "MHz"),
    _metric("link_speed", "mbps", "Link speed", "Mbit/s"),
    _metric("bql_queued", "bytes", "Bytes in the NIC's queues (BQL)", "bytes"),
    _metric("bql_limit", "bytes", "Limit of the NIC's queues (BQL)", "bytes"),
)


def _both(metric: Metric) -> Iterator[Metric]:
    """Yield the metric for the local end, then for the remote end."""
    for end, party in (("local", "sender"), ("remote", "receiver")):
        name, column = f"{end}_{metric.name}", f"{end}_{metric.column}"
        yield replace(metric, name=name, column=column, title=f"{metric.title}, {party}")


METRICS: tuple[Metric, ...] = (
    _metric("throughput", "mbps", "Throughput", "Mbit/s", "higher"),
    _metric("highest_average", "mbps", "Highest average throughput", "Mbit/s", "higher"),
    _metric("local_send_throughput", "mbps", "Send throughput", "Mbit/s"),
    _metric("remote_recv_throughput", "mbps", "Receive throughput", "Mbit/s", "higher"),
    _metric("remote_send_throughput", "mbps", "Send throughput, from the server", "Mbit/s"),
    _metric(
        "local_recv_throughput", "mbps", "Receive throughput, at the client", "Mbit/s", "higher"
    ),
    _metric("bulk_send_throughput", "mbps", "Background bulk throughput, sent", "Mbit/s", "higher"),
    _metric(
        "bulk_recv_throughput", "mbps", "Background bulk throughput, received", "Mbit/s", "higher"
    ),
    _metric("transaction_rate", "tps", "Transaction rate", "Trans/s", "higher"),
    _metric("local_sd", "us_per_kib", "Send service demand", "µs CPU/KiB", "lower"),
    _metric("remote_sd", "us_per_kib", "Receive service demand", "µs CPU/KiB", "lower"),
    Metric(
        "local_sd_tran", "local_sd_us_per_tran", "Client service demand", "µs CPU/Tran", "lower"
    ),
    Metric(
        "remote_sd_tran", "remote_sd_us_per_tran", "Server service demand", "µs CPU/Tran", "lower"
    ),
    _metric("local_cpu", "pct", "Sender CPU utilization", "%", "lower"),
    _metric("remote_cpu", "pct", "Receiver CPU utilization", "%", "lower"),
    _metric("local_cpu_peak", "pct", "Sender's busiest CPU", "%", "lower"),
    _metric("remote_cpu_peak", "pct", "Receiver's busiest CPU", "%", "lower"),
    _metric("local_send_calls", "", "Send calls"),
    _metric("remote_recv_calls", "", "Receive calls"),
    _metric("remote_send_calls", "", "Send calls of the server"),
    _metric("local_recv_calls", "", "Receive calls of the client"),
    _metric("packet_rate", "pps", "Packet rate", "packets/s", "higher"),
    _metric("latency_min", "us", "Minimum latency", "µs", "lower"),
    _metric("latency_mean", "us", "Mean latency", "µs", "lower"),
    _metric("latency_p50", "us", "Median latency", "µs", "lower"),
    _metric("latency_p90", "us", "90th-percentile latency", "µs", "lower"),
    _metric("latency_p99", "us", "99th-percentile latency", "µs", "lower"),
    _metric("latency_max", "us", "Maximum latency", "µs", "lower"),
    _metric("latency_stddev", "us", "Latency's standard deviation", "µs", "lower"),
    _metric("loss", "pct", "Packet loss", "%", "lower"),
    _metric("jitter", "us", "Jitter", "µs", "lower"),
    _metric("transport_mss", "bytes", "MSS", "bytes"),
    _metric("local_transport_retrans", "", "Segments retransmitted by the client", "", "lower"),
    _metric("remote_transport_retrans", "", "Segments retransmitted by the server", "", "lower"),
    _metric("local_process_cpu", "pct", "Client process's CPU", "% of one CPU", "lower"),
    _metric("remote_process_cpu", "pct", "Server process's CPU", "% of one CPU", "lower"),
    _metric("segments_per_ack", "", "Segments per ACK"),
    _metric("pace", "mbps", "Requested rate", "Mbit/s"),
    _metric("pace_off", "pct", "Deviation from the requested rate", "%"),
    _metric("elapsed", "s", "Elapsed time", "s"),
    _metric("window", "s", "Time window of the throughput", "s"),
    _metric("covered", "pct", "Share of the run that the throughput covers", "%"),
    _metric("start_skew", "s", "Spread of the streams' starts", "s"),
    _metric("end_skew", "s", "Spread of the streams' ends", "s"),
    _metric("controller_cpu", "pct", "netlimits' own CPU", "% of one CPU", "lower"),
    _metric("controller_memory", "mib", "netlimits' own memory", "MiB", "lower"),
    _metric("controller_busy", "pct", "CPU of the machine that runs netlimits", "%"),
    _metric("search_missed", "pct", "Beyond the bounds of the search", "%", "lower"),
    _metric("throughput_change", "s", "Time of the largest change of throughput", "s"),
    _metric("throughput_change_ratio", "", "Throughput after its largest change over that before"),
    _metric("disturbed", "pct", "Other traffic on the link", "% of the run's", "lower"),
    *chain.from_iterable(map(_both, _OF_BOTH_ENDS)),
    _metric("iperf3_loss", "pct", "Packet loss by iperf3", "%", "lower"),
)


def names() -> Iterable[str]:
    """Return the short names of METRICS.

    Returns:
        Names in the order of METRICS.
    """
    return (m.name for m in METRICS)
