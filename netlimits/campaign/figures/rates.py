"""Check that a run kept the requested rate, and find out how it was paced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netlimits.archive.raw import RawEntry
from netlimits.errors import ToolFailure
from netlimits.experiment import pacing
from netlimits.model import Pace, Scalar
from netlimits.settings import setting
from netlimits.tools import tool

OPTION_TOLERANCE = 0.01
"""Share by which a tool may exceed the rate in its own options."""

BUFFERED = 2 << 20
"""If a run sent at most this many bytes too many, they may have waited in the send buffer."""


def way(name: str, entries: Sequence[RawEntry], role: str) -> str:
    """Return how a run was paced, from the client's arguments and the qdisc in its raw output.

    Raises ToolFailure (`invalid`) if the qdisc cannot pace.
    """
    client = [entry.argv for entry in entries if entry.step == "client"]
    kind = _last_qdisc(entries, role)
    if kind not in ("fq", "tbf"):
        raise ToolFailure(f"{role}: its qdisc is {kind}, which paces nothing", status="invalid")
    if kind == "tbf":
        return pacing.TBF
    words = f" {' '.join(client[0])} " if client else ""  # argv, or the script of several clients
    by_socket = tool(name).socket_pace
    return pacing.own(name) if by_socket and f" {by_socket.flag} " in words else pacing.FQ


def pace_figures(
    pace: Pace, way: str, figures: Mapping[str, Scalar]
) -> Iterator[tuple[str, Scalar]]:
    """Yield the figures on pacing: `paced_by`, `pace_mbps`, `pace_off_pct`.

    Raises ToolFailure (`invalid`) if the run missed its rate, or the sender's qdisc dropped a share
    of its packets above `tolerance_pct`.
    """
    sent = _figure(figures, "local_send_throughput_mbps", "throughput_mbps")
    target = pace.rate / 1e6
    off = 100 * (sent / target - 1)
    if abs(off) > pace.tolerance_pct:
        raise ToolFailure(
            f"paced by {way} to {target:g} Mbit/s, {sent:.6g} Mbit/s were sent, {off:+.2f} % off "
            f"where {pace.tolerance_pct:g} % are allowed: {_why(off, sent - target, figures)}",
            status="invalid",
        )
    dropped, packets = (_figure(figures, f"local_{n}") for n in ("qdisc_drops", "tx_packets"))
    if 100 * dropped > pace.tolerance_pct * (packets + dropped):
        raise ToolFailure(
            f"paced by {way} to {target:g} Mbit/s, the sender's qdisc dropped {dropped:g} packets "
            f"and sent {packets:g}: the sender counts more than it sent; lower the rate, or raise "
            "`pace.tolerance_pct`",
            status="invalid",
        )
    yield from (("paced_by", way), ("pace_mbps", target), ("pace_off_pct", off))


def refuse_excess(
    name: str, options: Mapping[str, Any], streams: int, figures: Mapping[str, Scalar]
) -> None:
    """Raise ToolFailure (`invalid`) if a run exceeded its tool's rate, or fell back from MPTCP."""
    if options.get("mptcp"):
        _refuse_fallback(figures)
    limit = tool(name).limit(options)
    if limit is None:
        return
    option, most = limit[0], limit[1] * streams
    senders = ("local_send_throughput_mbps", "remote_send_throughput_mbps")
    sent_rates = [float(sent) for sender in senders if (sent := figures.get(sender)) is not None]
    if not sent_rates:  # the tool reports no rate to check
        return
    sent = max(sent_rates)
    excess = (sent - most / 1e6 * (1 + OPTION_TOLERANCE)) * 1e6 / 8
    if excess * float(figures.get("elapsed_s") or 1) > BUFFERED:
        raise ToolFailure(
            f"{name}'s `{option}` asked for {most / 1e6:g} Mbit/s at most, and {sent:.6g} were "
            "sent: for UDP the kernel paces a socket only under `fq` (setting `qdisc: {kind: fq}`; "
            "or let `pace:` choose what the hosts can do)",
            status="invalid",
        )


def _refuse_fallback(figures: Mapping[str, Scalar]) -> None:
    """Raise ToolFailure (`invalid`) if no connection used MPTCP, or one fell back to TCP."""
    begun, fallbacks = (
        sum(float(figures.get(f"{end}_{name}") or 0) for end in ("local", "remote"))
        for name in ("mptcp_connections", "mptcp_fallbacks")
    )
    if fallbacks or not begun:
        what = f"{fallbacks:g} connections fell back to TCP" if fallbacks else "no host counted any"
        raise ToolFailure(
            f"MPTCP was asked for, and {what}: is net.mptcp.enabled 1 on both hosts, and nothing "
            "on the path that removes the option?",
            status="invalid",
        )


def _why(off: float, excess_mbps: float, figures: Mapping[str, Scalar]) -> str:
    """Return why a run missed its rate, as far as its other figures show."""
    if off < 0 and figures.get("local_ip_frag_creates"):
        return (
            "its datagrams were fragmented, and each fragment has headers of its own; send at "
            "most the data link's MTU less 28 bytes (48 over IPv6)"
        )
    if off < 0:
        return "the sender or its CPU could not keep it up"
    excess = excess_mbps * 1e6 / 8 * _figure(figures, "elapsed_s")
    if excess <= BUFFERED:
        return (
            f"{excess / 1024:.0f} KiB too many, as many as wait in a socket's send buffer, where "
            "they count as sent; make the runs longer or the buffer smaller (local_buffer)"
        )
    return "the pacing did not limit it"


def _figure(figures: Mapping[str, Scalar], *names: str) -> float:
    for name in names:
        if (value := figures.get(name)) is not None:
            return float(value)
    raise ToolFailure(
        f"it is unknown whether the run kept its pace: there is no {names[-1]}", status="invalid"
    )


def _last_qdisc(entries: Sequence[RawEntry], role: str) -> str:
    """Return the kind of a host's root qdisc when it was last read, or `not known`."""
    qdisc = setting("qdisc")
    read = qdisc.read("", None).argv[:3]
    readings = [e for e in entries if e.host == role and e.argv[:3] == read]
    return str(qdisc.state(readings[-1].completed)["kind"]) if readings else "not known"
