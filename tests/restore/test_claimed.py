"""What a host runs only while a claim is ours, or a guard at work; Perl and shell say the same."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import wait

from netlimits.hosts.local import local_host
from netlimits.hosts.login import LoginHost
from netlimits.model import Command
from netlimits.restore.guard import commands, scripts
from netlimits.restore.guard.claim import Holder

HOLDER = Holder("small", "0123", "desk", "ada", 7, 1.8e9)
TEXT = HOLDER.text.removesuffix("}") + ', "until": 99}'
OTHER = replace(HOLDER, id="4567").text.removesuffix("}") + ', "until": 99}'
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().split("-")[0]


@pytest.fixture(scope="module")
def host() -> Iterator[LoginHost]:
    opened = local_host("here")
    yield opened
    opened.close()


def here(script: str, folder: Path) -> str:
    """A script that looks for a guard's files in this folder."""
    for usual in ("/run/netlimits", "$HOME/.local/state/netlimits",
                  "$ENV{HOME}/.local/state/netlimits"):  # fmt: skip
        script = script.replace(usual, str(folder))
    return script


ALIKE = TEXT.replace(', "until"', '0, "until"')
CLAIMS = {
    "one that begins alike": (ALIKE, BOOT, f"lost {ALIKE}\n"),
    "ours": (TEXT, BOOT, None),
    "somebody else's": (OTHER, BOOT, f"lost {OTHER}\n"),
    "gone": ("", BOOT, "lost \n"),
}


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_command_is_run_while_the_claim_is_ours_and_under_its_lock(host, tmp_path, kind):
    text, boot, lost = CLAIMS[kind]
    claim = tmp_path / f"netlimits-1-{boot}.claim"
    if text:
        claim.symlink_to(text)
    held = "flock -n /proc/self/ns/net true || echo locked; exit 5"
    completed = host.run(commands.within(HOLDER, str(claim), Command(("sh", "-c", held))))
    expected = (lost, scripts.LOST) if lost else ("locked\n", 5)
    assert (completed.stdout, completed.status) == expected
    assert (
        subprocess.run(("flock", "-w", "10", "/proc/self/ns/net", "true"), check=False).returncode
        == 0
    )


GUARDS = {
    "at work": (1000, "watch", 0),
    "whose time is over": (0, "watch", scripts.UNGUARDED),
    "whose time is no number": (None, "watch", scripts.UNGUARDED),
    "that somebody stopped": (1000, "stopped", scripts.UNGUARDED),
    "that is gone": (1000, "gone", scripts.UNGUARDED),
    "without its script": (1000, "no script", scripts.UNGUARDED),
}


@pytest.mark.parametrize("kind", GUARDS)
def test_a_guarded_command_needs_a_guard(host, tmp_path, monkeypatch, kind):
    seconds, state, status = GUARDS[kind]
    claim = tmp_path / f"netlimits-1-{BOOT}.claim"
    claim.symlink_to(TEXT)
    guard = tmp_path / f"1-{BOOT}.guard"
    if state != "no script":
        guard.touch()
    uptime = int(float(Path("/proc/uptime").read_text().split()[0]))
    until = "soon" if seconds is None else uptime + seconds
    guard.with_suffix(".deadline").write_text(f"{until}\n")
    process = subprocess.Popen(("sleep", "600"))
    try:
        if state == "stopped":
            process.send_signal(signal.SIGSTOP)
            wait(lambda: ") T" in Path(f"/proc/{process.pid}/stat").read_text(), "it stopped")
        if state == "gone":
            process.kill()
            process.wait()
        guard.with_suffix(".pid").write_text(f"{process.pid}\n")
        command = commands.within(HOLDER, str(claim), Command(("echo", "changed")), guarded=True)
        completed = host.run(
            replace(command, within=tuple(here(w, tmp_path) for w in command.within))
        )
        assert completed.status == status
        assert completed.stdout == ("" if status else "changed\n")
    finally:
        process.kill()
        process.wait()


def test_the_lock_is_descriptor_9_which_what_stays_behind_closes(host, tmp_path):
    """A background load kept the lock, and no other command was let in."""
    claim = tmp_path / f"netlimits-1-{BOOT}.claim"
    claim.symlink_to(TEXT)
    stays = "setsid sleep 60 >/dev/null 2>&1 9<&- & echo $!; readlink /proc/self/fd/9"
    completed = host.run(commands.within(HOLDER, str(claim), Command(("sh", "-c", stays))))
    pid, lock = completed.stdout.splitlines()
    free = subprocess.run(("flock", "-w", "10", "/proc/self/ns/net", "true"), check=False)
    os.kill(int(pid), signal.SIGKILL)
    assert free.returncode == 0
    assert lock.startswith("net:[")
    late = commands.within(HOLDER, str(claim), Command(("sleep", "60")))
    assert host.run(replace(late, deadline=0.2)).status == 124
    assert (
        subprocess.run(("flock", "-w", "10", "/proc/self/ns/net", "true"), check=False).returncode
        == 0
    )


def test_whoever_has_the_lock_is_waited_for(host, tmp_path):
    claim = tmp_path / f"netlimits-1-{BOOT}.claim"
    claim.symlink_to(TEXT)
    command = commands.within(HOLDER, str(claim), Command(("date", "+%s.%N")))
    wait = f"-w {scripts.LOCK_WAIT}"
    assert wait in command.within[2]
    impatient = replace(command, within=tuple(w.replace(wait, "-w 0") for w in command.within))
    script = "flock 9; echo held; read -r word; sleep 0.5; date +%s.%N"
    holder = subprocess.Popen(
        ("sh", "-c", f"exec 9</proc/self/ns/net; {script}"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdin
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    refused = host.run(impatient)
    holder.stdin.write("go\n")
    holder.stdin.flush()
    completed = host.run(command)
    released = float(holder.communicate()[0])
    assert (refused.status, refused.stdout) == (75, "")
    assert refused.stderr == "another netlimits command on this host does not end\n"
    assert float(completed.stdout) >= released


@pytest.mark.parametrize(
    ("text", "boot", "files", "printed"),
    [
        (TEXT, BOOT, {}, "dead\n"),
        (TEXT, BOOT, {"guard": "x", "pid": "PID\n"}, ""),
        (TEXT, BOOT, {"guard": "x", "pid": "999999999\n"}, "dead\n"),
        (TEXT, BOOT, {"log": "", "guard": "x", "pid": "999999999\n"}, "fired\ndead\n"),
        (TEXT, BOOT, {"log": "", "pid": "999999999\n"}, "fired\ndead\n"),
        (TEXT, "ffffffff", {"log": ""}, "lost\n"),
        (OTHER, BOOT, {"log": ""}, f"lost {OTHER}\n"),
        ("", BOOT, {"log": ""}, "lost \n"),
    ],
)
def test_whether_a_guard_fired_or_is_gone(host, tmp_path, text, boot, files, printed):
    for end, content in files.items():
        (tmp_path / f"1-{boot}.{end}").write_text(content.replace("PID", str(os.getpid())))
    claim = tmp_path / f"netlimits-1-{boot}.claim"
    if text:
        claim.symlink_to(text)

    command = commands.fired(HOLDER, str(claim))
    argv = tuple(here(w, tmp_path) if w == scripts.FIRED else w for w in command.argv)
    command = replace(command, argv=argv, perl=here(command.perl, tmp_path))
    for completed in (host.run(command), *host.run_in_turn([command])):
        assert (completed.stdout, completed.status, completed.stderr) == (printed, 0, "")
