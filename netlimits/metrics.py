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


METRICS: tuple[Metric, ...] = (
    Metric("throughput", "throughput_mbps", "Throughput", "Mbit/s", "higher"),
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
    Metric("elapsed", "elapsed_s", "Elapsed time", "s"),
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
