"""What `Host.serve` promises, on this machine and over SSH alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import LONG

from netlimits.errors import ConnectionLost, InputError
from netlimits.hosts.base import OUTPUT_LIMIT
from netlimits.model import Command

CONTROLLER = """
import sys, time
from pathlib import Path
from netlimits.hosts.connect import connect
from netlimits.model import Command, Machine
config = Path(sys.argv[1]) if sys.argv[1] else None
host = connect(Machine("sender", ssh="far" if config else None, ssh_config=config))
host.serve(Command(("sh", "-c", "sleep 311.125 & sleep 312.125")))
time.sleep(300)
"""


def ends(server, within: float = LONG) -> bool:
    limit = time.monotonic() + within
    while server.alive() and time.monotonic() < limit:
        time.sleep(0.01)
    return not server.alive()


def test_a_server_runs_until_it_is_stopped(host, ps):
    server = host.serve(Command(("sh", "-c", "echo up; echo err >&2; sleep 310.125 & wait")))
    ps.appears("sleep", "310.125")
    assert server.alive()
    completed = server.stop()
    assert not server.alive()
    assert (completed.stdout, completed.stderr) == ("up\n", "err\n")
    assert completed.status == 128 + signal.SIGTERM
    assert ps.gone("sleep", "310.125")
    assert server.stop() is completed


def test_a_server_that_ignores_the_first_signal_is_ended(host, ps, short_grace):
    server = host.serve(Command(("sh", "-c", 'trap "" TERM; sleep 313.125; sleep 313.5')))
    ps.appears("sleep", "313.125")
    assert server.stop().status == 128 + signal.SIGKILL
    assert ps.gone("sleep", "313.125")
    assert ps.gone("sleep", "313.5")


def test_a_server_that_ends_by_itself_is_seen(host):
    server = host.serve(Command(("sh", "-c", "echo cannot listen >&2; exit 7")))
    assert ends(server)
    completed = server.stop()
    assert (completed.status, completed.stderr) == (7, "cannot listen\n")


def test_a_server_that_is_not_there_is_seen(host):
    server = host.serve(Command(("no-such-server", "$(id)")))
    assert ends(server)
    completed = server.stop()
    assert completed.status == 127
    assert "no-such-server" in completed.stderr


@pytest.mark.long
def test_a_talkative_server_never_waits_for_us(host, tmp_path, ps):
    file = tmp_path / "wrote"
    program = f"yes | head -c {2 * OUTPUT_LIMIT}; echo all > {file}; sleep 314.125"
    server = host.serve(Command(("sh", "-c", program)))
    ps.appears("sleep", "314.125")
    assert file.read_text() == "all\n"
    completed = server.stop()
    assert completed.truncated
    assert len(completed.stdout) == OUTPUT_LIMIT


def test_commands_run_beside_a_server(host, ps):
    server = host.serve(Command(("sleep", "315.125")))
    assert host.run(Command(("echo", "beside"))).stdout == "beside\n"
    assert server.alive()
    host.close()
    assert not server.alive()
    assert ps.gone("sleep", "315.125")


def test_what_cannot_be_served_is_refused(host):
    with pytest.raises(InputError):
        host.serve(Command(("a\0b",)))
    host.close()
    with pytest.raises(ConnectionLost):
        host.serve(Command(("true",)))


@pytest.mark.parametrize("kind", ["local", pytest.param("ssh", marks=pytest.mark.lab)])
def test_a_killed_controller_leaves_no_server_behind(kind, request, ps):
    config = request.getfixturevalue("lab").config() if kind == "ssh" else ""
    command = [sys.executable, "-c", CONTROLLER, str(config)]
    with subprocess.Popen(command, env=os.environ | {"PYTHONWARNINGS": "error"}) as controller:
        try:
            ps.appears("sleep", "312.125")
        finally:
            controller.kill()
    assert ps.gone("sleep", "311.125")
    assert ps.gone("sleep", "312.125")


@pytest.mark.lab
def test_a_lost_connection_ends_the_server_and_stop_still_answers(lab, ps):
    from netlimits.hosts.ssh.channels import ssh_host

    host = ssh_host(lab.machine())
    try:
        server = host.serve(Command(("sh", "-c", "echo up; sleep 316.125")))
        ps.appears("sleep", "316.125")
        sshd = host.run(Command(("sh", "-c", "ps -o ppid= -p $(ps -o ppid= -p $PPID)"))).stdout
        assert Path(f"/proc/{int(sshd)}/comm").read_text().startswith("sshd")
        os.kill(int(sshd), signal.SIGKILL)
        assert ps.gone("sleep", "316.125")
        assert ends(server)
        completed = server.stop()
        assert completed.status == 255
        assert completed.stdout == "up\n"
        assert "connection is gone" in completed.stderr
    finally:
        host.close()
