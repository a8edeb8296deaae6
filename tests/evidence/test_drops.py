"""Drops by reason: what bpftrace and a histogram printed, namespaces, and the columns."""

from __future__ import annotations

import pandas as pd
import pytest

from netlimits.analysis.packets.dropped import dropped
from netlimits.evidence import drops
from netlimits.evidence.drops import Drop
from netlimits.metrics import metric
from netlimits.model import Completed

NAMES = """{ 12, "NETFILTER_DROP" }
{ 6, "SOCKET_RCVBUFF" }
{ 104, "QUEUE_PURGE" }
"""
BPFTRACE = """spaces 14
here 4026533144
by bpftrace
Attaching 2 probes...
begun


@[104, sk_stream_kill_queues, 4026533144]: 2
@[12, nf_hook_slow, 4026533075]: 7
@[12, nf_hook_slow, 0]: 1
@[12, nf_hook_slow+181, 4026533144]: 600
@[6, __udp_enqueue_schedule_skb, 4026533144]: 1200
"""
HISTOGRAM = """spaces 2
here 4026531840
by histogram
# event histogram
#
# trigger info: hist:keys=reason,location.sym:vals=hitcount:sort=hitcount:size=1024 [active]
#

{ reason:         12, location: [ffffffff9d0a3bb5] nf_hook_slow                                  } hitcount:         40
{ reason:          6, location: [ffffffff9d1b7a80] __udp_enqueue_schedule_skb                    } hitcount:        300

Totals:
    Hits: 340
    Entries: 2
    Dropped: 0
"""


def printed(text: str) -> Completed:
    return Completed("receiver", drops.command(5), 0, text, "", 5.0)


def test_bpftrace_separates_the_hosts_own_namespace():
    counted = drops.read(printed(BPFTRACE + NAMES))
    assert counted
    assert counted.separated
    assert counted.elsewhere == 8
    assert counted.drops[0] == Drop(
        "SOCKET_RCVBUFF", "__udp_enqueue_schedule_skb", 1200, 4026533144
    )
    assert [drop.cause for drop in counted.drops] == [
        "full socket buffer", "netfilter", "no loss",
    ]  # fmt: skip


def test_a_histogram_counts_all_namespaces_together_and_says_so():
    counted = drops.read(printed(HISTOGRAM + NAMES))
    assert counted
    assert not counted.separated
    assert [(d.reason, d.place, d.count) for d in counted.drops] == [
        ("SOCKET_RCVBUFF", "__udp_enqueue_schedule_skb", 300),
        ("NETFILTER_DROP", "nf_hook_slow", 40),
    ]
    alone = drops.read(printed(HISTOGRAM.replace("spaces 2", "spaces 1") + NAMES))
    assert alone
    assert alone.separated


def test_columns_leave_out_what_is_no_loss():
    counted = drops.read(printed(BPFTRACE + NAMES))
    assert counted
    assert drops.figures(counted) == {
        "dropped": 1800,
        "dropped_socket_rcvbuff": 1200,
        "dropped_netfilter_drop": 600,
        "dropped_where": "SOCKET_RCVBUFF at __udp_enqueue_schedule_skb: 1200; "
        "NETFILTER_DROP at nf_hook_slow: 600",
    }
    assert metric("remote_dropped_netfilter_drop").title == (
        "Packets dropped as NETFILTER_DROP, receiver"
    )


def test_what_cannot_be_separated_says_so():
    for spaces in (2, 0):  # a login that is not root cannot count them
        counted = drops.read(printed(HISTOGRAM.replace("spaces 2", f"spaces {spaces}") + NAMES))
        assert counted
        assert not counted.separated
        where = str(drops.figures(counted)["dropped_where"])
        assert where.endswith(
            "NETFILTER_DROP at nf_hook_slow: 40 (of all network namespaces together)"
        )
        frame = pd.DataFrame([{
            "run": 1, "attempt": 1, "status": "ok", "config": "a",
            "remote_dropped": 340, "remote_dropped_socket_rcvbuff": 300,
            "remote_dropped_where": where,
        }])  # fmt: skip
        table = dropped(frame)
        assert list(table["place"]) == ["__udp_enqueue_schedule_skb"]
        assert "they are of all network namespaces" in table.attrs["notes"][0]


def test_a_clean_run_dropped_nothing_and_a_host_that_cannot_count_is_unknown():
    clean = drops.read(printed("spaces 1\nhere 4026531840\nby histogram\n# event histogram\n"))
    assert clean
    assert drops.figures(clean) == {"dropped": 0}
    assert drops.read(printed("")) is None
    cut = drops.read(printed("spaces 1\nhere 4026531840\nby histogram\n"))
    assert cut is None


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("CPU_BACKLOG", "full CPU backlog"),
        ("TC_INGRESS", "tc filter"),
        ("NO_SOCKET", "no socket"),
        ("UDP_CSUM", "wrong checksum"),
        ("QDISC_DROP", "qdisc"),
        ("TCP_INVALID_SEQUENCE", "TCP's own"),
        ("NOT_SPECIFIED", ""),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_each_reason_has_a_cause(reason: str, cause: str):
    assert Drop(reason, "place", 1).cause == cause
