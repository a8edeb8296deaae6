"""Logins that never answer, never end, or answer something else: bounded, and one clear line."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import paramiko
import pytest

from netlimits.errors import ConnectError, ConnectionLost, HostError
from netlimits.hosts.patience import Patience
from netlimits.hosts.ssh.channels import ssh_host
from netlimits.model import Command

pytestmark = pytest.mark.lab

SHORT = Patience(2)
"""For what is never answered: the time that the test takes."""

LONG = Patience(600)
"""For what must end by something else than time: a test that waits so long has failed."""

IMITATION = r"""
exec python3 -c '
import os, re, sys
text = b""
while not (found := re.search(rb"([0-9a-f]{16})\x27\x27([0-9a-f]{16})", text)):
    text += os.read(0, 65536)
nonce = found[1] + found[2]
for fd in (1, 2):
    os.write(fd, nonce + b"%s")
while True:
    os.read(0, 65536) or sys.exit()
'
"""
ENDLESS_MARK = IMITATION.replace("os.read(0, 65536) or sys.exit()", 'os.write(1, b"x" * 65536)')

FLOODS = {
    "a program that prints without end": "yes",
    "one that complains without end": "yes >&2",
    "one without a line's end": "tr '\\0' x </dev/zero",
    "both outputs at once": "yes >&2 & yes",
    "a mark's line that does not end": ENDLESS_MARK.replace("%s", "0"),
}
WORDS = {
    "a mark of its own": (IMITATION.replace("%s", " \\n"), "its answer cannot be read"),
    "a number that is none": (
        IMITATION.replace("%s", "9" * 99 + " \\n"),
        "its answer cannot be read",
    ),
    "an end at once": ("exit 1", "ended at once"),
}
SILENCES = {
    "a shell that waits": "sleep 330.125",
    "one that reads and says nothing": "exec cat >/dev/null",
    "one that says back what it reads": "exec tee /dev/stderr",
}


@pytest.fixture
def start_up(lab) -> Iterator[Callable[[str], None]]:
    """Write root's start-up file on `far`; it is gone after the test."""
    file = lab.far.home / ".bashrc"
    yield file.write_text
    file.unlink(missing_ok=True)


def refusal(machine, patience: Patience) -> str:
    with pytest.raises(HostError) as caught:
        ssh_host(machine, patience)
    complaint = str(caught.value)
    assert complaint.startswith("sender: ")
    assert "\n" not in complaint
    assert len(complaint) < 500
    return complaint


@pytest.mark.parametrize("kind", FLOODS)
def test_output_without_end_is_given_up_after_so_many_bytes(lab, start_up, kind):
    start_up(FLOODS[kind])
    complaint = refusal(lab.machine(), LONG)
    assert re.search("printed more than 1 MiB before it did: .*start-up file", complaint)


@pytest.mark.parametrize("kind", WORDS)
def test_an_answer_that_is_none_is_told(lab, start_up, kind):
    text, words = WORDS[kind]
    start_up(text)
    assert words in refusal(lab.machine(), LONG)


@pytest.mark.parametrize("kind", SILENCES)
def test_silence_is_given_up_after_the_time_allowed(lab, start_up, kind, ps):
    start_up(SILENCES[kind])
    complaint = refusal(lab.machine(), SHORT)
    assert "did not answer within 2 s" in complaint
    assert "--patience" in complaint


def test_a_forced_command_is_a_login_shell_like_any_other(lab):
    keys = lab.folder / "authorized_keys"
    before = keys.read_text()
    try:
        for forced, patience, words in (
            ("yes", LONG, "more than 1 MiB"),
            ("cat", SHORT, "did not answer within 2 s"),
            ("true", LONG, "ended at once"),
        ):
            keys.write_text("".join(f'command="{forced}" {k}\n' for k in before.splitlines()))
            assert words in refusal(lab.machine(), patience)
    finally:
        keys.write_text(before)


def test_what_a_start_up_file_leaves_behind_prints_into_no_wait_of_ours(lab, start_up):
    """Commands end, with whatever outcome: the deadline on the host, and then our bounds."""
    start_up("yes & yes >&2 &")
    try:
        host = ssh_host(lab.machine(), SHORT)
    except HostError:
        return

    def commands_until_it_is_lost() -> None:
        while True:
            host.run(Command(("cat",), deadline=2, stdin="x" * 1000))
            time.sleep(0.1)  # what prints meanwhile is nobody's

    try:
        with pytest.raises(ConnectionLost):
            commands_until_it_is_lost()
    finally:
        host.close()


# -- before there is any SSH -------------------------------------------------------------------


@contextmanager
def server(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port where `talk` has the word, once for each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    with sock, suppress(OSError):
                        talk(sock)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(LONG.seconds)
    assert not thread.is_alive(), "our end of the connection is still open"


def send_without_end(data: bytes) -> Callable[[socket.socket], None]:
    def talk(sock: socket.socket) -> None:
        while True:
            sock.sendall(data)

    return talk


def say(data: bytes) -> Callable[[socket.socket], None]:
    def talk(sock: socket.socket) -> None:
        sock.sendall(data)
        while sock.recv(65536):
            pass

    return talk


SERVERS = {
    "lines without end": (send_without_end(b"welcome\r\n" * 500), LONG, "welcome|KiB"),
    "a line without end": (send_without_end(b"w" * 4096), LONG, "sent more than 256 KiB"),
    "a greeting and noise": (send_without_end(b"SSH-2.0-x\r\n" * 99), LONG, "no SSH with|KiB"),
    "a greeting and silence": (say(b"SSH-2.0-x\r\n"), SHORT, "did not answer within 2 s"),
    "a greeting and the end": (lambda sock: sock.sendall(b"SSH-2.0-x\r\n"), LONG, "no SSH with"),
    "the end at once": (lambda sock: None, LONG, "no SSH with"),
    "silence": (say(b""), SHORT, "did not answer within 2 s"),
}


@pytest.mark.parametrize("kind", SERVERS)
def test_what_is_no_ssh_is_given_up(lab, kind):
    talk, patience, words = SERVERS[kind]
    with server(talk) as port:
        assert re.search(words, refusal(lab.machine("far", f"Host far\n Port {port}\n"), patience))


PROXIES = {
    "it prints without end": ("yes 331.125", LONG, "no SSH with|KiB"),
    "it hangs": ("sleep 331.125", SHORT, "did not answer within 2 s"),
    "it hangs with children": ("sh -c 'sleep 331.125; :'", SHORT, "did not answer within 2 s"),
    "it ends": ("false", LONG, "no SSH with"),
}


@pytest.mark.parametrize("kind", PROXIES)
def test_a_proxy_command_is_bounded_too_and_ended(lab, ps, kind):
    command, patience, words = PROXIES[kind]
    machine = lab.machine("far", f"Host far\n ProxyCommand {command}\n")
    assert re.search(words, refusal(machine, patience))
    assert ps.gone("sleep", "331.125")
    assert ps.gone("yes", "331.125")


def test_an_agent_that_does_not_answer_is_left_alone(lab, monkeypatch, tmp_path):
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        host = ssh_host(lab.machine(), Patience(5))
        host.close()


class Mute(paramiko.ServerInterface):
    """Lets everybody in and answers no request for a program."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def check_auth_publickey(self, username, key):
        return paramiko.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username):
        return "publickey"

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        self.over.wait(LONG.seconds)
        return False


def test_a_program_that_is_never_started_is_given_up(lab):
    mute = Mute()

    def talk(sock: socket.socket) -> None:
        transport = paramiko.Transport(sock)
        transport.add_server_key(paramiko.Ed25519Key.from_private_key_file(lab.folder / "host_far"))
        transport.start_server(server=mute)
        mute.over.wait(LONG.seconds)
        transport.close()

    with server(talk) as port:
        known_hosts = lab.far.known.replace(str(lab.far.port), str(port))
        machine = lab.machine("far", f"Host far\n Port {port}\n", known_hosts)
        try:
            with pytest.raises(ConnectionLost, match="sender: no session for `exec sh`"):
                ssh_host(machine, Patience(5))
        finally:
            mute.over.set()


def test_a_name_that_no_name_can_be_is_told(lab):
    with pytest.raises(ConnectError, match=r"cannot resolve the name rx\.\.lan"):
        ssh_host(lab.machine("rx..lan"), LONG)


def test_a_host_that_is_only_slow_is_a_host(lab, start_up, tmp_path):
    """A login of several seconds, and every command of ours seconds later than it should be."""
    slow = lab.far.home / "slow"
    slow.mkdir(exist_ok=True)
    (slow / "timeout").write_text('#!/bin/sh\nsleep 2\nexec /usr/bin/timeout "$@"\n')
    (slow / "timeout").chmod(0o755)
    start_up("PATH=/root/slow:$PATH\nsleep 3\n")
    assert "did not answer within 2 s" in refusal(lab.machine(), SHORT)
    host = ssh_host(lab.machine())
    try:
        look = host.background(Command(("sleep", "332.125"), deadline=400))
        assert host.run(Command(("echo", "hi"), deadline=1)).stdout == "hi\n"
        ended = look.stop()
        assert ended.status != 0
        assert not ended.timed_out
    finally:
        host.close()
