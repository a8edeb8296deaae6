"""Checks of a run against its interfaces' counters and its link's capacity.

*Enough traffic.* Both interfaces must have carried the data that arrived; a share of SHORT may be
missing. Some drivers read their counters from the hardware only once a second (LAG), so a short run
may miss more. The missing share is then reported as disturbance.

*Little other traffic.* A data packet may have HEADERS bytes of headers, and a packet without data
ACK bytes. Retransmitted data is allowed as far as the kernel counts it. An interface may also count
packets of other hosts. So headers are allowed for at most as many packets as the kernels of the
run's hosts sent. All other bytes are other traffic. If their share exceeds DISTURBED of the run's
bytes, it is reported as `disturbed_pct`; above SPOILED the run is invalid.

*No more than the link can carry.* Data can arrive at most at the rate of the link or shaper, less
the headers of each packet and fragment. VLAN tags are not counted, since the speed of a VLAN's
interface is unknown. Three things may raise the rate: clocks that differ (CLOCK), packets that a
host processed late (LATE), and a shaper's burst and queue. So may data that already waited in the
receiver's socket when the tool began to count (WAITING).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from netlimits.campaign.caps import Cap
from netlimits.errors import ToolFailure

SHORT = 0.05
"""Maximum share of the data that an interface's counters may miss."""

LAG = 1.0
"""Seconds that a driver's counters may lag behind, but at most half of the run."""

HEADERS = {"tcp": 74, "udp": 50}
"""Header bytes of a data packet: Ethernet 14, VLAN tag 4, checksum 4, IPv4 20, TCP 32, UDP 8."""

IPV6 = 20
"""Bytes by which an IPv6 header is longer than an IPv4 header."""

ACK = 102
"""Bytes of a packet without data: as in HEADERS, but with 40 bytes of TCP options."""

CONTROL, CONTROL_RATE = 256 << 10, 32 << 10
"""Bytes per run, and per second, that are allowed for control connections, readings and ARP."""

DISTURBED, SPOILED = 0.03, 0.15
"""Shares of other traffic relative to the run's data: above the first it is reported, above the
second the run is invalid."""

CLOCK = 0.001
"""Seconds by which two clocks may diverge per second: Linux slews each by at most 500 ppm."""

LATE = 0.01
"""Seconds by which data may be counted late because it waited for a CPU."""

WAITING = 128 << 10
"""Bytes that may wait in a receiver's socket: its first buffer (`tcp_rmem`)."""


@dataclass(frozen=True, slots=True)
class Way:
    """User data that an interface had to carry one way: at least `arrived`, at most `sent` bytes.

    `packets` is the minimum number of packets, or 0 if it does not follow from the data.
    """

    arrived: float = 0.0
    sent: float = 0.0
    packets: float = 0.0


@dataclass(frozen=True, slots=True)
class Interface:
    """A host's data interface during a run: what it carried, and what it should have carried.

    `counts` are the changes of its counters (`tx_bytes` …). `ours` is the size of our own readings
    in bytes, which may have used the same link. `end` is `local` or `remote`.
    """

    role: str
    name: str
    counts: Mapping[str, float]
    out: Way
    into: Way
    ours: float = 0.0
    end: str = ""


@dataclass(frozen=True, slots=True)
class Framing:
    """A data packet of a run: its size, and what determines the size of its headers.

    `data` are the bytes of user data (0 if unknown), and `gained` the bytes that a tunnel adds.
    """

    data: float
    transport: str
    ipv6: bool = False
    timestamps: bool = False
    mtu: int = 0
    gained: int = 0

    def frames(self, overhead: int) -> float:
        """Return the bytes of the packet's frames, with `overhead` bytes for each IP fragment."""
        ip, overhead, mtu = 40 if self.ipv6 else 20, overhead + self.gained, self.mtu - self.gained
        if self.transport == "tcp":
            return self.data + ip + 20 + 12 * self.timestamps + overhead
        datagram = self.data + 8
        if not self.mtu or datagram + ip <= mtu:
            return datagram + ip + overhead
        ip += 8 * self.ipv6  # the fragment header
        return datagram + math.ceil(datagram / max(8, (mtu - ip) // 8 * 8)) * (ip + overhead)

    def share(self, overhead: int) -> float:
        """Return the share of user data in the frames, 1 if the data's size is unknown."""
        frames = self.frames(overhead)
        return (self.data / frames if frames > 0 else math.inf) if self.data else 1.0


def disturbance(
    interfaces: Iterable[Interface],
    transport: str,
    mss: float,
    seconds: float,
    ipv6: bool,
    gained: int = 0,
) -> float | None:
    """Return the largest share of missing or other traffic at an interface, in % of the run's data.

    `gained` are the bytes that a tunnel adds to each packet. Returns 0 for a share of up to
    DISTURBED. Returns None instead of 0 if an interface has no counters, or a kernel does not count
    retransmissions. Raises ToolFailure (`invalid`) if an interface did not carry the run's data,
    or carried too much other traffic.
    """
    worst, complete, interfaces = 0.0, True, list(interfaces)
    resent = _resent(interfaces, transport) * (mss or 1500)
    more = (IPV6 if ipv6 else 0) + gained
    for interface in interfaces:
        if not interface.counts.keys() >= {"tx_bytes", "rx_bytes", "tx_packets", "rx_packets"}:
            complete = False
            continue
        others = [peer for peer in interfaces if peer.end != interface.end]
        packets = {"tx": _sent_packets([interface]), "rx": _sent_packets(others)}
        worst = max(worst, _short(interface, seconds))
        worst = max(
            worst, _other_traffic(interface, transport, mss, seconds, more, resent, packets)
        )
        complete = complete and not math.isinf(resent)
    if worst > DISTURBED:
        return 100 * worst
    return 0.0 if complete and interfaces else None


def _resent(interfaces: Sequence[Interface], transport: str) -> float:
    """Return the number of retransmitted segments; infinite if a kernel does not count TCP's."""
    counts = [interface.counts.get("tcp_retrans_segs") for interface in interfaces]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) or transport == "udp" else math.inf


def _short(interface: Interface, seconds: float) -> float:
    """Return the share of the data that an interface did not count; 0 for a share up to SHORT.

    Raises ToolFailure (`invalid`) if the share is above SHORT and too large for a slow counter.
    """
    allowed = max(SHORT, min(0.5, LAG / max(seconds, 1e-3)))
    worst = 0.0
    for way, end, verb in ((interface.out, "tx", "sent"), (interface.into, "rx", "received")):
        counted, packets = interface.counts[f"{end}_bytes"], interface.counts[f"{end}_packets"]
        missing = 1 - counted / way.arrived if way.arrived > 0 else 0.0
        if way.packets > 0:
            missing = max(missing, 1 - packets / way.packets)
        if missing > allowed:
            raise ToolFailure(
                f"{interface.role}: {interface.name} {verb} {packets:.0f} packets with "
                f"{counted:.0f} bytes, and the tool reports {way.arrived:.0f}: the data took "
                "another way, or another host has the address (`ip route get`, `arping -D`)",
                status="invalid",
            )
        worst = max(worst, missing if missing > SHORT else 0.0)
    return worst


_SENT = ("tcp_out_segs", "tcp_retrans_segs", "udp_out_datagrams", "ip_frag_creates")


def _sent_packets(interfaces: Sequence[Interface]) -> float:
    """Return the number of packets that hosts sent, by kernel counters; infinite if unknown."""
    counts = [[interface.counts.get(name) for name in _SENT] for interface in interfaces]
    packets = [count for of_host in counts for count in of_host if count is not None]
    return sum(packets) if len(packets) == len(_SENT) * len(counts) > 0 else math.inf


def _other_traffic(
    interface: Interface,
    transport: str,
    mss: float,
    seconds: float,
    more: int,
    resent: float,
    most: Mapping[str, float],
) -> float:
    """Return the share of other traffic on an interface, relative to the run's data.

    `more` are header bytes beyond HEADERS. `resent` is an upper bound of the retransmitted bytes;
    if it is infinite, only a direction without data is checked. `most` is the maximum number of
    packets that the run's hosts sent, by direction.
    """
    own = max(interface.out.sent, interface.into.sent)
    worst, which = 0.0, ""
    for way, end, verb in ((interface.out, "tx", "sent"), (interface.into, "rx", "received")):
        packets = interface.counts[f"{end}_packets"]
        header = (HEADERS[transport] if way.sent > 0 else ACK) + more
        if mss:
            # one packet of the kernel may become several on the link
            packets = max(packets, way.sent / mss)
        packets = min(packets, most[end])
        ours = CONTROL + CONTROL_RATE * seconds + 2 * interface.ours
        repeated = resent if way.sent > 0 or math.isfinite(resent) else 0.0
        accounted = way.sent + header * packets + repeated + ours
        other = max(0.0, interface.counts[f"{end}_bytes"] - accounted) / max(own, CONTROL)
        if other > worst:
            worst, which = other, verb
    if worst > SPOILED:
        raise ToolFailure(
            f"{interface.role}: {interface.name} {which} {100 * worst:.0f} % more than the run's "
            f"{own:.0f} bytes of data and their headers: something else used the link; "
            "stop it, or measure over a link that nothing else uses",
            status="invalid",
        )
    return worst


def refuse_above(
    rate_mbps: float,
    cap: Cap,
    packet: Framing,
    seconds: float,
    *,
    waits: bool = False,
    early: float = 0,
) -> None:
    """Raise ToolFailure (`invalid`) if a rate over `seconds` exceeds what a cap can carry.

    `waits` allows for data in the cap's queue when the sender ends, and `early` for bytes that
    arrived before the count began.
    """
    overhead = cap.each(packet.transport)
    bound = cap.bps * packet.share(overhead) / 1e6
    beyond = cap.beyond + early
    if waits:
        beyond += cap.queue + cap.packets * packet.frames(overhead)
    seconds = max(seconds, 1e-3)
    most = bound * (1 + CLOCK + LATE / seconds) + beyond * 8 / 1e6 / seconds
    if rate_mbps > most:
        raise ToolFailure(
            f"{rate_mbps:.6g} Mbit/s is more than the {bound:.6g} that {cap.what} can carry: the "
            "data took another way, or the tool counts what never arrived",
            status="invalid",
        )
