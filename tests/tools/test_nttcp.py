"""No distribution has nttcp any more: the outputs are made after a sample of version 1.47's.

captures/nttcp/sample-147 is that sample, in nttcp's default format. `turin` is the format of the
Turin report, whose side and bytes run together at nine digits: the side is the first character.
OURS has nttcp print the same figures, wider.
"""

from __future__ import annotations

import math

import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.errors import InputError, ToolFailure
from netlimits.model import Command, Completed, ServerAddress
from netlimits.tools import Features
from netlimits.tools.nttcp import FORMAT, Nttcp

nttcp = Nttcp()
BUILD = Features("1.47")
OPTIONS = {"count": 2048}
SAMPLE, TURIN = (pairs.text("nttcp", name) for name in ("sample-147", "turin"))


def side(letter: str, count: int, real: float, cpu: float, calls: int) -> str:
    """One line as nttcp prints it with our format: printf's, field by field."""
    return f"{letter}{count:20d}{real:14.6f}{cpu:14.6f}{count * 8 / 1e6 / real:16.4f}{calls:14d}\n"


OURS = side("l", 8388608, 0.018144, 0.012494, 2048) + side("1", 8388608, 0.018281, 0.006888, 2063)


def done(stdout="", status=0, stderr="", **more) -> Completed:
    return Completed(
        "sender", Command(("nttcp",), deadline=45), status, stdout, stderr, 1.0, **more
    )


def test_the_version():
    printed = done("nttcp version 1.47  http://www.leo.org/~elmar/nttcp/\n")
    assert nttcp.features((printed,)).version == "1.47"


def test_no_nttcp_is_said_with_what_to_do():
    with pytest.raises(ToolFailure, match=r"not found.*build version 1\.47.*or leave nttcp out"):
        nttcp.features((done(stderr="sh: 1: nttcp: not found", status=127),))


def test_a_count_is_required_and_the_way_to_it_told():
    with pytest.raises(
        InputError, match=r"measure\.nttcp\.count: .*no option for a duration.*8 \* send_size"
    ):
        nttcp.check({"send_size": 1000}, BUILD)
    nttcp.check(OPTIONS, BUILD)
    assert nttcp.schema["required"] == ["count"]


def test_every_option_reaches_the_command():
    options = {"count": 30000, "send_size": 100000, "seconds": 20, "window": 256, "nodelay": True}
    command = nttcp.client(options, BUILD, ServerAddress("198.19.0.2", 5037))
    assert command.argv == (
        *("nttcp", "-t", "-f", FORMAT, "-p", "5037", "-l", "100000", "-n", "30000"),
        *("-w", "256", "-D", "198.19.0.2"),
    )
    assert command.deadline == 3 * 20 + 15
    assert command.stdin == ""  # a socket there would make nttcp believe that it is the server
    assert nttcp.server({}, ServerAddress("198.19.0.2", 5037)).argv == ("nttcp", "-i", "-p", "5037")
    assert nttcp.server_lasts == "campaign"


def test_figures_stand_under_their_columns():
    figures = nttcp.read(done(OURS), OPTIONS).figures
    assert figures["throughput_mbps"] == figures["remote_recv_throughput_mbps"]
    assert figures["throughput_mbps"] == pytest.approx(3670.96, abs=0.1)
    assert figures["elapsed_s"] == pytest.approx(0.018281)
    assert figures["nttcp_local_process_cpu_pct"] == pytest.approx(68.86, abs=0.01)
    assert figures["nttcp_remote_process_cpu_pct"] == pytest.approx(37.68, abs=0.01)
    assert figures["local_send_calls"] == 2048
    assert figures["remote_recv_calls"] == 2063
    assert figures["local_send_throughput_mbps"] == 3698.6808  # over the client's own seconds


@pytest.mark.parametrize("name", pairs.names("nttcp"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("nttcp", name)


def test_a_message_of_either_side_between_the_lines_is_no_line():
    figures = nttcp.read(done(f"nttcp-l: hello\n{OURS}nttcp-1: exiting\n\n"), OPTIONS).figures
    assert figures["throughput_mbps"] == pytest.approx(3670.96, abs=0.1)


LOCAL, REMOTE = OURS.splitlines(keepends=True)
NO_MEASUREMENT = {
    "server's child dead": (done(LOCAL), OPTIONS, "no line of the server: did it die"),
    "server's child dead, its last words": (
        done(f"{LOCAL}nttcp-1: setsockopt: Permission denied\n"), OPTIONS, "Permission denied"),
    "client's line missing": (done(REMOTE), OPTIONS, "no line of the client"),
    "refused": (
        done("", 10, "nttcp-l: Could not connect to remote host\n: Connection refused, errno=111"),
        OPTIONS, "exited 10: .*Could not connect"),
    "believes it is the server": (done("", 2, "nttcp: fgets: cannot read stdin"), OPTIONS, "exited 2"),
    "stdin closed": (done("", 4, "nttcp: getpeername Bad file descriptor"), OPTIONS, "exited 4"),
    "hung": (done("", 124, timed_out=True), OPTIONS, "after 45 s and was killed.*`count` too large"),
    "stopped early": (done(OURS), {"count": 4096}, "8388608 of 16777216 bytes were sent"),
    "not all arrived": (
        done(LOCAL + side("1", 8388000, 0.018, 0.007, 9)), OPTIONS, "8388000 of 8388608 bytes arrived"),
    "no bytes": (done(LOCAL + REMOTE.replace("8388608", "      0", 1)), OPTIONS, "no measurement"),
    "figures that contradict each other": (
        done(LOCAL + side("1", 8388608, 5.0, 1, 9).replace("5.000000", "9.000000")), OPTIONS,
        "contradict each other"),
    "nothing printed": (done(""), OPTIONS, "no line of the client: did it die.*nothing"),
    "garbage": (done("l 12 banana\n1 12 banana\n"), OPTIONS, "no line of the client"),
    "megabytes": (done("x", truncated=True), OPTIONS, "too much output to keep"),
}  # fmt: skip

STATUS = {"hung": "timeout", "stopped early": "invalid", "not all arrived": "invalid"}


@pytest.mark.parametrize("case", NO_MEASUREMENT)
def test_what_is_no_measurement_is_a_failed_run_with_its_reason(case):
    completed, options, reason = NO_MEASUREMENT[case]
    with pytest.raises(ToolFailure, match=f"(?s){reason}") as error:
        nttcp.read(completed, options)
    assert error.value.status == STATUS.get(case, "failed")
    assert "\n" not in str(error.value)


@given(st.sampled_from([OURS, SAMPLE, TURIN]), st.data())
def test_a_changed_output_is_a_failed_run_or_still_a_sensible_one(printed, data):
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(printed)))
        length = data.draw(st.integers(0, 30))
        printed = (
            printed[:at]
            + data.draw(st.text("0123456789.- \nl1", max_size=8))
            + printed[at + length :]
        )
    try:
        figures = nttcp.read(done(printed), OPTIONS).figures
    except ToolFailure:
        return
    assert figures["throughput_mbps"] > 0
    assert all(math.isfinite(v) and v >= 0 for v in figures.values())
    assert figures["local_send_throughput_mbps"] > 0


@given(st.text(), st.sampled_from([0, 1]))
def test_any_text_is_a_failed_run(printed, status):
    with pytest.raises(ToolFailure):
        nttcp.read(done(printed, status), OPTIONS)
