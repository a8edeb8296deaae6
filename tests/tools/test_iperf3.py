"""The captures were made between two network namespaces, with iperf3 3.12 and 3.18."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features
from netlimits.tools.iperf3 import Iperf3

CAPTURES = Path(__file__).parents[1] / "captures" / "iperf3"
iperf3 = Iperf3()
ENDS = ServerAddress("198.19.0.2", 5999)
ALL = Features(
    "3.12",
    frozenset(("congestion", "zerocopy", "dont-fragment", "bidirectional", "--dscp", "--fq-rate")),
)
TCP = {"seconds": 1}
UDP = {"seconds": 1, "protocol": "udp", "send_size": 1024, "rate": 0}
MSS = {"seconds": 1, "mss": 1036}


def text(name: str) -> str:
    return (CAPTURES / name).read_text()


def done(stdout="", status=0, stderr="", **more) -> Completed:
    return Completed(
        "sender", Command(("iperf3",), deadline=16), status, stdout, stderr, 1.0, **more
    )


def capture(name: str) -> Completed:
    return pairs.completed("iperf3", name)


def edited(name: str, *path, value=None) -> Completed:
    """A capture with one value changed, or with its key removed where no value is given."""
    document = json.loads(text(f"{name}.txt"))
    node = document
    for key in path[:-1]:
        node = node[key]
    if value is None:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return done(json.dumps(document))


GIVEN = pairs.about("iperf3", "tcp-312")["given"]["options"]


def features(build: str) -> Features:
    return iperf3.features(
        (done(text(f"builds/version-{build}.txt")), done(text(f"builds/help-{build}.txt")))
    )


def test_features_of_both_builds():
    old, new = features("312"), features("318")
    assert old.version == "3.12"
    assert old.names == ALL.names
    assert new.version == "3.18"
    assert new.names == ALL.names | {"json-stream", "threads"}
    newest = {"--mptcp", "--skip-rx-copy", "--gsro", "--cntl-ka"}
    assert features("321").names == new.names | newest


@pytest.mark.parametrize("option", ["mptcp", "skip_rx_copy", "gsro", "cntl_ka"])
def test_what_came_with_later_versions_is_refused_before_and_reaches_the_client(option):
    flag = f"--{option.replace('_', '-')}"
    options = {option: True, "protocol": "udp" if option == "gsro" else "tcp", "rate": 0}
    with pytest.raises(InputError, match=rf"iperf3\.{option}: iperf3 3\.18 .*built without it"):
        iperf3.check(options, features("318"))
    iperf3.check(options, features("321"))
    ends = ServerAddress("198.19.0.2", 5201)
    assert flag in iperf3.client(options, features("321"), ends).argv
    assert (flag in iperf3.server(options, ends).argv) is (option == "mptcp")


def test_the_dscp_is_read_back():
    read = iperf3.read(pairs.completed("iperf3", "tcp-312"), {"dscp": 0, **GIVEN})
    assert read.figures["throughput_mbps"] > 0
    with pytest.raises(ToolFailure, match="DSCP 46 was asked for, and a ToS of 0 used"):
        iperf3.read(pairs.completed("iperf3", "tcp-312"), {"dscp": 46, **GIVEN})


def test_no_iperf3_is_said_with_the_package():
    missing = done(stderr="sh: 1: iperf3: not found", status=127)
    with pytest.raises(ToolFailure, match=r"not found.*install it \(Debian and Ubuntu: iperf3\)"):
        iperf3.features((missing, missing))


def test_a_build_too_old_is_refused_with_the_reason():
    with pytest.raises(ToolFailure, match=r"3\.9 is too old.*arrived over UDP"):
        iperf3.features((done("iperf 3.9 (cJSON 1.7.13)\n"), done()))


WRONG = {
    "UDP without a rate": ({"protocol": "udp"}, r"measure\.iperf3\.rate: .*1 Mbit/s"),
    "MSS of UDP": ({"protocol": "udp", "rate": 0, "mss": 1000}, r"measure\.iperf3\.mss: .*TCP only"),
    "nodelay of UDP": ({"protocol": "udp", "rate": 0, "nodelay": True}, r"\.nodelay: .*TCP only"),
    "Don't Fragment of TCP": ({"dont_fragment": True}, r"\.dont_fragment: .*UDP only"),
    "both ways twice": ({"reverse": True, "bidirectional": True}, r"\.reverse: "),
    "too large a datagram": (
        {"protocol": "udp", "rate": 0, "send_size": "64K"}, r"\.send_size: .*65507"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_options_that_contradict_each_other_are_refused(case):
    options, reason = WRONG[case]
    with pytest.raises(InputError, match=reason):
        iperf3.check(options, ALL)


@pytest.mark.parametrize(
    ("option", "value"),
    [("congestion_control", "reno"), ("zerocopy", True), ("bidirectional", True)],
)
def test_an_option_that_the_build_lacks_is_refused(option, value):
    with pytest.raises(InputError, match=f"measure.iperf3.{option}: .*built without it"):
        iperf3.check({option: value}, Features("3.12"))
    iperf3.check({option: value}, ALL)


def test_an_option_turned_off_needs_no_feature():
    iperf3.check({"zerocopy": False, "bidirectional": False}, Features("3.12"))


def test_every_option_reaches_the_command():
    options = {
        "seconds": 5, "send_size": "128K", "rate": "1G", "mss": 1036, "window": "256K",
        "parallel": 2, "reverse": True, "congestion_control": "reno", "nodelay": True,
        "zerocopy": True, "omit": 2, "cpus": "0,1",
    }  # fmt: skip
    command = iperf3.client(options, ALL, ENDS)
    assert " ".join(command.argv) == (
        "taskset -c 1 taskset -c 0,1 iperf3 -c 198.19.0.2 -p 5999 -J --connect-timeout 5000 "
        "-t 5 -i 1 -l 128K -b 1G -M 1036 -w 256K -P 2 -C reno -O 2 -R -N -Z --get-server-output"
    )
    assert command.deadline == 5 + 2 + 15
    assert iperf3.seconds(options) == 7
    udp = iperf3.client({"protocol": "udp", "rate": 0, "dont_fragment": True}, ALL, ENDS).argv
    assert " ".join(udp[udp.index("-u") :]) == "-u -b 0 --dont-fragment --get-server-output"


def test_interim_results_are_asked_for_with_the_hosts_clock_before_them():
    argv = iperf3.client({"interim_seconds": 0.5}, ALL, ENDS).argv
    assert argv[:4] == ("sh", "-c", 'date +%s.%N && exec "$0" "$@"', "iperf3")
    assert argv[argv.index("-i") + 1] == "0.5"


def test_the_server_serves_one_run_on_the_data_address():
    assert iperf3.server_lasts == "run"
    argv = iperf3.server({}, ENDS).argv
    assert " ".join(argv) == "iperf3 -s -1 -J -B 198.19.0.2 -p 5999 -i 1"
    assert iperf3.server({"interim_seconds": 0.5}, ENDS).argv[-2:] == ("-i", "0.5")
    assert iperf3.server({"omit": 2}, ENDS).argv[-2:] == ("-i", "0.1")


GOOD = pairs.measurements("iperf3")
"""The options of each capture that is a measurement."""


def sensible(figures) -> None:
    """What holds of every measurement, whatever the tool and its options."""
    assert figures["throughput_mbps"] > 0
    assert all(math.isfinite(v) and v >= 0 for v in figures.values())
    for sender, receiver in (("local", "remote"), ("remote", "local")):
        sent = figures.get(f"{sender}_send_throughput_mbps", math.inf)
        assert figures.get(f"{receiver}_recv_throughput_mbps", 0) <= sent * (1 + 1e-12)
    assert 0 <= figures.get("loss_pct", 0) <= 100
    assert 0 <= figures.get("iperf3_loss_pct", 0) <= 100


@pytest.mark.parametrize("name", pairs.names("iperf3"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("iperf3", name)


@pytest.mark.parametrize("name", GOOD)
def test_each_capture_is_a_sensible_measurement(name):
    figures = iperf3.read(capture(name), GOOD[name]).figures
    sensible(figures)
    assert 0.9 < figures["elapsed_s"] < 1.1
    assert ("loss_pct" in figures) == ("jitter_us" in figures) == name.startswith("udp")
    assert ("transport_mss_bytes" in figures) == name.startswith("tcp")
    assert figures["iperf3_local_process_cpu_pct"] > 0 < figures["iperf3_remote_process_cpu_pct"]


def test_tcp_figures_stand_under_their_columns():
    options = GOOD["tcp-mss-312"]
    end = json.loads(text("tcp-mss-312.txt"))["end"]
    figures = iperf3.read(capture("tcp-mss-312"), options).figures
    assert figures["throughput_mbps"] == pytest.approx(end["sum_received"]["bits_per_second"] / 1e6)
    assert figures["local_transport_retrans"] == end["sum_sent"]["retransmits"]
    assert figures["transport_mss_bytes"] == 1024  # and not 1036, which is what `tcp_mss` echoes
    assert (
        figures["iperf3_remote_process_cpu_pct"] == end["cpu_utilization_percent"]["remote_total"]
    )
    kib = figures["local_send_throughput_mbps"] * 1e6 / 8 / 1024 * end["sum_sent"]["seconds"]
    assert kib == pytest.approx(end["sum_sent"]["bytes"] / 1024)


def test_udp_throughput_is_what_arrived_and_not_what_the_sender_says():
    end = json.loads(text("udp-unlimited-312.txt"))["end"]
    figures = iperf3.read(capture("udp-unlimited-312"), UDP).figures
    assert figures["throughput_mbps"] < 0.5 * end["sum"]["bits_per_second"] / 1e6
    assert figures["loss_pct"] == pytest.approx(end["sum_received"]["lost_percent"])
    assert figures["jitter_us"] == 1000 * end["sum_received"]["jitter_ms"]


def test_what_was_sent_is_in_datagrams_since_the_bytes_may_leave_one_out():
    document = json.loads(text("udp-parallel-318.txt"))
    sent = document["end"]["sum_sent"]
    figures = iperf3.read(capture("udp-parallel-318"), GOOD["udp-parallel-318"]).figures
    carried = figures["local_send_throughput_mbps"] * 1e6 / 8 * sent["seconds"]
    assert carried == pytest.approx(1024 * sent["packets"])
    sent["bytes"] -= 1024
    again = iperf3.read(done(json.dumps(document)), GOOD["udp-parallel-318"]).figures
    assert again == figures


def test_loss_is_true_where_iperf3s_own_is_not():
    mixed = iperf3.read(capture("udp-mixed-318"), UDP).figures  # 3.18 against a 3.12 server
    assert mixed["iperf3_loss_pct"] == 0
    assert mixed["loss_pct"] > 60
    end = json.loads(text("udp-omit-312.txt"))["end"]["sum_received"]
    assert end["lost_percent"] > 100
    omitting = iperf3.read(capture("udp-omit-312"), GOOD["udp-omit-312"]).figures
    assert omitting["loss_pct"] == pytest.approx(100 - 100 * end["bytes"] / 1024 / end["packets"])


@pytest.mark.parametrize(
    "name", [n for n in GOOD if "interim_seconds" in GOOD[n] and "-server-" not in n]
)
def test_interim_results_follow_each_other_from_the_start(name):
    completed = capture(name)
    started = float(completed.stdout.partition("\n")[0])
    rows = iperf3.read(completed, GOOD[name]).interim
    column = "throughput_mbps"
    if "reverse" not in name:  # without its server's output the client cannot see what arrived
        column = "local_send_throughput_mbps"
    assert rows
    assert all(set(row) == {"ending_s", "interval_s", column} for row in rows)
    assert all(row[column] > 0 and 0 < row["interval_s"] < 0.6 for row in rows)
    for before, after in itertools.pairwise(rows):
        gap = after["ending_s"] - after["interval_s"] - before["ending_s"]
        assert gap == pytest.approx(0, abs=0.002)
    omitted = GOOD[name].get("omit", 0)
    assert rows[-1]["ending_s"] == pytest.approx(started + omitted + 1, abs=0.1)


SERVERS = [name for name in GOOD if "-server-" in name]


@pytest.mark.parametrize("name", SERVERS)
def test_interim_results_are_of_what_arrived(name):
    """Through a shaper of 400 Mbit/s, of which 383 can be data: iperf3's own show 493 first."""
    completed = capture(name)
    document = json.loads(completed.stdout.partition("\n")[2])
    measured = iperf3.read(completed, GOOD[name])
    rows = measured.interim
    assert all(set(row) == {"ending_s", "interval_s", "throughput_mbps"} for row in rows)
    arrived = sum(row["throughput_mbps"] * row["interval_s"] for row in rows) * 1e6 / 8
    end = document["end"]
    counted = end["sum_received"]["bytes"]
    counted += end.get("sum_received_bidir_reverse", {"bytes": 0})["bytes"]
    # of two ways each end cuts its own intervals
    assert arrived == pytest.approx(counted, rel=0.1 if name == "tcp-bidir-server-312" else 0.02)


@pytest.mark.parametrize("name", SERVERS)
def test_the_work_is_all_that_the_client_did(name):
    completed = capture(name)
    document = json.loads(completed.stdout.partition("\n")[2])
    measured = iperf3.read(completed, GOOD[name])
    figures, work = measured.figures, measured.work
    assert work
    if name == "tcp-omit-server-312":
        seen = document["server_output_json"]["intervals"]
        (early,) = (i["sum"] for i in seen if i["sum"]["omitted"])  # and half a second is lost
        counted = document["end"]["sum_received"]["bytes"]
        expected = counted + early["bytes"] / early["seconds"] * 1.0
    elif name == "udp-server-312":
        expected = document["end"]["sum_sent"]["packets"] * 1024
    else:
        expected = figures["throughput_mbps"] * figures["elapsed_s"] * 1e6 / 8
    assert work.units * 1024 == pytest.approx(expected)
    senders = ["local", "remote"] if name == "tcp-bidir-server-312" else ["local"]
    assert [flow.sender for flow in work.flows] == senders
    assert all(flow.arrived <= flow.sent for flow in work.flows)


NO_MEASUREMENT = {
    "hung": (done("", 124, timed_out=True), TCP, "had not ended after 16 s and was killed"),
    "empty end, no error": (edited("server-killed-312", "error"), TCP, "its server ended before"),
    "no TCP data": (
        edited("tcp-reverse-mss-312", "end", "sum_received", "bytes", value=0),
        {**MSS, "reverse": True}, "throughput is 0"),
    "more arrived than was sent": (
        edited("udp-unlimited-312", "end", "sum_received", "bytes", value=10**12), UDP, "more than"),
    "ended early": (capture("udp-unlimited-312"), {**UDP, "seconds": 5}, "it ended after 1.0.* of 5"),
    "no windows to tell the MSS": (
        edited("tcp-reverse-mss-312", "server_output_json", "intervals", value=[]),
        {**MSS, "reverse": True}, "no congestion window"),
    "server's side missing": (
        edited("tcp-reverse-mss-312", "server_output_json"),
        {**MSS, "reverse": True}, "printed no server_output_json"),
    "other congestion control": (
        capture("tcp-mss-312"), {**MSS, "congestion_control": "cubic"}, "cubic did not take: .*reno"),
    "other size of sends": (capture("udp-unlimited-312"), {**UDP, "send_size": "2K"}, "sends of 2K"),
    "fewer streams": (capture("udp-unlimited-312"), {**UDP, "parallel": 4}, "1 of 4 streams"),
    "no CPU figures": (
        edited("udp-unlimited-312", "end", "cpu_utilization_percent"), UDP,
        "no end.cpu_utilization_percent"),
    "garbage in a figure": (
        edited("udp-unlimited-312", "end", "sum_received", "bytes", value="much"), UDP, "not a number"),
    "NaN": (
        edited("udp-unlimited-312", "end", "sum_received", "jitter_ms", value=math.nan), UDP,
        "not a number"),
    "no clock": (capture("udp-unlimited-312"), {**UDP, "interim_seconds": 1}, "printed no time"),
    "cut off": (done(text("udp-unlimited-312.txt")[:900]), UDP, "no whole JSON"),
    "nothing printed": (done(""), TCP, "no whole JSON"),
    "another JSON": (done("[1]"), TCP, "printed no results"),
    "megabytes": (done("x", truncated=True), TCP, "too much output to keep"),
    "not there": (
        done("1795257460.1\n", 127, "sh: 1: exec: iperf3: not found"),
        {**TCP, "interim_seconds": 1}, "exited 127.*not found"),
}  # fmt: skip

STATUS = {
    "hung": "timeout",
    "more arrived than was sent": "invalid",
    "ended early": "invalid",
    "other congestion control": "invalid",
    "other size of sends": "invalid",
    "fewer streams": "invalid",
}


@pytest.mark.parametrize("case", NO_MEASUREMENT)
def test_what_iperf3_says_with_exit_0_is_a_failed_run_with_its_reason(case):
    completed, options, reason = NO_MEASUREMENT[case]
    with pytest.raises(ToolFailure, match=f"(?s){reason}") as error:
        iperf3.read(completed, options)
    assert error.value.status == STATUS.get(case, "failed")
    assert "\n" not in str(error.value)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.text(max_size=5),
    st.floats(allow_nan=True), st.builds(list), st.builds(dict), st.builds(lambda: [{}]),
)  # fmt: skip


def paths(node, path=()):
    yield path
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, child in items:
        yield from paths(child, (*path, key))


NAMES = st.sampled_from([n for n in GOOD if "interim_seconds" not in GOOD[n]])


@given(NAMES, st.data())
def test_a_changed_figure_is_a_failed_run_or_still_a_sensible_one(name, data):
    document = json.loads(text(f"{name}.txt"))
    places = [p for p in paths(document) if p]
    for path in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        node = document
        try:
            for key in path[:-1]:
                node = node[key]
            node[path[-1]] = data.draw(SCALARS)
        except (TypeError, KeyError, IndexError):
            continue  # an earlier change took this place away
    try:
        figures = iperf3.read(done(json.dumps(document)), GOOD[name]).figures
    except ToolFailure:
        return
    sensible(figures)


@given(st.sampled_from(sorted(GOOD)), st.data())
def test_output_cut_off_at_any_byte_is_a_failed_run(name, data):
    whole = text(f"{name}.txt").rstrip()
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ToolFailure):
        iperf3.read(done(whole[:cut]), GOOD[name])


@given(st.text(), st.sampled_from(sorted(GOOD)), st.sampled_from([0, 1]))
def test_any_text_is_a_failed_run(printed, name, status):
    with pytest.raises(ToolFailure):
        iperf3.read(done(printed, status), GOOD[name])


def test_brackets_without_end_are_a_failed_run():
    with pytest.raises(ToolFailure, match="no whole JSON"):
        iperf3.read(done("[" * 100_000), TCP)
