"""neper on captures of version 1.1.0, run between two namespaces."""

from __future__ import annotations

import pairs
import pytest

from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features, Transfer
from netlimits.tools.neper import TESTS, Neper

neper = Neper()
BUILD = Features("1.1.0", frozenset(TESTS))
ENDS = ServerAddress("198.19.0.2", 12866)


def done(stdout: str = "", status: int = 0, stderr: str = "") -> Completed:
    return Completed("sender", Command(("tcp_rr",), deadline=16), status, stdout, stderr, 1.0)


BUILDS = ("help-110", "help-stream-110", "version-110")
HELP, STREAM_HELP, VERSION = (done(pairs.text("neper/builds", name)) for name in BUILDS)
ZEROCOPY = {"--zerocopy", "--rx-zerocopy", "--skip-rx-copy"}


@pytest.mark.parametrize("name", pairs.names("neper"))
def test_captures(name: str) -> None:
    pairs.check("neper", name)


def test_the_version_and_the_programs_that_are_there() -> None:
    missing = done(stderr="sh: 1: udp_rr: not found", status=127)
    versions = [missing if name == "udp_rr" else VERSION for name in TESTS]
    features = neper.features((HELP, STREAM_HELP, *versions))
    assert features == Features("1.1.0", frozenset(TESTS) - {"udp_rr"} | ZEROCOPY)
    with pytest.raises(InputError, match=r"measure\.neper\.test: there is no udp_rr on this host"):
        neper.check({"test": "udp_rr"}, features)
    neper.check({"test": "tcp_rr"}, features)
    assert len(neper.probes()) == 2 + len(TESTS)
    assert all("--nolog" in probe.argv for probe in neper.probes())


def test_no_neper_or_an_old_one_is_said_with_what_to_do() -> None:
    absent = done(stderr="sh: 1: tcp_rr: not found", status=127)
    with pytest.raises(ToolFailure, match=r"tcp_rr: not found.*build it from its source"):
        neper.features((absent,) * (2 + len(TESTS)))
    old = (done("--nolog"), done(), *[done("1.0.0\n")] * len(TESTS))
    with pytest.raises(ToolFailure, match=r"neper 1\.0\.0 has no --iostat-ms; build a newer"):
        neper.features(old)


def test_zero_copy_is_refused_where_the_build_lacks_it() -> None:
    old = neper.features((HELP, HELP, *[VERSION] * len(TESTS)))
    with pytest.raises(InputError, match=r"neper\.zerocopy: neper 1\.1\.0 .* without it"):
        neper.check({"zerocopy": True}, old)
    new = neper.features((HELP, STREAM_HELP, *[VERSION] * len(TESTS)))
    neper.check({"zerocopy": True, "skip_rx_copy": True}, new)
    with pytest.raises(InputError, match="does not go with skip_rx_copy"):
        neper.check({"rx_zerocopy": True, "skip_rx_copy": True}, new)
    with pytest.raises(InputError, match="not for tcp_rr"):
        neper.check({"test": "tcp_rr", "zerocopy": True}, new)
    flags = neper.client({"zerocopy": True, "skip_rx_copy": True}, new, ENDS).argv
    assert {"--zerocopy", "--skip-rx-copy"} <= {*flags}


def test_every_option_reaches_both_ends() -> None:
    options = {
        "test": "tcp_rr", "seconds": 20, "parallel": 4, "threads": 2, "request_size": "1K",
        "response_size": 100, "nodelay": True, "congestion_control": "bbr", "cpus": 0,
    }  # fmt: skip
    shared = (
        *("-H", "198.19.0.2", "-C", "12866", "-P", "12867", "--nolog", "-l", "20", "-I", "0.2"),
        *("-F", "4", "-T", "2", "-Q", "1024", "-R", "100"),
        *("--congestion-control", "bbr", "--no-delay"),
    )
    client = neper.client(options, BUILD, ENDS)
    assert client.argv == (
        *("taskset", "-c", "0", "tcp_rr", "-c", *shared),
        *("--iostat-ms", "1000", "-p", "50,90,99"),
    )
    assert client.deadline == 35
    assert neper.server(options, ENDS).argv == ("tcp_rr", *shared)
    assert neper.processes(options) == ("tcp_rr", "tcp_rr")
    reverse = neper.server({"reverse": True, "send_size": "8K"}, ENDS).argv
    assert reverse[0] == "tcp_stream"
    assert reverse[-3:] == ("-B", "8192", "-M")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"test": "tcp_rr", "send_size": 1}, r"send_size: it is not for tcp_rr"),
        ({"request_size": 1}, r"request_size: it is not for tcp_stream"),
        ({"test": "udp_stream", "nodelay": True}, r"nodelay: it is for TCP only"),
        ({"test": "udp_stream", "send_size": "64K"}, r"send_size: a UDP datagram holds 65507"),
        ({"threads": 2}, r"threads: more threads than flows"),
        ({"cpus": "3-1"}, r"cpus: "),
    ],
)
def test_what_contradicts_itself_is_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=rf"measure\.neper\.{problem}"):
        neper.check(options, BUILD)


@pytest.mark.parametrize(
    ("options", "transfer"),
    [
        ({}, Transfer("tcp", "remote")),
        ({"reverse": True}, Transfer("tcp", "local")),
        ({"test": "tcp_crr"}, Transfer("tcp", None)),
        ({"test": "udp_stream", "send_size": "1K"}, Transfer("udp", "remote", 1024)),
        ({"test": "udp_rr", "response_size": 300}, Transfer("udp", None, 300)),
    ],
)
def test_what_a_test_sends(options: dict[str, object], transfer: Transfer) -> None:
    assert neper.transfer(options) == transfer


def test_what_it_printed_must_be_whole_and_no_zero() -> None:
    stream = pairs.text("neper", "tcp-stream")
    with pytest.raises(ToolFailure, match="printed no remote_throughput"):
        neper.read(done(stream.replace("remote_throughput", "elsewhere")), {"seconds": 2})
    zero = "remote_throughput=0\nlocal"
    with pytest.raises(ToolFailure, match="throughput is 0: nothing arrived"):
        neper.read(done(stream + zero), {"seconds": 2})
    with pytest.raises(ToolFailure, match="none of its counts"):
        neper.read(done(stream.replace("\nt=", "\nu=")), {"seconds": 2})
    with pytest.raises(ToolFailure, match="which is not a number"):
        neper.read(done(stream + "remote_throughput=-nan\n"), {"seconds": 2})
    rr = pairs.text("neper", "tcp-rr")
    with pytest.raises(ToolFailure, match="printed no latency_p99"):
        neper.read(done(rr.replace("latency_p99", "p99")), {"test": "tcp_rr", "seconds": 2})
    with pytest.raises(ToolFailure, match="throughput is 0: no transaction"):
        neper.read(done(rr + "throughput=0.00\n"), {"test": "tcp_rr", "seconds": 2})
    with pytest.raises(ToolFailure, match="parallel 3 was asked for and neper says num_flows=1"):
        neper.read(done(stream), {"seconds": 2, "parallel": 3})
