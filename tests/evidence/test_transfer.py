"""The seconds of the transfer, result among the looks at a host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.evidence import cpu, sample
from netlimits.evidence.sample import transfer
from netlimits.model import Completed

COMMAND = sample.command("netperf", ["192.0.2.2"], 12865, seconds=2, deadline=17)


def sampled(text: str) -> Completed:
    return Completed("sender", COMMAND, 0, f"namespace net:[1]\n{text}", "", 1.0)


def looks(moved: list[int], busy: list[int], own_ms: int = 1) -> Completed:
    """Looks every 0.2 s at one CPU: bytes since the last one, and ticks that were busy meanwhile."""
    lines, total = ["look 1795300000.000000000", "cpus 50.000000 0 0 0:7,0,3,100"], 0
    for at, (count, ticks) in enumerate(zip(moved, busy, strict=True), 1):
        total += count
        lines += [
            f"look {1795300000 + 0.2 * at:.9f}",
            f"cpus {50 + 0.2 * at:.6f} {total} {at * own_ms * 10**6} 0:{ticks},0,0,{20 - ticks}",
        ]
    return sampled("\n".join(lines) + "\n")


def used(completed: Completed, skip: float = 0.0, seconds: float = 0.0) -> cpu.CpuUse:
    bounds = transfer.window(completed, skip=skip, seconds=seconds)
    assert bounds
    first, last = bounds
    return cpu.use(first.times, last.times, own_s=last.own_s - first.own_s)


def test_what_lies_beside_the_transfer_does_not_count():
    beside = [0, 60, 100, 100, 100, 40, 0, 0], [20, 14, 10, 10, 10, 6, 1, 0]
    result = used(looks(*beside, own_ms=2))
    assert result.seconds == pytest.approx(0.6)
    assert result.util_pct + result.own_pct == pytest.approx(50.0)
    assert result.own_pct == pytest.approx(1.0)


def test_a_pause_in_the_midst_of_a_transfer_belongs_to_it():
    result = used(looks([100, 100, 0, 0, 100, 100], [10, 10, 0, 0, 10, 10], own_ms=0))
    assert result.util_pct == pytest.approx(25.0)


def test_what_went_over_the_interface_long_before_the_transfer_does_not_count():
    """A control connection, or our own, over the same interface: it made CPUs seem idle."""
    moved = [0, 20, 0, 0, 0, 90, 100, 100, 100, 100, 90, 0, 20]
    busy = [0, 2, 0, 0, 0, 20, 20, 20, 20, 20, 20, 0, 2]
    assert used(looks(moved, busy, own_ms=0)).util_pct < 70
    assert used(looks(moved, busy, own_ms=0), seconds=1.0).util_pct == pytest.approx(100.0)


CONNECTION = (
    "tcp ESTAB 0 0 192.0.2.1:{0} 192.0.2.2:{0} "
    "bytes_sent:{1} bytes_received:0 segs_out:9 data_segs_in:0"
)


def test_all_connections_carry_data_in_the_window():
    """Of two streams one begins later, and one ends earlier, each within an interval."""
    carried = [(0, 0), (9, 0), (20, 4), (30, 14), (40, 24), (50, 34), (55, 44), (55, 54), (55, 54)]
    text, busy = "", 0
    for at, sums in enumerate(carried):
        text += f"look {1795300000 + 0.2 * at:.9f}\ncpus {50 + 0.2 * at:.6f} {sum(sums)} 0 "
        text += f"0:{busy},0,0,{20 - busy}\n"
        text += "".join(
            CONNECTION.format(port, 10_000 * count) + "\n"
            for port, count in enumerate(sums, 5001)
            if count
        )
        busy = 20 if at >= 5 else 10
    result = transfer.window(sampled(text), streams=2)
    assert result
    assert [round(reading.at - 50, 6) for reading in result] == [0.4, 1.0]
    assert transfer.window(sampled(text), streams=3) != result, "not all of them are known"


def test_omitted_seconds_do_not_count():
    result = used(looks([100] * 8, [20, 20, 20, 20, 10, 10, 10, 10], own_ms=0), skip=0.8)
    assert (result.util_pct, result.seconds) == (pytest.approx(50.0), pytest.approx(0.6))


def test_of_few_looks_none_is_left_out():
    assert used(looks([50, 50], [10, 10], own_ms=0)).seconds == pytest.approx(0.4)


@pytest.mark.parametrize("moved", [[], [0, 0, 0]])
def test_without_data_there_is_no_transfer(moved: list[int]):
    assert transfer.window(looks(moved, [0] * len(moved))) is None


def test_looks_by_ss_tell_the_same():
    stat = "cpu0 {} 0 3 {} 0 0 0 0 0 0\n{}\n0\n"
    first = "look 1795300000.500000000\n" + stat.format(7, 100, 0)
    second = "look 1795300001.500000000\n" + stat.format(57, 150, 10**6)
    result = used(sampled(first + second))
    assert (result.util_pct, result.seconds) == (pytest.approx(50.0), pytest.approx(1.0))


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 20)), max_size=12))
def test_a_window_lies_within_the_looks(parts: list[tuple[int, int]]):
    completed = looks([count for count, _ in parts], [ticks for _, ticks in parts])
    read = transfer.readings(completed)
    assert len(read) == len(parts) + 1
    assert all(read)
    if bounds := transfer.window(completed):
        assert read[0].at <= bounds[0].at < bounds[1].at <= read[-1].at
