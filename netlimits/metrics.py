"""The metrics: where a title, a unit, a column and "which way is better" are written, once.

A metric has a short name (what an experiment's `report:` and the command line say) and a column
(what frames and CSV files call it, with its unit). Throughput is in 10⁶ bit/s of user data that
arrived. Service demand is µs of CPU per KiB (1024 bytes) or per transaction, of the whole
machine, after netperf's formula (evidence.cpu). "Local" is the client's end (the sender),
"remote" the server's. A tool's own CPU figures keep the tool's name in front: `netperf_local_sd_…`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from netlimits.errors import InputError

Better = Literal["higher", "lower", ""]


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` in experiments, `column` in frames, `title` and `unit` on charts and tables."""

    name: str
    column: str
    title: str
    unit: str
    better: Better = ""

    @property
    def label(self) -> str:
        """The axis label: title and unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def extreme(self, end: str) -> str:
        """The column with the "min" or "max" of aggregated runs: `throughput_min_mbps`."""
        unit = self.column.removeprefix(self.name)
        return f"{self.name}_{end}{unit}" if unit != self.column else f"{self.column}_{end}"

    @property
    def direction(self) -> str:
        """ "Higher is better", "Lower is better", or nothing."""
        return f"{self.better.capitalize()} is better" if self.better else ""


Row = tuple[str, str, str, str, Better]
"""`name`, `column`, `title`, `unit`, `better` of a metric that both ends have, less its end."""

_OF_BOTH_ENDS: tuple[Row, ...] = (
    # where the CPU time went (evidence.cpu)
    ("cpu_peak_cpu", "cpu_peak_cpu", "Busiest CPU's number", "", ""),
    ("cpu_peak_softirq", "cpu_peak_softirq_pct", "Softirq on the busiest CPU", "%", "lower"),
    ("softirq", "softirq_pct", "CPU time in softirq", "%", "lower"),
    ("irq", "irq_pct", "CPU time in interrupts", "%", "lower"),
    ("steal", "steal_pct", "CPU time stolen by the host", "%", "lower"),
    # what the kernel counted (evidence.counters)
    ("tcp_in_segs", "tcp_in_segs", "TCP segments in, after GRO", "", ""),
    ("tcp_out_segs", "tcp_out_segs", "TCP segments out", "", ""),
    ("tcp_retrans_segs", "tcp_retrans_segs", "TCP segments retransmitted", "", "lower"),
    ("tcp_lost_retransmits", "tcp_lost_retransmits", "TCP retransmits lost", "", "lower"),
    ("tcp_timeouts", "tcp_timeouts", "TCP timeouts", "", "lower"),
    ("tcp_backlog_drops", "tcp_backlog_drops", "TCP backlog drops", "", "lower"),
    ("tcp_rcvq_drops", "tcp_rcvq_drops", "TCP receive queue drops", "", "lower"),
    ("udp_in_datagrams", "udp_in_datagrams", "UDP datagrams in", "", ""),
    ("udp_out_datagrams", "udp_out_datagrams", "UDP datagrams out", "", ""),
    ("udp_in_errors", "udp_in_errors", "UDP input errors", "", "lower"),
    ("udp_rcvbuf_errors", "udp_rcvbuf_errors", "UDP receive buffer errors", "", "lower"),
    ("udp_sndbuf_errors", "udp_sndbuf_errors", "UDP send buffer errors", "", "lower"),
    ("ip_frag_creates", "ip_frag_creates", "IP fragments made", "", "lower"),
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
    # the local queue (evidence.queues) and the ring (evidence.nic)
    ("qdisc_drops", "qdisc_drops", "Qdisc drops", "packets", "lower"),
    ("qdisc_overlimits", "qdisc_overlimits", "Qdisc overlimits", "times", ""),
    ("qdisc_requeues", "qdisc_requeues", "Qdisc requeues", "times", "lower"),
    ("nic_rx_drops", "nic_rx_drops", "NIC receive drops, at least", "packets", "lower"),
    # the look in mid-run (evidence.sample)
    ("processes", "processes", "Tool's processes", "", ""),
    ("threads", "threads", "Tool's threads", "", ""),
    ("connections", "connections", "Data connections", "", ""),
    ("cwnd", "cwnd_segs", "Congestion window", "segments", ""),
    ("mss", "mss_bytes", "MSS in use", "bytes", ""),
    ("rtt", "rtt_us", "TCP's round-trip time", "µs", "lower"),
    ("min_rtt", "min_rtt_us", "TCP's least round-trip time", "µs", "lower"),
    ("pacing_rate", "pacing_rate_mbps", "TCP's pacing rate", "Mbit/s", ""),
    ("delivery_rate", "delivery_rate_mbps", "TCP's delivery rate", "Mbit/s", ""),
    ("busy", "busy_pct", "Time with data in flight", "%", ""),
    ("rwnd_limited", "rwnd_limited_pct", "Busy time limited by the receive window", "%", ""),
    ("sndbuf_limited", "sndbuf_limited_pct", "Busy time limited by the send buffer", "%", ""),
    ("app_limited", "app_limited_pct", "Connections limited by the program", "%", ""),
    (
        "sampled_segments_per_ack",
        "sampled_segments_per_ack",
        "Segments per ACK, by the sample",
        "",
        "",
    ),
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
        "local_transport_retrans", "local_transport_retrans", "Segments sent again", "", "lower"
    ),
    Metric(
        "remote_transport_retrans",
        "remote_transport_retrans",
        "Segments the server sent again",
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
    Metric("pace", "pace_mbps", "Rate asked for", "Mbit/s"),
    Metric("pace_off", "pace_off_pct", "Off the rate asked for", "%"),
    Metric("elapsed", "elapsed_s", "Elapsed time", "s"),
    Metric("start_skew", "start_skew_s", "Streams' starts apart", "s", "lower"),
    Metric("end_skew", "end_skew_s", "Streams' ends apart", "s", "lower"),
    *(metric for row in _OF_BOTH_ENDS for metric in _both(*row)),
)

IDENTITY = (
    "run",
    "block",
    "config",
    "attempt",
    "status",
    "reason",
    "started",
    "duration_s",
    "shared_kernel",
)
"""The columns of a frame of runs that say how a run went, not what was varied or measured.

`started` is an ISO 8601 UTC time; `shared_kernel` says that two roles were one machine.

Imported files tell neither where they do not; what is not known is missing.
"""

TOOL_PREFIXES = ("netperf_", "iperf3_", "nuttcp_", "nttcp_")
"""A column so prefixed is that tool's own idea of the metric that follows the prefix."""


def metric(name: str) -> Metric:
    """The metric of a short name or column, a tool's own (`netperf_local_sd`) included.

    Raises InputError naming the nearest known metric.
    """
    prefix = next((p for p in TOOL_PREFIXES if name.startswith(p)), "")
    bare = name.removeprefix(prefix)
    for known in METRICS:
        if bare in (known.name, known.column):
            if not prefix:
                return known
            said_by = prefix.rstrip("_")
            return Metric(
                prefix + known.name,
                prefix + known.column,
                f"{known.title} by {said_by}",
                known.unit,
                known.better,
            )
    near = difflib.get_close_matches(bare, [m.name for m in METRICS], n=1)
    hint = f"; did you mean {prefix + near[0]}?" if near else f"; known: {', '.join(names())}"
    raise InputError(f"no metric is called {name!r}{hint}")


def names() -> Iterable[str]:
    """The short names, in the order of METRICS."""
    return (m.name for m in METRICS)
