"""Logins that go wrong under a whole netlimits: every command ends, by itself or when it is told to."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from faults.ground import Ground, statuses, wait

pytestmark = pytest.mark.lab

TEXT = """\
experiment: logins
settings:
  - roles: [sender, receiver]
    offload: {tso: off}
measure:
  netperf: {seconds: 1, send_size: 1024}
  nuttcp: {seconds: 1, if_missing: skip}
repeat: {replicates: 1, order: listed}
"""
NEVER = "340.125"
"""Seconds that a login sleeps: a word of its own in the list of processes."""


@contextmanager
def start_up(ground: Ground, host: str, text: str) -> Iterator[None]:
    """Root's start-up file on a host, until the end of `with`."""
    home = ground.folder / "home"
    home.mkdir(exist_ok=True)
    (home / ".bashrc").write_text(text)
    with ground.mounted(host, "--bind", str(home), "/root"):
        yield


def commands(ground: Ground, text: str) -> dict[str, tuple[object, ...]]:
    """Every command that logs in, with a campaign that was killed for those that need one."""
    file = ground.experiment(text)
    return {
        "check": (file, *ground.hosts),
        "plan": (file, *ground.hosts),
        "run": (file, *ground.hosts, "--out", "never"),
        "status": ground.hosts,
        "restore": ground.hosts,
        "resume": ("out",),
    }


def killed_campaign(ground: Ground, text: str) -> Path:
    out = ground.folder / "out"
    process = ground.campaign(text, out)
    ground.stopped(process, out)
    process.kill()
    process.communicate()
    return out


def test_a_login_that_prints_without_end_or_never_answers_holds_up_no_command(ground):
    text = TEXT.replace("measure:", "factors: {tool: [netperf, nuttcp]}\nmeasure:")
    out = killed_campaign(ground, text)
    long = ("--patience", "10m")
    with start_up(ground, "sender", "yes\n"):
        for command, argv in commands(ground, text).items():
            ran = ground(command, *argv, *long, status=None)
            printed = ran.stdout + ran.stderr
            assert "printed more than 1 MiB" in printed, (command, printed)
            assert ran.returncode == {"check": 1, "plan": 0, "status": 0}.get(command, 2), printed
    with start_up(ground, "sender", f"sleep {NEVER}\n"):
        for number, command in enumerate(("run", "status", "resume")):
            process = ground.start(command, *commands(ground, text)[command], *long)
            wait(lambda: ground.named("sender", f"sleep {NEVER}"), f"{command} logs in")
            process.send_signal((signal.SIGINT, signal.SIGTERM)[number % 2])
            printed = ground.ended(process, 130)
            assert printed.count("\n") == 1, printed
            assert "interrupted by SIG" in printed
            ground.kill("sender", f"sleep {NEVER}")
            wait(lambda: not ground.named("sender", f"sleep {NEVER}"), "the next one has its own")
    assert not (ground.folder / "never").exists()
    assert statuses(ground.settled(out))[-1][2] == "ok"


def test_a_login_that_takes_its_time_is_one(ground):
    """5 s until the shell answers, and 2 s more for each time that it runs the tool."""
    slow = ground.folder / "netperf"
    real = subprocess.run(["which", "netperf"], capture_output=True, text=True, check=True)
    slow.write_text(f'#!/bin/sh\nsleep 2\nexec {ground.folder}/real "$@"\n')
    slow.chmod(0o755)
    (ground.folder / "real").write_bytes(Path(real.stdout.strip()).read_bytes())
    (ground.folder / "real").chmod(0o755)
    out = ground.folder / "out"
    text = TEXT.replace("  nuttcp: {seconds: 1, if_missing: skip}\n", "")
    with (
        start_up(ground, "sender", "sleep 5\n"),
        ground.mounted("sender", "--bind", str(slow), real.stdout.strip()),
    ):
        ran = ground("run", ground.experiment(text), *ground.hosts, "--out", out)
        assert "1 run: 1 ok" in ran.stdout
        impatient = ground("status", *ground.hosts, "--patience", "2s")
        assert "sender: the login shell cannot run sh: it did not answer within 2 s" in (
            impatient.stdout
        )
        assert "receiver: no campaign uses it" in impatient.stdout
    assert statuses(ground.settled(out)) == [(1, 1, "ok")]


def test_a_proxy_command_that_hangs_is_ended_with_the_command(ground):
    config = ground.folder / "config"
    config.write_text(f"Host *\n ProxyCommand sh -c 'sleep {NEVER}; :'\n")
    hosts = ground.folder / "hosts.yaml"
    hosts.write_text("ssh_config: config\nsender: {ssh: a}\nreceiver: {ssh: b}\n")

    def hanging() -> list[Path]:
        paths = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if path.read_bytes().startswith(b"sleep\0" + NEVER.encode()):
                    paths.append(path)
        return paths

    process = ground.start("status", "--hosts", hosts, "--patience", "10m")
    wait(lambda: len(hanging()) == 2, "both logins hang")
    process.send_signal(signal.SIGHUP)
    ground.ended(process, 130)
    wait(lambda: not hanging(), "what was started for them is gone")
