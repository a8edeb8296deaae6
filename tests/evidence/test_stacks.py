"""Folded stacks of a host, sorted into categories."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.errors import ToolFailure
from netlimits.evidence.profiles import stacks
from netlimits.model.cpu_categories import CATEGORIES, IDLE

CAPTURE = Path(__file__).parents[1] / "captures/evidence/profile/namespaces-6.18.txt"
TEXT = """\
# event cpu-clock
# kernel 6.1.0
60 3 iperf3;main;write;do_syscall_64_[k];tcp_sendmsg_[k];rep_movs_alternative_[k]
20 3 iperf3;main;cjson
10 0 swapper;do_idle_[k];default_idle_[k]
15 0 swapper;net_rx_action_[k];receive_buf_[virtio_net]
4 0 sshd;read;do_syscall_64_[k];tcp_recvmsg_[k];memset_[k]
1 0 sshd;read;do_syscall_64_[k];some_new_function_[k]
# left_out 0
"""


def test_a_sample_belongs_to_the_category_of_its_innermost_function():
    profile = stacks.parse(TEXT, ("iperf3", "iperf3"))
    assert profile.samples() == {
        "copy": 60, "program": 20, IDLE: 10, "driver": 15, "tcpip": 4, "other": 1,
    }  # fmt: skip
    assert profile.unsorted() == {"some_new_function": 1}


def test_figures_are_shares_of_busy_samples_and_name_the_busiest_cpu():
    figures = stacks.parse(TEXT, ("iperf3",)).figures()
    assert figures["event"] == "cpu-clock"
    assert figures["samples"] == 100
    assert figures["copy_pct"] == 60
    assert figures["unsorted_pct"] == pytest.approx(100 / 80)
    assert (figures["cpu"], figures["cpu_category"], figures["cpu_pct"]) == (3, "copy", 75)
    assert sum(float(figures[f"{name}_pct"]) for name in CATEGORIES) == pytest.approx(100)


def test_what_enables_interrupts_gives_the_busiest_cpu_no_name_where_a_timer_takes_samples():
    held = "70 3 iperf3;write;__wake_up_[k];_raw_spin_unlock_irqrestore_[k]\n"
    figures = stacks.parse(TEXT + held, ("iperf3",)).figures()
    assert (figures["cpu_category"], figures["cpu_pct"]) == ("copy", 40)
    by_cycles = (TEXT + held).replace("cpu-clock", "cycles")
    assert stacks.parse(by_cycles, ("iperf3",)).figures()["cpu_category"] == "locking"
    assert stacks.parse(held, ("iperf3",)).figures()["cpu_category"] == "locking"


def test_stacks_of_all_cpus_are_one_in_the_folded_format():
    text = "3 0 a;f;g_[k]\n4 1 a;f;g_[k]\n1 1 a;h_[tun]\n"
    assert stacks.folded(stacks.parse(text)) == {"a;f;g_[k]": 7, "a;h_[tun]": 1}


@pytest.mark.parametrize(
    ("text", "problem"), [("", "no samples"), ("# event x\n", "no samples"), ("hm\n", "no stack")]
)
def test_what_is_no_profile_is_an_error(text, problem):
    with pytest.raises(ToolFailure, match=problem):
        stacks.parse(text)


def test_nearly_all_kernel_samples_of_a_real_run_are_sorted():
    profile = stacks.parse(CAPTURE.read_text(), ("netperf", "netserver"))
    assert profile.unsorted().total() < 0.05 * profile.kernel_samples(), profile.unsorted()
    assert profile.samples()["copy"] > 0.1 * profile.samples().total()
