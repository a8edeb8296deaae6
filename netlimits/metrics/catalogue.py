"""The table of all metrics: name, column, title, unit and better direction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

Better = Literal["higher", "lower", ""]
Direction = Literal["send", "recv", "both", "rr", ""]
"""Direction of the data: from the client, to it, both, transactions; "" where runs differ."""

_ENDS: Mapping[str, Mapping[str, str]] = {
    "recv": {"sender": "receiver", "receiver": "sender", "send": "receive", "receive": "send"},
    "both": {"sender": "client", "receiver": "server", "send": "client", "receive": "server"},
}
"""Direction -> replacements for the words of a title; other directions use those of "both"."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity that runs measure.

    Attributes:
        name: Short name in experiments and on the command line, such as "throughput".
        column: Column of frames and CSV files, with the unit: "throughput_mbps".
        title: Title for tables and charts, for data that the client sends.
        unit: Unit as printed, "" for counts.
        better: The better direction, "" if neither is.
    """

    name: str
    column: str
    title: str
    unit: str
    better: Better = ""

    @property
    def label(self) -> str:
        """The axis label: title and unit, such as "Throughput (Mbit/s)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def extreme(self, end: str) -> str:
        """Return the column of a minimum or maximum over streams: `throughput_min_mbps`.

        Args:
            end: "min" or "max".
        """
        unit = self.column.removeprefix(self.name)
        return f"{self.name}_{end}{unit}" if unit != self.column else f"{self.column}_{end}"

    def towards(self, direction: Direction) -> Metric:
        """Return the metric with a title that fits a direction of the data.

        The client receives in reverse and MAERTS tests; in transactions and bidirectional tests
        there is neither sender nor receiver, but a client and a server.
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
        """The note "Higher is better" or "Lower is better", or ""."""
        return f"{self.better.capitalize()} is better" if self.better else ""


_OF_AN_END = re.compile(r"(\w+_)?(local|remote)_(?!send_|recv_)")
"""Names of metrics of one end, except those whose name contains the direction."""
_ROLE_WORDS = re.compile(
    r"\b(sender|receiver|send|receive)\b(?! (buffer|window|drops))", re.IGNORECASE
)

Row = tuple[str, str, str, str, Better]
"""Fields of a Metric that both ends have, without the end's prefix."""

_OF_BOTH_ENDS: tuple[Row, ...] = (
    # where the CPU time went (evidence.cpu)
    ("cpu_peak_cpu", "cpu_peak_cpu", "Busiest CPU's number", "", ""),
    ("cpu_peak_softirq", "cpu_peak_softirq_pct", "Most softirq of any CPU", "%", "lower"),
    ("softirq", "softirq_pct", "CPU time in softirq", "%", "lower"),
    ("irq", "irq_pct", "CPU time in interrupts", "%", "lower"),
    ("steal", "steal_pct", "CPU time stolen by the host", "%", "lower"),
    ("other_cpu", "other_cpu_pct", "CPU time of other programs", "% of one CPU", "lower"),
    # what the kernel counted (evidence.counted.counters)
    ("tcp_in_segs", "tcp_in_segs", "TCP segments in, after GRO", "", ""),
    ("tcp_out_segs", "tcp_out_segs", "TCP segments out", "", ""),
    ("tcp_retrans_segs", "tcp_retrans_segs", "TCP segments retransmitted", "", "lower"),
    ("tcp_lost_retransmits", "tcp_lost_retransmits", "TCP retransmits lost", "", "lower"),
    ("tcp_timeouts", "tcp_timeouts", "TCP timeouts", "", "lower"),
    ("tcp_recoveries", "tcp_recoveries", "TCP recoveries from loss", "", "lower"),
    ("tcp_backlog_drops", "tcp_backlog_drops", "TCP backlog drops", "", "lower"),
    ("tcp_rcvq_drops", "tcp_rcvq_drops", "TCP receive queue drops", "", "lower"),
    ("udp_in_datagrams", "udp_in_datagrams", "UDP datagrams in", "", ""),
    ("udp_out_datagrams", "udp_out_datagrams", "UDP datagrams out", "", ""),
    ("udp_in_errors", "udp_in_errors", "UDP input errors", "", "lower"),
    ("udp_rcvbuf_errors", "udp_rcvbuf_errors", "UDP receive buffer errors", "", "lower"),
    ("udp_sndbuf_errors", "udp_sndbuf_errors", "UDP send buffer errors", "", "lower"),
    ("ip_frag_creates", "ip_frag_creates", "IP fragments created", "", "lower"),
    ("ip_reasm_fails", "ip_reasm_fails", "IP reassembly failures", "", "lower"),
    ("softnet_dropped", "softnet_dropped", "Backlog (softnet) drops", "packets", "lower"),
    ("softnet_squeezed", "softnet_squeezed", "NAPI budget exhausted", "times", "lower"),
    ("rx_packets", "rx_packets", "Interface packets in", "packets", ""),
    ("tx_packets", "tx_packets", "Interface packets out", "packets", ""),
    ("rx_bytes", "rx_bytes", "Interface bytes in", "bytes", ""),
    ("tx_bytes", "tx_bytes", "Interface bytes out", "bytes", ""),
    ("rx_dropped", "rx_dropped", "Interface receive drops", "packets", "lower"),
    ("tx_dropped", "tx_dropped", "Interface transmit drops", "packets", "lower"),
    ("rx_errors", "rx_errors", "Interface receive errors", "packets", "lower"),
    ("rx_missed", "rx_missed", "Interface packets missed", "packets", "lower"),
    # the local queue (evidence.counted.queues) and the ring (evidence.counted.nic)
    ("qdisc_drops", "qdisc_drops", "Qdisc drops", "packets", "lower"),
    ("qdisc_overlimits", "qdisc_overlimits", "Qdisc overlimits", "times", ""),
    ("qdisc_rate", "qdisc_rate_mbps", "Rate of the qdisc", "Mbit/s", ""),
    ("qdisc_flow_rate", "qdisc_flow_rate_mbps", "Rate of the qdisc, each flow", "Mbit/s", ""),
    ("qdisc_requeues", "qdisc_requeues", "Qdisc requeues", "times", "lower"),
    ("ingress_drops", "ingress_drops", "Drops by policers on the way in", "packets", "lower"),
    ("nic_rx_drops", "nic_rx_drops", "NIC receive drops, at least", "packets", "lower"),
    # the samples during a run (evidence.sample)
    ("processes", "processes", "Tool's processes", "", ""),
    ("threads", "threads", "Tool's threads", "", ""),
    ("connections", "connections", "Data connections", "", ""),
    ("cwnd", "cwnd_segs", "Congestion window", "segments", ""),
    ("mss", "mss_bytes", "MSS in use", "bytes", ""),
    ("rtt", "rtt_us", "TCP's round-trip time", "µs", "lower"),
    ("min_rtt", "min_rtt_us", "TCP's minimum round-trip time", "µs", "lower"),
    ("pacing_rate", "pacing_rate_mbps", "TCP's pacing rate", "Mbit/s", ""),
    ("delivery_rate", "delivery_rate_mbps", "TCP's delivery rate", "Mbit/s", ""),
    ("busy", "busy_pct", "Time with data in flight", "%", ""),
    ("rwnd_limited", "rwnd_limited_pct", "Busy time limited by the receive window", "%", ""),
    ("sndbuf_limited", "sndbuf_limited_pct", "Busy time limited by the send buffer", "%", ""),
    ("app_limited", "app_limited_pct", "Connections limited by the program", "%", ""),
    (
        "sampled_segments_per_ack",
        "sampled_segments_per_ack",
        "Segments per ACK, sampled",
        "",
        "",
    ),
    # by netperf's own formula, which takes ticks (evidence.cpu)
    ("cpu_ticks", "cpu_ticks_pct", "CPU utilization by ticks", "%", "lower"),
    ("instrument_cpu", "instrument_cpu_pct", "Sampler's CPU utilization", "%", "lower"),
    ("lost_ticks", "lost_ticks_pct", "CPU time missed by ticks", "%", "lower"),
    ("sd_ticks", "sd_ticks_us_per_kib", "Service demand by ticks", "µs CPU/KiB", "lower"),
    ("sd_ticks_tran", "sd_ticks_us_per_tran", "Service demand by ticks", "µs CPU/Tran", "lower"),
    # other counters of the kernel and the NIC (evidence.counted)
    ("tcp_orig_data_segs", "tcp_orig_data_segs", "TCP segments sent for the first time", "", ""),
    ("tcp_loss_probes", "tcp_loss_probes", "TCP tail loss probes", "", "lower"),
    ("tcp_spurious_rtos", "tcp_spurious_rtos", "Spurious TCP timeouts", "", "lower"),
    ("tcp_held_by_own_queue", "tcp_held_by_own_queue", "TCP held by its own queue", "", "lower"),
    ("tcp_zero_windows_sent", "tcp_zero_windows_sent", "TCP windows closed", "", "lower"),
    ("tcp_zero_windows_ended", "tcp_zero_windows_ended", "TCP windows reopened", "", ""),
    ("tcp_zero_windows_wanted", "tcp_zero_windows_wanted", "TCP windows nearly closed", "", ""),
    ("tcp_rcvq_pruned", "tcp_rcvq_pruned", "TCP receive queues pruned", "", "lower"),
    ("tcp_rcvq_collapsed", "tcp_rcvq_collapsed", "TCP packets collapsed", "", "lower"),
    ("ip_congestion_marks", "ip_congestion_marks", "IP packets with a congestion mark", "", ""),
    ("nic_tx_stops", "nic_tx_stops", "NIC transmit queues stopped, at least", "times", "lower"),
    ("nic_pauses", "nic_pauses", "Pause frames, at least", "", "lower"),
    ("nic_pcie_stalls", "nic_pcie_stalls", "PCIe stalls, at least", "", "lower"),
    (
        "nic_allowance_exceeded",
        "nic_allowance_exceeded",
        "Packets over a cloud's allowance",
        "packets",
        "lower",
    ),
    (
        "nic_bw_allowance_exceeded",
        "nic_bw_allowance_exceeded",
        "Packets over a cloud's allowance of bandwidth",
        "packets",
        "lower",
    ),
    (
        "nic_pps_allowance_exceeded",
        "nic_pps_allowance_exceeded",
        "Packets over a cloud's allowance of packets",
        "packets",
        "lower",
    ),
    ("softnet_packets", "softnet_packets", "Packets processed by softirq", "packets", ""),
    ("softnet_busiest", "softnet_busiest", "Packets processed by the busiest CPU", "packets", ""),
    ("softnet_rps", "softnet_rps", "Wake-ups by RPS", "times", ""),
    ("softnet_flow_limited", "softnet_flow_limited", "Flow limit's drops", "packets", "lower"),
    ("nic_interrupts", "nic_interrupts", "NIC's interrupts", "", ""),
    ("nic_interrupts_busiest", "nic_interrupts_busiest", "Interrupts of the busiest queue", "", ""),
    (
        "nic_rx_drops_busiest",
        "nic_rx_drops_busiest",
        "NIC receive drops of one queue",
        "packets",
        "lower",
    ),
    ("cpu_pressure", "cpu_pressure_ms", "Time that tasks waited for a CPU", "ms", "lower"),
    ("memory_pressure", "memory_pressure_ms", "Time that tasks waited for memory", "ms", "lower"),
    ("nic_pause_us", "nic_pause_us", "Time paused, at least", "µs", "lower"),
    ("nic_pcie_stalled", "nic_pcie_stalled_pct", "Time that PCIe delayed writes", "%", "lower"),
    ("class_drops", "class_drops", "Drops of shaper's classes", "packets", "lower"),
    ("class_overlimits", "class_overlimits", "Overlimits of shaper's classes", "times", ""),
    ("class_borrowed", "class_borrowed", "Packets on borrowed tokens of a class", "packets", ""),
    ("cpu_peak_softirq_cpu", "cpu_peak_softirq_cpu", "CPU with most softirq", "", ""),
    # other figures of connections (evidence.sample)
    ("retrans_segs", "retrans_segs", "Segments retransmitted, sampled", "segments", "lower"),
    ("reordering_seen", "reordering_seen", "Reordering events, sampled", "times", "lower"),
    ("snd_wnd", "snd_wnd_bytes", "Peer's window", "bytes", ""),
    ("notsent", "notsent_bytes", "Unsent data in the send buffer", "bytes", ""),
    ("sndbuf_used", "sndbuf_used_pct", "Send buffer in use", "%", ""),
    ("sndbuf", "sndbuf_bytes", "Send buffer", "bytes", ""),
    ("own_pace", "own_pace_pct", "Connections that pace by their model (BBR)", "%", ""),
    ("late_data", "late_data_pct", "Data sent in the later half of the samples", "%", ""),
    ("recv_q", "recv_q_bytes", "Data waiting for the program", "bytes", "lower"),
    ("rcvbuf_used", "rcvbuf_used_pct", "Receive buffer in use", "%", ""),
    ("rcvbuf", "rcvbuf_bytes", "Receive buffer", "bytes", ""),
    ("rcv_space", "rcv_space_bytes", "Receive buffer's tuning", "bytes", ""),
    ("rcv_ssthresh", "rcv_ssthresh_bytes", "Largest window to offer", "bytes", ""),
    ("socket_drops", "socket_drops", "Dropped by sockets", "packets", "lower"),
    # sampled figures of the host (evidence.sample.resources)
    ("thread_cpu", "thread_cpu_pct", "Tool's busiest thread", "% of one CPU", ""),
    ("cpu_wait", "cpu_wait_pct", "Time a thread waited for a CPU", "%", "lower"),
    ("throttled_times", "throttled_times", "Throttled by a CPU quota", "times", "lower"),
    ("throttled", "throttled_pct", "Time held back by a CPU quota", "%", "lower"),
    ("cpu_mhz", "cpu_mhz", "CPUs' frequency", "MHz", ""),
    ("link_speed", "link_speed_mbps", "Link speed", "Mbit/s", ""),
    ("bql_queued", "bql_queued_bytes", "Bytes in the NIC's queues (BQL)", "bytes", ""),
    ("bql_limit", "bql_limit_bytes", "Limit of the NIC's queues (BQL)", "bytes", ""),
)


def _both(name: str, column: str, title: str, unit: str, better: Better) -> tuple[Metric, Metric]:
    return (
        Metric(f"local_{name}", f"local_{column}", f"{title}, sender", unit, better),
        Metric(f"remote_{name}", f"remote_{column}", f"{title}, receiver", unit, better),
    )


METRICS: tuple[Metric, ...] = (
    Metric("throughput", "throughput_mbps", "Throughput", "Mbit/s", "higher"),
    Metric(
        "highest_average",
        "highest_average_mbps",
        "Highest average throughput",
        "Mbit/s",
        "higher",
    ),
    Metric("local_send_throughput", "local_send_throughput_mbps", "Send throughput", "Mbit/s"),
    Metric(
        "remote_recv_throughput",
        "remote_recv_throughput_mbps",
        "Receive throughput",
        "Mbit/s",
        "higher",
    ),
    Metric(
        "remote_send_throughput",
        "remote_send_throughput_mbps",
        "Send throughput, from the server",
        "Mbit/s",
    ),
    Metric(
        "local_recv_throughput",
        "local_recv_throughput_mbps",
        "Receive throughput, at the client",
        "Mbit/s",
        "higher",
    ),
    Metric(
        "bulk_send_throughput",
        "bulk_send_throughput_mbps",
        "Background bulk throughput, sent",
        "Mbit/s",
        "higher",
    ),
    Metric(
        "bulk_recv_throughput",
        "bulk_recv_throughput_mbps",
        "Background bulk throughput, received",
        "Mbit/s",
        "higher",
    ),
    Metric("transaction_rate", "transaction_rate_tps", "Transaction rate", "Trans/s", "higher"),
    Metric("local_sd", "local_sd_us_per_kib", "Send service demand", "µs CPU/KiB", "lower"),
    Metric("remote_sd", "remote_sd_us_per_kib", "Receive service demand", "µs CPU/KiB", "lower"),
    Metric(
        "local_sd_tran", "local_sd_us_per_tran", "Client service demand", "µs CPU/Tran", "lower"
    ),
    Metric(
        "remote_sd_tran", "remote_sd_us_per_tran", "Server service demand", "µs CPU/Tran", "lower"
    ),
    Metric("local_cpu", "local_cpu_pct", "Sender CPU utilization", "%", "lower"),
    Metric("remote_cpu", "remote_cpu_pct", "Receiver CPU utilization", "%", "lower"),
    Metric("local_cpu_peak", "local_cpu_peak_pct", "Sender's busiest CPU", "%", "lower"),
    Metric("remote_cpu_peak", "remote_cpu_peak_pct", "Receiver's busiest CPU", "%", "lower"),
    Metric("local_send_calls", "local_send_calls", "Send calls", ""),
    Metric("remote_recv_calls", "remote_recv_calls", "Receive calls", ""),
    Metric("remote_send_calls", "remote_send_calls", "Send calls of the server", ""),
    Metric("local_recv_calls", "local_recv_calls", "Receive calls of the client", ""),
    Metric("packet_rate", "packet_rate_pps", "Packet rate", "packets/s", "higher"),
    Metric("latency_min", "latency_min_us", "Minimum latency", "µs", "lower"),
    Metric("latency_mean", "latency_mean_us", "Mean latency", "µs", "lower"),
    Metric("latency_p50", "latency_p50_us", "Median latency", "µs", "lower"),
    Metric("latency_p90", "latency_p90_us", "90th-percentile latency", "µs", "lower"),
    Metric("latency_p99", "latency_p99_us", "99th-percentile latency", "µs", "lower"),
    Metric("latency_max", "latency_max_us", "Maximum latency", "µs", "lower"),
    Metric("latency_stddev", "latency_stddev_us", "Latency's standard deviation", "µs", "lower"),
    Metric("loss", "loss_pct", "Packet loss", "%", "lower"),
    Metric("jitter", "jitter_us", "Jitter", "µs", "lower"),
    Metric("transport_mss", "transport_mss_bytes", "MSS", "bytes"),
    Metric(
        "local_transport_retrans",
        "local_transport_retrans",
        "Segments retransmitted by the client",
        "",
        "lower",
    ),
    Metric(
        "remote_transport_retrans",
        "remote_transport_retrans",
        "Segments retransmitted by the server",
        "",
        "lower",
    ),
    Metric(
        "local_process_cpu",
        "local_process_cpu_pct",
        "Client process's CPU",
        "% of one CPU",
        "lower",
    ),
    Metric(
        "remote_process_cpu",
        "remote_process_cpu_pct",
        "Server process's CPU",
        "% of one CPU",
        "lower",
    ),
    Metric("segments_per_ack", "segments_per_ack", "Segments per ACK", ""),
    Metric("pace", "pace_mbps", "Requested rate", "Mbit/s"),
    Metric("pace_off", "pace_off_pct", "Deviation from the requested rate", "%"),
    Metric("elapsed", "elapsed_s", "Elapsed time", "s"),
    Metric("window", "window_s", "Time window of the throughput", "s"),
    Metric("covered", "covered_pct", "Share of the run that the throughput covers", "%"),
    Metric("start_skew", "start_skew_s", "Spread of the streams' starts", "s"),
    Metric("end_skew", "end_skew_s", "Spread of the streams' ends", "s"),
    Metric("controller_cpu", "controller_cpu_pct", "netlimits' own CPU", "% of one CPU", "lower"),
    Metric("controller_memory", "controller_memory_mib", "netlimits' own memory", "MiB", "lower"),
    Metric("controller_busy", "controller_busy_pct", "CPU of the machine that runs netlimits", "%"),
    Metric("disturbed", "disturbed_pct", "Other traffic on the link", "% of the run's", "lower"),
    *(metric for row in _OF_BOTH_ENDS for metric in _both(*row)),
    Metric("iperf3_loss", "iperf3_loss_pct", "Packet loss by iperf3", "%", "lower"),
)


def names() -> Iterable[str]:
    """Return the short names in the order of METRICS."""
    return (m.name for m in METRICS)
