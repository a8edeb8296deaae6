"""The looks in mid-run, on captures: netperf TCP_STREAM, UDP_STREAM, iperf3 -P 3 and -u."""

from __future__ import annotations

import re
from dataclasses import replace

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.evidence import sample
from netlimits.evidence.sample import snapshots
from netlimits.metrics import METRICS
from netlimits.model import Completed, Scalar

NETPERF, IPERF3 = 12865, 5201


def looked(text: str, port: int = NETPERF) -> Completed:
    command = sample.command("netperf", ["192.0.2.2"], port, seconds=2, deadline=17)
    return Completed("sender", command, 0, text, "", 1.0)


def captured(name: str, port: int = NETPERF) -> Completed:
    return looked(pairs.text("evidence/sample", name), port)


@pytest.mark.parametrize("name", pairs.names("evidence/sample"))
def test_each_capture_gives_what_its_pair_expects(name: str):
    pairs.check("evidence/sample", name)


SENT = {"bytes_sent:1249704376": "bytes_sent:1000"}
RECEIVED = {
    "data_segs_in:860041": "data_segs_in:760041",
    "segs_out:8585": "segs_out:6585",
    "bytes_received:1242251264": "bytes_received:2512",
}


def twice(name: str, first: dict[str, str], seconds: float = 1.0) -> Completed:
    """A capture as the second of two looks, and the first as it differs from it."""
    head, _, text = pairs.text("evidence/sample", name).partition("\n")
    early = "\n".join(line for line in text.splitlines() if line.startswith("tcp"))
    for now, then in first.items():
        assert now in early
        early = early.replace(now, then)
    at = 1795300000.25
    return looked(
        f"{head}\nlook {at:.9f}\n{early}\nlook {at + seconds:.9f}\n{text}".replace("\n\n", "\n")
    )


def test_between_two_looks_stands_what_limited_it_and_not_since_it_began():
    """Two equal runs read 73 and 100 % busy where the start-up is counted along."""
    busy = {"busy:936ms": "busy:136ms", "rwnd_limited:316ms": "rwnd_limited:76ms", **SENT}
    figures = sample.figures([twice("tcp-local", busy)])
    assert figures["busy_pct"] == pytest.approx(80.0)
    assert figures["rwnd_limited_pct"] == pytest.approx(30.0)
    assert figures["sndbuf_limited_pct"] == 0
    whole = sample.figures([twice("tcp-local", {"busy:936ms": "busy:0ms", **SENT}, seconds=0.936)])
    assert whole["busy_pct"] == pytest.approx(100.0)


BUSY = re.compile(r" (busy|rwnd_limited|sndbuf_limited):\S+")


def without(pattern: re.Pattern[str], sampled: Completed) -> Completed:
    """The looks of a host whose kernel does not tell a field."""
    text, count = pattern.subn("", sampled.stdout)
    assert count
    return looked(text)


def test_what_limits_a_connection_is_unknown_where_ss_does_not_tell_how_long_it_was_busy():
    """It used to be 0 % busy, and the program was what limited it."""
    told = {"busy:936ms": "busy:136ms", **SENT}
    figures = sample.figures([without(BUSY, twice("tcp-local", told))])
    assert not figures.keys() & {"busy_pct", "rwnd_limited_pct", "sndbuf_limited_pct"}
    assert figures["app_limited_pct"] == 100, "and the rest is there"
    older = without(BUSY, twice("tcp-local", told))
    both = sample.figures([twice("tcp-local", told), older])
    assert "busy_pct" not in both, "no mean of one host and of another that does not tell"


def test_what_ss_leaves_out_beside_a_busy_time_is_0():
    limited = re.compile(r" rwnd_limited:\S+")
    figures = sample.figures([without(limited, twice("tcp-local", {"busy:936ms": "", **SENT}))])
    assert figures["busy_pct"] == pytest.approx(93.6)
    assert figures["rwnd_limited_pct"] == figures["sndbuf_limited_pct"] == 0


def test_segments_per_ack_are_unknown_where_ss_does_not_count_segments():
    segments = re.compile(r" data_segs_in:\S+")
    figures = sample.figures([without(segments, twice("tcp-remote", RECEIVED))])
    assert figures["connections"] == 1
    assert "sampled_segments_per_ack" not in figures


def test_a_look_that_does_not_tell_a_moment_is_no_zero_in_its_mean():
    rate, least = "delivery_rate 23168000000bps ", "minrtt:0.003"
    early = sample.figures([twice("tcp-local", {rate: "", least: "", **SENT})])
    assert early["delivery_rate_mbps"] == pytest.approx(23168)
    assert early["min_rtt_us"] == pytest.approx(3)


def test_app_limited_is_unknown_where_the_kernel_tells_no_delivery_rate():
    newer = re.compile(r" (delivery_rate \S+|app_limited)")
    figures = sample.figures([without(newer, captured("tcp-local"))])
    assert not figures.keys() & {"app_limited_pct", "delivery_rate_mbps"}
    assert figures["cwnd_segs"] == 514


def test_the_cpu_of_some_processes_is_not_that_of_all():
    lines = ["namespace net:[1]", "1 28007 1 3 12.5 netserver", "1 28008 1 1 netserver"]
    assert "process_cpu_pct" not in sample.figures([looked("\n".join(lines))])
    assert sample.figures([looked("\n".join(lines[:2]))])["process_cpu_pct"] == 12.5
    idle = [line.replace(" 12.5 ", "  0.0 ") for line in lines[:2]]
    assert "process_cpu_pct" not in sample.figures([looked("\n".join(idle))])


def test_segments_per_ack_are_of_the_time_between_the_looks():
    figures = sample.figures([twice("tcp-remote", RECEIVED)])
    assert figures["sampled_segments_per_ack"] == pytest.approx(50.0)


def test_the_receivers_connection_tells_segments_per_ack_and_nothing_of_a_sender():
    figures = sample.figures([captured("tcp-remote")])
    receiving = {"recv_q_bytes", "rcvbuf_used_pct", "rcvbuf_bytes", "rcv_space_bytes"}
    receiving |= {"rcv_ssthresh_bytes"}
    assert figures.keys() - receiving == {"processes", "threads", "connections"}
    # the server that listens and its child; the other two are another test host's on this machine
    assert captured("tcp-remote").stdout.count(" netserver") >= 2
    assert figures["processes"] == 2


def sent_by(*acked: int) -> Completed:
    """The looks of a connection, one a second, that had so many bytes acknowledged by each."""
    line = "tcp ESTAB 0 0 192.0.2.1:40277 192.0.2.2:45475 {} bytes_sent:{} bytes_acked:{}"
    looks = [
        f"look 179530000{at}.000000000\n" + line.format("ts bbr", number, number)
        for at, number in enumerate(acked)
    ]
    return looked("\n".join(["namespace net:[1]", *looks]))


@pytest.mark.parametrize(
    ("acked", "late"),
    [
        ((20_000, 1_020_000, 2_020_000, 3_020_000, 4_020_000), 49.75),
        ((20_000, 60_000, 140_000, 300_000, 620_000), 77.4),
        ((20_000, 600_000), None),
    ],
    ids=["steady", "slow start", "two looks"],
)
def test_what_a_transfer_sent_in_its_later_half_shows_whether_it_still_grew(acked, late):
    assert sample.figures([sent_by(*acked)]).get("late_data_pct") == (
        None if late is None else pytest.approx(late, abs=0.1)
    )


@pytest.mark.parametrize(
    ("paces", "share"),
    [
        (["30000000bps"] * 8, 0.0),
        (["30000000bps"] * 7 + ["37500000bps"], 100.0),
        (["30000000bps"] * 7, 100.0),
        ([""] * 8, 100.0),
    ],
    ids=["one pace", "a probe", "few looks", "no pace"],
)
def test_a_pace_that_bbr_never_changes_was_set_by_the_program(paces, share):
    looks = sent_by(*(20_000 * (1 + at) for at in range(len(paces)))).stdout.splitlines()
    paced = iter(paces)
    told = [
        f"{line} pacing_rate {pace}" if "bytes_sent" in line and (pace := next(paced)) else line
        for line in looks
    ]
    assert sample.figures([looked("\n".join(told))]).get("own_pace_pct") == share


@pytest.mark.parametrize(("word", "share"), [("bbr", 100.0), ("cubic", 0.0), ("somebodys", None)])
def test_only_bbr_sets_its_own_pace_and_who_is_not_named_is_not_known(word, share):
    sampled = sent_by(20_000, 90_000)
    sampled = replace(sampled, stdout=sampled.stdout.replace("bbr", word))
    assert sample.figures([sampled]).get("own_pace_pct") == share


@pytest.mark.parametrize(
    ("words", "with_options", "timestamps"),
    [("ts sack bbr", True, True), ("sack bbr", True, False), ("sack bbr", False, None)],
)
def test_ss_tells_timestamps_only_where_it_is_asked_for_options(words, with_options, timestamps):
    """`ss -i` alone never says `ts`: then it is not known, and no sign that there were none."""
    line = f"tcp ESTAB 0 0 192.0.2.1:40277 192.0.2.2:45475 timer:(on,204ms,0) {words} mss:524"
    completed = looked(f"namespace net:[1]\nlook 1795300000.000000000\n{line} bytes_received:99999")
    assert "ss -tuinmoHO" in completed.command.argv[2]
    if not with_options:
        argv = tuple(word.replace("ss -tuinmoHO", "ss -tuinmHO") for word in completed.command.argv)
        completed = replace(completed, command=replace(completed.command, argv=argv))
    ((connection,),) = (look.connections for look in snapshots.parse_snapshots(completed))
    assert connection.timestamps is timestamps
    assert connection.fields["mss"] == 524


def test_parallel_streams_share_a_port_with_their_control_connection():
    sampled = captured("iperf3-local", IPERF3)
    (look,) = snapshots.parse_snapshots(sampled)
    assert sampled.stdout.count("\ntcp ") == 4
    figures = sample.figures([sampled])
    assert figures["connections"] == 3
    streams = look.connections
    rate = sum(c.value("delivery_rate") for c in streams)
    assert figures["delivery_rate_mbps"] == pytest.approx(rate / 1e6)
    assert figures["cwnd_segs"] == pytest.approx(sum(c.value("cwnd") for c in streams) / 3)
    assert figures["app_limited_pct"] == pytest.approx(100 / 3)


@pytest.mark.parametrize(("name", "port"), [("udp-remote", NETPERF), ("iperf3-u-local", IPERF3)])
def test_under_udp_only_processes_are_told(name: str, port: int):
    assert sample.figures([captured(name, port)]).keys() == {"processes", "threads"}


def test_processes_of_other_namespaces_do_not_count():
    lines = ["namespace net:[4026532246]"]
    lines += ["4026532387 10191 10064 1 netserver", "4026532246 28007 1 3 netserver"]
    lines += ["         - 28008 1 1 netserver"]
    figures = sample.figures([looked("\n".join(lines))])
    assert figures == {"processes": 1, "threads": 3}


def test_a_server_of_another_login_counts_where_it_is_the_only_one():
    figures = sample.figures([looked("namespace net:[1]\n         - 28008     1    2 netserver\n")])
    assert figures == {"processes": 1, "threads": 2}


def test_several_hosts_of_one_end_are_added_up():
    first, second = twice("tcp-remote", RECEIVED), twice("tcp-remote", RECEIVED)
    figures = sample.figures([first, second])
    assert figures["processes"] == 4
    assert figures["connections"] == 2
    assert figures["sampled_segments_per_ack"] == pytest.approx(50.0)


@pytest.mark.parametrize(
    "text", ["", "namespace net:[1]\n", "namespace \nsh: 5: ss: not found\n", "sh: sleep: …\n"]
)
def test_what_is_not_found_is_left_out(text: str):
    assert sample.figures([looked(text)]) == {}


def test_no_sample_no_figures():
    assert sample.figures([]) == {}


def test_both_ends_in_one_network_stack_are_not_told_apart():
    sent, got = (
        "tcp ESTAB 0 0 127.0.0.1:40000 127.0.0.1:50000 cubic bytes_sent:900000 busy:500ms",
        "tcp ESTAB 0 0 127.0.0.1:50000 127.0.0.1:40000 cubic bytes_received:900000 segs_out:9",
    )
    assert "connections" in sample.figures([looked(f"namespace net:[1]\n{sent}\n")])
    assert sample.figures([looked(f"namespace net:[1]\n{sent}\n{got}\n")]) == {}


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("pacing_rate 32254", "pacing_rate 3.2.5"),
        ("busy:", "busy:" + "9" * 5000),
        (" 1 netperf", " " + "9" * 5000 + " netperf"),
        ("rtt:0", "rtt:²"),
        ("bytes_sent:", "bytes_sent:-"),
    ],
)
def test_an_impossible_number_is_passed_over(was: str, now: str):
    whole = pairs.text("evidence/sample", "tcp-local")
    assert was in whole
    figures = sample.figures([looked(whole.replace(was, now))])
    assert all(-1 < float(value or 0) < 1e15 for value in figures.values())


@given(st.text(max_size=300), st.integers(0, 2000))
def test_no_output_and_no_cut_through_one_fails_a_run(text: str, cut: int):
    sample.figures([looked("namespace net:[1]\n" + text)])
    whole = pairs.text("evidence/sample", "tcp-local")
    sample.figures([looked(whole[:cut]), looked(whole[:cut] + text)])


def test_every_figure_is_a_metric_of_both_ends():
    columns = {metric.column for metric in METRICS}
    figures: dict[str, Scalar] = {}
    for name, first in (("tcp-local", SENT), ("tcp-remote", RECEIVED)):
        figures |= sample.figures([twice(name, first)])
    assert len(figures) >= 12
    assert {f"{end}_{name}" for name in figures for end in ("local", "remote")} <= columns
