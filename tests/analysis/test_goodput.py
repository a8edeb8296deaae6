import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netlimits.analysis import goodput
from netlimits.analysis.headers import LAYERS
from netlimits.errors import DataError

NAMES = [layer.name for layer in LAYERS if layer.name != "other"]


def test_plain_ethernet_with_timestamps_as_the_report_adds_it_up() -> None:
    at = goodput.bound(1500, "100G", timestamps=True)
    sizes = {header.name: header.bytes for header in at.headers}
    assert sizes == {
        "inter-packet gap": 12,
        "preamble": 7,
        "start of frame delimiter": 1,
        "Ethernet": 14,
        "IPv4": 20,
        "TCP": 20,
        "TCP timestamps": 12,
        "frame check sequence": 4,
    }
    assert (at.data_bytes, at.wire_bytes) == (1448, 1538)  # the report's 1432 is a slip
    assert round(100 * at.ratio) == 94
    assert round(100 * goodput.bound(9000, timestamps=True).ratio) == 99
    slip = goodput.bound(1500, timestamps=True, data=1432)
    assert round(100 * slip.ratio) == 94
    assert at.packets_per_s * at.data_bytes * 8 == pytest.approx(at.goodput_bps)


def test_the_turin_formula() -> None:
    standard = goodput.bound(1500, "2.5G").goodput_bps
    assert standard == pytest.approx(1460 / (1460 + 20 + 20 + 38) * 2.5e9)
    assert round(standard / 1e9, 2) == 2.37
    assert round(goodput.bound(8900, "2.5G").goodput_bps / 1e9, 3) == 2.478


@pytest.mark.parametrize(
    ("mtu", "cap", "binds", "rate"),
    [(1500, "50G", "egress cap", 50), (8896, "50G", "egress cap", 50), (1500, "100G", "link", 94)],
)
def test_egress_cap_against_link(mtu: int, cap: str, binds: str, rate: int) -> None:
    """n2-standard-32 and n2-standard-80 on a 100 Gbit/s link; the latter at 1500 misses its cap."""
    limit = goodput.limit(goodput.bound(mtu, "100G", timestamps=True), cap)
    assert limit.binds == binds
    assert round(limit.rate_bps / 1e9) == rate


def test_the_large_mtu_brings_the_80_cpu_machine_within_three_percent_even_with_more_headers() -> (
    None
):
    at = goodput.bound(8896, "100G", ["geneve+16"], timestamps=True, mtu_of="guest")
    limit = goodput.limit(at, "100G")
    assert limit.binds == "link"
    assert 0.97 < limit.rate_bps / 1e11 < 1


@pytest.mark.parametrize(
    ("stack", "options", "inner_mtu"),
    [
        (["vxlan"], {}, 1450),
        (["vxlan"], {"outer_ipv6": True}, 1430),
        (["geneve"], {}, 1450),
        (["wireguard"], {"outer_ipv6": True}, 1420),
        (["wireguard"], {}, 1440),
        (["gre"], {}, 1476),
        (["gretap"], {}, 1462),
        (["nvgre"], {}, 1458),
        (["ipip"], {}, 1480),
        (["pppoe"], {}, 1492),
        (["esp-tunnel"], {}, 1446),
        (["vlan", "vxlan"], {}, 1450),
        (["vxlan"], {"mtu_of": "guest"}, 1500),
    ],
)
def test_tunnels_leave_the_mtu_that_their_users_know(
    stack: list[str], options: dict[str, object], inner_mtu: int
) -> None:
    assert goodput.bound(1500, stack=stack, **options).inner_mtu == inner_mtu  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(
    st.integers(576, 9216),
    st.lists(st.sampled_from(NAMES), max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_what_counts_inside_the_mtu_never_exceeds_it_and_no_byte_more_would_fit(
    mtu: int, stack: list[str], timestamps: bool, ipv6: bool
) -> None:
    options = {"stack": stack, "timestamps": timestamps, "ipv6": ipv6, "outer_ipv6": ipv6}
    at = goodput.bound(mtu, **options)  # type: ignore[arg-type]
    inside = at.data_bytes + sum(h.bytes for h in at.headers if h.inside_mtu)
    assert mtu - 16 < inside <= mtu
    assert 0 < at.ratio < 1
    with pytest.raises(DataError, match="do not fit"):
        goodput.bound(mtu, **options, data=at.data_bytes + 1)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(st.integers(600, 9000), st.lists(st.sampled_from(NAMES), max_size=3))
def test_headers_around_a_guest_never_change_its_data_only_the_wire(
    mtu: int, stack: list[str]
) -> None:
    assume(not {"esp", "ah"} & set(stack))
    plain, wrapped = goodput.bound(mtu), goodput.bound(mtu, stack=stack, mtu_of="guest")
    assert plain.data_bytes == wrapped.data_bytes
    assert (wrapped.ratio < plain.ratio) is bool(stack)


def test_small_messages_are_padded_to_the_shortest_frame() -> None:
    at = goodput.bound(1500, transport="udp", data=1)
    assert at.wire_bytes == 64 + 20
    assert goodput.bound(1500, transport="udp", data=18).wire_bytes == 64 + 20
    assert goodput.bound(1500, transport="udp", data=19).wire_bytes == 65 + 20


def test_esp_pads_to_four_bytes() -> None:
    for data in range(1000, 1008):
        at = goodput.bound(1500, stack=["esp"], data=data)
        tail = next(h.bytes for h in at.headers if h.name.startswith("ESP pad"))
        assert (data + 20 + tail) % 4 == 0
        assert 2 <= tail < 6


@pytest.mark.parametrize(
    ("written", "rate"),
    [("2.5G", 2.5e9), ("100M", 1e8), ("10 Gbit/s", 1e10), ("1000", 1e3), (5e6, 5e6), ("1T", 1e12)],
)
def test_bit_rates(written: str | float, rate: float) -> None:
    assert goodput.bits_per_second(written) == rate


@pytest.mark.parametrize("written", ["", "fast", "-1G", "1Q", "0", float("inf"), "1GB", "G"])
def test_what_is_no_bit_rate_is_refused(written: str | float) -> None:
    with pytest.raises(DataError, match="bit"):
        goodput.bits_per_second(written)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"mtu": 40}, "mtu: it must be 68 to 65535 bytes, not 40"),
        ({"mtu": 100, "stack": ["vxlan"], "ipv6": True}, "MTU of 100 leaves no room .* vxlan"),
        ({"stack": ["vxln"]}, "unknown layer 'vxln'; there are vlan"),
        ({"stack": ["geneve+x"]}, "NAME"),
        ({"stack": ["other"]}, "NAME"),
        ({"transport": "udp", "timestamps": True}, "leave them out for UDP"),
        ({"transport": "sctp"}, "tcp or udp"),
        ({"data": 0}, "at most 1460 do"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        goodput.bound(**arguments)  # type: ignore[arg-type]


def test_the_curve_of_the_chart() -> None:
    curve = goodput.curve([100, 1500, 9000], [(), ("vxlan",)], "2.5G", timestamps=True)
    assert curve["stack"].tolist() == ["plain Ethernet"] * 3 + ["vxlan"] * 2
    assert curve.iloc[1]["ratio"] == goodput.bound(1500, timestamps=True).ratio
    with pytest.raises(DataError, match="none of the MTUs has room"):
        goodput.curve([80], [("vxlan",)])


def test_an_mtu_is_the_links_or_the_guests_and_nothing_else():
    with pytest.raises(DataError, match="link or guest, not 'gest'"):
        goodput.bound(mtu_of="gest", stack=["vxlan"])


def wireguard_padding(mtu_of: str, data: int) -> int:
    at = goodput.bound(1500, stack=["wireguard"], transport="udp", data=data, mtu_of=mtu_of)
    return sum(header.bytes for header in at.headers if header.name == "wireguard: padding")


@pytest.mark.parametrize("mtu_of", ["link", "guest"])
def test_wireguard_pads_small_packets_to_16_bytes_and_full_ones_not_above_its_mtu(mtu_of: str):
    # 28 bytes of UDP and IPv4 inside: 100 make 128, 101 make 144
    assert wireguard_padding(mtu_of, 100) == 0
    assert wireguard_padding(mtu_of, 101) == 15
    assert wireguard_padding(mtu_of, 115) == 1
    room = 1500 if mtu_of == "guest" else 1440
    assert wireguard_padding(mtu_of, room - 28) == 0, "a full packet"
    assert wireguard_padding(mtu_of, room - 28 - 1) == 1
