"""The controller is killed at fifty random moments of its campaigns' life."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from faults.ground import Ground

import netlimits as nl
from netlimits.archive import Archive, unfinished

pytestmark = pytest.mark.lab

KILLS = 25
"""In each of two labs, which are at it at the same time."""

CHANGING = """\
experiment: changing
factors:
  offloads: [on, off]
settings:
  - roles: [sender, receiver]
    sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}
    mtu: 1400
    offload: {tso: "${offloads}", gso: "${offloads}"}
    route: {quickack: 1}
measure:
  netperf: {seconds: 1, send_size: 1024}
repeat: {replicates: 3, order: blocked, seed: 3}
"""


def let_run(process: subprocess.Popen, out: Path, dice: random.Random) -> None:
    """Wait until a moment of the process's life; TimeoutExpired where it lives on.

    A fifth of the moments are anywhere from before the first connection on; as many shortly after
    it put something back, the others within two seconds of its first change or its first run.
    """
    kind = dice.random()
    if kind < 0.2:
        process.wait(dice.uniform(0.2, 3.0))
        return
    seconds = dice.uniform(0, 0.2) if kind < 0.4 else dice.uniform(0, 2.0)
    awaited = {"put_back"} if kind < 0.4 else {"found", "start"}
    before, limit = len(events(out)), time.monotonic() + 15
    while process.poll() is None and time.monotonic() < limit:
        if awaited & {event["event"] for event in events(out)[before:]}:
            break
        time.sleep(0.01)
    process.wait(seconds)


def events(out: Path) -> list[dict[str, object]]:
    """What the journal holds so far; nothing before there is one."""
    return list(Archive(out).events()) if (out / "campaign.json").exists() else []


def done(out: Path) -> bool:
    """Whether all is measured and written: after a kill behind the last run `restore` leaves that."""
    return not nl.open(out).state()["left"] and (out / "results.csv").exists()


def carried_through(ground: Ground, dice: random.Random) -> tuple[int, int]:
    """Campaigns, each resumed until it is done, killed KILLS times in all.

    Returns how many kills left hosts changed, and how many fell between two put-backs.
    """
    kills = campaigns = changed = amid = 0
    while kills < KILLS:
        campaigns += 1
        out = ground.folder / f"out-{campaigns}"
        process = ground.campaign(CHANGING, out)
        while kills < KILLS:
            try:
                let_run(process, out, dice)
                ground.ended(process)
                if done(out):
                    break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
                left = unfinished(Archive(out)) if events(out) else ()
                changed += bool(left)
                amid += bool(left) and events(out)[-1]["event"] == "put_back"
            if (out / "campaign.json").exists():
                ground.events(out)
                process = ground.start("restore" if dice.random() < 0.15 else "resume", out)
            else:  # nothing was begun
                shutil.rmtree(out, ignore_errors=True)
                process = ground.campaign(CHANGING, out)
        ground.ended(process)
        if not done(out):
            ground.ended(ground.start("resume", out))
        attempts = ground.settled(out)
        assert {status for _, _, status, _ in attempts} <= {"ok", "interrupted"}, attempts
        assert sum(status == "ok" for _, _, status, _ in attempts) == 6
    return changed, amid


def test_killed_at_fifty_random_moments(ground, second):
    with ThreadPoolExecutor(2) as pool:
        seeds = (random.Random(seed) for seed in (5, 50))
        counts = list(pool.map(carried_through, (ground, second), seeds))
    assert sum(changed for changed, _ in counts) >= KILLS, "half of the kills found hosts changed"
    assert sum(amid for _, amid in counts) >= 1, "and some a put-back that had begun"
