"""Logging in over SSH: the ways there, the keys, and one clear line for every failure."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from waiting import LONG, wait

from netlimits.errors import ConnectError, ConnectionLost, HostError, SessionRefused
from netlimits.hosts import leftovers
from netlimits.hosts.connect import connect_all
from netlimits.hosts.ssh import channels
from netlimits.hosts.ssh.channels import SshLogin, ssh_host
from netlimits.model import Command, Machine

pytestmark = pytest.mark.lab

WHICH = Command(("sh", "-c", "echo $SSH_CONNECTION"))


def server_port(machine: Machine) -> int:
    """Log in, and say which port that was."""
    host = ssh_host(machine)
    try:
        return int(host.run(WHICH).stdout.split()[3])
    finally:
        host.close()


def refusal(machine: Machine) -> str:
    """What the failed login says: one line that names the role."""
    threads = threading.active_count()
    with pytest.raises(ConnectError) as caught:
        ssh_host(machine)
    complaint = str(caught.value)
    assert complaint.startswith("sender: ")
    assert "\n" not in complaint
    assert caught.value.host == "sender"
    limit = time.monotonic() + LONG
    while threading.active_count() > threads and time.monotonic() < limit:
        time.sleep(0.01)
    assert threading.active_count() <= threads
    return complaint


def test_a_name_is_resolved_by_the_configuration(lab):
    assert server_port(lab.machine("far")) == lab.far.port
    assert server_port(lab.machine("near")) == lab.near.port


def test_the_users_own_configuration_is_used_when_none_is_chosen(lab):
    own = Path(os.environ["HOME"]) / ".ssh"
    own.mkdir()
    lab.config().rename(own / "included")
    (own / "config").write_text("Include included\n")
    assert server_port(Machine("sender", ssh="far")) == lab.far.port


def test_a_user_may_stand_before_the_name(lab):
    assert server_port(lab.machine("root@far", "Host far\n User nobody\n")) == lab.far.port


def jumped_from(lab, text: str) -> int:
    """Log in on `far`; the id of the process that the connection comes from."""
    host = ssh_host(lab.machine("far", text))
    try:
        client = int(host.run(WHICH).stdout.split()[1])
        # who holds that port on this machine: a jump's sshd, or this very process
        sockets = subprocess.run(
            ["ss", "-Htnp", f"sport = :{client}"], capture_output=True, text=True, check=True
        )
        return int(re.search(r"pid=(\d+)", sockets.stdout)[1])
    finally:
        host.close()


def test_a_jump_goes_through_the_other_host(lab):
    assert jumped_from(lab, "") == os.getpid()
    assert jumped_from(lab, "Host far\n ProxyJump near\n") != os.getpid()


def test_jumps_chain_and_each_is_resolved(lab):
    text = "Host far\n ProxyJump first,near\nHost first\n HostName 127.0.0.1\n Port {}\n"
    assert jumped_from(lab, text.format(lab.far.port)) != os.getpid()
    assert f"port {lab.far.port + 1}" in refusal(
        lab.machine("far", f"Host far\n ProxyJump near,near:{lab.far.port + 1}\n")
    )


def test_a_jump_that_is_refused_names_the_host_behind_it(lab):
    complaint = refusal(lab.machine("far", "Host far\n ProxyJump near\n Port 1\n"))
    assert "127.0.0.1 port 1 (through near) cannot be reached from the jump host" in complaint


def test_a_circle_of_jumps_is_told(lab):
    text = "Host far\n ProxyJump near\nHost near\n ProxyJump far\n"
    assert "or in a loop" in refusal(lab.machine("far", text))


def test_a_proxy_command_is_the_way(lab):
    python = (
        "import socket,sys,threading,shutil;s=socket.create_connection((sys.argv[1],"
        "int(sys.argv[2])));f=s.makefile('rwb',0);o=open(1,'wb',0);i=open(0,'rb',0);"
        "threading.Thread(target=shutil.copyfileobj,args=(f,o,1),daemon=True).start();"
        "shutil.copyfileobj(i,f,1)"
    )
    text = f'Host far\n HostKeyAlias lab\n ProxyCommand python3 -c "{python}" %h %p\n'
    known_hosts = "lab " + lab.far.known.split(" ", 1)[1]
    assert server_port(lab.machine("far", text, known_hosts)) == lab.far.port
    machine = lab.machine("far", "Host far\n ProxyCommand false\n")
    complaint = refusal(machine)
    assert "no SSH with" in complaint
    assert f"`ssh -F {machine.ssh_config} far true` by hand" in complaint


def test_an_unknown_host_key_is_refused_with_its_fingerprint_and_what_adds_it(lab):
    complaint = refusal(lab.machine("far", known_hosts=""))
    fingerprint = subprocess.run(
        ["ssh-keygen", "-l", "-f", lab.folder / "host_far.pub"], capture_output=True, text=True
    ).stdout.split()[1]
    assert "unknown" in complaint
    assert fingerprint in complaint
    command = re.search(r"`(ssh .*)`", complaint)[1].replace("=ask", "=accept-new").split()
    command[1:1] = ["-o", "LogLevel=ERROR"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    known_hosts = (Path(os.environ["HOME"]) / "known_hosts").read_text()
    assert server_port(lab.machine("far", known_hosts=known_hosts)) == lab.far.port


def test_a_changed_host_key_is_refused_in_other_words(lab):
    known_hosts = " ".join([lab.far.known.split()[0], *lab.near.known.split()[1:]]) + "\n"
    complaint = refusal(lab.machine("far", known_hosts=known_hosts))
    assert "has changed" in complaint
    assert f"-R '[127.0.0.1]:{lab.far.port}'" in complaint
    assert complaint.count("SHA256:") == 2


def test_hashed_known_hosts_are_read(lab):
    machine = lab.machine("far")
    path = Path(os.environ["HOME"]) / "known_hosts"
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", path], check=True, capture_output=True)
    assert "127.0.0.1" not in path.read_text()
    assert server_port(machine) == lab.far.port


def test_a_line_that_paramiko_cannot_read_hides_no_other(lab):
    known_hosts = f"@cert-authority * ssh-ed25519 AAAA\nnonsense\nx ssh-ed25519 ?\n{lab.far.known}"
    assert server_port(lab.machine("far", known_hosts=known_hosts)) == lab.far.port


def test_a_known_key_may_stand_under_a_pattern(lab):
    key = lab.far.known.split(" ", 1)[1]
    assert server_port(lab.machine("far", known_hosts=f"[127.0.0.?]:* {key}")) == lab.far.port
    assert "unknown" in refusal(lab.machine("far", known_hosts=f"*,![127.0.0.1]:* {key}"))


def test_a_revoked_key_is_refused_though_known(lab):
    revoked = f"{lab.far.known}@revoked * {lab.far.known.split(' ', 1)[1]}"
    assert "is revoked: ssh-ed25519 SHA256:" in refusal(lab.machine("far", known_hosts=revoked))


def test_a_refused_key_is_told_and_what_to_do(lab):
    machine = lab.machine("far")
    config = machine.ssh_config
    config.write_text(config.read_text().replace(f"{lab.folder}/key", f"{lab.folder}/stranger"))
    complaint = refusal(machine)
    assert "refused our key" in complaint
    assert "ssh-copy-id" in complaint


def test_no_key_at_all_is_told(lab):
    machine = lab.machine("far")
    config = machine.ssh_config
    config.write_text(config.read_text().replace(f"{lab.folder}/key", "~/nothing"))
    assert "there is none" in refusal(machine)


def test_a_key_that_openssh_would_not_use_is_not_used_and_the_reason_is_told(lab, tmp_path):
    machine, key = lab.machine("far"), tmp_path / "key"
    config = machine.ssh_config
    shutil.copy(lab.folder / "key", key)
    config.write_text(config.read_text().replace(f"{lab.folder}/key", str(key)))
    key.chmod(0o640)
    assert f"{key} can be read by others (permissions 0640): `chmod 600 {key}`" in refusal(machine)
    key.chmod(0o600)
    assert server_port(machine) == lab.far.port
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nnonsense\n")
    assert f"none can be used: {key} is not a private key" in refusal(machine)
    key.write_text("")
    assert f"{key} is empty" in refusal(machine)
    key.unlink()
    key.mkdir(0o700)
    assert f"{key} is a folder" in refusal(machine)
    config.write_text(f"{config.read_text()}\n  IdentityFile {lab.folder}/stranger\n")
    assert "(1 tried); name the right one" in (complaint := refusal(machine))
    assert complaint.endswith(f"; not tried: {key} is a folder")


def test_an_encrypted_key_wants_the_agent_and_works_with_it(lab, monkeypatch, tmp_path):
    machine = lab.machine("far")
    locked = lab.folder / "locked"
    config = machine.ssh_config
    config.write_text(config.read_text().replace(f"{lab.folder}/key", str(locked)))
    assert f"`ssh-add {locked}`" in refusal(machine)
    ask = tmp_path / "ask"
    ask.write_text("#!/bin/sh\necho secret\n")
    ask.chmod(0o700)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    monkeypatch.setenv("SSH_ASKPASS", str(ask))
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    command = ["ssh-agent", "-D", "-a", os.environ["SSH_AUTH_SOCK"]]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as agent:
        try:
            wait((tmp_path / "agent").exists, "the agent listens")
            subprocess.run(["ssh-add", "-q", locked], check=True)
            assert server_port(machine) == lab.far.port
            # the agent holds only `locked`; another IdentityFile with IdentitiesOnly shuts it out
            config.write_text(config.read_text().replace(str(locked), f"{lab.folder}/stranger"))
            assert "refused our key (1 tried)" in refusal(machine)
        finally:
            agent.terminate()


def test_a_port_where_nobody_listens(lab):
    complaint = refusal(lab.machine("far", "Host far\n Port 1\n"))
    assert "127.0.0.1 port 1 refuses connections" in complaint


def test_a_name_that_nobody_knows(lab):
    machine = lab.machine("no-such-host.invalid")
    advice = f"correct it, or add `Host no-such-host.invalid` to {machine.ssh_config}"
    assert f"cannot resolve the name no-such-host.invalid; {advice}" in refusal(machine)
    machine = lab.machine("far", "Host far\n HostName far.invalid\n")
    said_there = f"far.invalid, the HostName of far in {machine.ssh_config}; correct it there"
    assert f"cannot resolve the name {said_there}" in refusal(machine)


def test_a_port_that_says_nothing_costs_no_more_than_the_time_allowed(lab):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        complaint = refusal(lab.machine("far", f"Host far\n Port {port}\n ConnectTimeout 1\n"))
    assert f"port {port}" in complaint
    assert "did not answer within 1 s" in complaint


def test_a_login_shell_that_runs_nothing_is_told(lab):
    keys = lab.folder / "authorized_keys"
    before = keys.read_text()
    keys.write_text("".join(f'command="echo go away; exit 1" {k}\n' for k in before.splitlines()))
    try:
        with pytest.raises(HostError, match=r"sender: the login shell cannot run sh.*go away"):
            ssh_host(lab.machine())
    finally:
        keys.write_text(before)


def test_a_configuration_that_is_not_there_is_told(lab):
    machine = Machine("sender", ssh="far", ssh_config=Path("/nonexistent/config"))
    assert "/nonexistent/config: No such file" in refusal(machine)


def test_the_socket_neither_waits_to_send_nor_for_the_dead(lab):
    login = SshLogin(lab.machine())
    try:
        sock = login.transport.sock
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
    finally:
        login.close()


def test_a_command_costs_a_round_trip_and_not_a_login(lab, monkeypatch):
    host = ssh_host(lab.machine())
    opened = []
    monkeypatch.setattr(
        host.login, "open", lambda program, seconds: opened.append(program), raising=True
    )
    try:
        for number in range(20):
            assert host.run(Command(("echo", str(number)))).stdout == f"{number}\n"
    finally:
        host.close()
    assert opened == []


def test_a_connection_that_breaks_under_a_command_is_told(lab, ps):
    host = ssh_host(lab.machine())
    sshd = int(host.run(Command(("sh", "-c", "ps -o ppid= -p $(ps -o ppid= -p $PPID)"))).stdout)
    assert Path(f"/proc/{sshd}/comm").read_text().startswith("sshd")
    thread = threading.Thread(
        target=lambda: (ps.appears("sleep", "320.125"), os.kill(sshd, signal.SIGKILL))
    )
    thread.start()
    with pytest.raises(ConnectionLost, match="cut off: the SSH connection is gone"):
        host.run(Command(("sh", "-c", "echo hi; sleep 320.125"), deadline=5))
    thread.join()
    with pytest.raises(ConnectionLost, match="sender: the SSH connection is gone"):
        host.run(Command(("true",)))
    host.close()
    assert ps.gone("sleep", "320.125")  # the host keeps the deadline by itself


LOSER = """
import os, signal, socket, sys
from pathlib import Path
from netlimits.hosts.ssh.channels import ssh_host
from netlimits.model import Command, Machine
host = ssh_host(Machine("sender", ssh="far", ssh_config=Path(sys.argv[1])))
sshd = host.run(Command(("sh", "-c", "ps -o ppid= -p $(ps -o ppid= -p $PPID)"))).stdout
os.kill(int(sshd), signal.SIGKILL)
host.login.transport.join(5)
host.close()
mute = sys.argv[1] + ".mute"
listener = socket.create_server(("127.0.0.1", 0))
way = f"HostName 127.0.0.1\\nPort {listener.getsockname()[1]}\\nConnectTimeout 1\\n"
Path(mute).write_text(way)
try:
    ssh_host(Machine("sender", ssh="far", ssh_config=Path(mute)))
except Exception as error:
    print(error)
listener.close()
"""


def test_a_lost_connection_prints_nothing_by_itself(lab):
    # in a process of its own: pytest's log handlers would take what Python prints without any
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", LOSER, str(lab.config())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.startswith("sender: 127.0.0.1 port ")
    assert done.stdout.count("\n") == 1
    assert (done.returncode, done.stderr) == (0, "")


def test_all_hosts_connect_and_close_together(lab):
    machines = {"sender": lab.machine("far"), "receiver": Machine("receiver")}
    with connect_all(machines) as hosts:
        assert list(hosts) == ["sender", "receiver"]
        assert [host.name for host in hosts.values()] == ["sender", "receiver"]
        assert int(hosts["sender"].run(WHICH).stdout.split()[3]) == lab.far.port
        assert hosts["receiver"].run(WHICH).status == 0
    for host in hosts.values():
        with pytest.raises(ConnectionLost):
            host.run(WHICH)


def test_one_host_that_fails_closes_the_others(lab, ps):
    def shells() -> set[int]:  # not those of other tests, which run at the same time
        return ps.below(lab.far.pid, "sh")

    before = shells()
    with connect_all({"sender": lab.machine("far")}):
        assert shells() - before
    bad = Machine("receiver", ssh="far", ssh_config=Path("/nonexistent"))
    with (
        pytest.raises(ConnectError, match="receiver: /nonexistent"),
        connect_all({"sender": lab.machine("far"), "receiver": bad}),
    ):
        pytest.fail("must not get here")
    limit = time.monotonic() + LONG
    while shells() - before and time.monotonic() < limit:
        time.sleep(0.02)
    assert not shells() - before


def test_a_wait_that_is_interrupted_anywhere_leaves_the_bell_to_be_rung():
    """With `threading.Event` in its place, ringing hangs after some hundred of these."""

    class Alarm(Exception):
        pass

    def alarm(number, frame):
        raise Alarm

    bell = channels._Bell()
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        for _ in range(2000):
            with contextlib.suppress(Alarm):
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                while True:
                    bell.wait(0.00001)
            bell.wait(0)
            ringing = threading.Thread(target=bell.set, daemon=True)
            ringing.start()
            ringing.join(LONG)
            assert not ringing.is_alive()
            bell.set()  # once more does no harm
            bell.wait(LONG)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_what_a_lost_connection_left_running_is_ended_over_the_next_one(lab):
    lost = ssh_host(lab.machine())
    lost.background(Command(("sleep", "54321"), deadline=1000))
    lost.serve(Command(("sleep", "54322")))
    running = Command(("pgrep", "-f", "^sleep 5432[123]$"))
    again = ssh_host(lab.machine())
    try:
        stays = again.background(Command(("sleep", "54323"), deadline=1000))
        wait(lambda: len(again.run(running).stdout.split()) == 3, "all have begun")
        shells = lost.shells()
        lost.login.transport.sock.cut("was cut by this test")
        leftovers.end(again, (1, *shells))
        assert len(again.run(running).stdout.split()) == 1, "that of the connection that stands"
        assert stays.alive()
        leftovers.end(again, shells)
        stays.stop()
    finally:
        again.close()
        lost.close()


def test_a_connection_that_may_run_no_more_programs_says_what_to_raise(lab):
    host = ssh_host(lab.machine())
    begun = []
    try:
        begun += [host.serve(Command(("sleep", "60"))) for _ in range(9)]
        with pytest.raises(SessionRefused, match=r"^sender: .* raise MaxSessions .* 10, is enough"):
            host.serve(Command(("sleep", "60")))
        with pytest.raises(SessionRefused):  # it could not be ended before its time
            host.background(Command(("sleep", "4321")))
        assert host.run(Command(("pgrep", "-f", "^sleep 4321"))).stdout == "", "it was not begun"
        assert host.run(Command(("echo", "well"))).stdout == "well\n", "the connection stands"
    finally:
        for program in begun:
            program.stop()
        host.close()
