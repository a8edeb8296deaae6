"""The controller is killed at fifty random moments of its campaigns' life."""

from __future__ import annotations

import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from faults.ground import Ground

import netlimits as nl

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


def carried_through(ground: Ground, dice: random.Random) -> int:
    """Campaigns, each resumed until it is done, killed KILLS times in all; how many there were."""
    kills = campaigns = 0
    while kills < KILLS:
        campaigns += 1
        out = ground.folder / f"out-{campaigns}"
        process = ground.campaign(CHANGING, out)
        while kills < KILLS:
            # from before the first connection to some runs later, mostly around the first run
            moment = dice.uniform(0.3, 2.4) if dice.random() < 0.85 else dice.uniform(2.4, 5.0)
            try:
                process.wait(moment)
                ground.ended(process)
                if not nl.open(out).state()["left"]:
                    break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
            if (out / "campaign.json").exists():
                ground.events(out)
                process = ground.start("restore" if dice.random() < 0.15 else "resume", out)
            else:  # nothing was begun
                shutil.rmtree(out, ignore_errors=True)
                process = ground.campaign(CHANGING, out)
        ground.ended(process)
        attempts = ground.settled(out)
        assert {status for _, _, status, _ in attempts} <= {"ok", "interrupted"}, attempts
        assert sum(status == "ok" for _, _, status, _ in attempts) == 6
    return campaigns


def test_killed_at_fifty_random_moments(ground, second):
    with ThreadPoolExecutor(2) as pool:
        seeds = (random.Random(seed) for seed in (5, 50))
        list(pool.map(carried_through, (ground, second), seeds))
