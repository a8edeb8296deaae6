"""One direction of a link: what the queue takes, when frames arrive, and what never does."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.lab.forwarder import QUEUE, Direction

FRAME = bytes(1500)


def test_a_link_without_shape_carries_at_once_and_in_order() -> None:
    link = Direction(0, 1)
    for number in range(3):
        link.take(bytes([number]) * 60, now=1.0)
    assert [frame[0] for frame in link.due(1.0)] == [0, 1, 2]
    assert link.due(2.0) == []


def test_a_frame_takes_its_bytes_at_the_rate_and_then_the_delay() -> None:
    link = Direction(0, 1, rate=150_000, delay=0.5)
    link.take(FRAME, now=0.0)
    link.take(FRAME, now=0.0)
    assert link.due(0.509) == []
    assert len(link.due(0.5101)) == 1
    assert link.due(0.519) == []
    assert len(link.due(0.5201)) == 1


@given(st.integers(10_000, 10**9), st.integers(1, 400))
def test_a_queue_holds_what_goes_out_in_its_time_and_some_frames_at_any_rate(
    rate: int, count: int
) -> None:
    link = Direction(0, 1, rate=rate, mtu=1500)
    for _ in range(count):
        link.take(FRAME, now=0.0)
    waiting = len(link.flight)
    assert waiting * len(FRAME) / rate <= max(QUEUE, 16 * 1514 / rate) + 1e-9
    if waiting < count:
        assert (waiting + 1) * len(FRAME) / rate > max(QUEUE, 16 * 1514 / rate) - 1e-9


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.floats(0, 0.2))
def test_frames_never_overtake_nor_exceed_the_rate(gaps: list[float], delay: float) -> None:
    link = Direction(0, 1, rate=1e6, delay=delay)
    now = 0.0
    for gap in gaps:
        link.take(FRAME, now)
        now += gap
    times = [arrival for arrival, _ in link.flight]
    assert times == sorted(times)
    apart = len(FRAME) / 1e6
    assert all(b - a >= apart - 1e-9 for a, b in itertools.pairwise(times))


@pytest.mark.parametrize(("length", "arrives"), [(1514, True), (1515, False)])
def test_what_is_longer_than_the_mtu_is_lost(length: int, arrives: bool) -> None:
    link = Direction(0, 1, mtu=1500)
    link.take(bytes(length), now=0.0)
    assert len(link.due(0.0)) == arrives
    tagged = bytes(12) + b"\x81\x00" + bytes(length + 4 - 14)
    link.take(tagged, now=0.0)
    assert len(link.due(0.0)) == arrives, "a tag is not the packet's"


def test_frames_are_lost_by_the_share_that_is_named() -> None:
    link = Direction(0, 1, loss=0.5)
    for _ in range(1000):
        link.take(FRAME, now=0.0)
    assert 400 < len(link.due(0.0)) < 600  # 6 standard deviations either way
    none = Direction(0, 1, loss=1.0)
    none.take(FRAME, now=0.0)
    assert none.due(0.0) == []
