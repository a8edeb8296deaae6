from __future__ import annotations

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import ToolFailure
from netlimits.evidence import cpu
from netlimits.model import Completed, Work

BEFORE = """100.00 150.00
cpu  100 0 100 800 0 0 0 0 0 0
cpu0 50 0 50 400 0 0 0 0 0 0
cpu1 50 0 50 400 0 0 0 0 0 0
intr 1 2 3
"""
AFTER = """101.00 151.00
cpu  150 0 150 900 0 0 0 0 0 0
cpu0 100 0 90 410 0 0 0 0 0 0
cpu1 50 0 60 490 0 0 0 0 0 0
intr 1 2 3
"""


def stat(text: str) -> cpu.CpuTimes:
    return cpu.times(Completed("sender", cpu.READ, 0, text, "", 0.0))


@pytest.mark.parametrize("name", pairs.names("evidence/cpu"))
def test_each_capture_gives_what_its_pair_expects(name: str):
    pairs.check("evidence/cpu", name)


def test_utilization_is_100_minus_idle_over_all_cpus_and_the_busiest():
    used = cpu.use(stat(BEFORE), stat(AFTER))
    assert used.util_pct == pytest.approx(50.0)
    assert used.peak_pct == pytest.approx(90.0)
    assert used.peak_cpu == 0
    # half of two CPUs for the second that passed by the host's own clock
    assert used.busy_s == pytest.approx(1.0)
    assert used.count == 2


def test_steal_counts_as_busy_and_iowait_and_guest_do_not():
    after = "1.0 1.0\ncpu0 0 0 0 50 20 0 0 30 500 0\n"
    used = cpu.use(stat("0.0 0.0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"), stat(after))
    assert used.util_pct == pytest.approx(30.0)
    assert used.ticks_pct == pytest.approx(50.0), "netperf's, where iowait is busy"


def test_work_between_two_ticks_counts():
    """Paced traffic that ticks never meet: 2 of 10 seconds, and 0.1 s of busy ticks."""
    after = "10.0 8.0\ncpu0 5 0 5 800 0 0 0 0 0 0\n"
    used = cpu.use(stat("0.0 0.0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"), stat(after))
    assert used.busy_s == pytest.approx(2.0)
    assert used.ticks_s == pytest.approx(10 * 10 / 810)


def test_the_mean_is_of_each_cpus_own_share_however_many_ticks_it_got():
    after = "1.0 1.0\ncpu0 0 0 5 0 0 0 5 0\ncpu1 0 0 0 100 0 0 0 0\n"
    before = "0.0 0.0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
    used = cpu.use(stat(before), stat(after))
    assert (used.util_pct, used.softirq_pct) == (50.0, 25.0)


def test_the_wall_is_the_clocks_unless_it_was_set_meanwhile():
    def read(clock: float, uptime: float, idle: int) -> cpu.CpuTimes:
        row = f"cpu0 0 0 0 {idle} 0 0 0 0"
        return stat(f"{clock:.9f}\n{uptime:.2f} 0\n{row}\n{clock + 0.002:.9f}\n")

    first = read(1795300000.0, 100.0, 0)
    assert cpu.wall(first, read(1795300001.004, 101.0, 0)) == pytest.approx(1.004)
    assert cpu.wall(first, read(1795303601.0, 101.0, 0)) == 1.0, "set by an hour"
    assert cpu.wall(stat(BEFORE), stat(AFTER)) == 1.0, "where `date` tells no fractions"
    assert cpu.use(first, read(1795300001.004, 101.0, 50)).busy_s == pytest.approx(0.504)


def test_service_demand_is_netperfs_on_the_reports_first_row():
    # 5369.66 Mbit/s at 2.08 % of 48 CPUs: the report prints 1.526 usec/KB
    kib_per_second = 5369.66e6 / 8 / 1024
    busy_s = 0.0208 * 48
    assert cpu.service_demand(busy_s, kib_per_second) == pytest.approx(1.526, abs=0.004)


def test_both_ends_divide_by_the_work_that_was_done_in_their_window():
    used = cpu.CpuUse(50.0, 90.0, 0, 1.0, 2, ticks_s=0.5)
    for end in ("local", "remote"):
        figures = cpu.figures(end, used, Work(50_000.0))
        assert figures[f"{end}_sd_us_per_kib"] == pytest.approx(20.0)
        assert figures[f"{end}_sd_ticks_us_per_kib"] == pytest.approx(10.0)


def test_request_response_is_per_transaction():
    used = cpu.CpuUse(50.0, 90.0, 0, 1.0, 2)
    figures = cpu.figures("local", used, Work(50_000.0, transactions=True))
    assert figures["local_sd_us_per_tran"] == pytest.approx(20.0)
    assert "local_sd_us_per_kib" not in figures


@pytest.mark.parametrize("work", [None, Work(0.0)])
def test_without_the_work_there_is_no_service_demand(work):
    figures = cpu.figures("local", cpu.CpuUse(50.0, 90.0, 0, 1.0, 2), work)
    assert not any("_sd_" in name for name in figures)
    assert figures["local_cpu_pct"] == 50.0


def test_what_the_sampler_used_is_subtracted():
    used = cpu.use(stat(BEFORE), stat(AFTER), own_s=0.1)
    assert (used.busy_s, used.util_pct) == (pytest.approx(0.9), pytest.approx(45.0))
    assert used.own_pct == pytest.approx(5.0)
    assert used.peak_pct == pytest.approx(90.0), "on which CPU it ran is not known"


def test_ticks_that_a_kernel_missed_are_the_difference_between_idle_time_and_ticks():
    """Of 1 s of two CPUs each counts 90 ticks, of them 50 idle ones."""
    rows = "".join(f"cpu{n} {{}} 0 0 {{}} 0 0 0 0 0 0\n" for n in range(2))
    before, after = "100.0 0\n" + rows.format(*(0,) * 4), "101.0 0\n" + rows.format(*(40, 50) * 2)
    used = cpu.use(stat(before), stat(after))
    assert used.lost_ticks_pct == pytest.approx(10.0)
    assert used.util_pct == pytest.approx(50.0)
    assert 100 - used.util_pct == pytest.approx((100 - used.ticks_pct) * 0.9)


def test_each_cpu_counts_the_same_by_ticks_however_many_it_missed():
    """One CPU is busy and counts 50 of 100 ticks, the other is idle and counts all."""
    before = "100.0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n"
    after = "101.0 0\ncpu0 50 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n"
    used = cpu.use(stat(before), stat(after))
    assert used.ticks_pct == pytest.approx(50.0)
    assert used.lost_ticks_pct == pytest.approx(25.0)


@given(st.lists(st.tuples(*[st.integers(0, 10**6)] * 8), min_size=1, max_size=8))
def test_utilization_stays_within_0_and_100(ticks):
    zero = "0.0 0.0\n" + "".join(f"cpu{n} 0 0 0 0 0 0 0 0 0 0\n" for n in range(len(ticks)))
    now = "1.0 1.0\n" + "".join(
        f"cpu{n} {' '.join(map(str, row))} 0 0\n" for n, row in enumerate(ticks)
    )
    used = cpu.use(stat(zero), stat(now))
    assert 0 <= used.util_pct <= used.peak_pct + 1e-9 <= 100 + 2e-9
    assert 0 <= used.ticks_pct <= 100


def test_no_time_is_no_measurement():
    with pytest.raises(ToolFailure, match="no time passed"):
        cpu.use(stat(BEFORE), stat(BEFORE))


def test_cpus_that_come_and_go_make_the_run_invalid():
    with pytest.raises(ToolFailure, match="CPU 1 went offline during the run"):
        cpu.use(stat(BEFORE), stat("101.0 1.0\ncpu0 100 0 90 410 0 0 0 0 0 0\n"))


def test_lost_ticks_do_not_make_a_run_cheaper():
    # a guest that lost half of its busy ticks; its idle time is measured, not sampled
    after = AFTER.replace("100 0 90 410", "75 0 70 410").replace("50 0 60 490", "50 0 55 490")
    assert cpu.use(stat(BEFORE), stat(after)).busy_s == pytest.approx(1.0)


def test_softirq_irq_and_steal_are_parts_of_the_utilization():
    after = "1.0 1.0\ncpu0 10 0 0 50 0 5 30 5\ncpu1 0 0 0 100 0 0 0 0\n"
    before = "0.0 0.0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
    used = cpu.use(stat(before), stat(after))
    assert (used.util_pct, used.peak_pct, used.peak_cpu) == (25.0, 50.0, 0)
    assert (used.irq_pct, used.softirq_pct, used.steal_pct) == (2.5, 15.0, 2.5)
    assert used.peak_softirq_pct == 30.0
    columns = cpu.figures("remote", used, Work(1.0))
    assert columns["remote_softirq_pct"] == 15.0
    assert columns["remote_steal_pct"] == 2.5
    assert columns["remote_irq_pct"] == 2.5
    assert columns["remote_cpu_peak_softirq_pct"] == 30.0
    assert columns["remote_cpu_peak_cpu"] == 0


def test_the_most_softirq_is_any_cpus_and_not_the_busiest_ones():
    after = "1.0 1.0\ncpu0 100 0 0 0 0 0 0 0\ncpu1 0 0 0 1 0 0 99 0\n"
    before = "0.0 0.0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
    used = cpu.use(stat(before), stat(after))
    assert (used.peak_cpu, used.peak_softirq_pct) == (0, 99.0)


def test_several_machines_are_one_with_all_their_cpus():
    small = cpu.CpuUse(80.0, 90.0, 1, 1.6, 2, 1.0, 8.0, 0.0, 75.0, 70.0, 1.4)
    large = cpu.CpuUse(20.0, 95.0, 4, 1.2, 6, 2.0, 4.0, 4.0, 70.0, 10.0, 0.6)
    assert cpu.pooled([small]) == small
    pooled = cpu.pooled([small, large])
    approx = pytest.approx
    assert pooled == cpu.CpuUse(
        35.0, 95.0, 4, approx(2.8), 8, 1.75, 5.0, 3.0, 75.0, approx(25.0), approx(2.0)
    )
