"""The metrics: where a title, a unit, a column and "which way is better" are written, once.

A metric has a short name (what an experiment's `report:` and the command line say) and a column
(what frames and CSV files call it, with its unit). Throughput is in 10⁶ bit/s of user data that
arrived. Service demand is µs of CPU per KiB (1024 bytes) or per transaction, of the whole
machine, all over one window (evidence.cpu); `ticks` in a name is netperf's formula. "Local" is the
client's end, "remote" the server's; titles are those of data that the client sends, and
`Metric.towards` has them for the other directions. A tool's own CPU figures keep the tool's name in
front: `netperf_local_sd_…`.

One vocabulary: what `select:` calls a figure (metrics.selectors) is accepted wherever a metric is
named, and a name that is none is answered with those that mean the same.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from netlimits.errors import InputError
from netlimits.metrics import selectors

Better = Literal["higher", "lower", ""]
Direction = Literal["send", "recv", "both", "rr", ""]
"""Which way data goes: from the client, to it, both, transactions; "" where runs differ."""

_ENDS: Mapping[str, Mapping[str, str]] = {
    "recv": {"sender": "receiver", "receiver": "sender", "send": "receive", "receive": "send"},
    "both": {"sender": "client", "receiver": "server", "send": "client", "receive": "server"},
}
"""Direction -> what the words of a title become; in all others both ends send."""


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

    def towards(self, direction: Direction) -> Metric:
        """The same figure, its title after the direction of the data.

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
        """ "Higher is better", "Lower is better", or nothing."""
        return f"{self.better.capitalize()} is better" if self.better else ""


_OF_AN_END = re.compile(r"(\w+_)?(local|remote)_(?!send_|recv_)")
"""Metrics of one end, but for those whose own name says what it does."""
_ROLE_WORDS = re.compile(
    r"\b(sender|receiver|send|receive)\b(?! (buffer|window|drops))", re.IGNORECASE
)

Row = tuple[str, str, str, str, Better]
"""`name`, `column`, `title`, `unit`, `better` of a metric that both ends have, less its end."""

_OF_BOTH_ENDS: tuple[Row, ...] = (
    # where the CPU time went (evidence.cpu)
    ("cpu_peak_cpu", "cpu_peak_cpu", "Busiest CPU's number", "", ""),
    ("cpu_peak_softirq", "cpu_peak_softirq_pct", "Most softirq of any CPU", "%", "lower"),
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
    # by netperf's own formula, which takes ticks (evidence.cpu)
    ("cpu_ticks", "cpu_ticks_pct", "CPU utilization by ticks", "%", "lower"),
    ("sd_ticks", "sd_ticks_us_per_kib", "Service demand by ticks", "µs CPU/KiB", "lower"),
    ("sd_ticks_tran", "sd_ticks_us_per_tran", "Service demand by ticks", "µs CPU/Tran", "lower"),
    # what else the kernel and the card counted (evidence.counters, evidence.nic)
    ("tcp_orig_data_segs", "tcp_orig_data_segs", "TCP segments sent for the first time", "", ""),
    ("tcp_loss_probes", "tcp_loss_probes", "TCP tail loss probes", "", "lower"),
    ("tcp_spurious_rtos", "tcp_spurious_rtos", "TCP timeouts for nothing", "", "lower"),
    ("tcp_held_by_own_queue", "tcp_held_by_own_queue", "TCP held by its own queue", "", "lower"),
    ("tcp_zero_windows_sent", "tcp_zero_windows_sent", "TCP windows closed", "", "lower"),
    ("tcp_zero_windows_ended", "tcp_zero_windows_ended", "TCP windows opened again", "", ""),
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
    Metric("remote_send_calls", "remote_send_calls", "Send calls, of the server", ""),
    Metric("local_recv_calls", "local_recv_calls", "Receive calls, of the client", ""),
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
        "Segments the client sent again",
        "",
        "lower",
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
    Metric("disturbed", "disturbed_pct", "Other traffic on the link", "% of the run's", "lower"),
    *(metric for row in _OF_BOTH_ENDS for metric in _both(*row)),
)

IDENTITY: Mapping[str, str] = {
    "run": "Its number in the plan, from 1.",
    "block": "The block that it belongs to, from 1; contrasts are paired by it.",
    "config": "The configuration: a hash of its factors and derived values.",
    "attempt": "From 1; of several attempts at a run the last one counts.",
    "status": "ok, failed, timeout, invalid or interrupted; only ok counts.",
    "reason": "Why it is not ok.",
    "started": "ISO 8601, UTC.",
    "duration_s": "Seconds from its start to its end, settings and evidence included.",
    "shared_kernel": "Whether two roles were one machine, whose CPUs then count for both.",
}
"""The columns of a frame of runs that say how a run went, not what was varied or measured.

`started` is an ISO 8601 UTC time; `shared_kernel` says that two roles were one machine.

Imported files tell neither where they do not; what is not known is missing.
"""

TOOL_PREFIXES = ("netperf_", "iperf3_", "nuttcp_", "nttcp_")
"""A column so prefixed is that tool's own idea of the metric that follows the prefix."""


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
"""The last word of a column's name, where it is a unit, as people write it."""


def metric(name: str) -> Metric:
    """The metric of a short name, a column or a selector, a tool's own included.

    Raises InputError naming the metrics that mean the same, or the nearest in letters.
    """
    prefix = next((p for p in TOOL_PREFIXES if name.lower().startswith(p)), "")
    bare = name[len(prefix) :]
    for known in METRICS:
        if bare in (known.name, known.column):
            return _by_tool(prefix, known)
    selector = bare.upper()
    if selector in selectors.SELECTORS and bare in (selector, selector.lower()):
        if selectors.is_text(selector):
            raise InputError(f"{name!r} is a word, not a figure: no table or chart can be of it")
        if bare == selector and bare.lower() in names():
            return metric(prefix + bare.lower())
        column = selectors.column(selector)
        return _of_column(column) or _selected(selector, column)
    near = " or ".join(nearest(bare))
    hint = f"did you mean {near}?" if near else f"known: {', '.join(names())}"
    raise InputError(f"no metric is called {name!r}; {hint}")


def _of_column(column: str) -> Metric | None:
    """The metric that has this column, by a tool or by us."""
    prefix = next((p for p in TOOL_PREFIXES if column.startswith(p)), "")
    bare = column.removeprefix(prefix)
    return next((_by_tool(prefix, known) for known in METRICS if bare == known.column), None)


def _by_tool(prefix: str, known: Metric) -> Metric:
    """A metric of ours, or a tool's own idea of it."""
    if not prefix:
        return known
    return replace(
        known,
        name=prefix + known.name,
        column=prefix + known.column,
        title=f"{known.title} by {prefix.rstrip('_')}",
    )


def _selected(selector: str, column: str) -> Metric:
    """A figure of netperf's that METRICS does not have: its name is its title."""
    unit = SUFFIX_UNITS.get(column.rpartition("_")[2], "")
    words = selector.replace("_", " ").lower()
    return Metric(selector.lower(), column, f"netperf's {words}", unit)


_MEANING: Mapping[str, str] = {
    **dict.fromkeys(("avg", "average", "averages"), "mean"),
    **dict.fromkeys(("median", "p50"), "p50"),
    **dict.fromkeys(("minimum", "least", "lowest", "best"), "min"),
    **dict.fromkeys(("maximum", "worst", "greatest"), "max"),
    **dict.fromkeys(("std", "stdev", "stddev", "deviation"), "stddev"),
    **dict.fromkeys(("delay", "rt", "response", "roundtrip"), "latency"),
    **dict.fromkeys(
        ("bandwidth", "goodput", "bitrate", "speed", "mbps", "gbps", "bps"), "throughput"
    ),
    **dict.fromkeys(("tps", "transactions", "trans"), "transaction"),
    **dict.fromkeys(("pps", "packets"), "packet"),
    **dict.fromkeys(("utilization", "util", "usage", "load"), "cpu"),
    **dict.fromkeys(("demand", "cost"), "sd"),
    **dict.fromkeys(
        (
            *("retransmit", "retransmits", "retransmission", "retransmissions"),
            *("retransmitted", "resent", "resends", "retr", "retries"),
        ),
        "retrans",
    ),
    **dict.fromkeys(("lost", "losses", "dropped", "drops", "drop"), "loss"),
    **dict.fromkeys(("sender", "client", "tx", "source"), "local"),
    **dict.fromkeys(("receiver", "server", "rx", "sink", "destination"), "remote"),
    **dict.fromkeys(("sent", "sending", "transmit"), "send"),
    **dict.fromkeys(("receive", "received", "receiving"), "recv"),
    **dict.fromkeys(("acks", "acknowledgement", "acknowledgements"), "ack"),
    **dict.fromkeys(("segs", "segment"), "segments"),
    **dict.fromkeys(("time", "duration", "seconds"), "elapsed"),
}
"""Words of one meaning -> the one that names of metrics have."""

_EMPTY_WORDS = frozenset(
    ("rate", "the", "of", "per", "in", "us", "pct", "percent", "number", "count")
)
MOST_HINTS = 8


def nearest(name: str) -> list[str]:
    """The metrics that mean what a wrong name says, by its words; else the nearest in letters."""
    wanted = _words(name)
    scores: dict[str, float] = {}
    for known in METRICS:
        words = _words(known.name.replace("rx_", "in_").replace("tx_", "out_"))
        shared = len(wanted & words)
        if shared:
            scores[known.name] = shared - 0.1 * len(words - wanted - {"local", "remote"})
    enough = max(scores.values(), default=0)
    for slack in (0.15, 0.0) if scores else ():
        best = [known for known, score in scores.items() if score >= enough - slack - 1e-9]
        if len(best) <= MOST_HINTS:
            return best
    near = difflib.get_close_matches(name[:80].lower(), list(names()), n=1)
    return near or [known for known, score in scores.items() if score == enough][:MOST_HINTS]


def _words(name: str) -> frozenset[str]:
    """What a name's words mean, less those that mean little."""
    words = re.findall(r"[a-z]+[0-9]*|[0-9]+", name.lower())
    found = frozenset(_MEANING.get(word, word) for word in words)
    return found - _EMPTY_WORDS or found


def names() -> Iterable[str]:
    """The short names, in the order of METRICS."""
    return (m.name for m in METRICS)
