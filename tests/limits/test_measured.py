"""Verdicts on runs that were measured: one of each situation, made by other means than the labels'.

`measured.json` has the figures that classes read, how the run was made, and the verdict that is
right. Machines are QEMU guests with one CPU each, namespaces share a machine that others kept busy.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netlimits.limits import bounds, known, places
from netlimits.limits.figures import RunFigures
from netlimits.limits.verdicts import UNDETERMINED, of_run

MEASURED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("measured.json").read_text(encoding="utf-8")
)


def run(name: str, **figures: Any) -> RunFigures:
    """A measured run, with other figures where they are given."""
    of = MEASURED[name]
    return RunFigures({**of["figures"], **figures}, **of["beside"])


@pytest.mark.parametrize("name", MEASURED)
def test_a_measured_run_has_the_verdict_of_what_limited_it(name):
    verdict = of_run(run(name))
    assert verdict.limit == MEASURED[name]["right"], verdict.sentence
    if verdict.limit == UNDETERMINED:
        assert verdict.points_to == MEASURED[name]["points_to"]


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_known_of_a_measured_run_is_told_whatever_the_verdict(name):
    of = run(name)
    figures = known.figures([of])
    assert all(name.isidentifier() for name in figures)
    told = known.sentence(figures)
    assert ("arrived" in told) is (of.throughput is not None)
    assert "busiest CPU" in told
    assert of.udp or "round trip" in told
    assert ("segments sent again" in told) is not of.udp
    if of.throughput:
        assert bounds.of_run(of)


def test_a_full_receive_queue_rules_the_path_and_the_window_out():
    """96 % of the busy time waited for the window, and a second stream added nothing."""
    slow = run("slow-reader")
    assert slow.unread == pytest.approx(0.995, abs=0.01)
    read = run("slow-reader", remote_recv_q_bytes=0, local_snd_wnd_bytes=60_000)
    assert of_run(read).limit != "slow-reader"
    busy = run("slow-reader", remote_process_cpu_pct=97.0)
    assert of_run(busy).limit == "receiver-cpu", "it reads as fast as its CPU lets it"


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("loss of 0.5 %", 0.8, 1.6),
        ("loss of 2 %", 0.8, 1.3),
        ("loss of single frames", 0.8, 1.3),
        ("policer on the receiver", 3.5, 5),
    ],
)
def test_losses_by_chance_allow_what_arrived_and_a_policers_do_not(name, least, most):
    of = run(name)
    assert least < of.throughput / bounds.of_run(of)["loss"].mbps < most


def test_the_issue_s_policer_is_17_times_what_its_losses_allow():
    """50 Mbit/s at 8 % sent again and 17 ms."""
    figures = {
        "throughput_mbps": 50.0,
        "local_tcp_retrans_segs": 1060,
        "local_tcp_out_segs": 13_250,
        "local_rtt_us": 17_000.0,
        "local_mss_bytes": 1448,
    }
    assert bounds.of_run(RunFigures(figures))["loss"].mbps == pytest.approx(2.94, abs=0.01)


def test_retransmissions_that_are_spared_are_no_chance():
    """19 of 621 were lost again, where 16 % lost by chance lose 99; the rate is chance's."""
    assert of_run(run("policer at a router")).limit == "policer"
    chance = run("policer at a router", local_tcp_lost_retransmits=95)
    assert of_run(chance).limit not in ("policer", "path-cap")


def test_a_window_that_bbr_paces_below_is_told_by_its_bound():
    """Only 35 % of the busy time waited for the window, at 92 % of what it allows."""
    paced = {"remote_rwnd_limited_pct": 35.0, "local_rwnd_limited_pct": 35.0}
    assert of_run(run("window under BBR", **paced)).limit == "receive-window"
    wider = run(
        "window under BBR", **paced, remote_snd_wnd_bytes=131_072, local_snd_wnd_bytes=131_072
    )
    assert of_run(wider).limit == UNDETERMINED


def test_what_bbr_paces_is_no_pace_that_a_program_set():
    assert "pace" not in bounds.of_run(run("cap under BBR"))
    assert "pace" not in bounds.of_run(run("cap under BBR", local_own_pace_pct=None))
    assert "pace" in bounds.of_run(run("cap under BBR", local_own_pace_pct=0))


def test_losses_are_placed_where_they_are_counted():
    small = run("small UDP buffer")
    share = places.share(small, places.OF_RECEIVER["udp_rcvbuf_errors"])
    assert share is not None
    assert share > 0.9
    assert of_run(small).limit == "udp-receive-buffer"
    cap = run("UDP above a cap")
    assert places.share(cap, places.PATH) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("name", ["small UDP buffer", "paused UDP reader"])
def test_a_sender_that_is_busy_does_not_limit_what_is_lost_behind_it(name):
    """63 % were lost in the receiver's full socket, and the verdict was sender-cpu in 9 of 14."""
    busy = run(name, local_cpu_peak_pct=100, local_process_cpu_pct=99, local_threads=1)
    assert of_run(busy).limit == "udp-receive-buffer"


def test_a_machine_that_others_fill_is_no_limit_of_what_wants_little_of_it():
    """Its CPUs were 98 % busy, and the tool used and waited for 14 % of one."""
    cap = run("cap under BBR")
    assert cap.busiest > 90
    assert of_run(cap).limit == "path-cap"
    starved = run("cap under BBR", local_cpu_wait_pct=95.0)
    assert of_run(starved).limit != "path-cap"


def test_bounds_are_printed_from_the_nearest_on():
    told = bounds.sentence(bounds.of_run(run("small window")), 5.07)
    assert told.startswith("Bounds: receive window 5.412 Mbit/s (14,066 bytes a round trip of")
    assert "congestion window" in told


def test_a_bound_that_more_than_it_arrived_over_is_not_printed():
    """ "loss 1.655 Mbit/s (6.9 × arrived)" stood beside "78 % of it arrived"."""
    allowed = {"loss": bounds.Ceiling(1.655, "0.4 % sent again"),
               "link": bounds.Ceiling(1.0, "less headers"),
               "pace": bounds.Ceiling(14.7, "TCP's pacing rate")}  # fmt: skip
    told = bounds.sentence(allowed, 11.5, 5)
    assert told == "Bounds (run 5): pace 14.7 Mbit/s (TCP's pacing rate; 78 % of it arrived)."


def test_a_send_buffer_that_would_let_far_more_through_does_not_limit():
    """24 % of the busy time waited for 4 MiB at 12 ms, and 512 Mbit/s arrived."""
    small = run("small send buffer", local_sndbuf_limited_pct=24.0)
    assert of_run(small).limit == "send-buffer"
    large = {"local_sndbuf_bytes": 4_194_304, "local_sndbuf_used_pct": 60.0}
    assert of_run(run("small send buffer", local_sndbuf_limited_pct=24.0, **large)).limit != (
        "send-buffer"
    )


def test_bbr_looks_away_from_losses():
    assert of_run(run("loss of 2 %", local_own_pace_pct=100)).limit != "loss"


def test_a_window_that_still_grows_is_no_limit_yet():
    assert of_run(run("small window", local_late_data_pct=80.0)).limit != "receive-window"
    short = run("small window", local_late_data_pct=None, elapsed_s=0.3)
    assert of_run(short).limit != "receive-window"


def test_datagrams_that_a_full_backlog_dropped_are_softirq_s():
    at_backlog = {"remote_udp_rcvbuf_errors": 100, "remote_softnet_dropped": 60_000}
    assert of_run(run("small UDP buffer", **at_backlog)).limit == "softirq-core"


def test_a_queue_that_drops_early_is_a_cap_where_rates_are_steadier_than_losses():
    """CoDel before 20 Mbit/s: 8 packets wait, and 30 are lost in 3 s."""
    base = {"local_rtt_us": 28_000.0, "local_min_rtt_us": 21_000.0, "local_tcp_recoveries": 28}
    lost = {"local_tcp_retrans_segs": 30, "local_cwnd_segs": 36.0}
    early = run("cap", **base, **lost)
    steady, loose = (replace(early, slowest=slowest, most_mbps=None) for slowest in (0.998, 0.9))
    assert of_run(steady).limit == "path-cap"
    assert of_run(loose).limit != "path-cap"


def test_a_reader_that_waits_for_a_cpu_is_not_slow_by_itself():
    starved = run("slow-reader", remote_cpu_wait_pct=60.0)
    assert of_run(starved).limit != "slow-reader"


def test_a_full_window_of_unread_data_is_enough_where_the_sender_paces_itself():
    paced = {"local_rwnd_limited_pct": 30.0}
    assert of_run(run("slow-reader", **paced)).limit == "slow-reader"
    half = paced | {"local_snd_wnd_bytes": 60_000, "remote_recv_q_bytes": 80_000}
    assert of_run(run("slow-reader", **half)).limit != "slow-reader"


def test_ends_that_both_want_more_of_a_full_machine_are_limited_by_that():
    """Nothing tells whose CPU it is, and so it is said first."""
    wanting = {f"{end}_cpu_wait_pct": 95.0 for end in ("local", "remote")}
    starved = run("paused sender", **wanting, remote_connections=1, local_threads=1)
    assert starved.one_machine
    assert of_run(starved).limit == "host-full"
    room = {"local_cpu_pct": 60.0, "remote_cpu_pct": 60.0}
    verdict = of_run(run("paused sender", **wanting, **room, local_threads=1))
    assert verdict.limit == UNDETERMINED
    assert "both ends are one machine" in verdict.sentence


def test_a_flow_that_loses_much_is_not_limited_by_its_window():
    """16 % lost at the end of slow start, and 55 % of the busy time waited for a window."""
    many = run("small window", local_tcp_retrans_segs=400, local_tcp_recoveries=1)
    assert of_run(many).limit != "receive-window"


def test_packets_that_come_close_are_bunched_by_their_receiver():
    back = run("full way back")
    assert of_run(back).points_to == "ack-path"
    fast = replace(back, figures={**back.figures, "throughput_mbps": 900.0})
    assert of_run(fast).points_to != "ack-path"


def test_losses_of_several_in_a_row_may_still_be_chance():
    """The root of a burst is what the bound of single losses is too low by: four are 2.0 times."""
    single = run("loss of 2 %")
    four = {"local_tcp_retrans_segs": 124, "local_tcp_recoveries": 31, "local_tcp_out_segs": 1_550}
    assert of_run(run("loss of 2 %", **four)).limit not in ("policer", "path-cap")
    many = replace(single, figures={**single.figures, **four, "local_tcp_recoveries": 10})
    assert of_run(many).limit == "policer"


def test_what_waits_to_be_read_does_not_wait_on_the_path():
    assert of_run(run("cap")).limit == "path-cap"
    unread = run("cap", remote_recv_q_bytes=300_000)
    assert unread.unread < 0.5
    assert of_run(unread).limit != "path-cap"


def test_a_full_machine_makes_both_ends_wait():
    waits = {"local_cpu_wait_pct": 60.0, "remote_cpu_wait_pct": 50.0}
    assert of_run(run("paused sender", **waits)).limit == "host-full"
    held = waits | {"remote_cpu_wait_pct": 8.0}
    assert of_run(run("paused sender", **held)).limit == UNDETERMINED
