"""What the looks say of the host: threads that wait, quotas, clocks, and the NIC's queues."""

from __future__ import annotations

import pytest

from netlimits.evidence import sample
from netlimits.evidence.sample import resources
from netlimits.metrics import METRICS
from netlimits.model import Completed

LOOKS = """namespace net:[1]
look 1795300000.000000000
look 1795300001.000000000
1 77 1 2 3.0 netperf
mhz 2000 3000
speed 25000
thread 77 1000000000 0
thread 78 0 0
throttled 10 1000000
bql 3000 9000
look 1795300002.000000000
thread 77 1900000000 50000000
thread 78 100000000 700000000
bql 5000 9000
look 1795300003.000000000
thread 77 2800000000 100000000
thread 78 200000000 1400000000
throttled 14 1500000
"""


def completed(text: str) -> Completed:
    command = sample.command("netperf", ("192.0.2.2",), 1, seconds=3, deadline=9)
    return Completed("sender", command, 0, text, "", 1.0)


def test_between_the_looks_stands_what_threads_ran_and_waited():
    figures = resources.figures([completed(LOOKS)])
    assert figures == pytest.approx(
        {
            "process_cpu_pct": 100.0,
            "thread_cpu_pct": 90.0,
            "cpu_wait_pct": 70.0,
            "throttled_times": 4.0,
            "throttled_pct": 25.0,
            "cpu_mhz": 2500.0,
            "link_speed_mbps": 25000.0,
            "bql_queued_bytes": 4000.0,
            "bql_limit_bytes": 9000.0,
        }
    )
    assert sample.figures([completed(LOOKS)])["process_cpu_pct"] == pytest.approx(100.0)


def test_threads_that_only_waited_tell_no_cpu_time():
    """A script that begins the tool: it said 0 % of a tool that took a CPU for itself."""
    idle = "look {}.000000000\nthread 77 1000000000 0\n"
    text = "namespace net:[1]\n" + idle.format(1795300000) + idle.format(1795300002)
    assert resources.figures([completed(text)]) == {}


def test_several_hosts_are_one_end_and_what_one_does_not_tell_is_left_out():
    slower = LOOKS.replace("mhz 2000 3000", "mhz 1000 1000").replace("throttled", "not")
    figures = resources.figures([completed(LOOKS), completed(slower)])
    assert figures["process_cpu_pct"] == pytest.approx(200.0)
    assert figures["cpu_wait_pct"] == pytest.approx(70.0)
    assert figures["cpu_mhz"] == 1750
    assert figures["link_speed_mbps"] == 50000
    assert "throttled_pct" not in figures


@pytest.mark.parametrize("cut", range(0, len(LOOKS), 7))
def test_looks_that_were_cut_off_are_no_error(cut):
    resources.figures([completed(LOOKS[:cut])])


def test_one_look_says_nothing_of_times_and_none_nothing_at_all():
    once = LOOKS.partition("look 1795300002")[0]
    assert not resources.figures([completed(once)]).keys() & {"thread_cpu_pct", "throttled_pct"}
    assert resources.figures([]) == {}
    assert resources.figures([completed("")]) == {}


def test_every_figure_is_a_metric_of_both_ends():
    columns = {metric.column for metric in METRICS}
    names = resources.figures([completed(LOOKS)])
    assert {f"{end}_{name}" for name in names for end in ("local", "remote")} <= columns
