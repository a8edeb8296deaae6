"""Attacks as data: what is done to netlimits from outside, and what must not come of it.

An attack is made from a family's name and a number, by chance that both seed: so any of thousands
can be made again by itself (`made("archives", 1234)`). Each builds its ground in a folder of its own,
does its harm, lets netlimits at it, and says what got through; nothing, if the attack was held.

A family is one file with `FAMILY`, and one line in FAMILIES; `Family.needs` says what it is made on:
nothing, a lab of namespaces, or machines. `tests/faults/test_attacks.py` and `test_attacks_on_hosts.py`
make a sample of each in every run of the tests, `benchmarks/attacks.py` thousands on demand.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from faults.attacks import base
from faults.attacks.archives import FAMILY as ARCHIVES
from faults.attacks.base import Family, Held, Needs
from faults.attacks.bystanders import FAMILY as BYSTANDERS
from faults.attacks.cut_connections import FAMILY as CUT_CONNECTIONS
from faults.attacks.figures import FAMILY as FIGURES
from faults.attacks.folders import FAMILY as FOLDERS
from faults.attacks.found_qdiscs import FAMILY as FOUND_QDISCS
from faults.attacks.guards import FAMILY as GUARDS
from faults.attacks.hosts_files import FAMILY as HOSTS_FILES
from faults.attacks.imported import FAMILY as IMPORTED
from faults.attacks.kills import FAMILY as KILLS
from faults.attacks.machines import FAMILY as MACHINES
from faults.attacks.meddling import FAMILY as MEDDLING
from faults.attacks.neighbours import FAMILY as NEIGHBOURS
from faults.attacks.outputs import FAMILY as OUTPUTS
from faults.attacks.planted import FAMILY as PLANTED
from faults.attacks.printed import FAMILY as PRINTED
from faults.attacks.races import FAMILY as RACES
from faults.attacks.ssh_path import FAMILY as SSH_PATH
from faults.attacks.stacked import FAMILY as STACKED
from faults.attacks.strangers import FAMILY as STRANGERS
from faults.attacks.sysctls import FAMILY as SYSCTLS

if TYPE_CHECKING:
    from faults.ground import Ground

FAMILIES: tuple[Family, ...] = (
    ARCHIVES,
    FIGURES,
    FOLDERS,
    PLANTED,
    HOSTS_FILES,
    IMPORTED,
    OUTPUTS,
    PRINTED,
    STRANGERS,
    KILLS,
    BYSTANDERS,
    RACES,
    MEDDLING,
    CUT_CONNECTIONS,
    SYSCTLS,
    NEIGHBOURS,
    GUARDS,
    SSH_PATH,
    MACHINES,
    FOUND_QDISCS,
    STACKED,
)
"""In the order in which they are made; those that need hosts come last."""


@dataclass(frozen=True)
class Outcome:
    """One attack that was made: what it did, in words, and what got through, "" for nothing."""

    family: str
    number: int
    what: str
    through: str
    seed: int = 0


def attempt(family: Family, number: int, seed: int = 0, hosts: Ground | None = None) -> Outcome:
    """The attack of that number, made; on `hosts` where the family needs some."""
    chance = random.Random(f"{family.name} {seed} {number}")
    if family.needs is Needs.NOTHING:
        base.whole()
    folder = Path(tempfile.mkdtemp(prefix="attack-"))
    held = Held(folder, chance, number, hosts)
    before = hosts.folder if hosts else folder
    if hosts:
        hosts.folder = folder
    try:
        through = family.attack(held) or ""
    except Exception:
        through = "a traceback:\n" + traceback.format_exc()
    finally:
        if hosts:
            hosts.end()
            hosts.folder = before
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(family.name, number, "; ".join(held.deeds), through, seed)


def shares(count: int, families: Iterable[Family]) -> list[tuple[Family, int]]:
    """So many attacks, shared out among the families by their weights."""
    families = tuple(families)
    whole = sum(family.weight for family in families)
    return [(family, max(1, round(count * family.weight / whole))) for family in families]


def table(outcomes: Iterable[Outcome]) -> str:
    """Made, passed, and what got through, a line a family."""
    by_family: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_family.setdefault(outcome.family, []).append(outcome)
    lines = [f"{'family':<14}{'made':>8}{'passed':>8}"]
    for name, some in by_family.items():
        lines.append(f"{name:<14}{len(some):>8}{sum(bool(o.through) for o in some):>8}")
    every_one = [o for some in by_family.values() for o in some]
    lines.append(f"{'all':<14}{len(every_one):>8}{sum(bool(o.through) for o in every_one):>8}")
    for outcome in every_one:
        if outcome.through:
            which = f"{outcome.family} {outcome.number} --seed {outcome.seed}"
            lines += ["", f"{which}: {outcome.what}", outcome.through]
    return "\n".join(lines)
