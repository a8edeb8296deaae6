"""The lab for real: what it builds, what it keeps apart, and that nothing of it stays."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import LONG, wait

from netlimits.errors import InputError, LabError
from netlimits.experiment.hosts_file import machines
from netlimits.lab import files, labs, layout, programs, sshd

NETLIMITS = [sys.executable, "-c", "from netlimits.cli import main; main()"]


def netlimits(*argv: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NETLIMITS, *argv], capture_output=True, text=True, timeout=LONG, check=False, **options
    )


def ssh(lab: labs.Lab, name: str, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", "-F", lab.ssh_config, *argv[:-1], name, argv[-1]],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


def traces(name: str) -> list[str]:
    """Everything on this machine that carries the lab's name, or runs in a network of its."""
    leftovers = [str(p) for p in (layout.LABS / name, *layout.LABS.glob(f".{name}*")) if p.exists()]
    for folder in ("/run/netns", "/etc/netns"):
        leftovers += [str(p) for p in Path(folder).glob(f"nl-{name}-*") if _of(p.name) == name]
    leftovers += [
        p.name for p in Path("/sys/class/net").glob(f"nl-{name}*") if _exact(p.name, name)
    ]
    routes = subprocess.run(
        ["ip", "-4", "route", "show", "table", "all"], capture_output=True, text=True, check=True
    )
    leftovers += [line for line in routes.stdout.splitlines() if f"dev nl-{name} " in line]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if f"/labs/{name}/" in line:
            leftovers.append(line)
    return leftovers


def _of(space: str) -> str | None:
    return layout.lab_of_namespace(space)


def _exact(interface: str, name: str) -> bool:
    return layout.lab_of_interface(interface) == name


def inside(spaces: set[tuple[int, int]]) -> list[int]:
    """The processes in these network namespaces, given by device and inode."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "ns/net").stat()
        except OSError:
            continue
        if (stat.st_dev, stat.st_ino) in spaces:
            pids.append(int(process.name))
    return pids


def lives(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped has no command line left."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def identities(lab: labs.Lab) -> set[tuple[int, int]]:
    stats = [(layout.NAMESPACES / lab.namespace(host)).stat() for host in lab.hosts]
    return {(stat.st_dev, stat.st_ino) for stat in stats}


@pytest.fixture
def name() -> Iterator[str]:
    """A lab's name of our own; whatever a test leaves of it is removed."""
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    chosen = f"u{os.getpid()}"
    yield chosen
    labs.down(chosen)


def test_names_belong_to_one_lab_only():
    assert layout.lab_of_namespace("nl-a-b-sender") == "a-b"
    assert layout.lab_of_namespace("nl-a-sender") == "a"
    assert layout.lab_of_namespace("nl-a-sender-host12") == "a-sender"
    assert layout.lab_of_namespace("nl-a-other") is None
    assert layout.lab_of_interface("nl-a-b") == "a-b"
    assert layout.lab_of_interface("nl-a.3") == "a"
    assert layout.lab_of_interface("eth0") is None


def test_every_interface_name_fits_into_the_kernels_15_characters():
    lab = labs.Lab("a23456789", 255, layout.HOSTS_LIMIT, 8896)
    assert max(len(lab.port(host)) for host in lab.hosts) == 15


@pytest.mark.parametrize(
    "bad", ["", "Lab", "0lab", "lab-", "a/b", "../x", "a b", "a.1", "a;b", "a234567890"]
)
def test_a_name_that_cannot_be_is_refused(bad):
    with pytest.raises(InputError, match="1 to 9"):
        labs.up(bad)
    with pytest.raises(InputError, match="1 to 9"):
        labs.down(bad)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"hosts": 1}, "2 to 64"), ({"hosts": 65}, "2 to 64"), ({"mtu": 100}, "576 to 65535")],
)
def test_a_lab_that_cannot_be_is_refused(options, complaint):
    with pytest.raises(InputError, match=complaint):
        labs.up("x", **options)


@pytest.mark.lab
def test_up_status_down_and_nothing_stays(name):
    before = set(Path("/proc/self/mounts").read_text().splitlines())
    up = netlimits("lab", "up", "--name", name, "--mtu", "4000")
    lab = labs.find(name)
    assert lab is not None
    assert up.stdout == f"{lab.hosts_file}\n"
    assert up.stderr == ""
    rows = json.loads(netlimits("lab", "status", "--name", name, "--json").stdout)
    assert [(row["host"], row["sshd"], row["mtu"]) for row in rows] == [
        ("sender", True, 4000),
        ("receiver", True, 4000),
    ]
    assert labs.hosts_file(name) == lab.hosts_file
    bound = machines(lab.hosts_file, ["sender", "receiver"])
    assert bound["sender"].interface == "data0"
    assert bound["receiver"].address == lab.data("receiver")
    spaces = identities(lab)
    daemons = inside(spaces)
    assert len(daemons) == 2
    for path in (lab.key, lab.host_folder("sender") / "host_key"):
        assert path.stat().st_mode & 0o077 == 0

    down = netlimits("lab", "down", "--name", name)

    assert (down.returncode, down.stdout) == (0, f"lab {name}: removed\n")
    assert traces(name) == []
    # a namespace's number is free again, and may be that of another lab's by now
    assert not {*inside(spaces)} & {*daemons}
    mounts = set(Path("/proc/self/mounts").read_text().splitlines()) - before
    assert not [line for line in mounts if name in line]
    assert labs.hosts_file(name) is None
    assert netlimits("lab", "down", "--name", name).stdout == f"lab {name}: nothing there\n"


@pytest.mark.lab
def test_a_lab_that_is_up_is_left_alone(lab):
    before = identities(lab)
    with pytest.raises(InputError, match=f"already up: {lab.hosts_file}"):
        labs.up(lab.name)
    assert identities(lab) == before


@pytest.mark.lab
def test_processes_in_a_host_go_with_it(name, tmp_path):
    lab = labs.up(name)
    stubborn = f"trap '' TERM HUP; touch {tmp_path}/begun; while :; do sleep 1; done"
    with subprocess.Popen(
        ["ip", "netns", "exec", lab.namespace("sender"), "sh", "-c", stubborn]
    ) as process:
        wait((tmp_path / "begun").exists)
        labs.down(name)
        assert process.wait(LONG) == -signal.SIGKILL
    assert traces(name) == []


@pytest.mark.lab
def test_a_killed_up_leaves_nothing_once_taken_down(name):
    started = time.monotonic()
    netlimits("lab", "up", "--name", name)
    whole = time.monotonic() - started
    labs.down(name)
    moments = random.Random(20210401)
    ruins = 0
    for step in range(6):
        with subprocess.Popen(
            [*NETLIMITS, "lab", "up", "--name", name], stdout=subprocess.DEVNULL
        ) as up:
            if step % 2:  # once there is something, and anywhere
                wait(lambda up=up: traces(name) or up.poll() is not None)
            time.sleep(whole * moments.random() / 2)
            up.kill()
        ruins += labs.down(name)
        assert traces(name) == []
    assert ruins >= 3, "each of those was killed when there was something"


@pytest.mark.lab
def test_what_a_killed_command_started_is_waited_for(name, tmp_path):
    labs.up(name)  # so that the folder that is locked stays
    code = (
        "from netlimits.lab.lock import locked; from netlimits.lab.programs import output\n"
        f"with locked({name!r}): output('unshare', 'sh', '-c', 'touch {tmp_path}/begun; sleep 1.5; "
        f"touch {tmp_path}/ended')"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as holder:
        wait((tmp_path / "begun").exists, "it has begun")
        holder.kill()
    labs.down(name)
    assert (tmp_path / "ended").exists()


@pytest.mark.lab
def test_up_replaces_ruins(name):
    lab = labs.up(name)
    spaces = identities(lab)
    daemon = (lab.host_folder("receiver") / "sshd.pid").read_text().strip()
    os.kill(int(daemon), signal.SIGKILL)
    wait(lambda: int(daemon) not in inside(spaces), "sshd is gone")
    assert [state.sshd for state in labs.status(name)] == [True, False]
    left = inside(spaces)
    again = labs.up(name)
    assert all(state.sshd for state in labs.status(name))
    assert not [pid for pid in left if lives(pid)]
    # Without its record, its folder or its files in /etc a lab goes as well.
    again.record.unlink()
    assert name in labs.names()
    with pytest.raises(LabError, match="is damaged"):
        labs.status(name)
    assert labs.down(name)
    assert traces(name) == []


@pytest.mark.lab
def test_a_lab_whose_folder_was_deleted_goes_as_well(name):
    lab = labs.up(name)
    subprocess.run(["rm", "-r", lab.folder, lab.namespace_files("sender")], check=True)
    assert labs.down(name)
    assert traces(name) == []


@pytest.mark.lab
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_up_clears_up_behind_itself(name, number):
    for _ in range(10):  # a lab may be up before a busy machine lets us look
        with subprocess.Popen(
            [*NETLIMITS, "lab", "up", "--name", name], stderr=subprocess.PIPE, text=True
        ) as up:
            receiver = layout.NAMESPACES / f"nl-{name}-receiver"
            wait(lambda at=receiver, up=up: at.exists() or up.poll() is not None)
            up.send_signal(number)
            _, complaint = up.communicate(timeout=LONG)
        if up.returncode:
            break
        labs.down(name)
    assert up.returncode == 130
    assert "removed again" in complaint
    assert len(complaint.splitlines()) == 1
    assert traces(name) == []


@pytest.mark.lab
def test_an_up_that_fails_clears_up_behind_itself(name, tmp_path, monkeypatch):
    for program in ("ip", "ssh", "ssh-keygen"):
        (tmp_path / program).symlink_to(programs.program(program))
    monkeypatch.setattr(programs, "PATH", str(tmp_path))
    with pytest.raises(LabError, match=r"not installed: sshd; .* apt install openssh-server"):
        labs.up(name)
    assert traces(name) == []


@pytest.mark.lab
def test_an_interface_of_somebody_else_is_not_taken(name):
    subprocess.run(["ip", "link", "add", f"nl-{name}", "type", "bridge"], check=True)
    try:
        with pytest.raises(LabError, match="choose another --name"):
            labs.up(name)
        assert not labs.down(name)
        assert Path("/sys/class/net", f"nl-{name}").exists()
    finally:
        subprocess.run(["ip", "link", "delete", f"nl-{name}"], check=True)
    assert traces(name) == []


@pytest.mark.lab
def test_two_labs_stand_side_by_side(lab, name):
    other = labs.up(name)
    assert other.index != lab.index
    for pair in (lab, other):
        for host in pair.hosts:
            printed = ssh(pair, pair.login(host), "hostname; ip -br -4 address show dev data0")
            assert printed.stdout.startswith(f"{pair.namespace(host)}\n")
            assert f"{pair.data(host)}/24" in printed.stdout
    labs.down(name)
    assert all(state.sshd for state in labs.status(lab.name))
    assert ssh(lab, lab.login("sender"), "true").returncode == 0


@pytest.mark.lab
def test_a_lab_whose_name_begins_like_anothers_is_not_its(name):
    short, long = "q", "q-q"
    try:
        for lab_name in (short, long):
            labs.up(lab_name)
        labs.down(short)
        assert traces(short) == []
        assert all(state.sshd for state in labs.status(long))
    finally:
        for lab_name in (short, long):
            labs.down(lab_name)


@pytest.mark.lab
def test_three_hosts_reach_one_another_over_the_switch(name):
    lab = labs.up(name, hosts=3, mtu=9000)
    assert [state.mtu for state in labs.status(name)] == [9000] * 3
    for host in lab.hosts:
        for other in set(lab.hosts) - {host}:
            assert arrived(lab, host, other, 8900) >= 8900
    assert set(machines(lab.hosts_file)) == {"sender", "receiver", "host3"}


@pytest.mark.lab
def test_data_takes_the_data_link_alone(lab):
    bridge = Path("/sys/class/net", lab.bridge, "statistics/rx_bytes")
    assert labs.status(lab.name)[0].mtu == 8896
    before = int(bridge.read_text())
    assert arrived(lab, "sender", "receiver", 8800) >= 8800
    assert int(bridge.read_text()) - before < 8800


def within(lab: labs.Lab, host: str, *argv: str) -> str:
    """What a program prints in the host's network, without a login."""
    command = ["ip", "netns", "exec", lab.namespace(host), *argv]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def arrived(lab: labs.Lab, host: str, other: str, size: int) -> int:
    """Bytes that the data link of `other` counts while `host` sends it a datagram of `size`."""
    counter = ("cat", "/sys/class/net/data0/statistics/rx_bytes")
    code = "import socket; socket.socket(type=2).sendto(bytes({}), ({!r}, 9))"
    before = int(within(lab, other, *counter))
    within(lab, host, sys.executable, "-c", code.format(size, lab.data(other)))
    deadline = time.monotonic() + LONG
    while (counted := int(within(lab, other, *counter)) - before) < size:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return counted


@pytest.mark.lab
def test_a_host_is_logged_in_to_over_the_management_link_alone(lab):
    connect = f"bash -c 'exec 3<>/dev/tcp/{lab.data('receiver')}/22'"
    assert "Connection refused" in ssh(lab, lab.login("sender"), connect).stderr
    down = ssh(
        lab, lab.login("sender"), "ip link set data0 down && ip link set data0 up && echo ok"
    )
    assert down.stdout == "ok\n"


@pytest.mark.lab
def test_passwords_and_other_keys_are_refused(lab, tmp_path):
    login = lab.login("sender")
    password = (
        "-o",
        "PreferredAuthentications=password,keyboard-interactive",
        "-o",
        "BatchMode=no",
        "-o",
        "NumberOfPasswordPrompts=0",
    )
    refused = ssh(lab, login, *password, "true")
    assert refused.returncode == 255
    assert "Permission denied (publickey)." in refused.stderr
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True
    )
    config = tmp_path / "config"
    config.write_text(lab.ssh_config.read_text().replace(str(lab.key), str(tmp_path / "key")))
    refused = subprocess.run(
        ["ssh", "-F", config, login, "true"], capture_output=True, text=True, check=False
    )
    assert "Permission denied (publickey)." in refused.stderr


@pytest.mark.lab
def test_a_host_has_its_own_key_and_no_other_is_taken(lab):
    keys = {(lab.host_folder(host) / "host_key.pub").read_text().split()[1] for host in lab.hosts}
    assert len(keys) == 2
    swapped = ssh(
        lab, lab.login("sender"), "-o", f"HostKeyAlias={lab.management('receiver')}", "true"
    )
    assert swapped.returncode == 255
    assert "Host key verification failed" in swapped.stderr


@pytest.mark.lab
def test_the_engineer_logs_in_and_has_no_rights(lab):
    login = lab.login("sender", "engineer")
    printed = ssh(lab, login, "id -un; pwd; touch here && ls")
    assert printed.stdout.split() == ["engineer", str(lab.host_folder("sender") / "home"), "here"]
    assert ssh(lab, login, "sudo -n true").stderr == "sudo: a password is required\n"
    assert ssh(lab, login, f"cat {lab.key}").returncode != 0
    changed = ssh(lab, login, "/usr/sbin/ip link set data0 mtu 1500")
    assert "Operation not permitted" in changed.stderr
    assert "engineer" not in Path("/etc/passwd").read_text()


@pytest.mark.lab
def test_a_login_runs_nothing_that_this_machines_root_runs_at_its_own(lab):
    login = lab.login("sender")
    files = " ".join(f"~/{name}" for name in sshd._START_UP.split())
    script = f"for file in {files}; do [ ! -e $file ] || echo $file $(wc -c <$file); done"
    sizes = ssh(lab, login, script).stdout.split()
    present = [name for name in sshd._START_UP.split() if (Path("/root") / name).is_file()]
    assert sizes == [word for name in present for word in (f"/root/{name}", "0")]


@pytest.mark.lab
def test_a_host_writes_to_a_run_folder_of_its_own(lab):
    ssh(
        lab,
        lab.login("sender"),
        f"mkdir /run/netlimits && echo note >/run/netlimits/{lab.name}.json",
    )
    assert not Path("/run/netlimits", f"{lab.name}.json").exists()
    assert ssh(lab, lab.login("receiver"), "ls -d /run/netlimits").returncode != 0
    ssh(lab, lab.login("sender"), "rm -r /run/netlimits")


@pytest.mark.lab
def test_shell_keeps_words_and_passes_the_exit_status_on(lab):
    shell = ("lab", "shell", "--name", lab.name)
    assert netlimits(*shell, "sender", "exit 7").returncode == 7
    assert netlimits(*shell, "sender", "sh", "-c", "exit 9").returncode == 9
    assert netlimits(*shell, "receiver", "printf", "%s|", "a b", "$x", "-n").stdout == "a b|$x|-n|"
    assert netlimits(*shell, "--as", "engineer", "sender", "id -un").stdout == "engineer\n"
    wrong = netlimits(*shell, "reciever")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean receiver?" in wrong.stderr


@pytest.mark.lab
def test_a_hosts_own_shell_cannot_take_its_lab_down(lab):
    assert (
        netlimits(
            "lab",
            "shell",
            "--name",
            lab.name,
            "sender",
            *NETLIMITS[:2],
            NETLIMITS[2],
            "lab",
            "down",
            "--name",
            lab.name,
        ).returncode
        == 1
    )
    own = subprocess.run(
        [
            "ip",
            "netns",
            "exec",
            lab.namespace("sender"),
            *NETLIMITS,
            "lab",
            "down",
            "--name",
            lab.name,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert own.returncode == 1
    assert "leave the host first" in own.stderr
    assert all(state.sshd for state in labs.status(lab.name))


@pytest.mark.lab
def test_root_is_asked_for_in_one_line(lab):
    # Everything is imported first: nobody may lack the right to read where Python lies.
    nobody = (
        "import os, netlimits.cli.lab, netlimits.campaign.interrupt; os.setgid(65534); "
        "os.setuid(65534)"
    )
    commands = (
        ["up", "--name", "x"],
        ["down", "--name", lab.name],
        ["status"],
        ["shell", "sender"],
    )
    for command in commands:
        code = f"from netlimits.cli import main; {nobody}; main()"
        refused = subprocess.run(
            [sys.executable, "-c", code, "lab", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode == 1
        assert refused.stderr.startswith("netlimits: ")
        assert "needs root" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    assert traces("x") == []


@pytest.mark.lab
def test_a_run_without_hosts_finds_the_lab(lab, monkeypatch):
    running = [n for n in labs.names() if labs.hosts_file(n)]
    monkeypatch.setattr(labs, "names", lambda: [lab.name])
    assert labs.hosts_file() == lab.hosts_file
    assert lab.name in running


@pytest.mark.lab
def test_two_labs_to_choose_from_are_named(lab, name, monkeypatch):
    labs.up(name)
    monkeypatch.setattr(labs, "names", lambda: [lab.name, name])
    with pytest.raises(InputError, match=f"{name}/hosts.yaml"):
        labs.hosts_file()


def test_a_folder_that_other_labs_remove_is_made_all_the_same(tmp_path, monkeypatch):
    """`up` of one lab failed with FileExistsError while another was taken down."""
    shared, over = tmp_path / "netns", threading.Event()
    monkeypatch.setattr(files, "NAMESPACE_FILES", shared)

    def remove() -> None:
        while not over.wait(0.0001):
            with contextlib.suppress(OSError):
                shared.rmdir()

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for number in range(1000):
            folder = shared / f"{number}"
            files._namespace_folder(folder)
            folder.rmdir()
    finally:
        over.set()
        remover.join()
