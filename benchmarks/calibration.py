"""How often are the classes right that an undetermined verdict names?

    .venv/bin/python benchmarks/calibration.py --verdicts FOLDER … --situations FOLDER … \\
        --diagnoses FOLDER … [--write]

Reads labelled runs that verdicts.py, situations.py (`verdicts.py --keep`) and diagnose.py left in
folders. Each run without a change that is undetermined names up to two classes with a score; they
are counted by place and score. So are the verdicts of whole campaigns: how often the class is right
that they name, or name first. `--write` stores the counts in netlimits/limits/calibration.json,
from which `explain` quotes them.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import diagnose
import situations
import verdicts

import netlimits as nl
from netlimits.errors import DataError
from netlimits.limits import proof
from netlimits.limits.calibration import FILE, NAMED
from netlimits.limits.evidence import evidence_of
from netlimits.limits.verdicts import UNDETERMINED, of_configuration, of_run

EDGES = (0.9, 0.75, 0.5, 0.0)
"""Lowest scores of the bins."""
Labelled = tuple[Path, Sequence[str], Mapping[str, str]]
"""A campaign, the classes that are right for it, and the values of the runs for which they are."""


def of_verdicts(folder: Path) -> Iterator[Labelled]:
    """Yield the campaigns of verdicts.py."""
    for trial in verdicts.every():
        yield folder / trial.folder, trial.right, trial.judged


def of_situations(folder: Path) -> Iterator[Labelled]:
    """Yield the campaigns of situations.py whose situation was verified."""
    for each in situations.every():
        own = folder / each.name
        if (own / "truth.json").exists() and not list(situations.faults(each, own)):
            yield own / "campaign", (*each.right, *each.likely), {}


def of_diagnoses(folder: Path) -> Iterator[Labelled]:
    """Yield the campaigns of diagnose.py: each observation, and the runs without a change."""
    for case in diagnose.every():
        right = (*case.situation.right, *case.situation.likely)
        for name in ("answer-observed", "answer"):
            yield folder / case.name / name, right, {}


@dataclass
class Counts:
    """Counts of labelled runs, and of campaigns without a change."""

    runs: int = 0
    undetermined: int = 0
    of_scores: Counter[tuple[int, float, bool]] = field(default_factory=Counter)
    """By place, lowest score of the bin, and right."""
    of_campaigns: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    """By: a class is told; it, or else the likeliest, is right."""


def counted(labelled: Sequence[Labelled]) -> Counts:
    """Count how often verdicts are right."""
    counts = Counts()
    for path, right, values in labelled:
        if not (path / "journal.jsonl").exists():
            continue
        try:
            frame, evidence = evidence_of(nl.open(path))
        except DataError:
            continue  # no run is ok
        every = []
        for index, row in proof.bare(frame).iterrows():
            if any(str(row[name]) != value for name, value in values.items()):
                continue
            every.append(verdict := of_run(evidence[index]))
            counts.runs += 1
            counts.undetermined += verdict.limit == UNDETERMINED
            for place, name in enumerate(verdict.likely[:NAMED], 1):
                if verdict.limit == UNDETERMINED:
                    edge = next(e for e in EDGES if verdict.scores[name] >= e)
                    counts.of_scores[place, edge, name in right] += 1
        if every:
            verdict = of_configuration(every)
            told = verdict.limit != UNDETERMINED
            named = verdict.limit if told else next(iter(verdict.likely), "")
            counts.of_campaigns[told, named in right] += 1
    return counts


def main() -> None:
    """Count, print a table, and write the counts if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sources = {"verdicts": of_verdicts, "situations": of_situations, "diagnoses": of_diagnoses}
    for name in sources:
        parser.add_argument(f"--{name}", type=Path, nargs="+", default=[], metavar="FOLDER")
    parser.add_argument("--write", action="store_true", help="Store the counts.")
    given = vars(parser.parse_args())
    labelled = [
        each for name, of in sources.items() for folder in given[name] for each in of(folder)
    ]
    counts = counted(labelled)
    print(f"labelled runs: {counts.runs}", f"undetermined: {counts.undetermined}", sep="\n")
    for told, what in ((True, "with a class"), (False, "undetermined")):
        right, wrong = counts.of_campaigns[told, True], counts.of_campaigns[told, False]
        print(f"campaigns {what}: {right} of {right + wrong} right")
    print()
    print("| place | score from | runs | right |", "|---|---|---|---|", sep="\n")
    bins: list[dict[str, Any]] = []
    for place in range(1, NAMED + 1):
        for edge in EDGES:
            right, wrong = (counts.of_scores[place, edge, yes] for yes in (True, False))
            print(f"| {place} | {edge:g} | {right + wrong} | {right} |")
            bins.append({"place": place, "least": edge, "right": right, "labelled": right + wrong})
    if given["write"]:
        names = ", ".join(name for name in sources if given[name])
        source = {
            "what": "undetermined runs of known cause, by place and score of the class named",
            "benchmarks": f"benchmarks/calibration.py, of labelled {names}",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "runs": counts.runs,
            "undetermined": counts.undetermined,
        }
        lines = ",\n  ".join(map(json.dumps, bins))
        FILE.write_text(f'{{"source": {json.dumps(source, indent=1)},\n "bins": [\n  {lines}]}}\n')


if __name__ == "__main__":
    main()
