"""Kills: SIGKILL of run, resume, restore and check at moments drawn by chance, on real hosts.

What must hold after the kills and one put-back: every leaf is as found, nothing of ours is there,
the journal lost or doubled nothing, and `resume`, at times, completes the plan.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from faults.attacks.base import Family, Held, Needs
from faults.attacks.races import TOGGLING
from faults.ground import Ground
from waiting import LONG

import netlimits as nl
from netlimits.archive.records import unfinished
from netlimits.archive.store import Archive

WHO = ("root", "engineer")
AFTERWARDS = ("resume", "resume", "resume", "restore", "restore --hosts", "check")
CHANGED = "hosts left changed"
AMID = "amid putting back"
RULE = "engineer ALL=(root) NOPASSWD: ALL\n"
CHANGING = """\
experiment: changing
factors:
  offloads: [on, off]
derive:
  probing: 1 if offloads == "on" else 2
settings:
  - roles: [sender, receiver]
    switch:
      verify: [sysctl, -n, net.ipv4.tcp_mtu_probing]
      command:
        "0": [sudo, -n, sysctl, -qw, net.ipv4.tcp_mtu_probing=0]
        "1": [sudo, -n, sysctl, -qw, net.ipv4.tcp_mtu_probing=1]
        "2": [sudo, -n, sysctl, -qw, net.ipv4.tcp_mtu_probing=2]
      to: "${probing}"
    sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}
    mtu: 1400
    offload: {tso: "${offloads}", gso: "${offloads}"}
    route: {quickack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 1, order: blocked, seed: 3}
"""


def attack(held: Held) -> str | None:
    """A campaign that is killed up to four times in whatever it takes to bring it to its end."""
    ground, chance, out = held.ground, held.chance, held.folder / "out"
    who = WHO[held.number % len(WHO)]
    text = chance.choice((CHANGING, CHANGING, TOGGLING))
    held.says(who)
    with logged_in(ground, who) as hosts:
        killed = _Killed(held, hosts, text)
        killed("run")
        for _ in range(chance.randint(1, 3)):
            killed(chance.choice(AFTERWARDS))
        ground("restore", *hosts)
        ground.hosts_are_as_found()
        if not (out / "campaign.json").exists():
            return None  # it was killed before anything was begun
        if chance.random() < 0.5:  # the way back and no further
            ground("restore", out)
            ground.hosts_are_as_found()
            return _doubled(ground, out)
        held.says("resumed to its end")
        if not done(out):
            ground("resume", out)
        attempts = ground.settled(out)
    if not {status for _, _, status, _ in attempts} <= {"ok", "interrupted"}:
        return f"a run that failed: {attempts}"
    runs = [number for number, _, status, _ in attempts if status == "ok"]
    return None if runs == [*range(1, len(runs) + 1)] else f"measured twice or never: {attempts}"


def _doubled(ground: Ground, out: Path) -> str | None:
    begun = [(e["run"], e["attempt"]) for e in ground.events(out, "start")]
    ended = [(e["run"], e["attempt"]) for e in ground.events(out, "end")]
    if len({*begun}) != len(begun) or len({*ended}) != len(ended):
        return f"an attempt twice in the journal: {begun}, {ended}"
    return None if {*ended} <= {*begun} else f"an outcome of what never began: {begun}, {ended}"


class _Killed:
    """Commands on one campaign, each killed at a moment of its life or come to its end before."""

    def __init__(self, held: Held, hosts: tuple[str, str], text: str) -> None:
        self._held, self._hosts, self._text = held, hosts, text

    def __call__(self, command: str) -> None:
        ground, out, chance = self._held.ground, self._held.folder / "out", self._held.chance
        begun = (out / "campaign.json").exists()
        argv: tuple[object, ...] = ("restore", *self._hosts)
        if command in ("resume", "restore") and begun:
            argv = (command, out)
        elif command == "check":
            argv = ("check", ground.experiment(self._text), *self._hosts)
        elif command in ("run", "resume"):
            guard = chance.choice(["5s", "60s"])
            experiment = ground.experiment(self._text)
            argv = ("run", experiment, *self._hosts, "--out", out, "--guard", guard)
        process = ground.start(*argv)  # type: ignore[arg-type]  # a command and its words
        try:
            moment(process, out if out in argv else None, chance)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            left = unfinished(Archive(out)) if (out / "journal.jsonl").exists() else ()
            amid = left and _counted(out, b'"put_back"') and _last(out) == "put_back"
            what = (f": {CHANGED}" if left else "") + (f", {AMID}" if amid else "")
            self._held.says(f"{argv[0]} killed{what}")
        else:
            _end(ground, process, argv[0])
            self._held.says(f"{argv[0]} ended")
        if (out / "journal.jsonl").exists():
            ground.events(out)  # what it holds now it holds from now on


def _end(ground: Ground, process: subprocess.Popen, command: object) -> None:
    """See that a command ended well; `check` finds the claims of a campaign that was killed."""
    if command != "check":
        ground.ended(process)
        return
    if process.stdout.closed:  # it was heard out
        assert process.returncode in (0, 1)
        return
    printed, complaint = process.communicate(timeout=3 * LONG)
    assert "Traceback" not in complaint, complaint
    errors = [line for line in printed.splitlines() if line.startswith("error")]
    assert all(line.split()[2] == "claim" for line in errors), printed
    assert process.returncode == (1 if errors else 0), printed


def moment(process: subprocess.Popen, out: Path | None, chance: Random) -> None:
    """Wait until a moment of a process's life; TimeoutExpired where it lives on.

    A fifth of the moments are anywhere from before the first connection on, and all where it has no
    journal; as many shortly after it put something back, the others within two seconds of its first
    change or its first run.
    """
    kind = chance.random()
    if kind < 0.2 or out is None:
        process.wait(chance.uniform(0.2, 3.0))
        return
    seconds = chance.uniform(0, 0.1) if kind < 0.4 else chance.uniform(0, 2.0)
    awaited = (b'"put_back"',) if kind < 0.4 else (b'"found"', b'"start"')
    before, limit = _counted(out, *awaited), time.monotonic() + LONG
    while process.poll() is None and time.monotonic() < limit and _counted(out, *awaited) == before:
        time.sleep(0.005)
    process.wait(seconds)


def begun(process: subprocess.Popen, out: Path) -> None:
    """Wait until a campaign has a journal, or ended without."""
    while process.poll() is None and not (out / "journal.jsonl").exists():
        time.sleep(0.02)


def done(out: Path) -> bool:
    """Whether all is measured and written: after a kill behind the last run `restore` leaves that."""
    return not nl.open(out).state()["left"] and (out / "results.csv").exists()


def _counted(out: Path, *words: bytes) -> int:
    journal = out / "journal.jsonl"
    data = journal.read_bytes() if journal.exists() else b""
    return sum(data.count(word) for word in words)


def _last(out: Path) -> str:
    return str([*Archive(out).events()][-1]["event"])


@contextlib.contextmanager
def logged_in(ground: Ground, who: str) -> Iterator[tuple[str, str]]:
    """`--hosts FILE` for a login on every host, with the rights that it needs."""
    if who == "root":
        yield ground.hosts
        return
    lab = ground.lab
    entries = {
        host: {"ssh": lab.login(host, who), "interface": "data0", "address": lab.data(host)}
        for host in lab.hosts
    }
    path = ground.folder / "engineer.yaml"
    path.write_text(json.dumps({"ssh_config": str(lab.ssh_config), **entries}))
    kept = {host: ground.on(host, "cat", "/etc/sudoers") for host in lab.hosts}
    try:
        for host, text in kept.items():
            _sudoers(ground, host, text + RULE)
        yield ("--hosts", str(path))
    finally:
        for host, text in kept.items():
            _sudoers(ground, host, text)


def _sudoers(ground: Ground, host: str, text: str) -> None:
    """Write a host's /etc/sudoers in place: a namespace's is a file that is mounted there."""
    ground.on(host, "sh", "-c", 'printf %s "$1" >/etc/sudoers', "sh", text)


FAMILY = Family("kills", attack, weight=1, needs=Needs.NAMESPACES, portable=True)
