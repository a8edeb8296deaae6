from __future__ import annotations

from pathlib import Path

import pairs
import pytest

from netlimits.errors import InputError, OutputError, ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features
from netlimits.tools.netperf import Netperf
from netlimits.tools.netperf.results import refuse_no_data

CAPTURES = Path(__file__).parents[1] / "captures" / "netperf"
netperf = Netperf()
ENDS = ServerAddress("198.19.0.2", 12865)
TCP = {"seconds": 1, "protocol": "tcp", "send_size": 1024, "recv_size": "128K,128K", "mss": 1036}
UDP = {"seconds": 1, "protocol": "udp", "send_size": 1024}
RR = {"seconds": 1, "direction": "rr", "request_size": 128, "response_size": "16K"}


def text(name: str) -> str:
    return (CAPTURES / name).read_text()


def done(stdout="", status=0, stderr="", **more) -> Completed:
    return Completed(
        "sender", Command(("netperf",), deadline=16), status, stdout, stderr, 1.0, **more
    )


def features(build: str = "270") -> Features:
    printed, complaints = (text(f"builds/features-{build}.{end}") for end in ("out", "err"))
    return netperf.features(
        (
            done(text(f"builds/version-{build}.txt")),
            done(text(f"builds/netperf{build}-selectors.txt"), status=1),
            done(printed, status=1, stderr=complaints),
        )
    )


def test_features_of_debians_build():
    build = features()
    assert build.version == "2.7.0"
    assert build.names == {"burst", "demo"}
    assert len(build.vocabulary) == 173  # the list's 175 but for OUTPUT_NONE and OUTPUT_END
    assert {"REMOTE_RECV_THROUGHPUT", "LOCAL_SD"} <= build.vocabulary


def test_features_of_an_older_and_of_the_newest_build():
    old, new = features("260"), features("master")
    assert (old.version, old.names, len(old.vocabulary)) == ("2.6.0", {"burst", "demo"}, 163)
    assert (new.version, new.names) == ("2.7.1", {"burst", "demo", "pacing"})
    assert old.vocabulary < new.vocabulary == features().vocabulary


def test_no_netperf_is_said_with_the_package():
    missing = done(stderr="sh: 1: netperf: not found", status=127)
    with pytest.raises(ToolFailure, match=r"not found.*non-free.*multiverse"):
        netperf.features((missing, missing, missing))


def test_the_published_scripts_selectors_are_refused_with_the_real_names():
    with pytest.raises(InputError, match="did you mean remote_recv_throughput"):
        netperf.check({"select": ["remote_rcv_throughput"]}, features())
    netperf.check({"select": ["throughput", "REMOTE_RECV_CALLS"]}, features())


@pytest.mark.parametrize("option", [{"interim_seconds": 0.5}, {"pacing": 1000}, {"burst": 4}])
def test_an_option_that_the_build_lacks_is_refused(option):
    with pytest.raises(InputError, match="built without it"):
        netperf.check(option, Features("2.7.0"))


def test_the_command_is_the_published_scripts_with_k_for_o():
    argv = netperf.client({**TCP, "select": ["throughput"]}, Features("2.7.0"), ENDS).argv
    line = " ".join(argv)
    assert line.startswith("netperf -P 0 -H 198.19.0.2,4 -p 12865 -t omni -l 1 -c -C --")
    for words in (
        "-T tcp",
        "-d send",
        "-m 1024",
        "-M 128K,128K",
        "-R 1",
        "-G 1036",
        "-k THROUGHPUT,",
    ):
        assert words in line
    assert " -f" not in line
    assert netperf.client(TCP, Features("2.7.0"), ENDS).deadline > 1
    repeated = netperf.client({**TCP, "iterations": "3,3"}, Features("2.7.0"), ENDS)
    assert "CONFIDENCE_ITERATION" in " ".join(repeated.argv), "netperf obeys -i alone, too"
    assert "CONFIDENCE_ITERATION" not in " ".join(argv)
    assert netperf.seconds({"seconds": 2, "iterations": "3,3"}) == 6


def test_an_ipv6_address_asks_for_its_family():
    assert (
        "2001:db8::2,6"
        in netperf.client(TCP, Features("2.7.0"), ServerAddress("2001:db8::2", 1)).argv
    )
    assert "2001:db8::2,6" in netperf.server({}, ServerAddress("2001:db8::2", 1)).argv


@pytest.mark.parametrize("name", pairs.names("netperf"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("netperf", name)


def test_loss_is_what_was_sent_and_did_not_arrive_and_never_negative():
    figures = netperf.read(done(text("omni-udp-k.txt")), UDP).figures
    counted = 1 - float(figures["remote_recv_calls"]) / float(figures["local_send_calls"])
    assert 1 < figures["loss_pct"] == pytest.approx(100 * counted, abs=0.01)
    ahead = edited("omni-udp-k.txt", LOCAL_SEND_THROUGHPUT="756.40")  # each end's own clock
    assert netperf.read(done(ahead), UDP).figures["loss_pct"] == 0
    for name, options in (("omni-tcp-k.txt", TCP), ("omni-rr-k.txt", RR)):
        assert "loss_pct" not in netperf.read(done(text(name)), options).figures


def test_interim_results_are_kept_in_order():
    printed = (
        text("netperf270-interim-k.txt")
        + "".join(
            f"{k}=1\n" for k in ("LOCAL_SEND_THROUGHPUT", "LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS")
        )
        + "THROUGHPUT_UNITS=10^6bits/s\nSD_UNITS=usec/KB\nPROTOCOL=TCP\n"
    )
    options = {"seconds": 3, "select": ["throughput"], "interim_seconds": 0.5}
    rows = netperf.read(done(printed), options).interim
    assert len(rows) == 5
    sent = {"ending_s": 1795246660.861, "interval_s": 0.978, "local_send_throughput_mbps": 10693.97}
    assert rows[0] == sent, "what it gave to its own kernel"


def test_interim_results_of_datagrams_are_what_was_sent():
    row = {"RESULT": "9", "UNITS": "10^6bits/s", "INTERVAL": "1.0", "ENDING": "1795246660.8"}
    interim = "".join(f"NETPERF_{'INTERIM_' * (k == 'RESULT')}{k}[0]={v}\n" for k, v in row.items())
    (result,) = netperf.read(done(text("omni-udp-k.txt") + interim), UDP).interim
    assert result["local_send_throughput_mbps"] == 9
    assert "throughput_mbps" not in result


def edited(name: str, **keys: str) -> str:
    lines = []
    for line in text(name).splitlines():
        key = line.partition("=")[0]
        if keys.get(key, "") is not None:
            lines.append(f"{key}={keys[key]}" if key in keys else line)
    lines += [f"{k}={v}" for k, v in keys.items() if v is not None and f"{k}=" not in text(name)]
    return "\n".join(lines) + "\n"


NO_MEASUREMENT = {
    "server child died": (done("", 1, "recv_response: partial response received: 0 bytes"), TCP, "partial response"),
    "server child died, by SIGPIPE": (done("", 141), TCP, "server's child died"),
    "no /etc/protocols": (done("", 139), TCP, "netbase"),
    "hung": (done("", 124, timed_out=True), TCP, "was killed"),
    "zero throughput": (
        done(edited("omni-tcp-k.txt", THROUGHPUT="0.00", LOCAL_SEND_THROUGHPUT="0.00")), TCP, "no data was sent"),
    "udp sent, nothing arrived": (done(edited("omni-udp-k.txt", THROUGHPUT="0.00")), UDP, "of 1258.67 Mbit/s sent"),
    "zero calls": (done(edited("omni-tcp-k.txt", LOCAL_SEND_CALLS="0")), TCP, "LOCAL_SEND_CALLS is 0"),
    "rr latency inf": (
        done(edited("omni-rr-k.txt", THROUGHPUT="0.00", RT_LATENCY="inf")), {**RR, "select": ["rt_latency"]},
        "THROUGHPUT is 0.00: nothing arrived"),
    "selector dropped in silence": (done(edited("omni-tcp-k.txt", REMOTE_SD=None)), TCP, "printed no REMOTE_SD"),
    "cpu not measured": (done(edited("omni-tcp-k.txt", LOCAL_SD="-1.000")), TCP, "did not measure LOCAL_SD"),
    "garbage": (done(edited("omni-tcp-k.txt", ELAPSED_TIME="soon")), TCP, "not a number"),
    "no interim result": (
        done(text("omni-tcp-k.txt") + "NETPERF_INTERIM_RESULT[0]=9\n"), TCP, r"no whole interim result 0: .*ENDING\[0\]"),
    "unknown unit": (done(edited("omni-tcp-k.txt", THROUGHPUT_UNITS="GBytes/s")), TCP, "GBytes/s"),
    "ended early (SIGALRM)": (done(edited("omni-tcp-k.txt", ELAPSED_TIME="0.40")), TCP, "ended after 0.4 s"),
    "mss not taken": (done(edited("omni-tcp-k.txt", TRANSPORT_MSS="536")), TCP, "MSS of 1036"),
    "cpu that does not exist": (
        done(edited("omni-tcp-k.txt", LOCAL_CPU_BIND="9", REMOTE_CPU_BIND="9", LOCAL_CPU_COUNT="2", REMOTE_CPU_COUNT="2")),
        {**TCP, "cpu_bind": "9,9"}, "binding to CPU 9"),
    "congestion control not taken": (
        done(edited("omni-tcp-k.txt", LOCAL_CONG_CONTROL="bbr", REMOTE_CONG_CONTROL="bbr")),
        {**TCP, "congestion_control": "nosuch"}, "nosuch did not take"),
    "DSCP not taken": (
        done(edited("omni-tcp-k.txt", LOCAL_SOCKET_TOS="0xb8", REMOTE_SOCKET_TOS="0x0")),
        {**TCP, "dscp": 46}, "DSCP 46 did not take .REMOTE_SOCKET_TOS is 0x0"),
    "confidence missed": (
        done(edited("omni-tcp-k.txt", THROUGHPUT_CONFID="18.805", CONFIDENCE_INTERVAL="5.000000",
                    CONFIDENCE_ITERATION="3")),
        {**TCP, "confidence": "99,5"}, "18.805 % wide"),
    "burst not taken": (
        done(edited("omni-rr-k.txt", BURST_SIZE="0")), {**RR, "burst": 4}, "burst of 4 did not take"),
    "nothing printed": (done(""), TCP, "netperf printed nothing$"),
    "megabytes": (done("x" * 100, truncated=True), TCP, "too much output to keep"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_MEASUREMENT)
def test_what_netperf_says_in_silence_is_a_failed_run_with_its_reason(case):
    completed, options, reason = NO_MEASUREMENT[case]
    with pytest.raises(ToolFailure, match=f"(?s){reason}") as error:
        netperf.read(completed, options)
    expected = {"hung": "timeout", "ended early (SIGALRM)": "invalid", "mss not taken": "invalid",
                "cpu that does not exist": "invalid", "congestion control not taken": "invalid",
                "burst not taken": "invalid", "confidence missed": "invalid",
                "DSCP not taken": "invalid"}  # fmt: skip
    assert error.value.status == expected.get(case, "failed")


@pytest.mark.parametrize(
    ("text_of_run", "problem"),
    [
        (edited("omni-tcp-k.txt", THROUGHPUT="941,44"), "THROUGHPUT=941,44, which has a decimal comma"),
        (edited("omni-tcp-k.txt", LOCAL_SD="nan"), "LOCAL_SD=nan, which is not a number"),
        (edited("omni-tcp-k.txt", REMOTE_SD="1_0"), "REMOTE_SD=1_0, which is not a number"),
        (edited("omni-tcp-k.txt", ELAPSED_TIME="1e999"), "ELAPSED_TIME=1e999, which is not a number"),
        (edited("omni-tcp-k.txt", THROUGHPUT="9 x"), "THROUGHPUT=9 x, which is not a number"),
        (text("omni-tcp-k.txt") + "THROUGHPUT=5.0\n", r"THROUGHPUT twice: \S+ and 5.0"),
        (text("omni-tcp-k.txt")[:-2], "ends in the middle of a line: "),
        ("Killed\nby a wrapper\n", "no figures but: Killed by a wrapper$"),
        (edited("omni-tcp-k.txt", REMOTE_CPU_COUNT="-2"), "REMOTE_CPU_COUNT=-2; install one version"),
        (edited("omni-tcp-k.txt", REMOTE_CPU_UTIL="88.3", REMOTE_CPU_PEAK_UTIL="86.1"), "86.1 % of netserver's busiest"),
    ],
)  # fmt: skip
def test_output_that_cannot_be_read_is_said_as_it_was_printed(text_of_run: str, problem: str):
    with pytest.raises(OutputError, match=problem):
        netperf.read(done(text_of_run), TCP)


def test_noise_beside_the_figures_does_no_harm():
    noisy = "Welcome!\nNOTE=read the manual\n" + text("omni-tcp-k.txt") + "bye = bye\n"
    assert netperf.read(done(noisy), TCP) == netperf.read(done(text("omni-tcp-k.txt")), TCP)


def test_of_tcp_crr_the_servers_own_cpu_is_not_asked_for():
    crr = {"test": "TCP_CRR"}
    selectors = netperf.client(crr, Features("2.7.0"), ENDS).argv[-1].split(",")
    assert "LOCAL_SD" in selectors
    assert not [name for name in selectors if name.startswith("REMOTE_")]
    with pytest.raises(InputError, match="4 s more than a TCP_CRR takes"):
        netperf.check({**crr, "select": ["remote_sd"]}, features())


@pytest.mark.parametrize(
    ("extra", "option"),
    [
        (
            {
                "LOCAL_CPU_BIND": "1",
                "REMOTE_CPU_BIND": "1",
                "LOCAL_CPU_COUNT": "2",
                "REMOTE_CPU_COUNT": "2",
            },
            {"cpu_bind": 1},
        ),
        ({"LOCAL_SOCKET_TOS": "0xb8", "REMOTE_SOCKET_TOS": "0xba"}, {"dscp": 46}),
        (
            {"LOCAL_CONG_CONTROL": "reno", "REMOTE_CONG_CONTROL": "reno"},
            {"congestion_control": "reno"},
        ),
        (
            {
                "THROUGHPUT_CONFID": "2.5",
                "CONFIDENCE_INTERVAL": "5.000000",
                "CONFIDENCE_ITERATION": "3",
            },
            {"confidence": "99,5"},
        ),
    ],
)
def test_an_option_that_took_is_a_measurement(extra, option):
    assert netperf.read(done(edited("omni-tcp-k.txt", **extra)), {**TCP, **option}).figures


def test_with_confidence_the_busiest_cpu_may_be_below_the_mean_of_all_iterations():
    extra = {"THROUGHPUT_CONFID": "2.5", "CONFIDENCE_INTERVAL": "5.0", "CONFIDENCE_ITERATION": "3"}
    cpu = {"REMOTE_CPU_UTIL": "88.3", "REMOTE_CPU_PEAK_UTIL": "86.1"}
    read = netperf.read(
        done(edited("omni-tcp-k.txt", **extra, **cpu)), {**TCP, "confidence": "99,5"}
    )
    assert read.figures


def test_each_of_the_175_selectors_has_a_column_of_its_own():
    from netlimits.tools.netperf.results import column

    columns = [column(s, "10^6bits/s", "usec/KB") for s in sorted(features().vocabulary)]
    assert len(set(columns)) == len(columns)
    assert all(c == c.lower() for c in columns)


def test_a_fixed_data_port_is_the_servers():
    argv = netperf.client({**TCP, "data_port": 12866}, Features("2.7.0"), ENDS).argv
    behind = argv[argv.index("--") :]
    assert behind[behind.index("-P") + 1] == ",12866", "our own port stays free to be any"
    assert "-P" not in netperf.client(TCP, Features("2.7.0"), ENDS).argv[argv.index("--") :]


@pytest.mark.parametrize("options", [{"test": "TCP_MAERTS"}, {"direction": "recv"}])
def test_of_data_that_flows_back_the_receivers_and_senders_own_figures_are_asked_for(options):
    selectors = netperf.client(options, Features("2.7.0"), ENDS).argv[-1].split(",")
    assert {"LOCAL_RECV_THROUGHPUT", "REMOTE_SEND_THROUGHPUT", "LOCAL_RECV_CALLS"} <= {*selectors}
    assert not {"LOCAL_SEND_THROUGHPUT", "REMOTE_RECV_THROUGHPUT", "LOCAL_SEND_CALLS"} & {
        *selectors
    }


BRANDED = {**TCP, "result_brand": "on", "select": ["result_brand", "transport_mss", "throughput"]}


def test_a_brand_is_the_published_scripts_in_quotes_of_netperfs():
    argv = netperf.client(BRANDED, Features("2.7.0"), ENDS).argv
    assert argv.index("-B") < argv.index("--")
    assert argv[argv.index("-B") + 1] == "on"
    assert 'RESULT_BRAND="on"' in text("brand-k.txt")


def test_a_brand_is_kept_without_being_selected_and_selected_only_where_there_is_one():
    options = {**TCP, "result_brand": "on"}
    assert ",RESULT_BRAND" in netperf.client(options, Features("2.7.0"), ENDS).argv[-1]
    netperf.check(BRANDED, features())
    with pytest.raises(InputError, match="only if the option `result_brand:` is set"):
        netperf.check({**TCP, "select": ["RESULT_BRAND"]}, features())


def test_a_rate_of_0_says_nothing_of_what_was_sent_where_nobody_counted_it():
    with pytest.raises(ToolFailure, match="THROUGHPUT is 0: nothing arrived; is the data path"):
        refuse_no_data({"THROUGHPUT": "0"}, sending=False)
