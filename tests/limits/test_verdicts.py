"""The classes of limits on figures that are known, and what becomes of their signs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pairs
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netlimits as nl
from netlimits.analysis.goodput import bound
from netlimits.cli import main
from netlimits.limits import bounds, known
from netlimits.limits.classes import CLASSES
from netlimits.limits.classes.path.ack_path import AckPath
from netlimits.limits.evidence import evidence_of, run_figures
from netlimits.limits.explained import explain, runs
from netlimits.limits.figures import DERIVED, RunFigures
from netlimits.limits.links import DataLinks
from netlimits.limits.verdicts import (
    UNDETERMINED,
    Verdict,
    firing,
    of_configuration,
    of_run,
    remaining,
)
from netlimits.metrics import METRICS

GALLERY = Path(__file__).parents[2] / "experiments" / "gallery"

IDLE = {
    "local_cpu_peak_pct": 40.0,
    "remote_cpu_peak_pct": 30.0,
    "local_process_cpu_pct": 35.0,
    "remote_process_cpu_pct": 26.0,
}
TCP = {
    "throughput_mbps": 900.0,
    "elapsed_s": 10.0,
    "local_tx_bytes": 1.2e9,
    "remote_tx_bytes": 1e6,
    "local_tx_packets": 8e5,
    "local_tcp_out_segs": 8e5,
    "local_tcp_retrans_segs": 0,
    "local_udp_out_datagrams": 0,
    "local_qdisc_overlimits": 0,
    "local_rtt_us": 210.0,
    "local_min_rtt_us": 200.0,
    "local_rwnd_limited_pct": 0.0,
    "local_sndbuf_limited_pct": 0.0,
    "local_app_limited_pct": 0.0,
    "local_busy_pct": 99.0,
    "local_cwnd_segs": 40.0,
    "local_mss_bytes": 1448.0,
    **IDLE,
}
UDP = {
    "throughput_mbps": 500.0,
    "elapsed_s": 10.0,
    "local_tx_bytes": 1e9,
    "remote_tx_bytes": 1e3,
    "local_udp_out_datagrams": 1e6,
    "remote_udp_in_datagrams": 1e6,
    "remote_udp_rcvbuf_errors": 0,
    "local_tcp_out_segs": 40,
    "local_ip_frag_creates": 0,
    **IDLE,
}
CAPPED = {"local_rtt_us": 4000.0}

BY_CLASS = {
    "pacing": (UDP | {"pace_mbps": 500.0, "pace_off_pct": 0.4}, None),
    "local-shaper": (TCP | {"local_qdisc_overlimits": 6e5}, None),
    "udp-receive-buffer": (
        UDP | {"remote_udp_in_datagrams": 7e5, "remote_udp_rcvbuf_errors": 2.9e5},
        None,
    ),
    "softirq-core": (
        TCP | {"remote_cpu_peak_softirq_pct": 97.0, "remote_softnet_dropped": 124},
        None,
    ),
    "fragmentation": (UDP | {"local_ip_frag_creates": 6e6}, None),
    "small-sends": (
        TCP
        | {
            "throughput_mbps": 100.0,
            "local_send_calls": 2e6,
            "local_process_cpu_pct": 99.0,
            "transport_mss_bytes": 1448,
        },
        None,
    ),
    "sender-cpu": (TCP | {"local_cpu_peak_pct": 99.0}, None),
    "receiver-cpu": (TCP | {"remote_cpu_peak_pct": 98.0}, None),
    "receive-window": (TCP | {"local_rwnd_limited_pct": 80.0}, None),
    "send-buffer": (TCP | {"local_sndbuf_limited_pct": 35.0}, None),
    "link": (TCP | {"throughput_mbps": 940.0}, 941.5),
    "packet-rate": (UDP, None),
    "path-cap": (TCP | CAPPED, None),
    "loss": (TCP | {"local_tcp_retrans_segs": 4e3, "throughput_mbps": 1500.0}, None),
    "application": (TCP | {"local_app_limited_pct": 100.0, "local_busy_pct": 12.0}, None),
    "latency": (
        IDLE
        | {
            "transaction_rate_tps": 44.45,
            "elapsed_s": 3.0,
            "local_rtt_us": 22020.0,
            "local_min_rtt_us": 21120.0,
        },
        None,
    ),
    "cpu-quota": (TCP | {"remote_throttled_pct": 40.0}, None),
    "udp-above-path": (UDP | {"remote_udp_in_datagrams": 5e5}, None),
    "host-full": (TCP | {"local_cpu_pct": 99.0, "local_cpu_wait_pct": 40.0}, None),
    "slow-reader": (
        TCP
        | {
            "local_rwnd_limited_pct": 96.0,
            "local_snd_wnd_bytes": 20_000.0,
            "remote_recv_q_bytes": 180_000.0,
        },
        None,
    ),
    "queue-collision": (
        TCP
        | {
            "remote_cpu_peak_softirq_pct": 97.0,
            "remote_cpu_peak_pct": 99.0,
            "remote_cpu_pct": 30.0,
            "remote_nic_interrupts": 90_000.0,
            "remote_nic_interrupts_busiest": 88_000.0,
            "local_connections": 4.0,
        },
        None,
    ),
    "per-flow-cap": (TCP | CAPPED, None),
    "too-short": (
        TCP
        | {
            "throughput_mbps": 40.0,
            "elapsed_s": 1.0,
            "local_rtt_us": 101e3,
            "local_min_rtt_us": 100e3,
            "local_cwnd_segs": 300.0,
            "local_late_data_pct": 85.0,
        },
        None,
    ),
    "ack-path": (TCP | CAPPED | {"remote_tx_packets": 4e5, "local_rx_packets": 3.2e5}, None),
    "policer": (
        TCP
        | {
            "throughput_mbps": 18.8,
            "local_rtt_us": 18000.0,
            "local_min_rtt_us": 16550.0,
            "local_tcp_out_segs": 5085.0,
            "local_tcp_retrans_segs": 203.0,
            "local_tcp_recoveries": 10.0,
        },
        None,
    ),
}
"""A run of each class, and the goodput bound of its link where one is known."""

BESIDE_IT = {
    "packet-rate": {"rates_by_size": {625.0: 1e5, 312.5: 1.02e5, 1250.0: 0.6e5}},
    "host-full": {"one_machine": True},
    "queue-collision": {"queues": {"local": 4, "remote": 4}},
    "per-flow-cap": {"rates_by_streams": {1: 900.0, 4: 3590.0}},
}
"""What else is known of a run than its figures: other configurations, one machine."""


def test_every_class_has_a_run_here():
    assert set(BY_CLASS) == {each.name for each in CLASSES}


@pytest.mark.parametrize("name", BY_CLASS)
def test_a_run_made_so_has_this_verdict(name):
    figures, bound = BY_CLASS[name]
    verdict = of_run(RunFigures(figures, bound, **BESIDE_IT.get(name, {})))
    assert verdict.limit == name
    assert verdict.figures
    assert verdict.decide


@pytest.mark.parametrize("figures", [TCP, UDP], ids=["tcp", "udp"])
def test_a_run_without_evidence_is_undetermined_and_says_what_came_nearest(figures):
    verdict = of_run(RunFigures(figures))
    assert verdict.limit == UNDETERMINED
    assert verdict.sentence.startswith(
        "No class has enough evidence. Not checked, for lack of figures: "
    )


@pytest.mark.parametrize("name", BY_CLASS)
def test_what_the_client_received_is_read_from_the_other_end(name):
    figures, bound = BY_CLASS[name]
    other = {"local": "remote", "remote": "local"}
    swapped = {
        "_".join([other.get(end, end), rest]): value
        for column, value in figures.items()
        for end, _, rest in [column.partition("_")]
    }
    run = RunFigures(swapped, bound, **BESIDE_IT.get(name, {}))
    assert of_run(run).limit == name


@pytest.mark.parametrize(("burst", "latency"), [(None, False), (15.0, True)])
def test_more_transactions_in_a_round_trip_than_were_under_way_are_not_held_by_it(burst, latency):
    """Seen on a host full of other work: 40,976/s at a sampled round trip of 116 µs."""
    figures, bound = BY_CLASS["latency"]
    figures = figures | {"transaction_rate_tps": 40976.0, "local_rtt_us": 116.0}
    figures |= {"netperf_burst_size": burst} if burst else {}
    assert (of_run(RunFigures(figures, bound)).limit == "latency") == latency


def test_both_ends_out_of_cpu_is_no_verdict():
    verdict = of_run(RunFigures(TCP | {"local_cpu_peak_pct": 100.0, "remote_cpu_peak_pct": 100.0}))
    assert verdict.limit == UNDETERMINED
    assert "both ends are out of CPU" in verdict.sentence


def test_a_thread_is_no_idle_thread_where_nobody_counted_it():
    alone = {"local_threads": 1, "local_process_cpu_pct": 99.0}
    assert RunFigures(alone).thread_pct("local") == 99
    for unknown in (
        alone | {"local_threads": None},
        {"local_threads": 1},
        alone | {"local_threads": 2},
    ):
        assert RunFigures(unknown).thread_pct("local") is None
    assert of_run(RunFigures(TCP | alone)).limit == "sender-cpu"


def test_an_end_whose_interface_counts_nothing_is_not_the_one_that_sent_less():
    """The receiver's ACKs made it the sender."""
    for missing in (None, math.nan):
        assert RunFigures(TCP | {"local_tx_bytes": missing}).sender == "local"
        swapped = {"remote_tx_bytes": missing, "remote_send_throughput_mbps": 900.0}
        assert RunFigures(TCP | swapped).sender == "remote"


def test_a_host_that_counts_no_segments_sends_no_datagrams_for_it():
    """The one datagram of a name service made a TCP run one of UDP."""
    assert not RunFigures(TCP | {"local_udp_out_datagrams": 1, "local_tcp_out_segs": None}).udp
    assert RunFigures(UDP).udp


def test_the_cpus_of_one_machine_are_neither_end_s_but_the_threads_are():
    """Whoever else kept the machine's CPUs busy was the sender's limit, and the receiver's."""
    busy = {f"{end}_cpu_peak_pct": 100.0 for end in ("local", "remote")}
    thread = {"local_threads": 1, "local_process_cpu_pct": 99.0}
    server = {"remote_threads": 2, "remote_connections": 1, "remote_process_cpu_pct": 60.0}
    assert of_run(RunFigures(TCP | busy | thread | server)).limit == UNDETERMINED
    shared = RunFigures(TCP | busy | thread | server, one_machine=True)
    assert of_run(shared).limit == "sender-cpu"
    assert of_run(shared).figures == {"local_process_cpu_pct": 99.0}
    idle = {"local_threads": 1, "local_process_cpu_pct": 9.0}
    others = RunFigures(TCP | CAPPED | busy | idle | server, one_machine=True)
    assert of_run(others).limit == UNDETERMINED, "nor is a CPU that is full of others left over"


def test_a_rate_that_the_tool_was_told_and_met_is_the_program_s():
    busy = TCP | {"local_app_limited_pct": 100.0}
    assert of_run(RunFigures(busy)).limit == UNDETERMINED
    assert of_run(RunFigures(busy, goal_mbps=905.0)).limit == "application"
    assert of_run(RunFigures(busy, goal_mbps=1000.0)).limit == UNDETERMINED
    assert of_run(RunFigures(busy, goal_mbps=850.0)).limit == "application", "a burst at first"
    assert of_run(RunFigures(busy, goal_mbps=500.0)).limit == UNDETERMINED


def test_a_program_without_cpu_hands_over_little_for_want_of_it():
    figures = BY_CLASS["application"][0] | {"local_cpu_peak_pct": 94.0}
    assert of_run(RunFigures(figures)).limit == UNDETERMINED


def test_small_sends_have_a_cpu_that_is_full_of_them_and_what_they_lead_to():
    figures = BY_CLASS["small-sends"][0] | {"local_process_cpu_pct": 80.0}
    assert of_run(RunFigures(figures)).limit == UNDETERMINED
    assert of_run(RunFigures(figures | {"local_cpu_peak_pct": 97.0})).limit == "small-sends"
    loaded = figures | {"local_cpu_peak_pct": 100.0, "local_process_cpu_pct": 40.0}
    assert of_run(RunFigures(loaded)).limit == "sender-cpu"


def test_a_queue_tells_a_cap_that_drops_from_a_path_that_loses():
    lossy = TCP | {"local_tcp_retrans_segs": 2e3, "local_cwnd_segs": 20.0}
    assert of_run(RunFigures(lossy | {"local_rtt_us": 320.0})).limit == "loss"
    assert of_run(RunFigures(lossy | {"local_rtt_us": 640.0})).limit == "path-cap"


@pytest.mark.parametrize(
    "others",
    [
        {"local_tcp_retrans_segs": 1, "local_tcp_out_segs": 238},
        {"local_app_limited_pct": 100.0},
        {"local_rwnd_limited_pct": 60.0, "local_rtt_us": 450.0},
    ],
    ids=["one segment", "program", "window"],
)
def test_what_waits_for_something_else_or_lost_one_segment_is_not_limited_by_loss(others):
    """A second stream doubled the rate of each of these, which then proved loss."""
    figures = BY_CLASS["loss"][0]
    assert of_run(RunFigures(figures)).limit == "loss"
    assert of_run(RunFigures(figures | others)).limit != "loss"


def test_a_rate_that_is_missing_makes_no_size_of_a_send():
    figures = BY_CLASS["small-sends"][0] | {"local_send_throughput_mbps": math.nan}
    verdict = of_run(RunFigures(figures))
    assert verdict.limit == "small-sends"
    assert verdict.figures["bytes_per_call"] == pytest.approx(62.5)


def test_segments_that_carry_little_show_small_sends_of_a_tool_that_counts_no_calls():
    known = dict(BY_CLASS["small-sends"][0])
    del known["local_send_calls"]
    packets = known["throughput_mbps"] * 1e6 / 8 * known["elapsed_s"] / 64
    verdict = of_run(RunFigures(known | {"local_tcp_out_segs": packets}))
    assert verdict.limit == "small-sends"
    assert verdict.figures["packet_bytes"] == pytest.approx(64)
    assert "64 bytes a segment, where a segment takes 1,448" in verdict.sentence
    full = of_run(RunFigures(known | {"local_tcp_out_segs": packets * 64 / 1448}))
    assert full.limit != "small-sends"


def test_runs_that_disagree_have_one_class_left_once_the_others_are_refuted():
    def told(limit: str, *likely: str) -> Verdict:
        return Verdict(limit, "", {}, likely=likely, scores=dict.fromkeys(likely, 0.7))

    runs = [told("sender-cpu", "path-cap"), told("path-cap"), told(UNDETERMINED, "path-cap")]
    assert remaining(runs, {"sender-cpu"}) == "path-cap"
    assert remaining([*runs, told("loss"), told("loss")], {"sender-cpu"}) == ""
    weak = replace(runs[0], scores={"path-cap": 0.4})
    assert remaining([weak] * 3, {"sender-cpu"}) == ""


def test_a_class_that_fires_in_most_runs_stands_though_others_fire_beside_it():
    def told(limit: str, *names: str) -> Verdict:
        return Verdict(limit, "", {}, scores=dict.fromkeys(names, 1.0))

    runs = [told("fragmentation", "fragmentation"),
            told("softirq-core", "softirq-core", "fragmentation")]  # fmt: skip
    assert firing(runs, ()) == "fragmentation"
    assert firing(runs, {"fragmentation"}) == ""
    both = ("sender-cpu", "receiver-cpu", "slow-reader")
    assert firing([told(UNDETERMINED, *both)] * 3, ()) == ""
    assert firing([told(UNDETERMINED, *both)] * 3, {"sender-cpu"}) == "receiver-cpu"


def test_a_small_window_in_front_of_a_full_queue_is_not_the_window():
    verdict = of_run(RunFigures(TCP | CAPPED | {"local_rwnd_limited_pct": 58.0}))
    assert verdict.limit == "path-cap"


def test_a_full_receiver_that_drops_is_not_its_buffer():
    figures = BY_CLASS["udp-receive-buffer"][0] | {"remote_cpu_peak_pct": 100.0}
    assert of_run(RunFigures(figures)).limit == "receiver-cpu"


@given(st.dictionaries(st.sampled_from(sorted({*TCP, *UDP})), st.none() | st.floats(0, 1e9)))
def test_any_figures_give_one_verdict_and_a_missing_one_never_counts_as_zero(figures):
    verdict = of_run(RunFigures(figures))
    assert verdict.sentence
    for each in CLASSES:
        if all(figures.get(f"local_{n}") is figures.get(f"remote_{n}") is None for n in each.needs):
            assert verdict.limit != each.name or each.name in ("pacing", "link")


@pytest.mark.parametrize("name", BY_CLASS)
def test_why_a_class_does_not_fire_is_never_the_sentence_of_one_that_does(name):
    """ "Not path-cap: neither host was short of CPU (100 % at most)", it said."""
    (each,) = [limit for limit in CLASSES if limit.name == name]
    figures, bound = BY_CLASS[name]
    beside = BESIDE_IT.get(name, {})
    of_its_own = each.sign(RunFigures(figures, bound, **beside))
    assert of_its_own.fires
    for others, _ in BY_CLASS.values():
        sign = each.sign(RunFigures(others, bound, **beside))
        if sign and not sign.fires:
            assert sign.weakest.short
            assert sign.weakest.short not in sign.sentence or sign.sentence == ""


def test_a_busy_cpu_is_named_by_its_number_and_clock():
    busy = TCP | {"local_cpu_peak_pct": 97.0, "local_cpu_peak_cpu": 3, "local_cpu_mhz": 2400.0}
    verdict = of_run(RunFigures(busy))
    assert verdict.sentence == "The sender's CPU 3 was 97 % busy, at 2,400 MHz."
    assert verdict.figures == {"local_cpu_peak_pct": 97.0, "local_cpu_mhz": 2400.0}
    softirq = BY_CLASS["softirq-core"][0] | {
        "remote_cpu_peak_softirq_cpu": 1,
        "remote_softnet_squeezed": 12_400,
    }
    assert of_run(RunFigures(softirq)).sentence == (
        "The receiver's softirq on CPU 1 (97 %); 124 packets were dropped at the backlog; its "
        "budget ran out 12,400 times."
    )


@pytest.mark.parametrize(
    ("kind", "limit"), [("bw", "path-cap"), ("pps", "packet-rate"), ("conntrack", UNDETERMINED)]
)
@pytest.mark.parametrize("end", ["local", "remote"])
def test_what_a_cloud_counts_over_its_allowance_is_a_cap_whatever_the_cpu(kind, limit, end):
    figures = TCP | {"local_cpu_peak_pct": 80.0, f"{end}_nic_{kind}_allowance_exceeded": 9e3}
    verdict = of_run(RunFigures(figures))
    assert verdict.limit == limit
    assert ("9,000 of 800,000 packets" in verdict.sentence) is (kind != "conntrack")


SMALL_BUFFER = TCP | {
    "throughput_mbps": 100.16,
    "local_cwnd_segs": 1180.0,
    "local_rtt_us": 23003.0,
    "local_min_rtt_us": 20636.0,
    "local_sndbuf_limited_pct": 4.3,
    "local_app_limited_pct": 100.0,
    "local_sndbuf_used_pct": 131.4,
}


def test_a_buffer_of_a_few_segments_is_full_though_nobody_counts_the_wait():
    assert of_run(RunFigures(SMALL_BUFFER)).limit == "send-buffer"
    for other in (
        {"local_sndbuf_used_pct": 110.0},
        {"local_app_limited_pct": 0.0},
        {"local_cwnd_segs": 220.0},
    ):
        assert of_run(RunFigures(SMALL_BUFFER | other)).limit == UNDETERMINED
    told = of_run(RunFigures(SMALL_BUFFER, goal_mbps=95.0))
    assert told.limit == "application", "a run that keeps its rate does not want for a buffer"
    assert of_run(RunFigures(SMALL_BUFFER, goal_mbps=80.0)).limit == UNDETERMINED
    assert of_run(RunFigures(SMALL_BUFFER, goal_mbps=500.0)).limit == "send-buffer"


BESIDE = {"local_cpu_peak_pct": 100.0, "local_cpu_peak_softirq_pct": 6.0}
"""A sender whose CPU others fill."""


@pytest.mark.parametrize(
    ("used", "limit"), [(33.0, "sender-cpu"), (8.0, UNDETERMINED)], ids=["its part", "little"]
)
def test_a_cpu_that_others_fill_limits_a_tool_that_takes_its_part_of_it(used, limit):
    assert of_run(RunFigures(TCP | BESIDE | {"local_process_cpu_pct": used})).limit == limit


def test_a_tool_that_waits_for_a_cpu_wants_it():
    waits = {"local_process_cpu_pct": 8.0, "local_cpu_wait_pct": 60.0}
    assert of_run(RunFigures(TCP | BESIDE | waits)).limit == "sender-cpu"
    thread = {"local_threads": 1, "local_process_cpu_pct": 61.0, "local_cpu_wait_pct": 37.0}
    verdict = of_run(RunFigures(TCP | thread, one_machine=True))
    assert verdict.sentence == (
        "The tool's thread on the sender was 61 % busy and waited 37 % of the time for a CPU."
    )


@pytest.mark.parametrize(
    ("used", "queued", "limit"),
    [(20.0, 50.0, "receiver-cpu"), (20.0, 0.0, UNDETERMINED), (30.0, 0.0, "receiver-cpu")],
)
def test_a_receiver_without_cpu_lets_data_wait(used, queued, limit):
    loaded = {"remote_cpu_peak_pct": 100.0, "remote_process_cpu_pct": used}
    run = RunFigures(TCP | loaded | {"remote_rcvbuf_used_pct": queued})
    assert of_run(run).limit == limit


def test_a_quota_that_holds_the_tool_back_is_the_cpu():
    """A quota of 15 % read as a small receive window."""
    quota = BY_CLASS["receive-window"][0] | {"remote_throttled_pct": 85.0}
    verdict = of_run(RunFigures(quota))
    assert verdict.limit == "cpu-quota"
    assert verdict.sentence == ("The receiver's CPU quota: it held the tool back 85 % of the time.")


def test_a_cap_beside_a_load_is_the_path_s_and_beside_a_pace_or_shaper_nobody_knows():
    loaded = TCP | CAPPED | BESIDE
    assert of_run(RunFigures(loaded | {"local_process_cpu_pct": 8.0})).limit == "path-cap"
    unknown = of_run(RunFigures(loaded | {"local_process_cpu_pct": None}))
    assert unknown.limit == UNDETERMINED, "who kept it busy is not known"
    missed = {"pace_mbps": 2000.0, "pace_off_pct": -55.0}
    assert of_run(RunFigures(TCP | CAPPED | missed)).limit == UNDETERMINED
    assert of_run(RunFigures(TCP | CAPPED, shapers={"local": 1200.0})).limit == UNDETERMINED
    assert of_run(RunFigures(TCP | CAPPED, shapers={"local": 9000.0})).limit == "path-cap"


def test_the_sender_s_own_qdisc_is_judged_by_its_rate_where_that_is_known():
    few = TCP | {"local_qdisc_overlimits": 3}  # fq and single segments
    many = BY_CLASS["local-shaper"][0]
    assert of_run(RunFigures(few, shapers={"local": 1000.0})).limit == "local-shaper"
    assert of_run(RunFigures(few, shapers={"remote": 1000.0})).limit == UNDETERMINED
    assert of_run(RunFigures(many, shapers={"local": 2000.0})).limit == UNDETERMINED


@pytest.mark.parametrize(
    "figures",
    [
        TCP | CAPPED,
        TCP | {"local_sndbuf_limited_pct": 35.0},
        TCP | {"local_rwnd_limited_pct": 80.0},
        TCP | {"local_cpu_peak_pct": 30.0, "local_throttled_pct": 25.0},
    ],
    ids=["cap", "send buffer", "window", "quota"],
)
def test_a_rate_that_was_told_and_kept_is_limited_by_nothing_else(figures):
    assert of_run(RunFigures(figures, goal_mbps=5000.0)).limit not in (UNDETERMINED, "application")
    for goal in (800.0, 925.0):
        assert of_run(RunFigures(figures, goal_mbps=goal)).limit == UNDETERMINED
    assert of_run(RunFigures(figures, goal_mbps=905.0)).limit == "application"


def test_a_qdisc_that_held_nothing_back_is_not_the_limit():
    room, full = (RunFigures(TCP, shapers={"local": rate}) for rate in (1040.0, 945.0))
    assert room.wire_mbps == pytest.approx(942, abs=1)
    assert of_run(room).limit == UNDETERMINED
    assert of_run(full).limit == "local-shaper", "fq counts none"
    held = RunFigures(TCP | {"local_qdisc_overlimits": 40}, shapers={"local": 1040.0})
    assert of_run(held).limit == "local-shaper"


@pytest.mark.parametrize("missing", ["local_rtt_us", "local_min_rtt_us", "local_cwnd_segs"])
def test_what_tells_loss_from_a_full_queue_has_to_be_known(missing):
    lost, _ = BY_CLASS["loss"]
    assert of_run(RunFigures(lost | {missing: None})).limit == UNDETERMINED


def test_small_sends_of_a_tool_that_counts_no_calls_are_those_that_it_is_told():
    busy = TCP | {"local_cpu_peak_pct": 99.0, "local_process_cpu_pct": 96.0}
    assert of_run(RunFigures(busy, send_bytes=64)).limit == "small-sends"
    assert of_run(RunFigures(busy, send_bytes=1400)).limit == "sender-cpu"


def test_latency_says_what_the_run_took_of_cpus_that_others_filled():
    """It said "the busiest CPU was 5 % busy" beside "sender: busiest CPU 100 %"."""
    filled = {f"{end}_{name}": value for end in ("local", "remote") for name, value in
              (("cpu_peak_pct", 100.0), ("process_cpu_pct", 4.0), ("cpu_peak_softirq_pct", 1.0))}  # fmt: skip
    loaded = of_run(RunFigures(BY_CLASS["latency"][0] | filled))
    assert loaded.limit == "latency"
    assert "the run took 5 % of a CPU at most" in loaded.sentence
    assert "busiest" not in loaded.sentence


def test_a_receiver_s_own_policer_drops_packets_and_not_segments_sent_again():
    """It "dropped 218, of 202 packets that were lost": some are sent again by halves."""
    counted = BY_CLASS["policer"][0] | {"remote_ingress_drops": 60_000.0}
    policed = of_run(RunFigures(counted))
    again = f"{counted['local_tcp_retrans_segs']:,.0f}"
    assert policed.sentence == (
        f"A policer: the receiver's own policer dropped 60,000 packets, and {again} segments were "
        "sent again."
    )


def test_a_slow_reader_fills_the_buffer_and_leaves_the_window_that_is_announced():
    """ "100 % of the receive window" stood beside "receive window 341 bytes"."""
    full = BY_CLASS["slow-reader"][0] | {"local_snd_wnd_bytes": 341.0}
    read = of_run(RunFigures(full))
    assert read.limit == "slow-reader"
    assert "100 % of the receive buffer" in read.sentence
    assert "announced receive window 341 bytes" in known.sentence(known.figures([RunFigures(full)]))


@pytest.mark.parametrize(("unread", "limit"), [(3e6, "slow-reader"), (200_000.0, "undetermined")])
def test_a_reader_is_slow_if_data_waits_for_it_long_before_the_window_is_full(unread, limit):
    """A sender of BBR waited 2 % of the time for a window of 15 MB, of which 3 MB were unread."""
    figures = BY_CLASS["slow-reader"][0] | {
        "local_rwnd_limited_pct": 2.0,
        "local_snd_wnd_bytes": 15e6,
        "remote_recv_q_bytes": unread,
    }
    assert of_run(RunFigures(figures)).limit == limit
    busy = RunFigures(figures | {"remote_process_cpu_pct": 97.0})
    assert of_run(busy).limit != "slow-reader", "it lacks CPU"


def test_the_class_of_a_cpu_half_idle_is_not_named_first():
    shared = {"local_cpu_pct": 28.0, "local_cpu_wait_pct": 4.0, "shared_kernel": True}
    unread = {"local_rwnd_limited_pct": 10.0, "remote_recv_q_bytes": 60_000.0}
    verdict = of_run(RunFigures(BY_CLASS["slow-reader"][0] | shared | unread))
    assert verdict.limit == "undetermined"
    assert verdict.points_to == "slow-reader"


def test_small_sends_keep_what_the_tool_used_apart_from_what_it_waited():
    """A tool that used 69 % of a CPU and waited for one was "100 % busy with calls"."""
    figures, bound = BY_CLASS["small-sends"]
    waits = {"local_process_cpu_pct": 69.0, "local_cpu_wait_pct": 30.0, "local_threads": 1}
    small = of_run(RunFigures(figures | waits, bound))
    assert small.limit == "small-sends"
    assert "a sender that used 69 % of a CPU and waited 30 % for one" in small.sentence


def test_a_program_without_a_rate_is_asked_for_more_by_hand():
    """The words for a tool that was told a rate stood beside one that was told none."""
    idle = BY_CLASS["application"][0] | {
        "local_busy_pct": 10.0,
        "local_app_limited_pct": 0.0,
        "local_sndbuf_used_pct": 0.0,
    }
    verdict = of_run(RunFigures(idle))
    assert verdict.limit == "application"
    assert verdict.sentence == (
        "The program sent nothing most of the time: data was in flight 10 % of the time."
    )
    assert "(by hand)" in verdict.decide
    assert "told" not in verdict.decide


def test_a_cap_says_what_the_run_took_of_cpus_that_others_filled():
    loaded = TCP | CAPPED | BESIDE | {"local_process_cpu_pct": 8.0, "remote_cpu_peak_pct": 30.0}
    cap = of_run(RunFigures(loaded))
    assert "kept CPUs 100 % busy, of which the run took 30 % at most" in cap.sentence
    assert "short of CPU" not in cap.sentence
    alone = of_run(RunFigures(TCP | CAPPED))
    assert "neither host was short of CPU (40 % at most)" in alone.sentence


def test_of_a_file_a_cap_says_what_is_not_known():
    frame = pd.DataFrame([{"run": 1, "config": "a", "status": "ok", **TCP, **CAPPED}])
    (told,) = explain(frame)["evidence"]
    assert "a file of runs tells neither the link's rate" in told
    (told,) = explain(frame.assign(target_mbps=5000.0))["evidence"]
    assert "a file of runs" not in told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "no column is a metric, such as throughput_mbps"),
        ("size,throughput_mbps\n64,5\n64,-3\n", "run 2: throughput_mbps is -3"),
    ],
)
def test_a_table_that_is_none_of_runs_is_one_line_with_its_name(text, why, tmp_path, capsys):
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["explain", str(file)])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"netlimits: {file}: {why}")


@pytest.mark.parametrize("name", BY_CLASS)
def test_every_figure_of_a_verdict_is_described(name):
    figures, bound = BY_CLASS[name]
    verdict = of_run(RunFigures(figures, bound, **BESIDE_IT.get(name, {})))
    columns = {metric.column.partition("_")[2] for metric in METRICS}
    columns |= {metric.column for metric in METRICS} | DERIVED.keys()
    assert {
        figure.removeprefix("local_").removeprefix("remote_") for figure in verdict.figures
    } <= (columns)


def test_a_rate_that_was_told_and_met_comes_before_a_shaper_with_room():
    run = RunFigures(BY_CLASS["local-shaper"][0], goal_mbps=900.0, shapers={"local": 2000.0})
    assert of_run(run).limit == "application"


def test_a_cap_is_the_same_in_every_run():
    rows = [
        {"run": n, "size": 1, "status": "ok", **TCP, **CAPPED, "throughput_mbps": rate}
        for n, rate in enumerate((900.0, 890.0, 880.0), 1)
    ]
    assert explain(pd.DataFrame(rows))["class"].item() == "path-cap"
    rows[2]["throughput_mbps"] = 600.0
    verdict = explain(pd.DataFrame(rows)).iloc[0]
    assert verdict["class"] == UNDETERMINED
    assert verdict["why_not"].startswith("the slowest run had 67 % of the fastest (evidence 0.88")


def test_the_figures_are_those_of_the_run_in_the_middle():
    rows = [
        {"run": n, "size": 1, "status": "ok", **TCP, "local_cpu_peak_pct": busy}
        for n, busy in enumerate((99.9, 95.5, 97.0), 1)
    ]
    assert explain(pd.DataFrame(rows))["figures"].item() == {"local_cpu_peak_pct": 97.0}


def test_a_tool_is_never_busier_than_a_cpu():
    figures = BY_CLASS["small-sends"][0] | {"local_process_cpu_pct": 104.0}
    assert "that is 100 % busy" in of_run(RunFigures(figures)).sentence


def test_the_bytes_of_a_datagram_are_those_that_were_sent():
    """131.58 Mbit/s in the window in which they arrived, of 45,328 of 74,528: 740 bytes of 512."""
    lossy = {
        "throughput_mbps": 131.58,
        "local_send_throughput_mbps": 149.9,
        "elapsed_s": 2.04,
        "local_udp_out_datagrams": 74528.0,
        "local_tcp_out_segs": 54.0,
        "remote_udp_in_datagrams": 45328.0,
    }
    run = RunFigures(UDP | lossy)
    assert run.packet_bytes == pytest.approx(512, rel=0.01)
    assert run.packet_rate == pytest.approx(131.58e6 / 8 / 512, rel=0.01)
    assert run.wire_mbps == pytest.approx(131.58 * 554 / 512, rel=0.01)


@pytest.mark.parametrize(
    ("rates", "limit"),
    [
        ({312.0: 1e5, 156.0: 1e5}, "packet-rate"),
        ({312.0: 1e5, 156.0: 1.4e5}, UNDETERMINED),
        ({1250.0: 1e5, 2500.0: 0.5e5}, "packet-rate"),
        ({1250.0: 0.8e5, 2500.0: 1e5}, UNDETERMINED),
    ],
    ids=["all smaller", "one smaller", "the next larger", "not the next"],
)
def test_packets_per_second_are_the_same_over_all_smaller_sizes(rates, limit):
    assert of_run(RunFigures(UDP, rates_by_size={625.0: 1e5, **rates})).limit == limit


def test_a_path_that_carried_more_for_another_configuration_has_no_cap():
    assert of_run(RunFigures(TCP | CAPPED, most_mbps=960.0)).limit == "path-cap"
    verdict = of_run(RunFigures(TCP | CAPPED, most_mbps=1900.0))
    assert verdict.limit == UNDETERMINED
    assert verdict.runner_up == "path-cap"
    assert "the path carried 2 times as much for another configuration" in verdict.why_not


def test_what_a_full_queue_drops_is_not_loss():
    """Without TSO machines of QEMU lost 1 % in a queue that was 90 round trips long."""
    lossy = BY_CLASS["loss"][0] | {"local_rtt_us": 9000.0, "local_cwnd_segs": 900.0}
    assert of_run(RunFigures(lossy, most_mbps=9000.0)).limit == UNDETERMINED


def test_tso_shows_that_machines_have_no_cap_in_bits():
    verdicts = explain(nl.open(GALLERY / "tso")).set_index(["tool", "tso", "send_size"])
    assert "path-cap" not in set(verdicts.xs("off", level="tso")["class"])
    for tool, part in verdicts.groupby("tool"):
        order = [size for _, _, size in part.xs("on", level="tso", drop_level=False).index]
        assert order == sorted(order), tool


def test_only_what_the_experiment_sets_on_the_path_makes_another_path():
    campaign = nl.open(GALLERY / "tso")
    frame, evidence = evidence_of(campaign)
    assert {run.most_mbps for run in evidence.values()} == {evidence[frame.index[0]].most_mbps}
    for apart in ("mtu-aggregate-capped", "mesh"):  # a tbf of its own each, and a pair of its own
        _, evidence = evidence_of(nl.open(GALLERY / apart))
        assert {run.most_mbps for run in evidence.values()} == {None}


def test_runs_that_disagree_are_undetermined():
    both = [Verdict("link", "a", {}), Verdict("loss", "b", {}), Verdict("link", "a", {})]
    assert of_configuration(both).limit == "link"
    assert of_configuration(both).share == pytest.approx(2 / 3)
    assert of_configuration([*both, Verdict("loss", "b", {})]).limit == UNDETERMINED


def test_of_runs_that_disagree_the_runner_up_is_a_class():
    none = Verdict(UNDETERMINED, "n", {}, decide="look")
    tie = of_configuration([none, none, Verdict("loss", "b", {}, decide="b2"), none, none,
                            Verdict("link", "a", {}), Verdict("loss", "b", {})])  # fmt: skip
    assert (tie.limit, tie.runner_up, tie.decide) == (UNDETERMINED, "loss", "b2")
    assert tie.why_not == "it is the verdict of only 2 of 7 runs"
    near = replace(none, likely=("loss",))
    tie = of_configuration([near, Verdict("loss", "b", {}), Verdict("link", "a", {})])
    assert tie.why_not == "it is the verdict of only 1 of 3 runs, and the nearest class of 1 more"


def test_a_frame_is_explained_by_configuration_and_by_run():
    rows = [
        {"run": n, "size": size, "status": "ok", "attempt": 1, "config": str(size), **figures}
        for n, (size, figures) in enumerate(
            [(1, BY_CLASS["local-shaper"][0]), (1, BY_CLASS["local-shaper"][0]), (2, TCP | CAPPED)],
            1,
        )
    ]
    frame = pd.DataFrame(rows)
    verdicts = explain(frame)
    assert list(verdicts["class"]) == ["local-shaper", "path-cap"]
    assert list(verdicts["runs"]) == [2, 1]
    assert list(verdicts["state"]) == ["suggested", "suggested"]
    assert list(runs(frame)["run"]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("half", "verdict"), [(0.51, "packet-rate"), (0.6, UNDETERMINED)], ids=["flat", "not-flat"]
)
def test_packets_per_second_show_only_over_the_sizes_of_a_campaign(half, verdict):
    rows = [
        {
            "run": n,
            "block": n,
            "config": str(size),
            "status": "ok",
            "attempt": 1,
            **UDP,
            "send_size": size,
            "throughput_mbps": 500 * share,
            "remote_udp_in_datagrams": 1e6 * share * 625 / size,
            "local_udp_out_datagrams": 1e6 * share * 625 / size,
        }
        for n, (size, share) in enumerate([(625, 1.0), (312, half)], 1)
    ]
    verdicts = explain(pd.DataFrame(rows))
    assert list(verdicts["class"]) == [verdict] * 2
    assert explain(pd.DataFrame(rows[:1]))["class"].item() == UNDETERMINED


def _output(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(["explain", *map(str, words)])
    output = capsys.readouterr()
    return ended.value.code, output.out, output.err


FAILED = Path(__file__).parents[2] / "notebooks" / "example-campaign-mtu1500"


def test_a_configuration_whose_runs_all_failed_has_its_row_and_the_reason(capsys):
    status, out, _ = _output(capsys, FAILED, "--config", "send_size=8192")
    assert status == 0
    assert out.count("undetermined (–)") == 2
    assert out.count("0 of 3 runs ok (3 invalid; the first says: an MSS of 8204") == 2
    _, out, _ = _output(capsys, FAILED, "--json")
    rows = json.loads(out)
    assert [row["runs"] for row in rows] == [3, 3, 0, 0]
    assert [row["confidence"] for row in rows][2:] == [None, None]


@pytest.mark.parametrize(
    ("family", "address", "possible"),
    [
        (None, "192.0.2.1", 941.48),
        (None, "2001:db8::1", 928.48),
        ("ipv6", "192.0.2.1", 928.48),
        ("ipv4", "2001:db8::1", 941.48),
    ],
)
def test_the_bound_of_a_link_is_that_of_the_run_s_version_of_ip(family, address, possible):
    around = SimpleNamespace(family=family, streams=2)
    options = {"rate": "4M", "parallel": 3}
    setup = SimpleNamespace(settings=(), around=around, options=options)
    facts = {"link_settings": {"value": {"Speed": "1000Mb/s"}}, "link": {"value": {"mtu": 1500}}}
    facts["channels"] = {"value": pairs.text("settings/channels", "virtio-queues")}
    campaign = SimpleNamespace(
        experiment=SimpleNamespace(
            side_of=lambda values: SimpleNamespace(roles=("sender",), ends={"local": ("sender",)})
        ),
        imported=None,
        archive=SimpleNamespace(
            facts=lambda role: facts, machines={"sender": SimpleNamespace(address=address)}
        ),
        plan=SimpleNamespace(setup=lambda values: setup),
        runs_of=lambda _: {1: SimpleNamespace(config="a", values={})},
    )
    run = run_figures({"run": 1}, DataLinks(campaign, [1]))
    assert run.bound_mbps == pytest.approx(possible, abs=0.01)
    assert run.goal_mbps == 24
    assert run.queues == {"local": 2}
    setup.settings = (SimpleNamespace(name="link", options={"speed": 100, "autoneg": "off"}),)
    options.clear()
    run = run_figures({"run": 1}, DataLinks(campaign, [1]))
    assert run.bound_mbps == pytest.approx(possible / 10, abs=0.01), "as the experiment set it"
    assert run.goal_mbps is None
    setup.settings = (SimpleNamespace(name="tunnel", options={"kind": "vxlan"}),)
    run = run_figures({"run": 1}, DataLinks(campaign, [1]))
    wide = ":" in address
    stack = bound(1500, 1e9, ("vxlan",), timestamps=True, ipv6=possible < 930, outer_ipv6=wide)
    assert run.bound_mbps == pytest.approx(stack.goodput_bps / 1e6)
    assert run.gained == (70 if wide else 50)


def test_the_slot_of_a_nic_bounds_a_run():
    figures = {"throughput_mbps": 25_000.0, "local_tx_bytes": 9, "remote_tx_bytes": 1}
    run = RunFigures(figures, pcie_mbps={"local": 63_000.0, "remote": 31_508.0})
    ceiling = bounds.of_run(run)["PCIe"]
    assert ceiling.mbps == 31_508
    assert "PCIe 31,508 Mbit/s (the receiver's slot" in bounds.sentence({"PCIe": ceiling}, 25_000)


def test_a_failed_run_of_a_configuration_that_has_others_is_no_configuration():
    rows = [
        {"run": 1, "size": 1, "kind": "x", "status": "ok", **TCP, **CAPPED},
        {"run": 2, "size": 1, "kind": None, "status": "failed"},
        {"run": 3, "size": 2, "kind": None, "status": "failed"},
    ]
    verdicts = explain(pd.DataFrame(rows))
    assert verdicts["size"].tolist() == [1, 2]
    assert verdicts["class"].tolist() == ["path-cap", UNDETERMINED]
    assert verdicts["not_ok"].tolist() == ["1 failed", "1 failed"]


def test_how_many_runs_of_a_configuration_do_not_count_is_told(tmp_path, capsys):
    columns = {"status": "ok", **TCP, **CAPPED}
    rows = [
        {"run": run, "size": size, "reason": None, **columns}
        for run, size in enumerate([1, 1, 2, 2])
    ]
    rows[1] |= {"status": "timeout", "reason": "no answer"}
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    _, out, _ = _output(capsys, tmp_path / "runs.csv")
    assert out.count("Not counted") == 1
    assert "size 1: path-cap (1 run)" in out
    assert "Not counted: 1 timeout; the first says: no answer" in out


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "runs.csv"
    rows = [
        {"run": 1, "size": 1, **TCP, **CAPPED},
        {"run": 2, "size": 2, **BY_CLASS["send-buffer"][0]},
    ]
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_the_command_prints_a_verdict_a_configuration(csv, capsys):
    status, out, _ = _output(capsys, csv)
    assert status == 0
    assert "size 1: path-cap (1 run)" in out
    assert "size 2: send-buffer (1 run)" in out
    assert "To decide: four times the send buffer (wmem); at least 1.3 times the throughput" in out


def test_evidence_and_bounds_are_of_one_run_that_is_named(tmp_path, capsys):
    """Three figures of one thing stood within six lines: of two middle runs, and medians."""
    rows = [
        {"run": n, "size": 1, **BY_CLASS["send-buffer"][0], "local_sndbuf_limited_pct": limited}
        | {"throughput_mbps": rate}
        for n, limited, rate in ((1, 60.0, 310.0), (2, 70.0, 290.0), (3, 80.0, 300.0))
    ]
    path = tmp_path / "runs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    _, out, _ = _output(capsys, path)
    assert "  Run 2: The send buffer: the sender waited for it 70 %" in out
    assert "\n  Known (medians of 3 runs):\n    300 Mbit/s arrived" in out
    assert "\n  Bounds (run 2):\n    " in out
    _, out, _ = _output(capsys, path, "--json")
    assert '"of_run": 2,' in out


def test_a_figure_and_its_percent_sign_stand_on_one_line(csv, capsys):
    _, out, _ = _output(capsys, csv)
    assert "%" in out
    assert not [line for line in out.splitlines() if line.lstrip().startswith("%")]


def test_a_verdict_that_no_setting_proves_names_no_command(monkeypatch, capsys):
    """After a verdict that --next refuses, it said to use --next."""
    path = GALLERY / "constant-bitrate"
    _, out, _ = _output(capsys, path)
    assert f"Prove it: netlimits explain {path} --next proof.yaml" in out
    by_hand = explain(nl.open(path)).assign(decide=AckPath.intervention.decides("ack-path"))
    monkeypatch.setattr("netlimits.limits.explained.explain", lambda _: by_hand)
    _, out, _ = _output(capsys, path)
    assert "Prove it" not in out
    sought = explain(nl.open(path))
    monkeypatch.setattr("netlimits.limits.explained.explain", lambda _: sought)
    assert "Prove it" in _output(capsys, path)[1]
    assert "Prove it" not in _output(capsys, GALLERY / "mesh")[1], "--next takes no mesh"
    monkeypatch.setattr("netlimits.limits.explained.explain", lambda _: by_hand)
    _, out, _ = _output(capsys, path)
    assert "a faster way back, or fewer acknowledgements" in out
    assert "(by hand); at least 1.2 times the throughput proves ack-path" in " ".join(out.split())
    assert "Prove it" not in out


@pytest.mark.parametrize("name", ["runs", "class", "evidence", "verdict"])
def test_a_factor_may_be_called_as_a_column_of_a_verdict(name, tmp_path, capsys):
    rows = [{"run": 1, name: "a", **TCP, **CAPPED}, {"run": 2, name: "b", **TCP, **CAPPED}]
    path = tmp_path / "runs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    status, out, _ = _output(capsys, path, "--config", f"{name}=b", "--json")
    assert status == 0
    (row,) = json.loads(out)
    assert (row[f"{name}_"], row["class"], row["runs"]) == ("b", "path-cap", 1)


def test_json_has_the_same_and_can_be_narrowed(csv, capsys):
    _, out, _ = _output(capsys, csv, "--json", "--config", "size=2")
    (row,) = json.loads(out)
    assert (row["class"], row["size"]) == ("send-buffer", 2)
    _, out, _ = _output(capsys, csv, "--json", "--run", "1")
    assert [row["class"] for row in json.loads(out)] == ["path-cap"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--config", "size"), "write FACTOR=VALUE"),
        (("--config", "sise=1"), "write FACTOR=VALUE with one of size"),
        (("--config", "size=3"), "size is never 3; it is 1, 2"),
        (("--run", "9"), "run 9 has not run"),
    ],
)
def test_a_wrong_choice_is_one_line(csv, capsys, words, why):
    status, _, err = _output(capsys, csv, *words)
    assert status == 2
    assert why in err
    assert err.count("\n") == 1


def test_the_likeliest_class_may_be_the_second_of_every_run():
    runs = [
        Verdict("receiver-cpu", "Busy.", {}, likely=("receiver-cpu", "sender-cpu")),
        Verdict("path-cap", "Full.", {}, likely=("path-cap", "sender-cpu")),
        Verdict("loss", "Lost.", {}, likely=("loss", "sender-cpu")),
    ]
    verdict = of_configuration(runs)
    assert verdict.limit == UNDETERMINED
    assert verdict.likely[0] == "sender-cpu"
    assert verdict.why_not == "it is the verdict of only 0 of 3 runs"
    assert "proves sender-cpu" in verdict.decide
