"""Races: who puts back against who runs, at moments drawn by chance, on real hosts.

Whatever two do to a host at the same time, it is as found afterwards, or a note there says what is
left and the next put-back needs no more than that.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from faults.attacks.base import Family, Held, Needs
from faults.ground import Ground, wait
from waiting import LONG

TOGGLING = """\
experiment: toggling
factors:
  offloads: [on, off]
  mtu: [1400, 8000]
settings:
  - roles: [sender, receiver]
    mtu: "${mtu}"
    offload: {tso: "${offloads}", gso: "${offloads}"}
    qdisc: {kind: tbf, rate: 1gbit, burst: 256kb, latency: 50ms}
    napi: {gro_flush_timeout: 20000}
    route: {quickack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 1, order: shuffled, seed: 3}
"""

FORCED = "restore by force"
UNFORCED = "restore without force"
OWN = "restore of its own folder"
SECOND = "a second campaign"
TWO = "two put-backs after a kill"
RESUMED = "resume during a put-back after a kill"
KINDS = (FORCED, FORCED, FORCED, UNFORCED, OWN, SECOND, TWO, RESUMED)


def attack(held: Held) -> str | None:
    """One race; what got through."""
    ground, chance, out = held.ground, held.chance, held.folder / "race"
    kind = KINDS[held.number % len(KINDS)]
    guard, seconds = chance.choice(["5s", "60s", "off"]), chance.uniform(0, 2.5)
    held.says(f"{kind}, {seconds:.2f} s after the first change, --guard {guard}")
    process = ground.campaign(TOGGLING, out, "--guard", guard)
    _until_it_changes(process, out, seconds)
    try:
        return _race(kind, ground, process, out)
    except AssertionError as error:
        return str(error)
    finally:
        _ended(process, kill=True)
        ground("restore", *ground.hosts, "--force", status=None)


def _race(kind: str, ground: Ground, process: subprocess.Popen, out: Path) -> str:
    alive = process.poll() is None
    if kind in (TWO, RESUMED):
        process.kill()
        process.communicate()
        others = [ground.start("restore", *ground.hosts)]
        others.append(ground.start("resume", out) if kind == RESUMED else _again(ground))
        printed = [_ended(other) for other in others]
        if kind == TWO and not any(other.returncode == 0 for other in others):
            return f"neither put back: {printed}"
        ground("restore", *ground.hosts, status=None)
        return _as_found(ground)
    argv: tuple[object, ...] = ("restore", *ground.hosts)
    if kind == FORCED:
        argv += ("--force",)
    elif kind == OWN:
        argv = ("restore", out)
    elif kind == SECOND:
        other = ground.folder / f"{out.name}-second"
        argv = ("run", ground.experiment(TOGGLING), *ground.hosts, "--out", other)
    ran = ground(*argv, status=None)
    still = process.poll() is None
    if kind == FORCED and ran.returncode:
        return f"it was not put back: {ran.stderr}"
    if kind != FORCED and alive and still and ran.returncode == 0:
        return f"a living campaign's host was taken: {ran.stdout}"
    printed = _ended(process)
    if kind != FORCED:
        if alive and still and process.returncode != 0:
            return f"the campaign was disturbed: {printed}"
        return _as_found(ground)
    left = ground.leaves() ^ ground.original
    if left and not _notes(ground):
        return f"changed, and no note says so: {sorted(left)[:5]}"
    ground("restore", *ground.hosts, status=None)
    return _as_found(ground)


def _again(ground: Ground) -> subprocess.Popen:
    time.sleep(0.3)
    return ground.start("restore", *ground.hosts)


def _until_it_changes(process: subprocess.Popen, out: Path, seconds: float) -> None:
    journal = out / "journal.jsonl"
    wait(
        lambda: (
            process.poll() is not None or (journal.exists() and b'"found"' in journal.read_bytes())
        ),
        "it changes something",
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _ended(process: subprocess.Popen, kill: bool = False) -> str:
    if kill and process.poll() is None:
        process.kill()
    if process.stdout is None or process.stdout.closed:
        return ""
    _, printed = process.communicate(timeout=LONG)
    assert "Traceback" not in printed, printed
    return str(printed)


def _notes(ground: Ground) -> list[str]:
    look = "ls /run/netlimits/*.json 2>/dev/null || true"
    return [n for h in ground.lab.hosts for n in ground.on(h, "sh", "-c", look).split()]


def _as_found(ground: Ground) -> str:
    try:
        ground.hosts_are_as_found()
    except AssertionError as error:
        return str(error)
    return ""


FAMILY = Family("races", attack, weight=0.5, needs=Needs.NAMESPACES, portable=True)
