"""Verdicts on situations made by other means than the classes' labels; half are held out.

`verdicts.py --keep FOLDER` makes the situations of situations.yaml that FOLDER lacks, each in a lab
of its own, and judges all. `--judge FOLDER` judges those in FOLDER without a measurement. It prints
each configuration's verdict and proof, the confusion matrix, and the goals that are missed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import confusion
import yaml
from confusion import Judged
from making import Check, Situation, SituationLab, lab_of

import netlimits as nl
from netlimits.errors import DataError, NetlimitsError
from netlimits.limits.base import PROVEN, REFUTED
from netlimits.limits.sequel import sequel
from netlimits.limits.verdicts import UNDETERMINED

SITUATIONS = Path(__file__).with_name("situations.yaml")
SEED = 20261126
"""Seed of the draw of the held-out half."""

DEVELOPMENT, HELD_OUT = "development", "held-out"
HALVES = (DEVELOPMENT, HELD_OUT)
RIGHT, FIRST = 0.95, 0.70
"""Goals: the share of told verdicts that are right, and of undetermined ones that point right."""


def every() -> list[Situation]:
    """Return all situations, in the order of the file."""
    return [
        Situation(name=name, **each | {"checks": [Check(**check) for check in each["checks"]]})
        for name, each in yaml.safe_load(SITUATIONS.read_text("utf-8")).items()
    ]


def halves(situations: Sequence[Situation]) -> dict[str, str]:
    """Return each situation's half by name: of every pair of a family the draw holds one out."""
    half, places = {}, dict[str, int]()
    for each in situations:
        place = places[each.family] = places.get(each.family, -1) + 1
        swapped = Random(f"{SEED} {each.family} {place // 2}").random() < 0.5
        half[each.name] = HALVES[(place + swapped) % 2]
    return half


def make(situation: Situation, out: Path, *, proof: bool = True) -> None:
    """Run the campaign and its proof, and keep both beside truth.json in the situation's folder."""
    folder = out / situation.name
    shutil.rmtree(folder, ignore_errors=True)  # an attempt that ended before its truth was read
    folder.mkdir(parents=True)
    with lab_of(situation, folder) as lab:
        file = folder / "experiment.yaml"
        file.write_text(
            f"experiment: {situation.name}\nroles: [sender, receiver]\n"
            f"{lab.text(situation.experiment)}"
            f"repeat: {{replicates: {situation.replicates}, order: blocked, seed: 1}}\n"
        )
        with lab.verified():
            _run(file, lab, folder / "campaign")
        if proof and situation.proof is not None:
            _go_on(situation.proof, lab, folder)


def _go_on(only: Mapping[str, Sequence[str]], lab: SituationLab, folder: Path) -> None:
    file = folder / "proof.yaml"
    try:
        file.write_text(sequel(nl.open(folder / "campaign"), only=only))
    except NetlimitsError as error:
        (folder / "no-proof.txt").write_text(f"{error}\n")
        return
    _run(file, lab, folder / "proof")


def _run(file: Path, lab: SituationLab, out: Path) -> None:
    command = [sys.executable, "-m", "netlimits", "run", file, "--hosts", lab.hosts_file]
    done = subprocess.run([*command, "--out", out], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{file}: {done.stdout[-1000:]}{done.stderr[-2000:]}")


@dataclass(frozen=True, slots=True)
class Row:
    """The verdict on one configuration of a situation, with or without a proof."""

    situation: Situation
    half: str
    configuration: str
    told: str
    state: str
    first: str
    evidence: str

    @property
    def is_right(self) -> bool:
        """True if the verdict is right; a refutation is wrong for the only class that is right."""
        if self.state == REFUTED:
            return (self.told,) != tuple(self.situation.right)
        return self.told in self.allowed

    @property
    def allowed(self) -> tuple[str, ...]:
        """The classes that count as right; `likely` ones do not once a proof is made."""
        likely = () if self.state == PROVEN else self.situation.likely
        return (*self.situation.right, *likely)

    @property
    def points_right(self) -> bool:
        """True if the class that an undetermined verdict names first is right."""
        return self.first in self.allowed

    @property
    def judged(self) -> Judged:
        """The entry in the confusion matrix, under the first class that is right."""
        told = self.told if self.is_told else UNDETERMINED
        return Judged(self.situation.right[0], self.allowed, told)

    @property
    def is_told(self) -> bool:
        """True if the verdict names a class that was not refuted."""
        return self.told != UNDETERMINED and self.state != REFUTED


def verdicts(situation: Situation, half: str, campaign: Path) -> Iterator[Row]:
    """Yield the verdict on each configuration of a campaign that has runs that are ok."""
    if not campaign.is_dir():
        return
    try:
        explained = nl.explain(nl.open(campaign))
    except DataError as error:
        print(f"no run is ok: {situation.name}: {error}")
        return
    for row in explained.to_dict("records"):
        if not row["runs"]:
            print(f"no run is ok: {situation.name}: {row['evidence']}")
            continue
        names = list(row)[: list(row).index("class")]
        values = ", ".join(f"{name}={row[name]}" for name in names)
        words = (row["evidence"], row["proof"], row["why_not"] and f"Not {row['runner_up']}: ")
        text = " ".join(filter(None, (*words, row["why_not"])))
        first = row.get("points_to") or row["runner_up"]
        yield Row(situation, half, values, row["class"], row["state"], first, text)


def _is_kept(folder: Path) -> bool:
    """True if the folder holds a situation whose truth was read."""
    return (folder / "truth.json").exists()


def faults(situation: Situation, folder: Path) -> Iterator[str]:
    """Yield the checks that fail, with the values read when the situation was made."""
    rows: list[dict[str, Any]] = json.loads((folder / "truth.json").read_text("utf-8"))
    read = {row["name"]: row["value"] for row in rows}
    for check in situation.checks:
        value = read.get(check.name)
        if value is None or not check.least <= value <= check.most:
            yield f"{check.name}: {value}"


def summary(rows: Sequence[Row], proofs: Sequence[Row]) -> Iterator[str]:
    """Yield the shares that the goals are about."""
    told = [row for row in rows if row.is_told]
    yield f"told, and right: {confusion.shown(sum(row.is_right for row in told), len(told))}"
    open_ = [row for row in rows if not row.is_told]
    first = sum(row.points_right for row in open_)
    yield f"undetermined: {confusion.shown(len(open_), len(rows))}"
    yield f"undetermined, the right class first: {confusion.shown(first, len(open_))}"
    decided = [row for row in proofs if row.state in (PROVEN, REFUTED)]
    wrong = sum(not row.is_right for row in decided)
    yield f"proofs: {len(proofs)}, of which decided {len(decided)}, wrong {wrong}"


def missed(rows: Sequence[Row], proofs: Sequence[Row]) -> Iterator[str]:
    """Yield the goals that are missed."""
    told = [row for row in rows if row.is_told]
    if sum(row.is_right for row in told) < RIGHT * len(told):
        yield f"fewer than {100 * RIGHT:g} % of the told verdicts are right"
    open_ = [row for row in rows if not row.is_told]
    if sum(row.points_right for row in open_) < FIRST * len(open_):
        yield f"of fewer than {100 * FIRST:g} % of the undetermined the right class is named first"
    if any(row.state in (PROVEN, REFUTED) and not row.is_right for row in proofs):
        yield "a proof is wrong"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a Markdown table: each configuration with its half, right classes and verdict."""
    yield "| half | situation | configuration | right | told | first |  |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        mark = "right" if row.is_right else "WRONG"
        if not row.is_told and row.state != REFUTED:
            mark = "points right" if row.points_right else "points elsewhere"
        if row.state in (PROVEN, REFUTED):
            mark = f"{row.state}, {mark}"
        right = " / ".join(row.situation.right)
        cells = (row.half, row.situation.name, row.configuration, right, row.told, row.first, mark)
        yield f"| {' | '.join(cells)} |"


def judge(wanted: Sequence[tuple[Situation, str]], out: Path, mistakes: bool) -> list[str]:
    """Print the verdicts on the situations, given with their halves.

    Returns the goals that the held-out half misses.
    """
    rows, proofs = list[Row](), list[Row]()
    for each, half in wanted:
        folder = out / each.name
        if not _is_kept(folder):
            continue
        if bad := list(faults(each, folder)):
            print(f"not made: {each.name} ({half}): {'; '.join(bad)}")
            continue
        rows += verdicts(each, half, folder / "campaign")
        proofs += verdicts(each, half, folder / "proof")
    for title, these in (("Verdicts", rows), ("Put to the proof", proofs)):
        print(f"\n{title}: {len(these)} configurations", "", *table(these), sep="\n")
    goals: list[str] = []
    for name in HALVES:
        mine, proved = ([row for row in these if row.half == name] for these in (rows, proofs))
        if not mine:
            continue
        print(f"\nThe {name} half: {len(mine)} configurations", "", sep="\n")
        by_class = [row.judged for row in mine]
        print(*confusion.matrix(by_class), "", *summary(mine, proved), sep="\n")
        goals = list(missed(mine, proved)) if name == HELD_OUT else goals
    if mistakes:
        for row in (*rows, *proofs):
            if not row.is_right:
                print(f"\n{row.situation.name} {row.configuration}: {row.told} ({row.state})")
                print(row.evidence)
    return goals


def carry_out(
    keep: Path | None,
    kept: Path | None,
    half: str,
    only: Sequence[str],
    mistakes: bool,
    *,
    proofs: bool = True,
) -> int:
    """Make what `keep` lacks and judge it, or judge `kept`; return 1 if it misses a goal."""
    of = halves(every())
    wanted = [
        (each, of[each.name]) for each in every()
        if half in ("both", of[each.name]) and (not only or each.name in only)
    ]  # fmt: skip
    if keep:
        for each, _ in wanted:
            if not _is_kept(keep / each.name):
                print(f"{each.name} …", file=sys.stderr)
                start = time.monotonic()
                try:
                    make(each, keep, proof=proofs)
                except (RuntimeError, NetlimitsError) as error:
                    print(f"{each.name}: {error}", file=sys.stderr)
                print(f"{each.name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    goals = judge(wanted, keep or kept or Path(), mistakes)
    for goal in goals:
        print(f"missed: {goal}", file=sys.stderr)
    return 1 if goals else 0
