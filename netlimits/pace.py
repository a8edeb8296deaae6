"""A constant bit rate: three ways to pace a sender, the best that the hosts can do.

    netperf -q    SO_MAX_PACING_RATE, kept by `fq` at the egress; netperf builds after 2.7.0
    fq maxrate    the qdisc paces each flow
    tbf           the qdisc shapes the whole interface; every kernel has it

All three count whole frames, so what they are given is the frame rate: for R bit/s of user data
in datagrams of M bytes over UDP, IPv4 and Ethernet it is R × (M + 42) / M ("What about at a
constant bitrate?"). That holds for datagrams that fit into the MTU: each fragment of a larger
one has headers of its own.

A qdisc that drops would let the sender believe that it sent more than left: the queues hold more
than a socket's send buffer does, so that the sender is what waits. What waits in that buffer at
the end counts as sent, a few hundred KB at most: it is only of slow or short runs that it is 1 %.

Which way it was is read off the run's own output, not off what was meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netlimits.archive import completed
from netlimits.errors import ToolFailure
from netlimits.model import Pace, Scalar, SettingUse
from netlimits.settings import setting
from netlimits.tools.base import Features

SOCKET, FQ, TBF = WAYS = ("netperf -q", "fq maxrate", "tbf")
"""Best first: what paces a flow at its own socket, then each flow, then everything."""

QUEUE_PACKETS = 20_000
QUEUE_BYTES = 32 << 20
BURST_S = 2e-3
"""Seconds at the rate that tbf may send at once: little beside a run, much beside a timer tick."""

LEAST_BURST = 16 << 10
"""Bytes; tbf drops a frame that is longer than its burst, and jumbo frames have 9 KB. It is also
what fq lets a new flow send unpaced, which by itself would be ten times the MTU.
"""

MOST_BY_SOCKET = 2**31 - 1
"""Bytes/s: netperf reads -q with atoi. Faster runs are paced by fq's maxrate."""

BUFFERED = 2 << 20
"""Bytes that a socket's buffer may hold, generously: more than that is no effect of it."""


def ways(tool: str, features: Features) -> tuple[str, ...]:
    """The ways to try, best first; which of them the kernel has, only the kernel can tell."""
    return WAYS if tool == "netperf" and "pacing" in features.names else WAYS[1:]


def paced(
    way: str, pace: Pace, roles: tuple[str, ...], options: Mapping[str, Any]
) -> tuple[SettingUse, dict[str, Any]]:
    """The qdisc that a way needs on the sender, and the tool's options with what it adds."""
    rate = math.ceil(pace.frame_rate)
    in_bytes = math.ceil(pace.frame_rate / 8)
    queue = {"limit": QUEUE_PACKETS, "flow_limit": QUEUE_PACKETS}
    qdisc: dict[str, Any] = {"kind": "fq", **queue, "initial_quantum": LEAST_BURST}
    added: dict[str, Any] = {}
    if way == SOCKET and in_bytes <= MOST_BY_SOCKET:
        added = {"pacing": in_bytes}
    elif way != TBF:
        qdisc["maxrate"] = rate
    else:
        burst = max(LEAST_BURST, math.ceil(pace.frame_rate / 8 * BURST_S))
        qdisc = {"kind": "tbf", "rate": rate, "burst": burst, "limit": QUEUE_BYTES}
    return SettingUse("qdisc", roles, qdisc, line=0), {**options, **added}


def way(entries: Sequence[Mapping[str, Any]], role: str) -> str:
    """Which way a run was paced, from its raw output: the client's words, the qdisc read back.

    Raises ToolFailure when it shows none of them.
    """
    client = [entry["argv"] for entry in entries if entry["step"] == "client"]
    kind = _last_qdisc(entries, role)
    if kind not in ("fq", "tbf"):
        raise ToolFailure(f"{role}: its qdisc is {kind}, which paces nothing", status="invalid")
    if kind == "tbf":
        return TBF
    words = f" {' '.join(client[0])} " if client else ""  # of several clients it is one script
    return SOCKET if " -q " in words else FQ


def hold(pace: Pace, way: str, figures: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
    """The figures that tell of the pacing: `paced_by`, `pace_mbps`, `pace_off_pct`.

    Raises ToolFailure (`invalid`) for a run that left at another rate than was asked for, or of
    which a qdisc dropped more than the tolerance.
    """
    sent = float(figures.get("local_send_throughput_mbps") or figures.get("throughput_mbps") or 0)
    asked = pace.rate / 1e6
    off = 100 * (sent / asked - 1)
    if abs(off) > pace.tolerance_pct:
        raise ToolFailure(
            f"paced by {way} to {asked:g} Mbit/s, {sent:.6g} Mbit/s were sent, {off:+.2f} % off "
            f"where {pace.tolerance_pct:g} % are allowed: {_why(off, sent - asked, figures)}",
            status="invalid",
        )
    dropped, packets = _count(figures, "local_qdisc_drops"), _count(figures, "local_tx_packets")
    if 100 * dropped > pace.tolerance_pct * (packets + dropped):
        raise ToolFailure(
            f"paced by {way} to {asked:g} Mbit/s, the sender's qdisc dropped {dropped:g} packets "
            f"and {packets:g} left: less was sent than the sender counts",
            status="invalid",
        )
    yield from (("paced_by", way), ("pace_mbps", asked), ("pace_off_pct", off))


def _why(off: float, excess_mbps: float, figures: Mapping[str, Scalar]) -> str:
    """What makes a run miss its rate, by what else is known of it."""
    if off < 0 and _count(figures, "local_ip_frag_creates"):
        return (
            "its datagrams were fragmented, and each fragment has headers of its own; send at "
            "most the data link's MTU less 28 bytes"
        )
    if off < 0:
        return "the sender or its CPU could not keep it up"
    excess = excess_mbps * 1e6 / 8 * _count(figures, "elapsed_s")
    if 0 < excess <= BUFFERED:
        return (
            f"{excess / 1024:.0f} KiB too many, as many as wait in a socket's send buffer, where "
            "they count as sent; make the runs longer or the buffer smaller (local_buffer)"
        )
    return "the pacing let it pass"


def _count(figures: Mapping[str, Scalar], name: str) -> float:
    return float(figures.get(name) or 0)


def _last_qdisc(entries: Sequence[Mapping[str, Any]], role: str) -> str:
    """The kind of root qdisc that was read back last on a host, before the run."""
    qdisc = setting("qdisc")
    read = qdisc.read("", None).argv[:3]
    shown = [e for e in entries if e["host"] == role and tuple(e["argv"][:3]) == read]
    return str(qdisc.state(completed(shown[-1]))["kind"]) if shown else "not known"
