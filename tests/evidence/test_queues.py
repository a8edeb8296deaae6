"""Qdiscs and NIC counters: a capture of htb over tbf with UDP at 50 Mbit/s, and drivers' names."""

from __future__ import annotations

import json
from typing import Any

import pairs
import pytest

from netlimits.errors import ToolFailure
from netlimits.evidence.counted.nic import Nic
from netlimits.evidence.counted.queues import Queues
from netlimits.model import Command, Completed


def completed(text: str, status: int = 0) -> Completed:
    return Completed("sender", Command(("tc",)), status, text, "", 0.0)


def qdisc(kind: str, handle: str, parent: str = "", **counters: int) -> dict[str, Any]:
    place = {"parent": parent} if parent else {"root": True}
    zero = {"drops": 0, "overlimits": 0, "requeues": 0}
    return {"kind": kind, "handle": handle, **place, **zero, **counters}


def figures(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    return Queues().figures(completed(json.dumps(before)), completed(json.dumps(after)))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        (folder, name)
        for folder in ("evidence/queues", "evidence/nic")
        for name in pairs.names(folder)
    ],
)
def test_each_capture_gives_what_its_pair_expects(folder: str, name: str):
    """shaped-local: netperf told of 279142 errors of sends, and as many were dropped."""
    pairs.check(folder, name)


def test_mq_repeats_its_childrens_counters():
    before = [qdisc("mq", "1:"), qdisc("fq", "0:", "1:1"), qdisc("fq", "0:", "1:2")]
    after = [
        qdisc("mq", "1:", drops=7, overlimits=5, requeues=2),
        qdisc("fq", "0:", "1:1", drops=3, overlimits=4, requeues=2),
        qdisc("fq", "0:", "1:2", drops=4, overlimits=1),
    ]
    assert figures(before, after) == {
        "qdisc_drops": 7,
        "qdisc_overlimits": 5,
        "qdisc_requeues": 2,
    }


def test_what_is_policed_on_the_way_in_is_no_queue():
    inward = qdisc("clsact", "ffff:", "ffff:fff1", drops=9, overlimits=9)
    noqueue = qdisc("noqueue", "0:")
    more = [noqueue, {**inward, "drops": 1_209}]
    assert figures([noqueue, inward], more) == {
        "qdisc_drops": 0,
        "qdisc_overlimits": 0,
        "qdisc_requeues": 0,
        "ingress_drops": 1_200,
    }
    assert figures([noqueue], [noqueue, inward]) == {
        "qdisc_drops": 0,
        "qdisc_overlimits": 0,
        "qdisc_requeues": 0,
    }


def test_a_counter_that_a_qdisc_does_not_tell_is_not_0():
    without = [{k: v for k, v in qdisc("fq", "1:").items() if k != "overlimits"}]
    assert figures(without, without) == {"qdisc_drops": 0, "qdisc_requeues": 0}


def test_a_counter_of_a_qdisc_has_32_bits():
    before, after = qdisc("fq", "1:", drops=2**32 - 2), qdisc("fq", "1:", drops=3)
    assert figures([before], [after])["qdisc_drops"] == 5


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        ([qdisc("tbf", "8002:")], "tbf 8001: root became tbf 8002: root"),
        ([qdisc("fq", "8001:")], "tbf 8001: root became fq 8001: root"),
        ([], "became nothing"),
        ([qdisc("tbf", "8001:", drops=1)], "went back from 5 to 1"),
        ([{**qdisc("tbf", "8001:", drops=5), "options": {"rate": 1}}], "root was changed .*rate"),
    ],
)
def test_other_qdiscs_than_before_make_the_run_invalid(after: list[dict[str, Any]], complaint: str):
    with pytest.raises(ToolFailure, match=complaint) as failure:
        figures([qdisc("tbf", "8001:", drops=5)], after)
    assert failure.value.status == "invalid"


def test_an_interface_that_is_gone_makes_the_run_invalid():
    before = completed(json.dumps([qdisc("tbf", "8001:")]))
    with pytest.raises(ToolFailure, match="became nothing"):
        Queues().figures(before, completed("", 1))


def test_a_host_without_tc_has_no_queues_and_one_without_ethtool_no_nic():
    assert Queues().figures(completed("", 127), completed("", 127)) == {}
    assert Nic().figures(completed("", 127), completed("", 127)) == {}


def nic(*counters: str) -> Completed:
    return completed("NIC statistics:\n" + "".join(f"     {line}\n" for line in counters))


def test_a_veths_drops_are_read_and_its_xdp_programs_are_not():
    text = pairs.text("evidence/nic", "udp-remote").split(pairs.AFTER)[1]
    dropped = text.replace("_drops: 0", "_drops: 4")
    assert Nic().figures(completed(text), completed(dropped)) == {
        "nic_rx_drops": 4,
        "nic_rx_drops_busiest": 4,
    }


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        # mlx5: the same packet for the port and for the queues
        (
            ("rx_out_of_buffer: 5", "rx0_buff_alloc_err: 0", "rx_discards_phy: 0"),
            ("rx_out_of_buffer: 9", "rx0_buff_alloc_err: 0", "rx_discards_phy: 3"),
            4,
        ),
        # i40e: for the device and for the port
        (("rx_dropped: 1", "port.rx_dropped: 1"), ("rx_dropped: 6", "port.rx_dropped: 7"), 6),
        # bnxt, virtio: queue by queue
        (("[0]: rx_discards: 0", "[1]: rx_discards: 2"), ("[0]: rx_discards: 1", "[1]: rx_discards: 4"), 3),
        (("rx_queue_0_drops: 0", "rx_queue_1_drops: 0"), ("rx_queue_0_drops: 1", "rx_queue_1_drops: 1"), 2),
        # what is sent, and what a filter drops on purpose
        (("tx_dropped: 0", "rx_filter_drops: 0", "rx_errors_x: 0"), ("tx_dropped: 5", "rx_filter_drops: 5", "rx_errors_x: 1"), None),
        # a driver that started one counter again
        (("rx_missed_errors: 9", "rx_no_dma_resources: 0"), ("rx_missed_errors: 0", "rx_no_dma_resources: 1"), 1),
        # a queue that went
        (("rx_queue_0_drops: 0", "rx_queue_1_drops: 0"), ("rx_queue_0_drops: 1",), None),
    ],
)  # fmt: skip
def test_drivers_names_are_grouped_by_queue_and_the_largest_group_counts(
    before: tuple[str, ...], after: tuple[str, ...], lost: int | None
):
    figures = Nic().figures(nic(*before), nic(*after))
    figures.pop("nic_rx_drops_busiest", None)
    assert figures == ({} if lost is None else {"nic_rx_drops": lost})


def test_of_queues_the_one_that_lost_most_is_told():
    figures = Nic().figures(
        nic("rx_queue_0_drops: 1", "rx_queue_1_drops: 5", "rx_dropped: 6", "rx_prio0_discards: 0"),
        nic("rx_queue_0_drops: 4", "rx_queue_1_drops: 6", "rx_dropped: 20", "rx_prio0_discards: 9"),
    )
    assert figures["nic_rx_drops_busiest"] == 3, "a priority is no queue"
    assert figures["nic_rx_drops"] == 14


QUEUE = {"nic_rx_drops_busiest": 10}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ("bw_in_allowance_exceeded", "pps_allowance_exceeded", "conntrack_allowance_exceeded"),
            {
                "nic_allowance_exceeded": 30,
                "nic_bw_allowance_exceeded": 10,
                "nic_pps_allowance_exceeded": 10,
            },
        ),
        (("queue_0_rx_empty_rx_ring", "queue_1_rx_empty_rx_ring"), {"nic_rx_drops": 20, **QUEUE}),
        (("queue_0_tx_queue_stop", "queue_1_tx_queue_stop"), {"nic_tx_stops": 20}),
        (("rx_no_buffers_posted[0]", "rx_no_buffers_posted[1]"), {"nic_rx_drops": 20, **QUEUE}),
        (("tx_stop[0]", "tx_stop[1]"), {"nic_tx_stops": 20}),
        (("hc_rx_discards_no_wqe", "stop_queue"), {"nic_rx_drops": 10, "nic_tx_stops": 10}),
        (("rx_out_of_buffer", "tx0_stopped"), {"nic_rx_drops": 10, "nic_tx_stops": 10}),
        (("rx_steer_missed_packets", "outbound_pci_stalled_wr"), {"nic_pcie_stalled_pct": 15}),
        (("rx_pause_ctrl_phy", "tx_pause_ctrl_phy"), {"nic_pauses": 10}),
        (("outbound_pci_stalled_wr_events",), {"nic_pcie_stalls": 10}),
        (("outbound_pci_buffer_overflow",), {"nic_pcie_stalls": 10}),
        (("rx_missed_errors", "rx_no_dma_resources"), {"nic_rx_drops": 10}),
        (("rx_queue_0_drops", "tx_queue_0_packets"), {"nic_rx_drops": 10, **QUEUE}),
        (("tx_global_pause_duration", "rx_global_pause_duration"), {"nic_pause_us": 10}),
        (("tx_queue_0_tx_timeouts",), {"nic_tx_stops": 10}),
    ],
)
def test_each_drivers_own_names_are_known(names, expected):
    before = nic(*(f"{name}: 5" for name in names))
    after = nic(*(f"{name}: 15" for name in names))
    assert Nic().figures(before, after) == expected
