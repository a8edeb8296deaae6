"""What a kept Perl does with commands is what a shell does; where there is none, nothing is missed."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest
from waiting import LONG, wait

from netlimits.errors import ConnectionLost
from netlimits.hosts.local import LocalStream, local_host
from netlimits.hosts.login import LoginHost
from netlimits.model import Command

pytestmark = pytest.mark.skipif(not shutil.which("perl"), reason="needs Perl")


def reading(perl: str, *arguments: str, deadline: float = 10) -> Command:
    """A command that says `shell` where it is not Perl that does it."""
    return Command(("sh", "-c", "echo shell", "sh", *arguments), deadline=deadline, perl=perl)


OURS = reading('print "$$\\n"; 0;')


def perl_of(host: LoginHost) -> psutil.Process:
    """The process of the Perl that readings take."""
    (answer,) = host.run_in_turn([OURS])
    return psutil.Process(int(answer.stdout))


def test_a_command_s_perl_gets_its_arguments_and_gives_its_status(host):
    awkward = ["", "a b", "'\\$x\n", "ä"]
    answers = host.run_in_turn(
        [
            reading('print "<$_>" for @_; print STDERR "aside\\n"; 3;', *awkward),
            Command(("printf", "%s", "it's"), within=("sh", "-c", '"$@"; exit 4', "x")),
            reading("die 'never mind'"),
            reading("no such (Perl"),
        ]
    )
    assert [(a.stdout, a.status) for a in answers] == [
        ("".join(f"<{word}>" for word in awkward), 3), ("it's", 4), ("", 255), ("", 255)]  # fmt: skip
    assert answers[0].stderr == "aside\n"
    assert "never mind" in answers[2].stderr


def test_readings_are_made_by_one_process_that_lasts(host):
    perl = perl_of(host)
    readings = [OURS, reading("our $count++; print $count; 0;")]
    for count in ("1", "2", "3"):
        assert [a.stdout for a in host.run_in_turn(readings)] == [f"{perl.pid}\n", count]


def test_programs_run_from_it_and_their_output_is_read(host):
    text = """
    my ($status, $printed) = Kept::output(qw(sh -c), 'echo "[$0]"; exit 5', @_);
    print $status, $printed;
    Kept::ran("no-such-program");
    """
    (answer,) = host.run_in_turn([reading(text, "x")])
    assert (answer.stdout, answer.status) == ("5[x]\n", 127)
    assert "no-such-program: not found" in answer.stderr


GOES_ON = "select(undef, undef, undef, 9) while 1;"
HUNG = {
    "a program": (Command(("sleep", "319.125"), deadline=0.5), ("sleep", "319.125")),
    "one that its output is read of": (
        reading("Kept::output(qw(sleep 320.125)); 0;", deadline=0.5), ("sleep", "320.125")),
    "a file that is never there": (reading("1 until open my $f, '<', $_[0]; 0;", "FIFO", deadline=0.5), ()),
    "one that goes on": (reading(GOES_ON, deadline=0.5), ()),
}  # fmt: skip


@pytest.mark.parametrize("kind", HUNG)
def test_what_hangs_ends_at_its_deadline_and_perl_goes_on(host, tmp_path, ps, kind):
    os.mkfifo(tmp_path / "fifo")
    command, words = HUNG[kind]
    argv = tuple(word.replace("FIFO", str(tmp_path / "fifo")) for word in command.argv)
    command = Command(argv, deadline=command.deadline, perl=command.perl)
    perl = perl_of(host)
    prints = reading("print 1; 0;", deadline=1)
    first, hung, never = host.run_in_turn([prints, command, prints])
    assert (first.stdout, first.status, first.timed_out) == ("1", 0, False)
    assert never.stdout == ""
    assert never.status
    assert hung.status
    (alone,) = host.run_in_turn([command])
    assert (alone.status, alone.timed_out) == (124, True)
    assert not words or ps.gone(*words)
    assert perl_of(host) == perl


def test_what_ignores_its_end_is_killed(host, ps, short_grace):
    perl = perl_of(host)
    deaf = Command(("sh", "-c", "trap '' TERM; sleep 321.125 & wait; wait"), deadline=0.3)
    (answer,) = host.run_in_turn([deaf])
    assert answer.timed_out
    assert ps.gone("sleep", "321.125")
    assert perl_of(host) == perl


def test_what_is_left_behind_in_the_group_is_gone(host, ps):
    perl_of(host)
    (answer,) = host.run_in_turn([Command(("sh", "-c", "sleep 322.125 & echo left"))])
    assert answer.stdout == "left\n"
    assert ps.gone("sleep", "322.125")


@pytest.mark.parametrize("perl", ["", "Kept::ran(qw(sleep 323.125));", GOES_ON])
def test_ctrl_c_ends_what_runs_and_perl_goes_on(host, ps, perl):
    process = perl_of(host)
    argv = ("sh", "-c", "exit 1") if perl else ("sleep", "323.125")
    command = Command(argv, deadline=60, perl=perl)
    waiting = host.begin_in_turn([command, OURS])
    if perl != GOES_ON:
        ps.appears("sleep", "323.125")

    def interrupted() -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        waiting()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ps.gone("sleep", "323.125")
    assert perl_of(host) == process


def test_a_look_has_a_process_of_its_own_that_is_ended(host, ps):
    look = host.background(reading("Kept::ran(sub { exec qw(sleep 324.125) });", deadline=60))
    ps.appears("sleep", "324.125")
    assert perl_of(host).pid, "another one reads meanwhile"
    assert look.stop().status == 143
    assert ps.gone("sleep", "324.125")


def test_what_is_read_at_once_comes_in_one_piece_of_each_output(monkeypatch):
    """Where each is a packet, which costs more than the reading."""
    pieces = []
    exchange = LocalStream.exchange

    def counted(stream, data, wait):
        answer = exchange(stream, data, wait)
        pieces.append(bool(answer.stdout) + bool(answer.stderr))
        return answer

    host = local_host()
    try:
        perl_of(host)
        monkeypatch.setattr(LocalStream, "exchange", counted)
        answers = host.run_in_turn([reading('print "a"; print STDERR "b"; 0;')] * 3)
    finally:
        host.close()
    assert [(a.stdout, a.stderr) for a in answers] == [("a", "b")] * 3
    assert sum(pieces) == 2


def test_output_beyond_the_limit_is_cut(host):
    flood = reading('print "x" x 2**20 for 1 .. 17; 0;')
    small, cut = host.run_in_turn([reading('print "small"; 0;'), flood])
    assert (small.stdout, small.truncated, cut.truncated) == ("small", False, True)
    assert perl_of(host).is_running()


def test_it_ends_with_the_connection(host):
    perl = perl_of(host)
    host.close()
    perl.wait(LONG)


def test_one_that_was_killed_is_lost_like_a_connection_and_another_takes_its_place(host):
    perl = perl_of(host)
    waiting = host.begin_in_turn([Command(("sleep", "325.125"), deadline=400), OURS])
    (program,) = wait(perl.children)  # which lives on, and holds both outputs
    perl.kill()
    try:
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match="was cut off"):
            waiting()
        assert time.monotonic() - began < LONG, "it was not waited for"
        assert program.is_running()
        assert perl_of(host) != perl
    finally:
        program.kill()


def test_input_and_changes_for_root_go_as_ever(host):
    perl_of(host)
    fed = Command(("cat",), stdin="fed")
    assert [a.stdout for a in host.run_in_turn([fed])] == ["fed"]
    assert [a.stdout for a in host.run_in_turn([fed, OURS])] == ["fed", "shell\n"]
    assert host.run(Command(("echo", "on"))).stdout == "on\n"


@pytest.mark.parametrize("perl", ["exit 3", "sleep 0.1; kill -s KILL $$", None])
def test_a_host_without_perl_is_asked_once_and_reads_by_commands(tmp_path, monkeypatch, perl):
    """None there, or one that cannot load its modules, or is killed."""
    for folder in os.environ["PATH"].split(":"):
        for program in Path(folder).glob("*"):
            if program.name != "perl" and not (tmp_path / program.name).is_symlink():
                (tmp_path / program.name).symlink_to(program)
    tried = tmp_path / "tried"
    if perl:
        (tmp_path / "perl").write_text(f"#!/bin/sh\necho x >>{tried}\n{perl}\n")
        (tmp_path / "perl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("netlimits.hosts.shell.SURROUNDINGS", "exec 3>&1 4>&2 >/dev/null 2>&1\n")
    monkeypatch.setattr("netlimits.hosts.perl.SURROUNDINGS", "exec 3>&1 4>&2 >/dev/null 2>&1\n")
    host = local_host()
    try:
        for _ in range(3):
            assert [a.stdout for a in host.run_in_turn([OURS, OURS])] == ["shell\n", "shell\n"]
            look = host.background(OURS)
            wait(lambda look=look: not look.alive())
            assert look.stop().stdout == "shell\n"
    finally:
        host.close()
    assert not perl or tried.read_text() == "x\n"


ECHO = 'while read -r line; do echo "$$ $line"; done'


def answering(line: str, state: str = "", script: str = ECHO, deadline: float = 10) -> Command:
    text = 'print Kept::answer(@_[0, 1], "sh", "-c", $_[2]) // "nothing"; 0;'
    return reading(text, state, line, script, deadline=deadline)


def answers(host: LoginHost, *commands: Command) -> list[str]:
    return [answer.stdout for answer in host.run_in_turn(commands)]


def test_a_program_that_answers_is_kept_until_its_state_is_another(host):
    first, again, other = answers(
        host, answering("a b", "1"), answering("a b", "1"), answering("a b", "2")
    )
    assert first == again
    assert first.split()[1:] == other.split()[1:] == ["a", "b"]
    kept = int(other.split()[0])
    wait(lambda: not psutil.pid_exists(int(first.split()[0])), "the first one ends")
    assert psutil.Process(kept).ppid() != perl_of(host).pid, "nobody waits for it"
    os.kill(kept, signal.SIGKILL)
    wait(lambda: not psutil.pid_exists(kept), "it is gone")
    nothing, third = answers(host, answering("a b", "2"), answering("a b", "2"))
    assert nothing == "nothing"
    pid = int(third.split()[0])
    host.close()
    wait(lambda: not psutil.pid_exists(pid), "it goes with the Perl")


def test_a_program_that_does_not_answer_is_not_asked_again(host):
    hung = answering("x", script="read -r line; sleep 5; echo late", deadline=0.5)
    (answer,) = host.run_in_turn([hung])
    assert answer.timed_out
    (again,) = answers(host, answering("x"))
    assert again.split()[1:] == ["x"]


@pytest.mark.parametrize(
    ("script", "printed"), [("echo gone >&2", "nothing"), ("printf half", "half")]
)
def test_a_program_that_ends_is_begun_anew(host, script, printed):
    assert answers(host, *[answering("x", script=script)] * 2) == [printed] * 2
    (silent,) = host.run_in_turn([answering("x", script=script)])
    assert not silent.stderr
