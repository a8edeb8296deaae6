"""What the kernel counted: protocols, softnet backlog, interface; one command for all of them.

`grep` prints the lines of every file behind the file's name, skips the files that a kernel does
not have, and needs neither a shell nor root. `nstat` is not used: it keeps one history file
for all namespaces, and differences against whoever called it last.

/proc/net/snmp, snmp6 and netstat are the network namespace's: with the data link in the same one
as ssh, a few ssh segments are counted along. /proc/net/softnet_stat is the whole machine's, also
where two test hosts share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netlimits.errors import ToolFailure
from netlimits.evidence.counted._difference import growth
from netlimits.model import Command, Completed, Scalar

SNMP, NETSTAT = "/proc/net/snmp", "/proc/net/netstat"
SNMP6 = "/proc/net/snmp6"
SOFTNET = "/proc/net/softnet_stat"

_NOT_ASKED = "^(Icmp6|IcmpMsg|MPTcp|UdpLite)"
"""Lines that are left out: a third of the output, kept four times a run."""

PROTOCOLS = {
    "tcp_in_segs": ("Tcp.InSegs",),
    "tcp_out_segs": ("Tcp.OutSegs",),
    "tcp_retrans_segs": ("Tcp.RetransSegs",),
    "tcp_lost_retransmits": ("TcpExt.TCPLostRetransmit",),
    "tcp_timeouts": ("TcpExt.TCPTimeouts",),
    "tcp_backlog_drops": ("TcpExt.TCPBacklogDrop",),
    "tcp_rcvq_drops": ("TcpExt.TCPRcvQDrop",),
    "tcp_orig_data_segs": ("TcpExt.TCPOrigDataSent",),
    "tcp_loss_probes": ("TcpExt.TCPLossProbes",),
    "tcp_spurious_rtos": ("TcpExt.TCPSpuriousRTOs",),
    "tcp_held_by_own_queue": ("TcpExt.TCPSpuriousRtxHostQueues",),
    "tcp_zero_windows_sent": ("TcpExt.TCPToZeroWindowAdv",),
    "tcp_zero_windows_ended": ("TcpExt.TCPFromZeroWindowAdv",),
    "tcp_zero_windows_wanted": ("TcpExt.TCPWantZeroWindowAdv",),
    "tcp_rcvq_pruned": ("TcpExt.PruneCalled",),
    "tcp_rcvq_collapsed": ("TcpExt.TCPRcvCollapsed",),
    "ip_congestion_marks": ("IpExt.InCEPkts", "Ip6InCEPkts"),
    "udp_in_datagrams": ("Udp.InDatagrams", "Udp6InDatagrams"),
    "udp_out_datagrams": ("Udp.OutDatagrams", "Udp6OutDatagrams"),
    "udp_in_errors": ("Udp.InErrors", "Udp6InErrors"),
    "udp_rcvbuf_errors": ("Udp.RcvbufErrors", "Udp6RcvbufErrors"),
    "udp_sndbuf_errors": ("Udp.SndbufErrors", "Udp6SndbufErrors"),
    "ip_frag_creates": ("Ip.FragCreates", "Ip6FragCreates"),
    "ip_reasm_fails": ("Ip.ReasmFails", "Ip6ReasmFails"),
}
"""The kernel's names of each figure, added up. Tcp and TcpExt count IPv4 and IPv6 together.

`tcp_in_segs` counts after GRO and `tcp_out_segs` before TSO: the first is packets that the stack
took up, the second segments as on the wire. UDP's input errors include its receive buffer's.
"""

INTERFACE = {
    "rx_packets": "rx_packets",
    "tx_packets": "tx_packets",
    "rx_bytes": "rx_bytes",
    "tx_bytes": "tx_bytes",
    "rx_dropped": "rx_dropped",
    "tx_dropped": "tx_dropped",
    "rx_errors": "rx_errors",
    "rx_missed": "rx_missed_errors",
}
"""The files of /sys/class/net/INTERFACE/statistics, by figure."""


@dataclass(frozen=True, slots=True)
class Counts:
    """One reading: counters by the kernel's name, softnet (dropped, squeezed) by CPU."""

    host: str
    counters: Mapping[str, int]
    softnet: Mapping[int, tuple[int, int]]


class Counters:
    """Evidence of loss, drops, errors and volume, as the kernel counted them."""

    name = "counters"

    def read(self, interface: str) -> Command:
        """Every file at once; those that a kernel does not have are passed over."""
        statistics = (f"/sys/class/net/{interface}/statistics/{f}" for f in INTERFACE.values())
        files = (SNMP, SNMP6, NETSTAT, SOFTNET, *statistics)
        return Command(("grep", "-HsvE", _NOT_ASKED, *files), deadline=10)

    def figures(self, before: Completed, after: Completed) -> dict[str, Scalar]:
        """Counts under the names of PROTOCOLS and INTERFACE, and `softnet_dropped`, `_squeezed`.

        Nothing where /proc/net cannot be read at all (a container may hide it). Raises ToolFailure
        for a counter that went back, and for an interface or a CPU that went.
        """
        return grown(counts(before), counts(after))


def counts(completed: Completed) -> Counts:
    """What the command printed. Raises ToolFailure when it did not end in time, or is no counts."""
    if completed.timed_out:
        raise ToolFailure(f"{completed.host}: reading the kernel's counters did not end in time")
    try:
        return _counts(completed)
    except (ValueError, IndexError) as error:
        raise ToolFailure(f"{completed.host}: the kernel's counters are cut off: {error}") from None


def _counts(completed: Completed) -> Counts:
    counters: dict[str, int] = {}
    softnet: dict[int, tuple[int, int]] = {}
    header: list[str] = []
    for line in completed.stdout.splitlines():
        path, _, text = line.partition(":")
        fields = text.split()
        if path in (SNMP, NETSTAT):
            if header[:1] == fields[:1]:  # `Tcp: InSegs …`, then `Tcp: 12 …`
                protocol = fields[0].removesuffix(":")
                pairs = zip(header[1:], fields[1:], strict=False)
                counters |= {f"{protocol}.{name}": int(value) for name, value in pairs}
                fields = []
            header = fields
        elif path == SNMP6:
            counters[fields[0]] = int(fields[1])
        elif path == SOFTNET:
            row = [int(field, 16) for field in fields]
            # column 13 is the CPU; kernels before 5.10 list those online without saying which
            softnet[row[12] if len(row) > 12 else len(softnet)] = (row[1], row[2])
        elif path.startswith("/sys/class/net/"):
            counters[path.rpartition("/")[2]] = int(text)
    return Counts(completed.host, counters, softnet)


def grown(before: Counts, after: Counts) -> dict[str, Scalar]:
    """The figures between two readings; what the host does not count at all is left out.

    Raises ToolFailure for a counter that went back, and for an interface or a CPU that went.
    """
    host = before.host
    named = PROTOCOLS | {figure: (counter,) for figure, counter in INTERFACE.items()}
    figures: dict[str, Scalar] = {}
    for figure, kernels in named.items():
        present = [name for name in kernels if name in before.counters]
        if gone := [name for name in present if name not in after.counters]:
            raise ToolFailure(
                f"{host}: {', '.join(gone)} was there before the run and not after it: "
                "was the interface or its namespace removed?",
                status="invalid",
            )
        if present:
            figures[figure] = sum(
                growth(f"{host}: {name}", before.counters[name], after.counters[name])
                for name in present
            )
    if before.softnet.keys() != after.softnet.keys():
        raise ToolFailure(f"{host}: CPUs went on- or offline during the run", status="invalid")
    for column, figure in enumerate(("softnet_dropped", "softnet_squeezed")):
        if before.softnet:
            figures[figure] = sum(
                growth(f"{host}: {figure}", pair[column], after.softnet[cpu][column], bits=32)
                for cpu, pair in before.softnet.items()
            )
    return figures
