"""The captures were made between two network namespaces, with nuttcp 6.1.2 and 8.2.2."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features
from netlimits.tools.nuttcp import Nuttcp

CAPTURES = Path(__file__).parents[1] / "captures" / "nuttcp"
nuttcp = Nuttcp()
ENDS = ServerAddress("198.19.0.2", 5900)
BUILD = Features("6.1.2")
TCP = {"seconds": 1}
UDP = {"seconds": 1, "protocol": "udp", "send_size": 1024, "rate": 0}


def text(name: str) -> str:
    return (CAPTURES / f"{name}.txt").read_text()


def done(stdout="", status=0, stderr="", **more) -> Completed:
    return Completed(
        "sender", Command(("nuttcp",), deadline=16), status, stdout, stderr, 1.0, **more
    )


def capture(name: str) -> Completed:
    return pairs.completed("nuttcp", name)


def edited(name: str, pattern: str, replacement: str) -> Completed:
    changed, count = re.subn(pattern, replacement, text(name), flags=re.MULTILINE)
    assert count
    return done(changed)


@pytest.mark.parametrize(("build", "version"), [("612", "6.1.2"), ("822", "8.2.2")])
def test_features_of_both_builds(build, version):
    probes = (done(text(f"builds/version-{build}")), done(text(f"builds/help-{build}"), 1))
    assert nuttcp.features(probes).version == version


def test_no_nuttcp_is_said_with_the_package():
    missing = done(stderr="sh: 1: nuttcp: not found", status=127)
    with pytest.raises(ToolFailure, match=r"not found.*install it \(Debian and Ubuntu: nuttcp\)"):
        nuttcp.features((missing, missing))


def test_a_build_without_parsable_output_is_refused():
    usage = done(text("builds/help-612").replace("-fparse", ""), 1)
    with pytest.raises(ToolFailure, match=r"6\.1\.2 has no -fparse; install"):
        nuttcp.features((done(text("builds/version-612")), usage))


WRONG = {
    "UDP without a rate": ({"protocol": "udp"}, r"measure\.nuttcp\.rate: .*1 Mbit/s"),
    "MSS of UDP": ({"protocol": "udp", "rate": 0, "mss": 1000}, r"measure\.nuttcp\.mss: .*TCP only"),
    "nodelay of UDP": ({"protocol": "udp", "rate": 0, "nodelay": True}, r"\.nodelay: .*TCP only"),
    "too large a datagram": (
        {"protocol": "udp", "rate": 0, "send_size": 65508}, r"\.send_size: .*65507"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_options_that_contradict_each_other_are_refused(case):
    options, reason = WRONG[case]
    with pytest.raises(InputError, match=reason):
        nuttcp.check(options, BUILD)
    nuttcp.check({**UDP, "nodelay": False}, BUILD)


def test_every_option_reaches_the_command():
    options = {
        "seconds": 2.5, "send_size": "1M", "rate": "1.5G", "mss": 1036, "window": "256K",
        "parallel": 3, "nodelay": True,
    }  # fmt: skip
    command = nuttcp.client(options, BUILD, ENDS)
    assert " ".join(command.argv) == (
        "nuttcp -4 -v -fparse -t -T2.5 -P5900 -p5901 -l1048576 -R1500000 -M1036 -w262144b -N3 -D "
        "198.19.0.2"
    )
    assert command.deadline == 2.5 + 15


@pytest.mark.parametrize(
    ("rate", "flag"),
    [(0, "-Ru"), ("0", "-Ru"), ("100M", "-R100000"), (1500, "-R1.5"), ("2k", "-R2")],
)
def test_a_rate_is_kilobits_for_nuttcp(rate, flag):
    argv = nuttcp.client({"protocol": "udp", "rate": rate, "reverse": True}, BUILD, ENDS).argv
    assert flag in argv
    assert {"-u", "-r"} <= set(argv)


def test_interim_results_are_asked_for_with_the_hosts_clock_before_them():
    argv = nuttcp.client({"interim_seconds": 0.25}, BUILD, ENDS).argv
    assert argv[:4] == ("sh", "-c", 'date +%s.%N && exec "$0" "$@"', "nuttcp")
    assert "-i0.25" in argv


def test_the_server_serves_one_run_in_the_foreground():
    assert nuttcp.server_lasts == "run"
    command = ("nuttcp", "-4", "-1", "--nofork", "--no3rdparty", "-P", "5900")
    assert nuttcp.server({}, ENDS).argv == command
    assert "-6" in nuttcp.server({}, ServerAddress("2001:db8::2", 1)).argv
    assert "-6" in nuttcp.client({}, BUILD, ServerAddress("2001:db8::2", 1)).argv


GOOD = pairs.measurements("nuttcp")
"""The options of each capture that is a measurement."""


def sensible(figures) -> None:
    """What holds of every measurement, whatever the tool and its options."""
    assert figures["throughput_mbps"] > 0
    assert all(math.isfinite(v) and v >= 0 for v in figures.values())
    for sender, receiver in (("local", "remote"), ("remote", "local")):
        sent = figures.get(f"{sender}_send_throughput_mbps", math.inf)
        # each end's rate is over its own seconds
        assert figures.get(f"{receiver}_recv_throughput_mbps", 0) <= 1.02 * sent
    assert 0 <= figures.get("loss_pct", 0) <= 100


@pytest.mark.parametrize("name", pairs.names("nuttcp"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("nuttcp", name)


@pytest.mark.parametrize("name", GOOD)
def test_each_capture_is_a_sensible_measurement(name):
    figures = nuttcp.read(capture(name), GOOD[name]).figures
    sensible(figures)
    assert 0.9 < figures["elapsed_s"] < 1.1
    assert ("loss_pct" in figures) == name.startswith("udp")
    assert ("transport_mss_bytes" in figures) == name.startswith("tcp")
    assert not any("retrans" in column for column in figures)


def test_tcp_figures_stand_under_their_columns():
    figures = nuttcp.read(capture("tcp-mss-612"), GOOD["tcp-mss-612"]).figures
    (rate,) = re.findall(r"nuttcp-r: .*rate_Mbps=(\S+)", text("tcp-mss-612"))
    assert figures["throughput_mbps"] == float(rate)
    assert figures["transport_mss_bytes"] == 1024
    (local, remote) = re.findall(r"nuttcp-[tr]: .*cpu=(\d+)%", text("tcp-mss-612"))
    assert figures["nuttcp_local_process_cpu_pct"] == float(local)
    assert figures["nuttcp_remote_process_cpu_pct"] == float(remote)
    (megabytes,) = re.findall(r"nuttcp-r: megabytes=(\S+) real", text("tcp-mss-612"))
    carried = figures["throughput_mbps"] * 1e6 / 8 * figures["elapsed_s"]
    assert carried == pytest.approx(float(megabytes) * 2**20)


def test_reverse_is_the_servers_sending():
    options = GOOD["tcp-reverse-822"]
    figures = nuttcp.read(capture("tcp-reverse-822"), options).figures
    assert figures["throughput_mbps"] == figures["local_recv_throughput_mbps"]
    assert {"remote_send_throughput_mbps", "remote_send_calls", "local_recv_calls"} <= set(figures)
    (local, remote) = re.findall(r"nuttcp-[rt]: .*cpu=(\d+)%", text("tcp-reverse-822"))
    assert figures["nuttcp_local_process_cpu_pct"] == float(local)
    assert figures["nuttcp_remote_process_cpu_pct"] == float(remote)


def test_udp_loss_is_the_receivers_and_agrees_with_both_rates():
    figures = nuttcp.read(capture("udp-unlimited-612"), UDP).figures
    (loss,) = re.findall(r"data_loss=(\S+)", text("udp-unlimited-612"))
    assert figures["loss_pct"] == pytest.approx(float(loss), abs=1e-4)
    share = 1 - figures["remote_recv_throughput_mbps"] / figures["local_send_throughput_mbps"]
    assert 100 * share == pytest.approx(figures["loss_pct"], abs=2)


def test_a_duplicated_datagram_is_no_negative_loss():
    completed = edited("udp-parallel-822", r"drop=0 pkt", "drop=-2 pkt")
    assert nuttcp.read(completed, GOOD["udp-parallel-822"]).figures["loss_pct"] == 0


@pytest.mark.parametrize("name", [n for n in GOOD if "interim_seconds" in GOOD[n]])
def test_interim_results_follow_each_other_from_the_start(name):
    completed = capture(name)
    started = float(completed.stdout.partition("\n")[0])
    rows = nuttcp.read(completed, GOOD[name]).interim
    assert 3 <= len(rows) <= 4  # the last interval ends with the run and may not be printed
    assert all(row["throughput_mbps"] > 0 and 0.2 < row["interval_s"] < 0.3 for row in rows)
    for before, after in itertools.pairwise(rows):
        assert after["ending_s"] - after["interval_s"] == pytest.approx(before["ending_s"])
    assert rows[0]["ending_s"] - rows[0]["interval_s"] == pytest.approx(started)
    printed = re.findall(r"megabytes= *(\S+) real_sec= *\S+ rate_Mbps= *(\S+)", completed.stdout)
    carried = sum(row["throughput_mbps"] * row["interval_s"] for row in rows)
    assert carried == pytest.approx(sum(float(mb) for mb, _ in printed) * 2**20 * 8 / 1e6)


def test_the_rate_that_was_sent_is_the_senders_own():
    figures = nuttcp.read(capture("tcp-mss-612"), GOOD["tcp-mss-612"]).figures
    (rate,) = re.findall(r"nuttcp-t: .*rate_Mbps=(\S+)", text("tcp-mss-612"))
    assert figures["local_send_throughput_mbps"] == float(rate)


NO_MEASUREMENT = {
    "nothing sent": (
        edited("tcp-mss-612", r"megabytes=\S+ (.*)rate_Mbps=\S+", r"megabytes=0.0000 \1rate_Mbps=0.0"),
        GOOD["tcp-mss-612"], "throughput is 0: no data was sent"),
    "hung": (done("", 124, timed_out=True), TCP, "had not ended after 16 s and was killed"),
    "ended early": (capture("tcp-mss-612"), {**GOOD["tcp-mss-612"], "seconds": 5}, "of 5 s: something"),
    "other size of sends": (
        capture("tcp-mss-612"), {**TCP, "send_size": "2K"}, "buflen=2048 was asked for and 1024 used"),
    "fewer streams": (capture("tcp-mss-612"), {**TCP, "parallel": 4}, "nstream=4 .* 1 used"),
    "other protocol": (capture("tcp-mss-612"), UDP, "mode=udp .* tcp used"),
    "more arrived than was sent": (
        edited("tcp-mss-612", r"(?<=nuttcp-t: megabytes=)\S+", "2.0"), GOOD["tcp-mss-612"],
        "MB arrived of 2 MB sent"),
    "figures that contradict each other": (
        edited("tcp-mss-612", r"(?<=nuttcp-r: megabytes=)\S+", "5.0"), GOOD["tcp-mss-612"], "contradict"),
    "more lost than sent": (
        edited("udp-unlimited-612", r"drop=\d+", "drop=99999999"), UDP, "datagrams were lost"),
    "no loss told": (edited("udp-unlimited-612", r"drop=\d+ ", ""), UDP, "printed no drop"),
    "garbage in a figure": (
        edited("tcp-mss-612", r"io_calls=\d+", "io_calls=many"), GOOD["tcp-mss-612"], "not a number"),
    "no clock": (capture("tcp-mss-612"), {**GOOD["tcp-mss-612"], "interim_seconds": 1}, "printed no time"),
    "nothing printed": (done(""), TCP, "printed no mode of the sender"),
    "megabytes": (done("x", truncated=True), TCP, "too much output to keep"),
}  # fmt: skip

STATUS = {
    "hung": "timeout",
    "ended early": "invalid",
    "other size of sends": "invalid",
    "fewer streams": "invalid",
    "other protocol": "invalid",
    "more arrived than was sent": "invalid",
}


@pytest.mark.parametrize("case", NO_MEASUREMENT)
def test_what_nuttcp_says_in_silence_is_a_failed_run_with_its_reason(case):
    completed, options, reason = NO_MEASUREMENT[case]
    with pytest.raises(ToolFailure, match=f"(?s){reason}") as error:
        nuttcp.read(completed, options)
    assert error.value.status == STATUS.get(case, "failed")
    assert "\n" not in str(error.value)


NAMES = st.sampled_from(sorted(GOOD))


@given(NAMES, st.data())
def test_a_changed_output_is_a_failed_run_or_still_a_sensible_one(name, data):
    printed = text(name)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(printed)))
        length = data.draw(st.integers(0, 40))
        printed = (
            printed[:at]
            + data.draw(st.text("0123456789.-=% \ntr", max_size=8))
            + printed[at + length :]
        )
    try:
        measurement = nuttcp.read(done(printed), GOOD[name])
    except ToolFailure:
        return
    sensible(measurement.figures)


@given(NAMES, st.data())
def test_output_cut_off_before_the_receivers_last_line_is_a_failed_run(name, data):
    whole = text(name)
    last = "nuttcp-t: stats" if GOOD[name].get("reverse") else "nuttcp-r: stats"
    cut = data.draw(st.integers(0, whole.index(last)))
    with pytest.raises(ToolFailure):
        nuttcp.read(done(whole[:cut]), GOOD[name])


@pytest.mark.long
@given(st.text(), NAMES, st.sampled_from([0, 1]))
def test_any_text_is_a_failed_run(printed, name, status):
    with pytest.raises(ToolFailure):
        nuttcp.read(done(printed, status), GOOD[name])
