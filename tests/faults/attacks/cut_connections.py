"""Connections that are lost at a command, whichever it is: the attack's number is the command's.

What must hold: the run that was under way gets its second attempt, every run is measured, and every
leaf is as found. Where the connection was lost while the hosts were restored, nobody notices.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from faults import cut
from faults.attacks.base import Family, Held, Needs

TEXT = """\
experiment: cut
factors: {offloads: [on, off]}
settings:
  - roles: [sender, receiver]
    mtu: 1400
    offload: {tso: "${offloads}"}
measure:
  netperf: {seconds: 1, test: TCP_RR}
repeat: {replicates: 1, order: listed}
"""


def attack(held: Held) -> str | None:
    """One campaign of two runs, and one connection that is lost."""
    ground, out = held.ground, held.folder / "out"
    how = held.chance.choice((cut.BEFORE, cut.AFTER))
    words = [str(held.number), how, ground.lab.name]
    argv = ("run", str(ground.experiment(TEXT)), *ground.hosts, "--out", str(out))
    program = [sys.executable, str(Path(cut.__file__)), *words, *argv]
    process = ground.begin(program, env={**os.environ})
    printed = ground.ended(process, None)
    lines = printed.splitlines()
    deeds = [line for line in lines if line.startswith("cut ")]
    held.says("; ".join(deeds) or f"{words}: nothing was cut")
    if process.returncode:
        return printed
    attempts = ground.settled(out)
    interrupted = [(run, number) for run, number, status, _ in attempts if status == "interrupted"]
    others = [(run, status) for run, _, status, _ in attempts if status != "interrupted"]
    if others != [(1, "ok"), (2, "ok")]:
        return f"a run is not what it would have been: {attempts}"
    if len(interrupted) > 1:
        return f"more than one attempt for one connection: {attempts}"
    texts = [*(line for line in lines if line not in deeds), *(why for *_, why in attempts)]
    if raw := [text for text in texts if re.search(r"[{}]|[0-9a-f]{12}", text)]:
        return f"raw words for the user: {raw}"
    return None


FAMILY = Family("cut connections", attack, weight=0.5, needs=Needs.NAMESPACES)
