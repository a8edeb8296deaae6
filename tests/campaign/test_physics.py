"""What interfaces and links say of a run, on counters of the lab and on each fault's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from netlimits.campaign import caps
from netlimits.campaign.caps import Cap
from netlimits.campaign.figures import physics, rates
from netlimits.campaign.figures.physics import Framing, Interface, Way
from netlimits.campaign.specifications import specified
from netlimits.errors import ToolFailure
from netlimits.model import Machine, SettingUse, Setup

MB = 1e6
DATA = 100 * MB
PACKETS = DATA / 1448


def interface(role: str = "receiver", **changed: Any) -> Interface:
    """The receiver of 100 MB over TCP, packet by packet, with 34,000 ACKs."""
    counts = {
        "rx_bytes": DATA + 66 * PACKETS,
        "rx_packets": PACKETS,
        "tx_bytes": 66 * PACKETS / 2,
        "tx_packets": PACKETS / 2,
        "tcp_retrans_segs": 0.0,
    }
    counts |= {name: value for name, value in changed.items() if name in counts}
    into = changed.get("into", Way(DATA, DATA))
    return Interface(role, "data0", counts, Way(), into, changed.get("ours", 0.0))


def share(
    device: Interface, seconds: float = 10, transport: str = "tcp", mss: float = 1448
) -> float | None:
    return physics.disturbance([device], transport, mss, seconds, ipv6=False)


@pytest.mark.parametrize(
    "device",
    [
        interface(),
        interface(rx_bytes=DATA + 66 * PACKETS / 40, rx_packets=PACKETS / 40),  # whole after GRO
        interface(rx_bytes=DATA + 70 * PACKETS),  # a driver that counts the checksum
        interface(tx_bytes=(66 + 36) * PACKETS / 2),  # every ACK with SACK blocks
        interface(rx_bytes=DATA + 66 * PACKETS + 250e3),  # our own reading
        interface(rx_bytes=1.1 * (DATA + 66 * PACKETS), tcp_retrans_segs=0.1 * PACKETS),
        interface(rx_bytes=DATA + 66 * PACKETS + 5e6, ours=3e6),  # a trace over the same link
    ],
)
def test_what_belongs_to_a_run_is_no_disturbance(device):
    assert share(device) == 0


def test_nothing_on_the_interface_is_another_way():
    for zero in (interface(rx_bytes=0.0, rx_packets=0.0), interface(rx_bytes=6e4, rx_packets=900)):
        with pytest.raises(ToolFailure, match="the data took another way") as error:
            share(zero)
        assert error.value.status == "invalid"
        assert "receiver: data0 received" in str(error.value)


def test_a_driver_that_counts_late_may_miss_a_second_and_it_is_told():
    late = interface(rx_bytes=0.7 * DATA)
    assert share(late, seconds=2) == pytest.approx(30)
    with pytest.raises(ToolFailure, match="another way"):
        share(late, seconds=10)
    with pytest.raises(ToolFailure, match="another way"):
        share(interface(rx_bytes=0.4 * DATA), seconds=1)


def test_another_load_is_told_with_its_share_and_above_that_no_run():
    """Twice the bytes of the measurement on the link used to be `ok`."""
    beside = interface(rx_bytes=1.08 * (DATA + 66 * PACKETS), rx_packets=1.08 * PACKETS)
    assert share(beside) == pytest.approx(7, abs=3)
    twice = interface(rx_bytes=2 * (DATA + 66 * PACKETS), rx_packets=2 * PACKETS)
    with pytest.raises(ToolFailure, match=r"received \d\d % more than the run's 1") as error:
        share(twice)
    assert error.value.status == "invalid"
    back = interface(tx_bytes=0.5 * DATA, tx_packets=PACKETS)
    with pytest.raises(ToolFailure, match=r"sent \d\d % more"):
        share(back)


def test_small_datagrams_have_their_headers_and_no_more():
    count = 1e6
    sent = Way(64 * count, 64 * count)
    counts = {"rx_bytes": (64 + 42) * count, "rx_packets": count, "tx_bytes": 0.0}
    device = Interface("receiver", "data0", {**counts, "tx_packets": 0.0}, Way(), sent)
    assert physics.disturbance([device], "udp", 0, 10, ipv6=False) == 0
    six = Interface(
        "receiver",
        "data0",
        {**counts, "rx_bytes": (64 + 62) * count, "tx_packets": 0.0},
        Way(),
        sent,
    )
    assert physics.disturbance([six], "udp", 0, 10, ipv6=True) == 0
    with pytest.raises(ToolFailure, match="something else used the link"):
        physics.disturbance([six], "udp", 0, 10, ipv6=False)


def test_transactions_need_a_packet_each_way():
    way = Way(1e5, 1e5, 1e5)
    counts = dict.fromkeys(("rx_bytes", "tx_bytes"), 6700000.0)
    counts |= dict.fromkeys(("rx_packets", "tx_packets"), 100000.0)
    counts["tcp_retrans_segs"] = 0.0
    assert physics.disturbance([Interface("a", "e", counts, way, way)], "tcp", 1448, 2, False) == 0
    counts["tx_packets"] = 1e3
    with pytest.raises(ToolFailure, match="sent 1000 packets"):
        physics.disturbance([Interface("a", "e", counts, way, way)], "tcp", 1448, 2, False)


def flooded(strangers: float) -> list[Interface]:
    """Both ends of 100,000 transactions of a byte, while so many small datagrams came in."""
    rate = 1e5
    sent = {"tcp_out_segs": rate, "tcp_retrans_segs": 0, "udp_out_datagrams": 9}
    sent |= {"ip_frag_creates": 0}
    own = {f"{way}_{what}": rate * size for way in ("tx", "rx")
           for what, size in (("bytes", 67), ("packets", 1))}  # fmt: skip
    more = {"rx_bytes": own["rx_bytes"] + 58 * strangers, "rx_packets": rate + strangers}
    way = Way(rate, rate)
    return [
        Interface("sender", "data0", own | sent, way, way, end="local"),
        Interface("receiver", "data0", own | sent | more, way, way, end="remote"),
    ]


def test_a_flood_of_small_packets_has_no_headers_of_the_run():
    assert physics.disturbance(flooded(0), "tcp", 1448, 2, ipv6=False) == 0
    with pytest.raises(ToolFailure, match=r"receiver: data0 received .* something else used"):
        physics.disturbance(flooded(1.2e6), "tcp", 1448, 2, ipv6=False)
    untold = [replace(device, counts={k: v for k, v in device.counts.items() if k != "tcp_out_segs"})
              for device in flooded(1000)]  # fmt: skip
    assert physics.disturbance(untold, "tcp", 1448, 2, ipv6=False) == 0


def test_where_an_interface_has_no_counters_nobody_knows_what_else_it_carried():
    bare = Interface("a", "e", {"tx_bytes": 0.0}, Way(1e9, 1e9), Way())
    assert share(bare) is None
    assert physics.disturbance([], "tcp", 1448, 10, ipv6=False) is None
    assert physics.disturbance([interface(), bare], "tcp", 1448, 10, ipv6=False) is None
    beside = interface(rx_bytes=1.08 * (DATA + 66 * PACKETS), rx_packets=1.08 * PACKETS)
    share_of_both = physics.disturbance(
        [bare, replace(beside, end="remote")], "udp", 0, 10, ipv6=False
    )
    assert share_of_both == share(beside, transport="udp", mss=0), (
        "what the other one shows is told"
    )


def uncounted(device: Interface, name: str = "tcp_retrans_segs") -> Interface:
    """The interface of a host whose kernel lacks a counter."""
    return replace(device, counts={k: v for k, v in device.counts.items() if k != name})


def test_a_kernel_that_counts_no_retransmissions_makes_them_no_other_traffic():
    """A run of which a tenth was sent again was 0 % disturbed with the counter, and 9 % without."""
    again = interface(rx_bytes=1.1 * (DATA + 66 * PACKETS), tcp_retrans_segs=0.1 * PACKETS)
    assert share(again) == 0
    assert share(uncounted(again)) is None
    twice = interface(rx_bytes=2 * (DATA + 66 * PACKETS), rx_packets=2 * PACKETS)
    assert share(uncounted(twice)) is None, "nobody knows that it was not sent again"


def test_without_that_counter_what_no_retransmission_explains_is_told_all_the_same():
    back = uncounted(interface(tx_bytes=0.5 * DATA, tx_packets=PACKETS))
    with pytest.raises(ToolFailure, match=r"sent \d\d % more"):
        share(back)
    with pytest.raises(ToolFailure, match="another way"):
        share(uncounted(interface(rx_bytes=0.0, rx_packets=0.0)))
    twice = interface(rx_bytes=2 * (DATA + 66 * PACKETS), rx_packets=2 * PACKETS)
    with pytest.raises(ToolFailure, match="something else used the link"):
        share(uncounted(twice), transport="udp")
    assert share(uncounted(interface()), transport="udp") == 0


FULL, BARE, DATAGRAM = (
    Framing(1448, "tcp", timestamps=True),
    Framing(1460, "tcp"),
    Framing(1472, "udp"),
)
GIGABIT = Cap("sender's link of 1000 Mbit/s", 1e9, caps.ON_A_LINK)


@pytest.mark.parametrize(
    ("packet", "possible"),
    [
        (BARE, 949.28),
        (FULL, 941.48),
        (DATAGRAM, 957.09),
        (Framing(1440, "tcp", ipv6=True), 936.28),
        (Framing(1428, "tcp", ipv6=True, timestamps=True), 928.48),
        (Framing(1452, "udp", ipv6=True), 944.08),
        (Framing(8192, "udp", mtu=1500), 958.35),  # six fragments
        (Framing(8192, "udp", mtu=9000), 992.01),
        (Framing(1472, "udp", mtu=1500), 957.09),
        (Framing(0, "tcp"), 1000.0),
    ],
)
def test_no_rate_is_above_what_headers_leave_of_the_link(packet, possible):
    """The headers of the connection count, to the byte: a percent too much used to pass."""
    physics.refuse_above(possible, GIGABIT, packet, 10)
    physics.refuse_above(1.0019 * possible, GIGABIT, packet, 10)
    with pytest.raises(ToolFailure, match=r"Mbit/s is more than the .* that sender's link"):
        physics.refuse_above(1.003 * possible, GIGABIT, packet, 10)


def test_the_data_of_a_frame_and_its_headers_are_its_bytes_on_the_wire():
    assert FULL.frames(caps.ON_A_LINK) == 1538
    assert BARE.frames(caps.ON_A_LINK) == 1538
    assert Framing(1428, "tcp", ipv6=True, timestamps=True).frames(caps.ON_A_LINK) == 1538
    assert Framing(3000, "udp", mtu=1500).frames(14) == 3008 + 3 * 34
    assert Framing(1378, "tcp", timestamps=True, gained=50).frames(14) == 1378 + 52 + 50 + 14
    assert Framing(3000, "udp", mtu=1500, gained=50).frames(14) == 3008 + 3 * (34 + 50)
    assert Framing(3000, "udp", ipv6=True, mtu=1500).frames(14) == 3008 + 3 * 62


def test_what_may_be_above_a_bound_has_a_reason():
    slow = caps.shaper(TBF, "sender")
    assert slow
    physics.refuse_above(19.17, slow, FULL, 10)
    with pytest.raises(ToolFailure, match=r"19\.2 Mbit/s .* sender's tbf of 20 Mbit/s"):
        physics.refuse_above(19.2, slow, FULL, 10)
    physics.refuse_above(19.4, slow, FULL, 1)  # the burst at its beginning, and a late CPU
    with pytest.raises(ToolFailure, match="8696 Mbit/s"):
        physics.refuse_above(8696, slow, Framing(0, "tcp"), 1)
    physics.refuse_above(19.4, slow, FULL, 5, early=physics.WAITING)
    with pytest.raises(ToolFailure):
        physics.refuse_above(19.4, slow, FULL, 5)
    longer = caps.shaper([{**TBF[0], "options": {**TBF[0]["options"], "overhead": 24}}], "a")
    with pytest.raises(ToolFailure, match=r"than the 18\.8"):
        physics.refuse_above(19.1, longer, FULL, 10)


TBF: list[dict[str, Any]] = [
    {"kind": "tbf", "root": True, "options": {"rate": 2_500_000, "burst": 16382, "lat": 116327}},
    {"kind": "clsact", "options": {}},
]


def test_datagrams_in_a_shapers_queue_arrive_after_their_senders_time():
    cap = caps.shaper(TBF, "sender")
    assert cap
    physics.refuse_above(20.0, cap, Framing(1000, "udp"), 3, waits=True)
    for rate, waits in ((21.0, True), (20.0, False)):
        with pytest.raises(ToolFailure):
            physics.refuse_above(rate, cap, Framing(1000, "udp"), 3, waits=waits)
    for other in ([], [{"kind": "fq", "root": True}], [{**TBF[0], "root": False}]):
        assert caps.shaper(other, "sender") is None


def test_a_qdisc_counts_the_bytes_that_it_is_told_to():
    def cap(**options: Any) -> Cap:
        return caps.caps([SettingUse("qdisc", ("sender",), options, 1)])["sender"]

    netem = cap(kind="netem", rate="20mbit", packet_overhead=24, limit=50)
    assert (netem.each("udp"), netem.packets) == (38, 50)
    assert netem.each("tcp") == 14, "many segments are one packet to it"
    assert cap(kind="netem", rate="20mbit", packet_overhead=-24).each("tcp") == -10
    some = {"rate": "20mbit", "cell_size": 48, "cell_overhead": -5}
    assert not caps.caps([SettingUse("qdisc", ("sender",), {"kind": "netem", **some}, 1)])
    assert cap(kind="cake", bandwidth="20mbit", overhead=44).overhead == 44
    assert cap(kind="cake", bandwidth="20mbit").overhead == 14
    assert cap(kind="htb", rate="20mbit", burst="16kb").packets == caps.QUEUE


def test_segments_that_netem_takes_for_one_packet_share_its_overhead():
    """Measured: 124 Mbit/s of segments of 600 bytes, where each by itself would allow 20."""
    netem = {"kind": "netem", "rate": "2gbit", "packet_overhead": 60_000}
    cap = caps.caps([SettingUse("qdisc", ("sender",), netem, 1)])["sender"]
    physics.refuse_above(123.95, cap, Framing(600, "tcp"), 2)
    with pytest.raises(ToolFailure, match=r"more than the 19\.7"):
        physics.refuse_above(123.95, cap, Framing(600, "udp"), 2)
    free = {"kind": "netem", "rate": "1mbit", "packet_overhead": -60_000}
    cap = caps.caps([SettingUse("qdisc", ("sender",), free, 1)])["sender"]
    physics.refuse_above(1e6, cap, Framing(600, "tcp"), 2)


def test_an_htb_of_the_experiment_is_known_from_its_settings():
    use = SettingUse("qdisc", ("sender",), {"kind": "htb", "rate": "100mbit", "burst": "64kb"}, 1)
    other = SettingUse("mtu", ("sender",), 1500, 2)
    by_role = caps.caps([use, other])
    assert by_role["sender"].bps == 100e6
    assert caps.caps([SettingUse("qdisc", ("sender",), {"kind": "htb"}, 1)]) == {}


def test_an_htb_with_classes_or_a_child_is_known_too():
    class_ = {"rate": "10mbit", "burst": "16kb", "match": {"dscp": 46}}
    shaped = {"kind": "htb", "rate": "50mbit", "burst": "32kb"}
    classes = {**shaped, "classes": [class_, {**class_, "child": {"kind": "fq_codel"}}]}
    child = {**shaped, "child": {"kind": "fq_codel"}}
    for options, packets in ((classes, caps.QUEUE + caps.CHILD), (child, caps.CHILD)):
        cap = caps.caps([SettingUse("qdisc", ("sender",), options, 1)])["sender"]
        assert (cap.bps, cap.packets) == (50e6, packets)


def test_an_htb_with_a_token_left_lets_many_segments_go_as_one_packet():
    """Measured between machines: 3.96 Mbit/s of TCP in 2.05 s behind an htb of 4 Mbit/s."""
    use = SettingUse("qdisc", ("sender",), {"kind": "htb", "rate": "4mbit", "burst": "16kb"}, 1)
    cap, packet = caps.caps([use])["sender"], Framing(1448, "tcp", timestamps=True)
    physics.refuse_above(3.96, cap, packet, 2.05)
    with pytest.raises(ToolFailure, match="htb of 4 Mbit/s"):
        physics.refuse_above(3.96, cap, packet, 20)


def facts(speed: str, driver: str, bus: str, flags: str = "fpu sse") -> Mapping[str, Any]:
    return {
        "link_settings": {"value": {"Speed": speed}},
        "driver": {"value": {"driver": driver, "bus-info": bus}},
        "cpu": {"value": {}, "printed": f"processor : 0\nflags\t\t: {flags}\n"},
    }


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (facts("25000Mb/s", "mlx5_core", "0000:01:00.0"), 25e9),
        (facts("10000Mb/s", "veth", ""), None),  # fiction
        (facts("1000Mb/s", "e1000e", "0000:00:02.0", "fpu hypervisor sse"), None),  # a guest's
        (facts("10000Mb/s", "ixgbevf", "0000:01:10.0"), None),
        (facts("Unknown!", "e1000e", "0000:00:02.0"), None),
        ({}, None),
    ],
)
def test_a_speed_is_known_where_a_card_of_the_machines_own_says_it(of, expected):
    assert caps.speed(of) == expected


@pytest.mark.parametrize(("rate", "sent"), [(100, 586), (400, 721)])
def test_a_tools_own_pacing_that_did_not_take_is_invalid(rate, sent):
    options = {"pacing": rate * 125_000}
    figures = {"local_send_throughput_mbps": float(sent), "elapsed_s": 2.0}
    with pytest.raises(ToolFailure, match=rf"{rate} Mbit/s at most, and {sent} were") as error:
        rates.refuse_excess("netperf", options, 1, figures)
    assert error.value.status == "invalid"


def test_what_is_at_or_below_its_own_rate_counts():
    kept = {"local_send_throughput_mbps": 100.4, "elapsed_s": 2.0}
    rates.refuse_excess("netperf", {"pacing": 12_500_000}, 1, kept)
    rates.refuse_excess("netperf", {"pacing": 3_125_000}, 4, kept)
    rates.refuse_excess("iperf3", {"rate": "1G"}, 1, kept)
    rates.refuse_excess("iperf3", {"rate": "25M", "parallel": 4}, 1, kept)
    rates.refuse_excess("iperf3", {"rate": 0}, 1, kept)
    rates.refuse_excess("nuttcp", {}, 1, kept)
    with pytest.raises(ToolFailure, match="iperf3's `rate`"):
        rates.refuse_excess("iperf3", {"rate": "50M"}, 1, kept)


@pytest.mark.parametrize(
    ("options", "mbps"),
    [
        ({"kind": "netem", "delay": "5ms", "rate": "20mbit"}, 20),
        ({"kind": "cake", "bandwidth": "1gbit"}, 1000),
        ({"kind": "cake", "bandwidth": "unlimited"}, None),
        ({"kind": "netem", "delay": "5ms"}, None),
    ],
)
def test_what_the_experiments_own_netem_or_cake_lets_pass(options, mbps):
    by_role = caps.caps([SettingUse("qdisc", ("sender",), options, 1)])
    assert {role: cap.bps / 1e6 for role, cap in by_role.items()} == (
        {"sender": mbps} if mbps else {}
    )


def test_a_link_is_as_fast_as_the_experiment_sets_it():
    card = {
        "driver": {"value": {"driver": "igc", "bus-info": "0000:01:00.0"}},
        "link_settings": {"value": {"Speed": "1000Mb/s"}},
    }
    uses = (SettingUse("link", ("receiver",), {"speed": 2500}, 1),)
    setup = Setup("netperf", {}, settings=uses)
    ends = {"local": ("sender",), "remote": ("receiver",)}
    machines = {"sender": Machine("sender", address="192.0.2.1"),
                "receiver": Machine("receiver", address="192.0.2.2")}  # fmt: skip
    told = specified(setup, ends, machines, {"sender": card, "receiver": card})
    assert told.speeds == {"sender": 1e9, "receiver": 2.5e9}
    virtual = {"driver": {"value": {"driver": "veth"}}}
    assert specified(setup, ends, machines, {"receiver": virtual}).speeds == {}
