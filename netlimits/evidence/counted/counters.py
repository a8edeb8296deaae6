"""The kernel's counters: protocols, softnet backlog, interface, interrupts, pressure.

`nstat` is not used. It keeps one history file for all namespaces, and prints how much counters grew
since anybody last called it. softnet_stat, interrupts and pressure (PSI) count for all namespaces.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from netlimits.errors import ToolFailure
from netlimits.evidence import cpu
from netlimits.evidence.counted._base import growth
from netlimits.model import Command, Completed, Scalar

SNMP, NETSTAT = "/proc/net/snmp", "/proc/net/netstat"
SNMP6 = "/proc/net/snmp6"
SOFTNET = "/proc/net/softnet_stat"

INTERRUPTS = "/proc/interrupts"
PRESSURE = {"cpu_pressure_ms": "/proc/pressure/cpu", "memory_pressure_ms": "/proc/pressure/memory"}

_LINES = (
    "^(Ip|IpExt|Tcp|TcpExt|Udp|MPTcpExt): |^(Ip6|Udp6)[A-Z][A-Za-z0-9]+[[:space:]]"
    "|^[0-9a-f]{8} |^[0-9]+$|^some "
)
"""Pattern of the lines to print. Reading all lines would cost a third more, before and after each
run."""

_SCRIPT = r"""lines=$1 interface=$2
shift 2
device=/sys/class/net/$interface/device
[ ! -e "$device/features" ] || device=$device/..
irqs=
for irq in "$device"/msi_irqs/*; do
  [ ! -e "$irq" ] || irqs="$irqs${irqs:+|}${irq##*/}"
done
[ -z "$irqs" ] || lines="$lines|^ *($irqs): "
[ -n "$irqs" ] || lines="$lines|^ *[0-9]+:.*[^A-Za-z0-9]$interface([^A-Za-z0-9]|\$)"
exec grep -HsE -- "$lines" "$@" """
"""Print the matching lines of every file, and the lines of the interface's interrupts.

A virtio device, which has a file `features`, uses the interrupts of the PCI device above it. If a
device lists no interrupts, those that have the interface's name are printed.
"""

_PERL = r"""
my ($lines, $interface, @files) = @_;
my $device = "/sys/class/net/$interface/device";
$device .= "/.." if -e "$device/features";
opendir(my $folder, "$device/msi_irqs");
my $irqs = join "|", sort grep { !/^\./ } $folder ? readdir $folder : ();
$lines .= $irqs ne "" ? "|^ *($irqs): " : "|^ *[0-9]+:.*[^A-Za-z0-9]$interface([^A-Za-z0-9]|\$)";
my ($missing, $matching) = (0, 0);
for my $path (@files) {
    open(my $file, "<", $path) or ++$missing, next;
    for (<$file>) {
        chomp;
        /$lines/ && ++$matching && print "$path:$_\n";
    }
}
$missing ? 2 : $matching ? 0 : 1;
"""
"""Perl code with the same output, for hosts that keep a Perl process."""

PROTOCOLS = {
    "tcp_in_segs": ("Tcp.InSegs",),
    "tcp_out_segs": ("Tcp.OutSegs",),
    "tcp_retrans_segs": ("Tcp.RetransSegs",),
    "tcp_lost_retransmits": ("TcpExt.TCPLostRetransmit",),
    "tcp_timeouts": ("TcpExt.TCPTimeouts",),
    "tcp_recoveries": ("TcpExt.TCPSackRecovery", "TcpExt.TCPRenoRecovery"),
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
    "mptcp_connections": ("MPTcpExt.MPCapableSYNTX", "MPTcpExt.MPCapableSYNRX"),
    "mptcp_fallbacks": (
        "MPTcpExt.MPCapableFallbackACK",
        "MPTcpExt.MPCapableFallbackSYNACK",
        "MPTcpExt.MPFallbackTokenInit",
    ),
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
"""Figure -> the kernel's counters to add up. Tcp and TcpExt count IPv4 and IPv6 together.

`tcp_in_segs` counts the packets that the stack processes, after GRO; `tcp_out_segs` counts segments
as on the wire, even with TSO. `udp_in_errors` includes `udp_rcvbuf_errors`.
"""

_NAMED: dict[str, dict[str, str]] = {}
"""Protocol -> column -> name in PROTOCOLS: `_NAMED["Tcp"]["InSegs"]` is `Tcp.InSegs`."""
for _name in itertools.chain(*PROTOCOLS.values()):
    _NAMED.setdefault(_name.partition(".")[0], {})[_name.partition(".")[2]] = _name

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
"""Figure -> its file in the folder /sys/class/net/INTERFACE/statistics."""


SOFTNET_COLUMNS = {
    "softnet_packets": 0,
    "softnet_dropped": 1,
    "softnet_squeezed": 2,
    "softnet_rps": 9,
    "softnet_flow_limited": 10,
}
"""Figure -> its column in softnet_stat, counted from 0 (net/core/net-procfs.c)."""


@dataclass(frozen=True, slots=True)
class Counts:
    """A reading: name -> counter, CPU -> columns of softnet_stat, interrupt -> count."""

    host: str
    counters: Mapping[str, int]
    softnet: Mapping[int, tuple[int, ...]]
    interrupts: Mapping[str, int]


class Counters:
    name = "counters"

    def read(self, interface: str) -> Command:
        statistics = (f"/sys/class/net/{interface}/statistics/{f}" for f in INTERFACE.values())
        files = (SNMP, SNMP6, NETSTAT, SOFTNET, *statistics, *PRESSURE.values(), INTERRUPTS)
        argv = ("sh", "-c", _SCRIPT, "sh", _LINES, interface, *files)
        return Command(argv, deadline=10, perl=_PERL)

    def figures(self, before: Completed, after: Completed) -> dict[str, Scalar]:
        return grown(counts(before), counts(after))


def counts(completed: Completed) -> Counts:
    """Parse the output of `Counters.read`. Raises ToolFailure if it timed out or is incomplete."""
    if completed.timed_out:
        raise ToolFailure(f"{completed.host}: reading the kernel's counters did not end in time")
    try:
        return _counts(completed)
    except (ValueError, IndexError) as error:
        raise ToolFailure(f"{completed.host}: the kernel's counters are cut off: {error}") from None


def _counts(completed: Completed) -> Counts:
    counters: dict[str, int] = {}
    softnet: dict[int, tuple[int, ...]] = {}
    interrupts: dict[str, int] = {}
    header: list[str] = []
    for line in completed.stdout.splitlines():
        path, _, text = line.partition(":")
        fields = text.split()
        if path in (SNMP, NETSTAT):
            if header[:1] == fields[:1]:  # names (`Tcp: InSegs …`), then values (`Tcp: 12 …`)
                protocol = fields[0].removesuffix(":")
                pairs = zip(header[1:], fields[1:], strict=False)
                names = _NAMED.get(protocol, {})
                counters |= {names[name]: int(value) for name, value in pairs if name in names}
                fields = []
            header = fields
        elif path == SNMP6:
            counters[fields[0]] = int(fields[1])
        elif path == SOFTNET:
            row = [int(field, 16) for field in fields]
            # field 13 is the CPU's number; kernels before 5.10 list online CPUs without numbers
            softnet[row[12] if len(row) > 12 else len(softnet)] = tuple(row)
        elif path == INTERRUPTS:
            # ` 24:  100  0  PCI-MSI 65537-edge  eth0-rx-0`
            number, *counted = fields
            cpus = itertools.takewhile(str.isdigit, counted)
            interrupts[number.removesuffix(":")] = sum(map(int, cpus))
        elif path in PRESSURE.values():
            counters[path] = int(fields[-1].removeprefix("total="))
        elif path.startswith("/sys/class/net/"):
            counters[path.rpartition("/")[2]] = int(text)
    return Counts(completed.host, counters, softnet, interrupts)


def grown(before: Counts, after: Counts) -> dict[str, Scalar]:
    """Return the figures between two readings.

    Raises ToolFailure if a counter was reset or vanished, or CPUs went offline or online.
    """
    host = before.host
    named = PROTOCOLS | {figure: (counter,) for figure, counter in INTERFACE.items()}
    figures: dict[str, Scalar] = {}
    for figure, kernels in named.items():
        present = [name for name in kernels if name in before.counters]
        if gone := [name for name in present if name not in after.counters]:
            raise ToolFailure(
                f"{host}: {', '.join(gone)} vanished during the run: "
                "was the interface or its namespace removed?",
                status="invalid",
            )
        if present:
            figures[figure] = sum(
                growth(f"{host}: {name}", before.counters[name], after.counters[name])
                for name in present
            )
    if before.softnet.keys() != after.softnet.keys():
        changes = cpu.hotplugged(before.softnet.keys(), after.softnet.keys())
        raise ToolFailure(f"{host}: {changes} during the run", status="invalid")
    return figures | _by_cpu(before, after) | _by_queue(before, after) | _pressure(before, after)


def _by_cpu(before: Counts, after: Counts) -> dict[str, Scalar]:
    figures: dict[str, Scalar] = {}
    for figure, column in SOFTNET_COLUMNS.items():
        rows = [(row, after.softnet[cpu]) for cpu, row in before.softnet.items()]
        if not rows or any(len(row) <= column for pair in rows for row in pair):
            continue
        name = f"{before.host}: {figure}"
        grown = [growth(name, a[column], b[column], bits=32) for a, b in rows]
        figures[figure] = sum(grown)
        if figure == "softnet_packets":
            figures["softnet_busiest"] = max(grown)
    return figures


def _by_queue(before: Counts, after: Counts) -> dict[str, Scalar]:
    """Return the figures of the interface's interrupts; new, removed or reset ones do not count."""
    both = before.interrupts.keys() & after.interrupts.keys()
    pairs = [(before.interrupts[number], after.interrupts[number]) for number in both]
    # each CPU's counter has 32 bits: if one wraps, the sum over CPUs decreases
    grown = [b - a for a, b in pairs if b >= a]
    if not grown:
        return {}
    return {"nic_interrupts": sum(grown), "nic_interrupts_busiest": max(grown)}


def _pressure(before: Counts, after: Counts) -> dict[str, Scalar]:
    return {
        figure: growth(f"{before.host}: {path}", before.counters[path], after.counters[path]) / 1e3
        for figure, path in PRESSURE.items()
        if path in before.counters and path in after.counters
    }
