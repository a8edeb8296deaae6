"""Kernel counters, on captures of netperf runs between two namespaces (veth, 8 and 2.5 Gbit/s)."""

from __future__ import annotations

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.campaign.figures import ack_ratio
from netlimits.errors import ToolFailure
from netlimits.evidence.counted import EVIDENCE
from netlimits.evidence.counted._base import growth
from netlimits.evidence.counted.counters import INTERFACE, PROTOCOLS, SOFTNET_COLUMNS, Counters
from netlimits.metrics import METRICS
from netlimits.model import Command, Completed, Scalar

ONE = """/proc/net/snmp:Tcp: RtoMin MaxConn InSegs OutSegs
/proc/net/snmp:Tcp: 200 -1 10 20
/proc/net/softnet_stat:00000001 fffffffe 00000002 0 0 0 0 0 0 0 0 0 00000000 0 0
/sys/class/net/data0/statistics/rx_packets:7
"""


def completed(text: str, status: int = 0, **more: bool) -> Completed:
    return Completed("sender", Command(("grep",)), status, text, "", 0.0, **more)


def captured(run: str, end: str) -> dict[str, Scalar]:
    figures: dict[str, Scalar] = pairs.outcome("evidence/counters", f"{run}-{end}")["figures"]
    return figures


@pytest.mark.parametrize("name", pairs.names("evidence/counters"))
def test_each_capture_gives_what_its_pair_expects(name: str):
    pairs.check("evidence/counters", name)


def test_each_figure_of_a_tcp_stream_is_the_difference_of_two_readings():
    sender, receiver = captured("tcp", "local"), captured("tcp", "remote")
    later = {"mptcp_connections", "mptcp_fallbacks"}  # read since the capture was made
    assert sender.keys() == {
        *(PROTOCOLS.keys() - later),
        *INTERFACE,
        *SOFTNET_COLUMNS,
        "softnet_busiest",
    }
    # what one end of a veth pair sends is what the other receives
    for sent, got in (("tx_packets", "rx_packets"), ("tx_bytes", "rx_bytes")):
        assert sender[sent] == receiver[got]
        assert receiver[sent] == sender[got]
    # after GRO: fewer than the segments on the wire
    assert receiver["tcp_in_segs"] < sender["tcp_out_segs"]


def test_a_udp_streams_lost_datagrams_are_the_receive_buffers_errors():
    receiver = captured("udp", "remote")
    # netperf said 159784 sent and 80517 received
    assert receiver["udp_in_datagrams"] == 80517 + 1
    assert receiver["udp_rcvbuf_errors"] == receiver["udp_in_errors"] == 159784 - 80517


def test_ipv6_datagrams_are_counted_along():
    v4 = pairs.text("evidence/counters", "udp-remote").split(pairs.AFTER)[1]
    v6 = v4.replace("Udp6InDatagrams                 \t0", "Udp6InDatagrams                 \t5")
    assert v6 != v4
    assert Counters().figures(completed(v4), completed(v6))["udp_in_datagrams"] == 5


def test_softnet_is_hexadecimal_added_over_cpus_and_wraps_at_32_bits():
    two = ONE.replace("fffffffe 00000002", "00000003 00000012")
    figures = Counters().figures(completed(ONE), completed(two))
    assert figures["softnet_dropped"] == 5
    assert figures["softnet_squeezed"] == 16
    assert figures["rx_packets"] == 0


def test_what_a_host_does_not_have_is_left_out():
    assert Counters().figures(completed(ONE), completed(ONE)).keys() == {
        "tcp_in_segs",
        "tcp_out_segs",
        "rx_packets",
        "softnet_dropped",
        "softnet_squeezed",
        "softnet_busiest",
        "softnet_packets",
        "softnet_rps",
        "softnet_flow_limited",
    }
    assert Counters().figures(completed("", 2), completed("", 2)) == {}


@pytest.mark.parametrize(
    ("was", "now", "complaint"),
    [
        ("-1 10 20", "-1 10 19", "Tcp.OutSegs went back from 20 to 19"),
        ("/sys/class/net/data0/statistics/rx_packets:7\n", "", "interface or its namespace"),
        ("00000000 0 0\n", "00000001 0 0\n", "CPU 0 went offline; CPU 1 went online"),
    ],
)
def test_readings_that_do_not_belong_together_make_the_run_invalid(
    was: str, now: str, complaint: str
):
    with pytest.raises(ToolFailure, match=complaint) as failure:
        Counters().figures(completed(ONE), completed(ONE.replace(was, now)))
    assert failure.value.status == "invalid"


def test_a_reading_that_hung_is_not_taken_for_a_host_without_counters():
    with pytest.raises(ToolFailure, match="did not end in time"):
        Counters().figures(completed("", 124, timed_out=True), completed(ONE))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**31 - 1))
def test_a_counter_of_32_bits_grows_across_its_end(before: int, grown: int):
    assert growth("drops", before, (before + grown) % 2**32, bits=32) == grown


def test_a_counter_that_may_have_begun_again_is_not_called_reset_alone():
    with pytest.raises(ToolFailure, match="has only 32 bits and wrapped around") as failure:
        growth("rx_bytes", 2**32 - 1, 5)
    assert failure.value.status == "invalid"
    with pytest.raises(ToolFailure, match=r"reset meanwhile$"):
        growth("rx_bytes", 2**33, 5)


@given(st.integers(1, 2**31), st.integers(1, 2**31))
def test_a_counter_that_was_reset_is_no_growth(before: int, back: int):
    with pytest.raises(ToolFailure, match="reset"):
        growth("drops", before, max(0, before - back))
    with pytest.raises(ToolFailure, match="reset"):
        growth("drops", before, max(0, before - back), bits=32)


def segments_per_ack(local: dict[str, Scalar], remote: dict[str, Scalar]) -> Scalar:
    both = {f"local_{name}": value for name, value in local.items()}
    both |= {f"remote_{name}": value for name, value in remote.items()}
    return ack_ratio.figures(both).get("segments_per_ack")


def test_segments_per_ack_is_the_senders_out_over_the_receivers_whichever_end_sends():
    sender, receiver = captured("tcp", "local"), captured("tcp", "remote")
    assert segments_per_ack(sender, receiver) == pytest.approx(1447434 / 19639)
    assert segments_per_ack(receiver, sender) == pytest.approx(1447434 / 19639)


def test_a_quick_acknowledging_receiver_that_sends_more_segments_is_still_the_receiver():
    sender = {"tcp_out_segs": 1000, "tx_bytes": 1_000_000, "udp_out_datagrams": 0}
    receiver = {"tcp_out_segs": 1010, "tx_bytes": 66_000, "udp_out_datagrams": 0}
    assert segments_per_ack(sender, receiver) == pytest.approx(1000 / 1010)


def test_where_both_ends_send_data_there_are_no_segments_per_ack():
    counts = {"tcp_out_segs": 13170, "tx_bytes": 95_912_906, "udp_out_datagrams": 2}
    other = counts | {"tcp_out_segs": 14599, "tx_bytes": 102_161_969}
    assert segments_per_ack(counts, other) is None
    acking = counts | {"tcp_out_segs": 4421, "tx_bytes": 300_000}
    assert segments_per_ack(counts, acking) is not None
    for name in acking:  # a count that a host does not have is not 0
        unknown = {key: value for key, value in acking.items() if key != name}
        assert segments_per_ack(counts, unknown) is None


@pytest.mark.parametrize(
    ("local", "remote"),
    [
        ({}, {}),
        ({"tcp_out_segs": 7, "tx_bytes": 1650}, {"tcp_out_segs": 5, "tx_bytes": 1650}),
        (  # a UDP stream while something else talks TCP
            {"tcp_out_segs": 900, "udp_out_datagrams": 159787, "tx_bytes": 656713492},
            {"tcp_out_segs": 800, "tx_bytes": 60000},
        ),
    ],
)
def test_without_tcp_there_are_no_segments_per_ack(
    local: dict[str, Scalar], remote: dict[str, Scalar]
):
    assert segments_per_ack(local, remote) is None


def test_every_figure_is_a_metric_of_both_ends():
    columns = {metric.column for metric in METRICS}
    figures = {
        *PROTOCOLS,
        *INTERFACE,
        *SOFTNET_COLUMNS,
        "softnet_busiest",
    }
    assert {f"{end}_{name}" for name in figures for end in ("local", "remote")} <= columns


def test_commands_hold_the_interface_as_an_argument_and_need_no_root():
    for evidence in EVIDENCE:
        command = evidence.read("data0")
        assert "data0" in command.argv[2:], "a word of its own"
        assert command.argv[0] in ("sh", "ethtool")
        assert not command.sudo


INTERRUPTS = """/proc/net/softnet_stat:00000010 0 0 0 0 0 0 0 0 00000001 00000002 0 00000000 0 0
/proc/net/softnet_stat:00000001 0 0 0 0 0 0 0 0 00000000 00000000 0 00000001 0 0
/proc/pressure/cpu:some avg10=1.00 avg60=0.50 avg300=0.10 total=1500
/proc/interrupts:  24:     100        7  PCI-MSIX-0000:00:03.0   0-edge      virtio0-config
/proc/interrupts:  25:    5000        1  PCI-MSIX-0000:00:03.0   1-edge      virtio0-input.0
"""


def test_what_each_cpu_and_each_queue_took_is_told_by_the_busiest():
    after = INTERRUPTS.replace("00000010", "00000050").replace("5000        1", "9000    11")
    after = after.replace(" 100 ", " 130 ").replace("total=1500", "total=4500")
    after = after.replace("00000002 0 00000000", "00000005 0 00000000")
    figures = Counters().figures(completed(INTERRUPTS), completed(after))
    assert figures["softnet_packets"] == figures["softnet_busiest"] == 64
    assert figures["softnet_flow_limited"] == 3
    assert figures["softnet_rps"] == 0
    assert figures["nic_interrupts"] == 4010 + 30
    assert figures["nic_interrupts_busiest"] == 4010
    assert figures["cpu_pressure_ms"] == 3.0
    assert "memory_pressure_ms" not in figures
    gone = "".join(line for line in after.splitlines(True) if " 25:" not in line)
    assert Counters().figures(completed(INTERRUPTS), completed(gone))["nic_interrupts"] == 30
