"""The kernel's reasons for dropping packets (skb_drop_reason), grouped by cause."""

from __future__ import annotations

from collections.abc import Mapping

CAUSES: Mapping[str, tuple[str, ...]] = {
    "netfilter": ("NETFILTER_DROP",),
    "full socket buffer": ("SOCKET_RCVBUFF", "PROTO_MEM", "TCP_ZEROWINDOW", "TCP_OFO_QUEUE_PRUNE"),
    "full socket backlog": ("SOCKET_BACKLOG",),
    "full CPU backlog": ("CPU_BACKLOG",),
    "qdisc": ("QDISC_DROP", "QDISC_OVERLIMIT", "QDISC_CONGESTED", "CAKE_FLOOD", "FQ_BAND_LIMIT",
              "FQ_HORIZON_LIMIT", "FQ_FLOW_LIMIT", "DUALPI2_STEP_DROP"),
    "tc filter": ("TC_INGRESS", "TC_EGRESS"),
    "no socket": ("NO_SOCKET", "TCP_LISTEN_OVERFLOW"),
    "wrong checksum": ("TCP_CSUM", "UDP_CSUM", "IP_CSUM", "SKB_CSUM", "ICMP_CSUM"),
    "XDP or BPF": ("XDP", "SOCKET_FILTER", "BPF_CGROUP_EGRESS"),
    "routing": ("IP_OUTNOROUTES", "IP_INNOROUTES", "IP_RPFILTER", "IP_INADDRERRORS",
                "IP_INVALID_SOURCE", "IP_INVALID_DEST", "IP_LOCALNET", "NEIGH_FAILED",
                "NEIGH_QUEUEFULL", "OTHERHOST"),
    "size": ("PKT_TOO_BIG", "PKT_TOO_SMALL", "FRAG_REASM_TIMEOUT", "FRAG_TOO_FAR", "DUP_FRAG"),
    "memory or ring": ("NOMEM", "FULL_RING"),
}  # fmt: skip
"""Cause in words -> the kernel's reasons. All other reasons `TCP_*` have the cause "TCP's own"."""


NO_LOSS = {
    *("QUEUE_PURGE", "SOCKET_CLOSE", "TCP_RESET", "TCP_CLOSE", "TCP_FLAGS", "TCP_ABORT_ON_DATA"),
    *("TCP_OLD_DATA", "TCP_OLD_SEQUENCE", "TCP_OLD_ACK", "TCP_TOO_OLD_ACK", "TCP_OFOMERGE"),
    *("UNIX_DISCONNECT", "UNIX_SKIP_OOB"),
}
"""Reasons that lose no data: a socket is closed, or data is duplicate or was merged."""

ALL_NAMESPACES = "of all network namespaces together"
"""Text at the end of `dropped_where` if it includes drops in other network namespaces."""


def cause(reason: str) -> str:
    """Return the cause of a reason in words, "" for the reason NOT_SPECIFIED."""
    if reason in NO_LOSS:
        return "no loss"
    for words, reasons in CAUSES.items():
        if reason in reasons:
            return words
    if reason.startswith("TCP_"):
        return "TCP's own"
    return "" if reason == "NOT_SPECIFIED" else "other"
