"""Where packets were lost, by the counters of both hosts.

Losses that neither host counted are on the path.
"""

from __future__ import annotations

from collections.abc import Mapping

from netlimits.limits.figures import RunFigures

PATH = "on the path"

OF_SENDER: Mapping[str, str] = {
    "dropped_netfilter_drop": "by netfilter on the sender",
    "qdisc_drops": "in the sender's qdisc",
    "tx_dropped": "by the sender's driver",
}
OF_RECEIVER: Mapping[str, str] = {
    "ingress_drops": "by a policer on the receiver",
    "dropped_tc_ingress": "by a tc filter on the receiver",
    "nic_rx_drops": "in the receiver's NIC",
    "softnet_dropped": "in the receiver's backlog",
    "dropped_netfilter_drop": "by netfilter on the receiver",
    "dropped_ip_csum": "by the receiver, for a wrong checksum of IP",
    "dropped_tcp_csum": "by the receiver, for a wrong checksum of TCP",
    "dropped_udp_csum": "by the receiver, for a wrong checksum of UDP",
    "dropped_no_socket": "by the receiver, where no socket waits for them",
    "tcp_backlog_drops": "in the receiver's socket backlog",
    "tcp_rcvq_drops": "in the receiver's socket",
    "udp_rcvbuf_errors": "in the receiver's socket, which was full",
}
"""Counter -> the place where it counts drops. In both tables, the places are in the order in which
packets pass them."""


NAMES: Mapping[str, str] = {
    **{where: f"sender_{name}" if name in OF_RECEIVER else name
       for name, where in OF_SENDER.items()},
    **{where: name for name, where in OF_RECEIVER.items()},
    PATH: "path",
}  # fmt: skip
"""Place -> its name in figures (`lost_NAME`)."""


def lost(run: RunFigures) -> float | None:
    """Return how many datagrams were lost, or segments retransmitted; None if unknown."""
    if run.udp:
        sent, share = run.sent("udp_out_datagrams"), run.sent_datagrams_lost
        return None if sent is None or share is None else share * sent
    return run.sent("tcp_retrans_segs") if run.retransmitted is not None else None


def losses(run: RunFigures) -> dict[str, float]:
    """Return place -> packets lost there; places without losses are left out."""
    total = lost(run)
    if not total:
        return {}
    counted = {where: run.sent(name) for name, where in OF_SENDER.items()}
    counted |= {where: run.received(name) for name, where in OF_RECEIVER.items()}
    if run.received("ingress_drops"):  # the kernel also counts these drops by reason
        counted.pop(OF_RECEIVER["dropped_tc_ingress"])
    places, rest = {}, total
    for where, count in counted.items():
        if count:
            places[where] = min(count, rest)
            rest -= places[where]
    return {where: count for where, count in (*places.items(), (PATH, rest)) if count >= 1}


def share(run: RunFigures, *places: str) -> float | None:
    """Return the share of all losses that occurred at `places`; None without losses."""
    total = lost(run)
    if not total:
        return None
    where = losses(run)
    return sum(where.get(place, 0.0) for place in places) / total


IN_BACKLOG = OF_RECEIVER["softnet_dropped"]
ON_SENDER = tuple(OF_SENDER.values())
