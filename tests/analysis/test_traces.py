"""Traces: the same packets as text of any clock, as pcap and as pcapng give the same frame."""

import struct
from contextlib import suppress

import pairs
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.analysis.packets import pcap, tcpdump
from netlimits.analysis.packets.traces import COLUMNS, NEAR, trace
from netlimits.errors import DataError
from netlimits.reproduce import published

RR = pairs.path("traces", "rr-ipv4")
OLD = published.path("rr-trace-deferred-acks")
LINE = "000537 192.168.1.213.58582 > 192.168.1.212.12866: P 1:257(256) ack 1 win 32768 (DF)"


def captured(name: str, **more: int | None) -> pd.DataFrame:
    return trace(pairs.path("traces", name), **more)


def same(left: pd.DataFrame, right: pd.DataFrame, but: tuple[str, ...] = ()) -> None:
    """Equal in every column, times within a printed microsecond a packet."""
    columns = [c for c in COLUMNS if c not in ("time_s", "seq_start", "seq_end", *but)]
    pd.testing.assert_frame_equal(left[columns], right[columns])
    carries = left["length_bytes"] > 0  # tcpdump prints no seq for a pure ACK
    numbers = ["seq_start", "seq_end"]
    pd.testing.assert_frame_equal(left[carries][numbers], right[carries][numbers])
    assert (left["time_s"] - right["time_s"]).abs().max() < 1.01e-6


@pytest.mark.parametrize("name", pairs.names("traces"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("traces", name)


@pytest.mark.parametrize(
    "name", ["clock", "tt", "ttt", "tttt", "ttttt", "tt-S", "tt-x", "ttt-v", "ttt-e"]
)
def test_text_of_any_clock_is_the_captures_frame(name):
    text = captured(f"rr-ipv4-{name}", control_port=None)
    same(text, trace(RR, control_port=None).head(len(text)))


@pytest.mark.parametrize("name", ["ttt", "ttt-v"])
def test_ipv6_text_is_the_captures_frame(name):
    text = captured(f"rr-ipv6-{name}")
    same(text, captured("rr-ipv6").head(len(text)))


def test_other_traffic_is_passed_over_and_nanoseconds_are_kept():
    capture = captured("any-nano", control_port=None)
    text = captured("any-nano-ttt", control_port=None)
    same(text, capture)
    assert (text["time_s"] - capture["time_s"]).abs().max() < 1e-9


def test_pcapng_is_the_pcaps_frame():
    same(captured("rr-ipv4-ng"), trace(RR))


def test_bytes_text_and_file_are_one():
    pd.testing.assert_frame_equal(trace(RR), trace(RR.read_bytes()))
    pd.testing.assert_frame_equal(trace(OLD), trace(OLD.read_text()))
    pd.testing.assert_frame_equal(trace(OLD), trace(str(OLD)))


def test_control_connection_is_left_out_unless_asked_for():
    assert len(trace(OLD)) == 63
    whole = trace(OLD, control_port=None)
    assert len(whole) == 68
    assert whole["connection"].nunique() == 2
    assert len(trace(OLD, control_port=32970)) == 5


def test_2005_line_to_the_letter():
    row = trace(f"{LINE}\n").iloc[0]
    assert (row.source, row.source_port) == ("192.168.1.213", 58582)
    assert (row.destination, row.destination_port) == ("192.168.1.212", 12866)
    assert (row["flags"], row["kind"]) == ("P.", "segment")
    assert (row.seq_start, row.seq_end, row.length_bytes, row.ack) == (1, 257, 256, 1)


def test_kinds_and_times_of_the_2005_trace():
    frame = trace(OLD)
    assert frame["kind"].value_counts().to_dict() == {"segment": 52, "ack": 9, "control": 2}
    assert frame["time_s"].iloc[0] == 0
    deltas = [int(line[:6]) for line in OLD.read_text().splitlines()[6:]]
    assert frame["time_s"].iloc[-1] == pytest.approx(sum(deltas) / 1e6)
    assert frame["seq_end"].max() == 65537


def test_long_pauses_of_the_2005_clock():
    assert trace(f"{LINE}\n2. {LINE}\n")["time_s"].iloc[1] == pytest.approx(2.000537)


def test_midnight_is_passed():
    lines = pairs.text("traces", "rr-ipv4-clock").splitlines()
    late = [f"23:59:59.999{900 + i}{line[15:]}" for i, line in enumerate(lines[:9])]
    early = [f"00:00:00.0000{10 + i}{line[15:]}" for i, line in enumerate(lines[9:18])]
    times = trace("\n".join([*late, *early]) + "\n", control_port=None)["time_s"]
    assert times.is_monotonic_increasing
    assert times.iloc[9] - times.iloc[8] == pytest.approx(102e-6)


MALFORMED = [
    ("no packet at all", "no time at the start"),
    (LINE.replace("P 1:", "Q 1:"), "neither TCP"),
    (LINE.replace("(256)", "(255)"), "does not span the 255 bytes"),
    (LINE.replace("58582 >", "ssh >"), "tcpdump -n"),
    (LINE.replace(" > ", " "), "not a packet"),
    (" 00:00:00.000001 IP 1.2.3.4.5 > 6.7.8.9.10: Flags [P.], seq 1:9, ack", "neither TCP"),
    ("18:00:00.000001 IP 1.2.3.4.5 > 6.7.8.9.10: Flags [.], ack 1, win 1, length 0", "several"),
]


@pytest.mark.parametrize(("line", "says"), MALFORMED)
def test_malformed_line_is_named(line, says):
    with pytest.raises(DataError, match=says) as error:
        trace(f"{LINE}\n{LINE}\n{line}\n")
    assert says == "several" or ":3: " in str(error.value)


OTHERS = [
    "arp who-has 192.168.1.1 tell 192.168.1.2",
    "192.168.1.1.53 > 192.168.1.2.1024:  udp 100 (DF)",
    "192.168.1.1 > 224.0.0.1: igmp query v2",
    "IP 192.0.2.1.123 > 192.0.2.2.123: NTPv4, Client, length 48",
    "IP 192.0.2.1.53 > 192.0.2.2.999: 4660* 1/0/0 A 192.0.2.7 (45)",
    "IP6 fe80::1 > ff02::1: HBH ICMP6, multicast listener query v2, length 28",
    "STP 802.1d, Config, Flags [none], bridge-id 8000.00, length 35",
    "IP6 fe80::1.5353 > ff02::fb.5353: 0 PTR (QM)? _ipp._tcp.local. (32)",
]


@pytest.mark.parametrize("line", OTHERS)
def test_other_protocols_are_passed_over(line):
    line = f"000001 {line}"
    assert len(trace(f"{LINE}\n{line}\n{LINE}\n")) == 2


def test_what_holds_no_packets_says_so(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("tcpdump: listening on eth0\n0 packets captured\n")
    with pytest.raises(DataError, match=r"empty\.txt: contains no TCP packet"):
        trace(empty)
    with pytest.raises(DataError, match="cannot be read"):
        trace(tmp_path / "missing.pcap")


@pytest.mark.parametrize("name", ["rr-ipv4", "rr-ipv4-ng", "any-nano"])
def test_capture_cut_anywhere_is_refused_or_shorter(name):
    """At a packet's end a cut cannot be seen; anywhere else it must be."""
    data = pairs.output("traces", name)
    whole = list(pcap.packets(data))
    for end in [*range(4, 700), len(data) - 1]:
        try:
            packets = list(pcap.packets(data[:end]))
        except DataError:
            continue
        assert packets == whole[: len(packets)]
        assert end < len(data) - 1


def big_endian(data: bytes) -> bytes:
    """A little-endian pcap's headers the other way round."""
    words = struct.unpack_from("<IHHiIII", data)
    turned, place = struct.pack(">IHHiIII", *words), 24
    while place < len(data):
        header = struct.unpack_from("<IIII", data, place)
        turned += struct.pack(">IIII", *header) + data[place + 16 : place + 16 + header[2]]
        place += 16 + header[2]
    return turned


def vlan_tagged(data: bytes) -> bytes:
    """A pcap of Ethernet frames with an 802.1Q tag put into each."""
    tagged, place = data[:24], 24
    while place < len(data):
        s, us, kept, length = struct.unpack_from("<IIII", data, place)
        frame = data[place + 16 : place + 16 + kept]
        frame = frame[:12] + b"\x81\x00\x00\x07" + frame[12:]
        tagged += struct.pack("<IIII", s, us, len(frame), length + 4) + frame
        place += 16 + kept
    return tagged


@pytest.mark.parametrize("turn", [big_endian, vlan_tagged])
def test_other_byte_order_and_vlan_tags(turn):
    pd.testing.assert_frame_equal(trace(turn(RR.read_bytes())), trace(RR))


def test_headers_that_were_not_kept_are_an_error():
    data = RR.read_bytes()
    head = struct.unpack_from("<IIII", data, 24)
    short = data[:24] + struct.pack("<IIII", *head[:2], 40, head[3]) + data[40:80]
    with pytest.raises(DataError, match="packet 1 was cut off inside its headers"):
        trace(short)
    with pytest.raises(DataError, match="link type 147"):
        trace(data[:20] + struct.pack("<I", 147) + data[24:])


def test_offloaded_packets_become_segments_with_mss():
    whole = captured("rr-tso")
    cut = captured("rr-tso", mss=1448)
    assert whole["length_bytes"].max() > 1448
    assert cut["length_bytes"].max() == 1448
    assert cut["length_bytes"].sum() == whole["length_bytes"].sum()
    data = cut[(cut["length_bytes"] > 0) & (cut["source"] == "192.0.2.2")]
    assert (data["seq_start"].iloc[1:].to_numpy() == data["seq_end"].iloc[:-1].to_numpy()).all()
    with pytest.raises(DataError, match="mss: it must be at least 1"):
        captured("rr-tso", mss=0)


@pytest.mark.long
@settings(deadline=None)
@given(
    isn=st.integers(0, 2**32 - 1) | st.integers(2**32 - NEAR, 2**32 - 1),
    sizes=st.lists(st.integers(1, 65000), min_size=1, max_size=20),
    absolute=st.booleans(),
)
def test_numbers_are_relative_however_they_are_printed(isn, sizes, absolute):
    base = isn if absolute else 0
    lines = [f"1700000000.0 IP 1.1.1.1.1 > 2.2.2.2.2: Flags [S], seq {isn}, win 1, length 0"]
    at = 1
    for size in sizes:
        seq, end = ((base + n) % 2**32 for n in (at, at + size))
        lines.append(
            f"1700000000.0 IP 1.1.1.1.1 > 2.2.2.2.2: Flags [.], seq {seq}:{end}, ack 1, win 1, "
            f"length {size}"
        )
        at += size
    frame = trace("\n".join(lines) + "\n")
    assert frame["seq_end"].iloc[-1] == at
    assert frame["seq_start"].iloc[1] == 1


@settings(deadline=None)
@given(st.text(max_size=80))
def test_no_text_breaks_the_parser(text):
    """Whatever follows a good line, it is packets or our own error, nothing else."""
    with suppress(DataError):
        for packet in tcpdump.packets(f"{LINE}\n000001 {text}\n"):
            assert packet.source_port >= 0
