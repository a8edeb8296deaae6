"""What `Host.run` promises, on this machine and over SSH alike."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from waiting import LONG, wait

from netlimits.errors import ConnectionLost, HostError, InputError
from netlimits.hosts.base import OUTPUT_LIMIT
from netlimits.hosts.local import local_host
from netlimits.model import Command

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def here():
    opened = local_host()
    yield opened
    opened.close()


@settings(deadline=None, max_examples=150)
@given(st.lists(text, min_size=1))
@example(["'", '"', "\\", "$HOME", "$(id)", "`id`", "; id", "&& id", "\n", "-n", "*", "~", ""])
@example(["EOF", "}", "{", "#", "!", "\x81\x88", "\u00a0", "\udcff"[:0], "é\r\n\t"])
def test_every_argument_arrives_as_it_was(here, arguments):
    completed = here.run(Command(("printf", r"%s\0", *arguments)))
    assert completed.stdout == "".join(f"{argument}\0" for argument in arguments)
    assert completed.status == 0


@settings(deadline=None, max_examples=80)
@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("no newline at the end")
@example("nul \0 and \n\n newlines\n")
def test_standard_input_arrives_as_it_was(here, given_text):
    assert here.run(Command(("cat",), stdin=given_text)).stdout == given_text


def test_bytes_that_python_reads_as_surrogates_go_out_unchanged(host):
    completed = host.run(Command(("printf", "%s", os.fsdecode(b"\xff\xfe"))))
    assert completed.stdout == "\\xff\\xfe"


@pytest.mark.parametrize(
    "form",
    ["; touch {}", "$(touch {})", "`touch {}`", "\ntouch {}\n", "' ; touch {} '", "& touch {}"],
)
def test_no_argument_executes_anything(host, tmp_path, form):
    file = tmp_path / "x"
    argument = form.format(file)
    assert host.run(Command(("echo", argument), stdin=argument)).stdout == argument + "\n"
    assert host.run(Command((argument,))).status == 127
    assert not file.exists()


@pytest.mark.parametrize(
    "command",
    [
        Command(()),
        Command(("",)),
        Command(("echo", "a\0b")),
        Command(("echo", "\ud800")),
        Command(("echo",), stdin="\ud800"),
        Command(("true",), deadline=0),
        Command(("true",), deadline=float("nan")),
    ],
)
def test_what_cannot_be_run_is_refused_and_the_host_stays_usable(here, command):
    with pytest.raises(InputError):
        here.run(command)
    assert here.run(Command(("echo", "on"))).stdout == "on\n"


def test_status_streams_and_place_are_kept(host):
    completed = host.run(Command(("sh", "-c", "echo out; echo err >&2; exit 3")))
    assert (completed.status, completed.stdout, completed.stderr) == (3, "out\n", "err\n")
    assert completed.host == "sender"
    assert not completed.timed_out
    assert completed.seconds > 0


def test_output_without_a_last_newline_is_kept_to_the_byte(host):
    assert host.run(Command(("printf", "a"))).stdout == "a"
    assert host.run(Command(("printf", r"a\n\n"))).stdout == "a\n\n"


def test_commands_speak_plainly_and_find_the_tools_of_root(host):
    completed = host.run(Command(("sh", "-c", "echo $LC_ALL; echo $PATH")))
    locale, path = completed.stdout.splitlines()
    assert locale == "C"
    assert {"/usr/sbin", "/sbin", "/usr/bin"} <= set(path.split(":"))


def test_a_program_that_is_not_there_is_an_answer(host):
    completed = host.run(Command(("no-such-program",)))
    assert completed.status == 127
    assert "no-such-program" in completed.stderr


def test_a_signal_is_told_as_128_and_its_number(host):
    assert host.run(Command(("sh", "-c", "kill -SEGV $$"))).status == 128 + signal.SIGSEGV
    killed = host.run(Command(("sh", "-c", "kill -KILL $$")))
    assert killed.status == 128 + signal.SIGKILL
    assert not killed.timed_out


def test_a_deadline_ends_the_command_on_the_host(host, ps):
    completed = host.run(Command(("sleep", "300.125"), deadline=0.2))
    assert completed.timed_out
    assert completed.status == 124
    assert 0.2 <= completed.seconds < 300
    assert ps.gone("sleep", "300.125")


def test_a_deadline_ends_children_and_what_ignores_the_first_signal(host, ps, short_grace):
    program = 'trap "" TERM; echo started; (sleep 301.125 & sleep 302.125); sleep 303.125'
    completed = host.run(Command(("sh", "-c", program), deadline=2))
    assert completed.timed_out
    assert completed.stdout == "started\n"
    for seconds in ("301.125", "302.125", "303.125"):
        assert ps.gone("sleep", seconds)
    assert host.run(Command(("echo", "on"))).stdout == "on\n"


@pytest.mark.parametrize("status", [124, 137])
def test_a_command_that_itself_exits_like_timeout_was_not_timed_out(host, status):
    completed = host.run(Command(("sh", "-c", f"exit {status}")))
    assert completed.status == status
    assert not completed.timed_out


def test_a_child_left_behind_holds_nothing_up_and_is_ended(host, ps):
    program = "(sleep 304.125; echo late) & echo done"
    completed = host.run(Command(("sh", "-c", program), deadline=200))
    assert completed.status == 0
    assert not completed.timed_out
    assert completed.stdout == "done\n"
    assert ps.gone("sleep", "304.125")


def test_output_of_a_daemon_does_not_reach_a_later_command(host, tmp_path):
    file = tmp_path / "said"
    late = f"(sleep 0.1; echo late; echo late >&2; touch {file}) & exit"
    host.run(Command(("setsid", "sh", "-c", late)))
    wait(file.exists)
    completed = host.run(Command(("echo", "mine")))
    assert (completed.stdout, completed.stderr) == ("mine\n", "")


def test_a_hundred_megabytes_are_drained_and_not_kept(host):
    host.run(Command(("true",)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    completed = host.run(Command(("head", "-c", "100000000", "/dev/zero"), deadline=60))
    assert completed.status == 0
    assert completed.truncated
    assert len(completed.stdout) == OUTPUT_LIMIT
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 5 * OUTPUT_LIMIT


def test_a_flood_on_one_stream_while_the_other_waits(host):
    program = "yes e | head -c 3000000 >&2; echo out; yes e | head -c 3000000 >&2"
    completed = host.run(Command(("sh", "-c", program)))
    assert completed.stdout == "out\n"
    assert len(completed.stderr) == 6_000_000
    assert not completed.truncated


def test_large_input_to_a_command_that_prints_as_much(host):
    sent = "0123456789abcde\n" * 200_000
    assert host.run(Command(("cat",), stdin=sent)).stdout == sent


def test_large_input_that_nobody_reads(host):
    completed = host.run(Command(("echo", "no thanks"), stdin="x" * 2_000_000))
    assert completed.stdout == "no thanks\n"
    assert host.run(Command(("echo", "on"))).stdout == "on\n"


SUDO = """#!/bin/sh
echo "$*" >> {log}
{then}
shift 2
exec "$@"
"""


@pytest.fixture
def not_root(tmp_path, monkeypatch):
    """A machine where we are user 1000, and a sudo that does `then`; returns what it was asked."""

    def make(then: str) -> Path:
        log = tmp_path / "asked"
        (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
        (tmp_path / "sudo").write_text(SUDO.format(log=log, then=then))
        for name in ("id", "sudo"):
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return log

    return make


def test_sudo_is_asked_for_each_command_that_needs_it_and_for_no_other(not_root):
    log = not_root("export BY_SUDO=yes")
    by_sudo = ("sh", "-c", "echo $BY_SUDO")
    host = local_host()
    try:
        assert host.run(Command(by_sudo)).stdout == "\n"
        assert not log.exists()
        assert host.run(Command(by_sudo, sudo=True)).stdout == "yes\n"
        assert host.run(Command(by_sudo, sudo=True)).stdout == "yes\n"
        assert host.run(Command(by_sudo)).stdout == "\n"
        assert log.read_text() == "-n -- sh -c echo $BY_SUDO\n" * 2
    finally:
        host.close()


def test_a_refused_sudo_is_told_and_other_commands_go_on(not_root):
    not_root("echo 'sudo: a password is required' >&2; exit 1")
    host = local_host("receiver")
    try:
        with pytest.raises(
            HostError,
            match=r"receiver: sudo -n refuses `ethtool -K eth0 gro off`: "
            r"sudo: a password is required; allow it in sudoers",
        ):
            host.run(Command(("ethtool", "-K", "eth0", "gro", "off"), sudo=True))
        assert host.run(Command(("echo", "on"))).stdout == "on\n"
    finally:
        host.close()


def test_root_needs_no_sudo(monkeypatch, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    (tmp_path / "sudo").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    host = local_host()
    try:
        assert host.run(Command(("id", "-u"), sudo=True)).stdout == "0\n"
    finally:
        host.close()


def test_a_host_without_the_programs_we_need_says_which(monkeypatch, tmp_path):
    for name in ("sh", "id", "timeout"):
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("netlimits.hosts.shell.ROOTS_PATH", "")
    with pytest.raises(HostError, match="local: no setsid, base64, flock there"):
        local_host()


class Stopped(BaseException):
    """What a signal handler may raise."""


def interrupt(host, ps, command: Command, *running: str) -> float:
    """Run a command, interrupt the wait once `running` runs; seconds that the interrupt took."""

    def handler(*_: object) -> None:
        raise Stopped

    at = []

    def later() -> None:
        ps.appears(*running)
        at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    thread = threading.Thread(target=later)
    try:
        thread.start()
        with pytest.raises(Stopped):
            host.run(command)
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    return time.monotonic() - at[0]


def test_an_interrupt_ends_the_command_and_leaves_the_shell_usable(host, ps):
    shell = host.run(Command(("sh", "-c", "ps -o ppid= -p $PPID"))).stdout
    interrupt(host, ps, Command(("sh", "-c", "sleep 305.125; echo no")), "sleep", "305.125")
    assert ps.gone("sleep", "305.125")
    assert host.run(Command(("sh", "-c", "ps -o ppid= -p $PPID"))).stdout == shell


def test_an_interrupt_ends_what_ignores_it_too(host, ps, short_grace):
    program = 'trap "" TERM; sleep 306.125; sleep 306.5'
    took = interrupt(host, ps, Command(("sh", "-c", program)), "sleep", "306.125")
    assert took < LONG
    assert ps.gone("sleep", "306.125")
    assert ps.gone("sleep", "306.5")
    assert host.run(Command(("echo", "on"))).stdout == "on\n"


def test_a_shell_that_dies_is_told_with_what_was_printed_and_replaced(host):
    program = "echo so far >&2; sleep 0.2; kill -9 $(ps -o ppid= -p $PPID); sleep 0.2"
    with pytest.raises(ConnectionLost, match=r"sender: a script .*the shell.*ended.*so far"):
        host.run(Command(("sh", "-c", program)))
    assert host.run(Command(("echo", "on"))).stdout == "on\n"


def test_two_threads_may_use_one_host(host, ps, tmp_path):
    gate = tmp_path / "gate"
    argv = ("sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done")
    slow = threading.Thread(target=host.run, args=(Command(argv, deadline=LONG),))
    slow.start()
    try:
        ps.appears(*argv)
        assert host.run(Command(("echo", "meanwhile"))).stdout == "meanwhile\n"
        assert slow.is_alive()
    finally:
        gate.touch()
        slow.join()


def test_a_closed_host_says_so_and_closes_twice(host):
    host.close()
    host.close()
    with pytest.raises(ConnectionLost, match="sender: the host was closed"):
        host.run(Command(("true",)))


@pytest.mark.long
def test_closing_leaves_no_shell_and_no_warning():
    program = (
        "from netlimits.hosts.local import local_host; from netlimits.model import Command\n"
        "host = local_host(); host.run(Command(('true',))); host.serve(Command(('sleep', '9')))\n"
        "host.close()"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
