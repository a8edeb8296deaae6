"""Pacing: which ways there are, what each sends to hosts, and which runs do not count."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.archive.raw import RawEntry
from netlimits.campaign.figures import rates
from netlimits.errors import ToolFailure
from netlimits.experiment import pacing
from netlimits.model import Command, Completed, Pace, ServerAddress
from netlimits.settings import setting
from netlimits.tools import Features, tool

KNOWN = {"local_qdisc_drops": 0, "local_tx_packets": 100_000, "elapsed_s": 10}
AT = Pace(1e9, 1e9 * (1024 + 42) / 1024)
NEWER = Features("2.7.1", frozenset({"pacing"}))
DEBIANS = Features("2.7.0", frozenset({"demo", "burst"}))
SOCKET = pacing.own("netperf")
OPTIONS = {"test": "UDP_STREAM", "send_size": 1024}


def qdisc_words(way: str, at: Pace = AT) -> str:
    """The words of the `tc` command that a way has the sender run."""
    use, _ = pacing.paced("netperf", way, at, ("sender",), OPTIONS)
    assert use.roles == ("sender",)
    qdisc = setting(use.name)
    (command,) = qdisc.change("data0", {}, use.options)[-1:]
    assert command.sudo
    return " ".join(command.argv).removeprefix("tc qdisc add dev data0 root ")


def client_words(way: str, at: Pace = AT, features: Features = NEWER) -> tuple[str, ...]:
    _, options = pacing.paced("netperf", way, at, ("sender",), OPTIONS)
    netperf = tool("netperf")
    netperf.check(options, features)
    return netperf.client(options, features, ServerAddress("192.0.2.2", 12865)).argv


def test_a_netperf_that_paces_is_tried_first_and_others_leave_it_to_the_qdisc():
    assert pacing.ways("netperf", NEWER) == ("netperf -q", "fq maxrate", "tbf")
    assert pacing.ways("netperf", DEBIANS) == ("fq maxrate", "tbf")
    assert pacing.ways("iperf3", NEWER) == ("fq maxrate", "tbf")


def test_netperf_q_is_bytes_a_second_of_frames_under_fq_without_a_rate_of_its_own():
    words = client_words(SOCKET)
    behind = words[words.index("--") :]
    assert behind[behind.index("-q") + 1] == str(125_000_000 * (1024 + 42) // 1024 + 1)
    assert qdisc_words(SOCKET) == "fq limit 20000 flow_limit 20000 initial_quantum 16384"


def test_fq_and_tbf_get_the_frame_rate_and_netperf_nothing():
    assert (
        qdisc_words(pacing.FQ)
        == "fq limit 20000 flow_limit 20000 initial_quantum 16384 maxrate 1041015624bit"
    )
    assert qdisc_words(pacing.TBF) == "tbf rate 1041015624bit burst 260254b limit 33554432b"
    for way in (pacing.FQ, pacing.TBF):
        assert "-q" not in client_words(way, features=DEBIANS)


def test_what_atoi_cannot_hold_is_left_to_fq():
    fast = Pace(100e9, 100e9 * (8192 + 42) / 8192)
    assert "-q" not in client_words(SOCKET, fast)
    assert "maxrate 100512695312bit" in qdisc_words(SOCKET, fast)


@given(st.floats(1e4, 4e11), st.integers(1, 9000))
def test_tbf_lets_every_jumbo_frame_through_and_no_more_than_2_ms_at_once(rate, size):
    at = Pace(rate, rate * (size + 42) / size)
    use, _ = pacing.paced("netperf", pacing.TBF, at, ("sender",), {})
    assert use.options["burst"] >= 9216 + 14
    assert use.options["burst"] <= max(16 << 10, at.frame_rate / 8 * 2e-3 + 1)
    assert 0 <= use.options["rate"] - at.frame_rate < 1


def entries(
    *kinds: str, client: tuple[str, ...] = ("netperf", "-t", "UDP_STREAM")
) -> list[RawEntry]:
    """Raw entries: root qdiscs of the sender as read back one after another, and the client."""

    def entry(step: str, argv: tuple[str, ...], stdout: str = "", host: str = "sender") -> RawEntry:
        return RawEntry(step, Completed(host, Command(argv), 0, stdout, "", 0.1))

    read = setting("qdisc").read("data0", None).argv
    outputs = [
        json.dumps([{"kind": kind, "handle": "8001:", "root": True, "options": {}}])
        for kind in kinds
    ]
    receivers = json.dumps([{"kind": "noqueue", "handle": "0:", "root": True, "options": {}}])
    return [
        *(entry("settings", read, text) for text in outputs),
        entry("settings", read, receivers, host="receiver"),
        entry("client", client),
    ]


@pytest.mark.parametrize(
    ("kinds", "client", "way"),
    [
        (["fq"], ("netperf", "--", "-q", "130126953"), "netperf -q"),
        (["fq"], ("netperf", "--", "-m", "1024"), "fq maxrate"),
        (["noqueue", "noqueue", "tbf"], ("netperf", "--", "-m", "1024"), "tbf"),
        (["tbf"], ("netperf", "--", "-q", "130126953"), "tbf"),  # UDP's -q paces under fq only
        (["fq"], ("sh", "-c", "netperf -- -q 130126953 & p1=$!\nwait"), "netperf -q"),
    ],
)
def test_which_way_it_was_is_read_off_what_was_done(kinds, client, way):
    assert rates.way("netperf", entries(*kinds, client=client), "sender") == way


def test_a_qdisc_that_paces_nothing_is_no_way():
    with pytest.raises(ToolFailure, match="its qdisc is noqueue, which paces nothing") as caught:
        rates.way("netperf", entries("tbf", "noqueue"), "sender")
    assert caught.value.status == "invalid"


def held(**figures: float) -> dict:
    return dict(
        rates.pace_figures(AT, "tbf", KNOWN | {"local_send_throughput_mbps": 1000.0, **figures})
    )


@pytest.mark.parametrize(
    "name", ["local_send_throughput_mbps", "local_qdisc_drops", "local_tx_packets"]
)
def test_what_is_not_known_is_not_held_to_be_0(name):
    figures = KNOWN | {"local_send_throughput_mbps": 1000.0}
    del figures[name]
    with pytest.raises(ToolFailure, match="kept its pace: there is no") as caught:
        dict(rates.pace_figures(AT, "tbf", figures))
    assert caught.value.status == "invalid"


@pytest.mark.parametrize("sent", [990.001, 1000, 1009.999])
def test_a_run_within_one_percent_counts_and_says_how_near_it_came(sent):
    figures = held(local_send_throughput_mbps=sent)
    assert figures["paced_by"] == "tbf"
    assert figures["pace_mbps"] == 1000
    assert figures["pace_off_pct"] == pytest.approx(sent / 10 - 100)


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ({"local_send_throughput_mbps": 989.9}, "-1.01 % off .* CPU could not keep it up"),
        (
            {"local_send_throughput_mbps": 980, "local_ip_frag_creates": 900},
            "-2.00 % off .* were fragmented, .* MTU less 28 bytes",
        ),
        (
            {"local_send_throughput_mbps": 1011, "elapsed_s": 0.1},
            r"\+1.10 % off .* 134 KiB too many.*\(local_buffer\)",
        ),
        (
            {"local_send_throughput_mbps": 2000, "elapsed_s": 10},
            r"\+100.00 % off .* the pacing did not limit it",
        ),
        (
            {"local_qdisc_drops": 1020, "local_tx_packets": 100_000},
            "qdisc dropped 1020 packets and sent 100000",
        ),
        ({"local_send_throughput_mbps": 0}, "-100.00 % off"),
    ],
)
def test_a_run_at_another_rate_is_invalid_and_says_why(figures, why):
    with pytest.raises(ToolFailure, match=why) as caught:
        held(**figures)
    assert caught.value.status == "invalid"


def test_the_tolerance_is_the_experiment_s():
    at = Pace(1e9, 1.1e9, tolerance_pct=5)
    figures = KNOWN | {"throughput_mbps": 1049}
    assert dict(rates.pace_figures(at, "tbf", figures))["pace_off_pct"] > 4.8
    with pytest.raises(ToolFailure, match="where 5 % are allowed"):
        dict(rates.pace_figures(at, "tbf", KNOWN | {"throughput_mbps": 1051}))


def test_a_few_drops_among_many_packets_are_within_the_tolerance():
    assert held(local_qdisc_drops=900, local_tx_packets=100_000)["paced_by"] == "tbf"


def test_mptcp_that_is_tcp_is_no_run_of_mptcp():
    counted = {"local_mptcp_connections": 1.0, "remote_mptcp_connections": 1.0}
    rates.refuse_excess("iperf3", {"mptcp": True}, 1, counted)
    with pytest.raises(ToolFailure, match="1 connections fell back to TCP"):
        rates.refuse_excess(
            "iperf3", {"mptcp": True}, 1, {**counted, "remote_mptcp_fallbacks": 1.0}
        )
    with pytest.raises(ToolFailure, match="no host counted any"):
        rates.refuse_excess("iperf3", {"mptcp": True}, 1, {})
