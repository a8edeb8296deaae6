from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.evidence import clocks
from netlimits.hosts.scripted import ScriptedHost, answer

SECONDS = st.floats(0, 1, allow_nan=False)


@given(
    ahead=st.floats(-3600, 3600),
    ways=st.lists(st.tuples(SECONDS, SECONDS), min_size=clocks.SAMPLES, max_size=clocks.SAMPLES),
)
def test_the_true_offset_lies_within_the_bound_whatever_the_network_does(ahead, ways):
    """Each round trip: so long on the way there, so long on the way back."""
    starts = [1e9 + 10 * number for number in range(len(ways))]
    dates = iter(now + out + ahead for now, (out, _) in zip(starts, ways, strict=True))
    ends = (now + out + back for now, (out, back) in zip(starts, ways, strict=True))
    now = itertools.chain.from_iterable(zip(starts, ends, strict=True))
    host = ScriptedHost(lambda c: f"{next(dates):.9f}\n")
    offset = clocks.measured(host.run, lambda: next(now))
    assert abs(offset.offset_s - ahead) <= offset.bound_s + 1e-6
    assert offset.bound_s == pytest.approx(min(a + b for a, b in ways) / 2, abs=1e-6)


def test_the_bounds_of_two_hosts_add_up():
    ahead = clocks.Offset(0.5, 0.01).ahead_of(clocks.Offset(-0.25, 0.02))
    assert (ahead.offset_s, ahead.bound_s) == (0.75, pytest.approx(0.03))


def test_a_host_is_asked_several_times():
    now = iter([100.0, 100.2, 101.0, 101.02, *(200.0 + n for n in range(2 * clocks.SAMPLES))])
    dates = iter(["105.100000000", "106.010000000"])
    host = ScriptedHost(lambda c: next(dates, "300.500000000") + "\n")
    offset = clocks.measured(host.run, lambda: next(now))
    assert offset.offset_s == pytest.approx(5)
    assert offset.bound_s == pytest.approx(0.01)
    assert len(host.ran) == clocks.SAMPLES


@pytest.mark.parametrize("date", ["1700000000.%N", "1700000000", "", "1e9.000000000", "nan"])
def test_a_date_without_fractions_tells_nothing(date):
    """busybox knows no %N."""
    assert clocks.measured(ScriptedHost(lambda c: date).run) is None


def test_a_date_that_fails_tells_nothing():
    host = ScriptedHost(lambda c: answer(c, "1700000000.123456789\n", status=1))
    assert clocks.measured(host.run) is None
