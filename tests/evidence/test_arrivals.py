"""What arrived while all streams ran, from looks as a host's kernel would show them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.evidence.sample import arrivals
from netlimits.evidence.sample.snapshots import Connection, Snapshot

START = 1795300000.0
HEADER = 66  # Ethernet, IPv4, TCP with timestamps


def look(at: float, *received: float | None, rx: float | None = None) -> Snapshot:
    """A look at streams that have received so many bytes; `rx` bytes of data in 1,000-byte packets.

    None is a stream that is not there.
    """
    connections = tuple(
        Connection(
            f"192.0.2.2:{n}", f"192.0.2.1:{n}", {"bytes_received": float(count)}, timestamps=True
        )
        for n, count in enumerate(received, 1)
        if count is not None
    )
    counters = {}
    if rx is not None:
        packets = int(rx // 1000)
        counters = {"rx_bytes": int(rx) + HEADER * packets, "rx_packets": packets}
    return Snapshot(START + at, connections, START + at, counters)


def mbit(data: float) -> float:
    return data * 8 / 1e6


def test_only_the_time_in_which_every_stream_receives_counts():
    seen = [
        look(0),
        look(1, 1e6),
        look(2, 3e6, 1e6),  # the second has begun
        look(3, 4e6, 2e6),
        look(4, 5e6, 3e6),
        look(5, 5e6, 5e6),  # the first has ended
    ]
    window = arrivals.tcp(seen, 2)
    assert window
    assert window.seconds == pytest.approx(2)
    assert window.rate_mbps == pytest.approx(mbit(2e6)), "and not the 3 MB/s of one by itself"
    assert [row["stream"] for row in window.rows] == [1, 2, 1, 2]
    assert {row["interval_s"] for row in window.rows} == {1.0}


@pytest.mark.parametrize(("rest", "intervals"), [(2.5e5, 4), (4e4, 3)])
def test_the_interval_in_which_a_stream_ended_counts_only_if_data_flowed_after_it(rest, intervals):
    """The last look but one is at 5 MB; by the last one the connection is gone, and so much came."""
    seen = [look(at, 1e6 * (at + 1), rx=1e6 * at) for at in range(5)]
    window = arrivals.tcp([*seen, look(5, None, rx=4e6 + rest)], 1)
    assert window
    assert window.seconds == pytest.approx(intervals)
    assert window.rate_mbps == pytest.approx(mbit(1e6))


@pytest.mark.parametrize("carried", [True, False])
def test_a_look_that_misses_a_stream_makes_no_rate_of_it(carried: bool):
    """Two streams of 8.8 Mbit/s: it gave 0 in the one interval, and 26.4 and 0 in the next."""
    seen = [
        look(at, 1.1e6 * (at + 1), None if at == 3 else 1.1e6 * (at + 1),
             rx=2.2e6 * at if carried else None)
        for at in range(6)
    ]  # fmt: skip
    window = arrivals.tcp(seen, 2)
    assert window
    assert window.rate_mbps == pytest.approx(17.6)
    assert [row["throughput_mbps"] for row in window.rows] == pytest.approx([8.8] * 8)
    assert [row["interval_s"] for row in window.rows] == [1, 1, 1, 1, 2, 2, 1, 1]


def test_what_a_filled_hole_hands_over_is_held_to_what_the_link_carried():
    """20 packets' data in order in one interval, of which the interface received only half then."""
    seen = [
        look(0, 1000, rx=0),
        look(1, 1001, rx=1e6),
        look(2, 2.0e6 + 1000, rx=2e6),
    ]
    window = arrivals.tcp(seen, 1)
    assert window
    assert [row["throughput_mbps"] for row in window.rows] == pytest.approx([mbit(1e6)] * 2)
    ahead = arrivals.tcp([look(0, 1, rx=0), look(1, 2e6, rx=1e6), look(2, 3e6, rx=2e6)], 1)
    assert ahead
    assert ahead.rate_mbps == pytest.approx(mbit(1e6)), "what arrived before the window"


@pytest.mark.parametrize("ipv6", [False, True])
def test_segments_without_timestamps_have_shorter_headers(ipv6: bool):
    """Of 536 bytes each: their 18.2 Mbit/s over a path of 20 read 17.7."""
    header = 54 + 20 * ipv6
    seen = []
    for at in range(4):
        packets = 1000 * (at + 1)
        plain = look(at, 536.0 * packets)
        connections = tuple(replace(c, timestamps=False) for c in plain.connections)
        counters = {"rx_bytes": (536 + header) * packets, "rx_packets": packets}
        seen.append(replace(plain, connections=connections, counters=counters))
    window = arrivals.tcp(seen, 1, ipv6=ipv6)
    assert window
    assert window.rate_mbps == pytest.approx(mbit(536e3))


@pytest.mark.parametrize(("ipv6", "fragments"), [(False, 1), (False, 6), (True, 1)])
def test_datagrams_in_fragments_have_one_header_of_their_own(ipv6: bool, fragments: int):
    """Of 8000 bytes, in 6 frames each: 9.99 Mbit/s, of which nothing was lost, read 9.95."""
    frame = 34 + 20 * ipv6
    seen = [
        replace(
            look(at),
            counters={
                "udp_in": 1000 * at,
                "rx_bytes": (8000 + 8 + fragments * frame) * 1000 * at,
                "rx_packets": fragments * 1000 * at,
            },
        )
        for at in range(6)
    ]
    window = arrivals.udp(seen, 8000, ipv6=ipv6)
    assert window
    assert window.rate_mbps == pytest.approx(mbit(8e6))


def test_datagrams_over_ipv6_count_for_no_more_than_the_interface_carried():
    seen = [
        replace(look(at), counters={"udp_in": 1000 * at, "rx_bytes": 162_000 * min(at, 3),
                                    "rx_packets": 1000 * min(at, 3)})
        for at in range(6)
    ]  # fmt: skip
    window = arrivals.udp(seen, 100, ipv6=True)
    assert window
    assert max(row["throughput_mbps"] for row in window.rows) <= mbit(100e3) * (1 + 1e-9)


def test_no_rate_is_above_what_the_interface_carried_nor_above_what_arrived_in_order():
    @given(
        st.lists(st.tuples(st.integers(1, 10**7), st.integers(1, 10**7)), min_size=2, max_size=8),
        st.floats(0.2, 2),
    )
    def holds(steps: list[tuple[int, int]], every: float) -> None:
        order, carried, seen = 1.0, 0.0, []
        for at, (more, rx) in enumerate(steps):
            order, carried = order + more, carried + 1000 * (rx // 1000)
            seen.append(look(at * every, order, rx=carried))
        window = arrivals.tcp(seen, 1)
        if window is None:
            return
        whole = (len(seen) - 1) * every
        deliveries = sum(more for more, _ in steps[1:])
        link = sum(1000 * (rx // 1000) for _, rx in steps[1:])
        most = mbit(min(deliveries, link)) / whole
        assert window.rate_mbps <= most * (1 + 1e-6)
        for row, (_, rx) in zip(window.rows, steps[1:], strict=True):
            assert row["throughput_mbps"] <= mbit(1000 * (rx // 1000)) / every * (1 + 1e-6)

    holds()


def test_seconds_may_be_left_out():
    seen = [look(at, 1000 + (at > 3) * 1e6 * (at - 3)) for at in range(8)]
    growing = [look(at, 1e6 * (at + 1) if at < 4 else 4e6 + 2e6 * (at - 3)) for at in range(8)]
    assert arrivals.tcp(seen, 1)
    late = arrivals.tcp(growing, 1, skip=4)
    assert late
    assert late.rate_mbps == pytest.approx(mbit(2e6))


@pytest.mark.parametrize(
    "seen",
    [
        [],
        [look(0, 1e6, 1e6)],
        [look(0, 1e6), look(1, 2e6)],  # one of two streams
        [look(0, 1e6, None), look(1, 2e6, None), look(2, None, 1e6), look(3, None, 2e6)],
        [
            Snapshot(None, look(0, 1e6, 1e6).connections),
            Snapshot(None, look(1, 2e6, 2e6).connections),
        ],
        [look(1, 1e6, 1e6), look(0, 2e6, 2e6)],  # the clock was set back
    ],
)
def test_where_the_looks_do_not_show_it_there_is_no_figure(seen):
    assert arrivals.tcp(seen, 2) is None


def taken(at: float, datagrams: int) -> Snapshot:
    return Snapshot(START + at, (), START + at, {"udp_in": datagrams})


def test_datagrams_that_programs_took_count_but_for_the_first_and_the_last_interval():
    seen = [taken(at, n) for at, n in enumerate((5, 5, 400, 1400, 2400, 2600, 2600))]
    window = arrivals.udp(seen, 1000)
    assert window
    assert (window.seconds, window.rate_mbps) == (2.0, pytest.approx(8.0))
    assert arrivals.udp(seen[:4], 1000) is None
    assert arrivals.udp([look(0), look(1)], 1000) is None


def test_several_hosts_are_added_up_whatever_their_clocks():
    first = arrivals.tcp([look(at, 1e6 * (at + 1)) for at in range(4)], 1)
    second = arrivals.tcp([look(at + 3600, 2e6 * (at + 1)) for at in range(4)], 1)
    both = arrivals.together([first, second])
    assert both
    assert both.rate_mbps == pytest.approx(mbit(3e6))
    assert {row["stream"] for row in both.rows} == {1.0, 2.0}
    ends = [[r["ending_s"] for r in both.rows if r["stream"] == n] for n in (1.0, 2.0)]
    assert ends[0] == pytest.approx(ends[1])
    assert arrivals.together([first, None]) is None
    short = arrivals.tcp([look(at, 1e6 * (at + 1)) for at in range(2)], 1)
    assert arrivals.together([first, short]) is None


def test_hosts_whose_windows_differ_are_added_up_over_what_they_share():
    """One link of 100 Mbit/s: the first host has all of it until the second one's stream begins,
    and that one all of it when the first has ended."""
    link, half = 100e6 / 8, 50e6 / 8
    first = [0, link, link + half, link + 2 * half, link + 3 * half]
    second = [0, half, 2 * half, 3 * half, 3 * half + link]
    first_window = arrivals.tcp([look(at, 1 + got) for at, got in enumerate(first)], 1)
    second_window = arrivals.tcp([look(at + 1, 1 + got) for at, got in enumerate(second)], 1)
    assert first_window
    assert second_window
    assert first_window.rate_mbps + second_window.rate_mbps > 120
    both = arrivals.together([first_window, second_window])
    assert both
    assert both.rate_mbps == pytest.approx(100)
    assert both.seconds == 3


def test_the_looks_own_time_makes_no_interim_result_too_high():
    """Over its whole window a run had 19.2 Mbit/s of 19.1 by these, and 19.1 by its figure."""
    seen = [look(at, 2.4e6 * (at + 1)) for at in range(4)]
    seen[-1] = replace(seen[-1], read=START + 3.02)
    arrived = arrivals.tcp(seen, 1)
    assert arrived
    data = sum(row["throughput_mbps"] * row["interval_s"] for row in arrived.rows)
    assert arrived.rate_mbps == pytest.approx(data / arrived.seconds)
    assert arrived.rate_mbps == pytest.approx(3 * 19.2 / 3.02)
