"""When streams began, by either host's clock, and how far those clocks are apart."""

from __future__ import annotations

import math

import pytest

from netlimits.campaign import bulk_streams
from netlimits.campaign.bulk_streams import Begin
from netlimits.evidence.sample.snapshots import Connection, Look


def look(at: float, **sent: float) -> Look:
    return Look(at, tuple(Connection("s:1", p, {"bytes_sent": n} if n else {}) for p, n in sent.items()))  # fmt: skip


SEEN = [look(10, rr=1), look(11, rr=2, a=0), look(12, rr=3, a=9e6), look(13, rr=4, a=2e7, b=1e7)]


def test_streams_have_begun_when_the_last_of_them_carries_data() -> None:
    assert bulk_streams.begin(SEEN, 2, sent=True) == Begin(12, 13)
    assert bulk_streams.begin(SEEN, 1, sent=True) == Begin(11, 12)
    assert bulk_streams.begin(SEEN[-1:], 2, sent=True) == Begin(-math.inf, 13)
    assert bulk_streams.begin(SEEN[-1:], 2, sent=True).since(5) == Begin(5, 13)


def test_what_looks_do_not_show_is_not_told() -> None:
    unknown = Begin(-math.inf, math.inf)
    assert bulk_streams.begin((), 1, sent=True) == unknown
    assert bulk_streams.begin(SEEN, 4, sent=True) == unknown
    assert bulk_streams.begin(SEEN, 1, sent=False) == unknown, "they sent and received nothing"
    assert unknown.since(7) == Begin(7, 7)
    assert unknown.ahead_of(Begin(1, 2)) == Begin(1, 2).ahead_of(unknown) == 0


@pytest.mark.parametrize(
    ("peer", "own", "ahead"),
    [
        (Begin(10.2, 10.4), Begin(10.0, 10.3), 0.0),  # one clock
        (Begin(10.2, 10.4), Begin(6.2, 6.4), 4.0),
        (Begin(6.2, 6.4), Begin(10.2, 10.4), -4.0),
        (Begin(-math.inf, 7.0), Begin(10.0, 11.0), -3.0),  # the receiver's first look shows data
        (Begin(13.0, 14.0), Begin(-math.inf, 11.0), 2.0),
    ],
)
def test_clocks_are_apart_as_far_as_the_looks_require(
    peer: Begin, own: Begin, ahead: float
) -> None:
    assert peer.ahead_of(own) == pytest.approx(ahead)
