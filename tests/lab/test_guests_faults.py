"""Machines that cannot be had, or whose `lab up` ends early: one line, and nothing stays."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import waiting
import warm
from lab.test_lab import traces

from netlimits.errors import InputError, LabError
from netlimits.lab import labs, layout, programs
from netlimits.lab.guests import images, network, qemu
from netlimits.lab.guests.images import BOOTED

PATIENCE = 600.0
UP = [sys.executable, "-m", "netlimits", "lab", "up", "--machines"]
STATUS = [sys.executable, "-m", "netlimits", "lab", "status"]
HOSTS = ("sender", "receiver")


@pytest.fixture
def name() -> Iterator[str]:
    """A lab's name of our own; whatever a test leaves of it is removed."""
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    chosen = f"v{os.getpid()}"
    yield chosen
    labs.down(chosen)


def ended(*argv: object) -> tuple[int, str]:
    """The exit status of a command, and the line that it said."""
    words = [str(word) for word in argv]
    begun = warm.run if words[0] == sys.executable else subprocess.run
    ran = begun(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    return ran.returncode, ran.stderr


def wait(reached: Callable[[], bool], process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def moments(name: str) -> dict[str, Callable[[], bool]]:
    """What shows how far an `up` has come."""
    folder = layout.LABS / name
    return {
        "its record": (folder / "lab.json").exists,
        "a key": (folder / "sender/host_key").exists,
        "the switch": (layout.NAMESPACES / f"nl-{name}-switch").exists,
        "an initial file system": (folder / "sender/initrd").exists,
        "both machines": (folder / "receiver/qemu.pid").exists,
    }


def held_booting(name, up):
    """Wait until both machines boot, the first one stopped, so that `up` waits; its QEMU's id."""
    wait(moments(name)["both machines"], up)
    first = int((layout.LABS / name / "sender/qemu.pid").read_text())
    os.kill(first, signal.SIGSTOP)
    return first


@pytest.mark.lab
def test_an_up_killed_at_any_moment_leaves_nothing_once_taken_down(name):
    seed = random.Random(20211009)
    for moment in moments(name):
        with warm.Popen([*UP, "--name", name], stdout=subprocess.DEVNULL) as up:
            wait(moments(name)[moment], up)
            time.sleep(seed.random() / 10)
            up.kill()
        with pytest.raises(LabError, match=r"is damaged|not complete"):
            labs.status(name)
        shown = warm.run(STATUS, capture_output=True, text=True, check=True).stdout
        assert re.search(rf"(?m)^{name} +\((damaged|not finished)\)", shown), moment
        labs.down(name)
        assert traces(name) == [], moment


@pytest.mark.lab
def test_a_second_up_waits_for_the_first_and_replaces_its_ruins(name):
    first = warm.Popen([*UP, "--name", name], stdout=subprocess.DEVNULL)
    wait(moments(name)["both machines"], first)
    second = warm.Popen(
        [*UP, "--name", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    first.kill()
    first.wait()
    lab = labs.find(name)
    printed = second.communicate(timeout=PATIENCE)
    assert (second.returncode, printed) == (0, (f"{lab.hosts_file}\n", ""))
    assert [state.sshd for state in labs.status(name)] == [True, True]
    status, line = ended(*UP, "--name", name)
    assert status == 2
    assert f"lab {name} is already up: {lab.hosts_file}" in line
    # A machine that is lost is told, and does not hinder the removal.
    os.kill(int((lab.host_folder("receiver") / "qemu.pid").read_text()), signal.SIGKILL)
    waiting.wait(lambda: [state.sshd for state in labs.status(name)] == [True, False])
    assert labs.down(name)
    assert traces(name) == []


@pytest.mark.lab
def test_an_interrupted_up_clears_up_behind_itself(name):
    with warm.Popen(
        [*UP, "--name", name], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as up:
        booting = held_booting(name, up)
        up.send_signal(signal.SIGTERM)
        os.kill(booting, signal.SIGCONT)
        printed = up.communicate(timeout=PATIENCE)
    assert up.returncode == 130
    assert printed[0] == ""
    assert "removed again" in printed[1]
    assert len(printed[1].splitlines()) == 1
    assert traces(name) == []


@pytest.mark.lab
def test_a_machine_that_ends_while_it_boots_is_told(name):
    with warm.Popen([*UP, "--name", name], stderr=subprocess.PIPE, text=True) as up:
        os.kill(held_booting(name, up), signal.SIGKILL)
        _, complaint = up.communicate(timeout=PATIENCE)
    assert up.returncode == 1
    assert complaint == "netlimits: sender: its QEMU ended while it booted\n"
    assert traces(name) == []


@pytest.mark.lab
def test_a_machine_that_does_not_start_is_told_in_its_own_words(name, monkeypatch):
    monkeypatch.setattr(qemu, "bare", lambda guest: (qemu.QEMU, "-nosuch"))
    with pytest.raises(LabError, match=r"^sender: QEMU exited 1: .*-nosuch: invalid option"):
        labs.up(name, guest=labs.Guest(accelerator="tcg"))
    assert traces(name) == []


@pytest.mark.lab
def test_too_little_memory_is_one_line(name):
    status, line = ended(*UP, "--name", name, "--hosts", "64", "--memory", "65536")
    assert status == 1
    assert "64 machines of 65536 MiB need" in line
    assert "fewer --hosts, or less --memory" in line
    assert traces(name) == []


@pytest.mark.lab
def test_without_taps_it_is_one_line(name):
    hidden = 'mount -t tmpfs none /dev/net && exec "$@"'
    status, line = ended("unshare", "-m", "sh", "-c", hidden, "sh", *UP, "--name", name)
    assert status == 1
    assert "machines need /dev/net/tun, and it cannot be opened (No such file" in line
    assert traces(name) == []


@pytest.mark.lab
def test_without_qemu_it_is_one_line_with_the_packages(name, tmp_path, monkeypatch):
    for folder in programs.PATH.split(":"):
        for program in Path(folder).glob("*"):
            if program.name not in ("qemu-system-x86_64", "mksquashfs"):
                (tmp_path / program.name).unlink(missing_ok=True)
                (tmp_path / program.name).symlink_to(program)
    monkeypatch.setattr(programs, "PATH", str(tmp_path))
    with pytest.raises(LabError, match=r"apt install qemu-system-x86 squashfs-tools$"):
        labs.up(name, guest=labs.Guest())
    assert traces(name) == []


@pytest.mark.lab
def test_what_only_machines_have_wants_machines(name):
    up = [word for word in UP if word != "--machines"]
    status, line = ended(*up, "--name", name, "--cpus", "2", "--nic", "e1000e")
    assert status == 2
    assert "--cpus --nic: only machines have that; add --machines" in line


@pytest.mark.parametrize(
    ("options", "guest", "complaint"),
    [
        ({}, {"cpus": 0}, "1 to 16"),
        ({}, {"memory": 64}, "128 to 65536"),
        ({}, {"nic": "rtl8139"}, "virtio, e1000e"),
        ({"mtu": 9001}, {}, "576 to 9000"),
        ({"hosts": 1}, {}, "2 to 64"),
    ],
)
def test_machines_that_cannot_be_are_refused(options, guest, complaint):
    with pytest.raises(InputError, match=complaint):
        labs.up("x", guest=labs.Guest(**guest), **options)


def test_a_tun_device_that_opens_is_no_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(network, "_TUN", tmp_path / "tun")
    with pytest.raises(LabError, match="cannot be opened"):
        network.check()
    (tmp_path / "tun").touch()
    network.check()


@pytest.mark.parametrize(
    ("script", "chosen"),
    [(f"echo {BOOTED}", "kvm"), ("exit 1", "tcg"), ("exec sleep 60", "tcg")],
)
def test_kvm_is_taken_where_it_boots(tmp_path, monkeypatch, script, chosen):
    (tmp_path / "kvm").touch()
    (tmp_path / "boot").write_text("this\n")
    image = images.Image(*[tmp_path] * 3)
    for name, path in (("_KVM", "kvm"), ("_BOOT", "boot"), ("IMAGES", "")):
        monkeypatch.setattr(qemu, name, tmp_path / path)
    monkeypatch.setattr(qemu, "_PROBING", 3)
    monkeypatch.setattr(qemu, "QEMU", "sh")
    monkeypatch.setattr(qemu, "bare", lambda guest: ("", "-c", script, "sh"))
    assert qemu.accelerator("auto", image) == chosen
    monkeypatch.setattr(qemu, "bare", lambda guest: pytest.fail("it is tried again"))
    assert qemu.accelerator("auto", image) == chosen
    assert qemu.accelerator("kvm", image) == "kvm"
    (tmp_path / "boot").write_text("another\n")
    (tmp_path / "kvm").unlink()
    assert qemu.accelerator("auto", image) == "tcg"
