"""Labels against verdicts: each class of limits is made on purpose, and explained.

Each class says how to make it (`labels`); mixtures of two limits and runs that only the CPU limits
are in mixtures.yaml. Each label is a campaign over real SSH on a lab's hosts; the campaigns stay in
the folder, and what is there is not made again. Printed: the confusion matrix of single runs, the
shares that are right and undetermined with Wilson's intervals, for the half of the runs that
thresholds are chosen on and for the other half. `--next` goes on from each campaign with the
experiment that would prove its verdicts, and prints the same of configurations: one is told when
it is `proven`, and undetermined when it is refuted or open; what is refuted though it alone is
right counts as wrong.

    sudo .venv/bin/python benchmarks/verdicts.py RESULTS
    sudo .venv/bin/python benchmarks/verdicts.py RESULTS --only loss path-cap --next
    .venv/bin/python benchmarks/verdicts.py --from RESULTS [--choose] [--mistakes]

    sudo .venv/bin/python benchmarks/verdicts.py --keep FOLDER [--half development]
    .venv/bin/python benchmarks/verdicts.py --judge FOLDER [--half held-out] [--mistakes]

The last two are about the situations of situations.yaml, which no class's label makes: they exit 1
where the held-out half misses its goals (situations.py).

Labs are taken down at the end; `--labs NAME` (at most 6 letters) leaves them, so that a later call
finds them by that name.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import confusion
import situations
import yaml
from confusion import Judged, Labelled
from yamlcore import CoreDumper, CoreLoader

import netlimits as nl
from netlimits.errors import DataError
from netlimits.lab import labs
from netlimits.limits.base import PROVEN, REFUTED, Label
from netlimits.limits.classes import CLASSES
from netlimits.limits.evidence import evidence_of
from netlimits.limits.sequel import sequel
from netlimits.limits.verdicts import UNDETERMINED

MIXTURES = Path(__file__).with_name("mixtures.yaml")
NEXT = "-next"


@dataclass(frozen=True, slots=True)
class Trial:
    """One campaign to make: its label's name and place, how, and the verdicts that are right.

    They are right for the runs that have the values of `judged`; the others are there to compare.
    """

    name: str
    place: int
    right: tuple[str, ...]
    label: Label
    judged: Mapping[str, str] = field(default_factory=dict)

    def judges(self, values: Mapping[Any, Any]) -> bool:
        """Whether what is right is known of a run, or a configuration, with these values."""
        return all(str(values[name]) == value for name, value in self.judged.items())

    @property
    def folder(self) -> str:
        """Where its campaign lies, below the folder of all."""
        return f"{self.name}.{self.place}"


def every() -> list[Trial]:
    """All labels: of the classes, in their order, then the mixtures."""
    trials = [
        Trial(limit.name, place, (limit.name,), label)
        for limit in CLASSES
        for place, label in enumerate(limit.labels, 1)
    ]
    for name, each in yaml.safe_load(MIXTURES.read_text("utf-8")).items():
        label = Label(each["experiment"], each["lab"], each.get("link", ""))
        trials.append(Trial(name, 1, tuple(each["right"]), label, each.get("judged", {})))
    return trials


def netlimits(*words: object, failures: bool = False) -> None:
    """A command of ours, which works, or leaves failed runs where these are allowed."""
    command = [sys.executable, "-m", "netlimits", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in ((0, 1) if failures else (0,)):
        sys.exit(f"netlimits {' '.join(map(str, words))}: {done.stdout[-2000:]}{done.stderr}")
    if done.returncode:
        print(*done.stderr.splitlines()[-3:], sep="\n", file=sys.stderr)


class Labs:
    """The labs that labels ask for, each built when the first one does; `kind` instead of all."""

    def __init__(self, name: str | None, kind: str | None) -> None:
        self._kind = kind
        self._name = name or f"v{os.getpid() % 100_000}"
        self._stays, self._used = name is not None, set[str]()

    def hosts(self, label: Label) -> Path:
        """The hosts file of the lab for a label, whose link is as the label has it."""
        kind = self._kind or label.lab
        name = f"{self._name}{crc32(kind.encode()) % 4096:03x}"
        self._used.add(name)
        if labs.find(name) is None:
            netlimits("lab", "up", "--name", name, "--mtu", 1500, *kind.split())
        lab = labs.find(name)
        assert lab
        if lab.guest or lab.count > 2:
            words = label.link.split() or ["--off"]
            netlimits("lab", "link", name, "--host", lab.hosts[0], *words)
        return lab.hosts_file

    def down(self) -> None:
        """Take down what was built."""
        for name in () if self._stays else self._used:
            labs.down(name)


def short(label: Label) -> Label:
    """The same with the first value of each factor alone; two of `mss`: packet rates need two."""
    document = CoreLoader(label.experiment).get_single_data()
    for section in ("factors", "zip"):
        factors = document.get(section, {})
        document |= {section: {n: v[: 2 if n == "mss" else 1] for n, v in factors.items()}}
    return replace(
        label, experiment=yaml.dump({k: v for k, v in document.items() if v}, Dumper=CoreDumper)
    )


def make(trial: Trial, out: Path, hosts: Path, replicates: int) -> None:
    """The campaign of a label."""
    file = out / f"{trial.folder}.yaml"
    file.write_text(
        f"experiment: {trial.name}\n{trial.label.experiment}"
        f"repeat: {{replicates: {replicates}, order: blocked, seed: 1}}\n"
    )
    netlimits("run", file, "--hosts", hosts, "--out", out / trial.folder, failures=True)


def go_on(trial: Trial, out: Path, hosts: Path) -> None:
    """The campaign that would prove the verdicts of a label's."""
    file = out / f"{trial.folder}{NEXT}.yaml"
    try:
        file.write_text(sequel(nl.open(out / trial.folder)))
    except DataError as error:
        print(f"{trial.folder}: {error}", file=sys.stderr)
        return
    netlimits("run", file, "--hosts", hosts, "--out", out / f"{trial.folder}{NEXT}", failures=True)


def runs(wanted: list[Trial], out: Path) -> Iterator[Labelled]:
    """The runs of the campaigns that are there."""
    for trial in wanted:
        if not (out / trial.folder).is_dir():
            continue
        try:
            frame, evidence = evidence_of(nl.open(out / trial.folder))
        except DataError as error:
            print(f"{trial.folder}: {error}", file=sys.stderr)
            continue
        for index, run in evidence.items():
            if trial.judges(frame.loc[index]):
                yield Labelled(trial.name, trial.right, run)


def proofs(wanted: list[Trial], out: Path) -> Iterator[Judged]:
    """What came of each configuration whose verdict was put to the proof."""
    for trial in wanted:
        folder = out / f"{trial.folder}{NEXT}"
        for row in nl.explain(nl.open(folder)).to_dict("records") if folder.is_dir() else ():
            if not trial.judges(row):
                continue
            told = row["class"] if row["state"] == PROVEN else UNDETERMINED
            if row["state"] == REFUTED and trial.right == (row["class"],):
                told = f"not {row['class']}"
            yield Judged(trial.name, trial.right, told)


def main() -> None:
    """Make what is missing, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", help="Where the campaigns are, or go.")
    parser.add_argument("--from", dest="source", type=Path, help="Explain only, make nothing.")
    parser.add_argument("--list", action="store_true", help="Name the labels, and make nothing.")
    parser.add_argument("--only", nargs="+", default=[], help="Labels, by name.")
    parser.add_argument("--next", action="store_true", help="Put verdicts to the proof.")
    parser.add_argument("--replicates", type=int, default=1, help="Runs of each configuration.")
    parser.add_argument("--labs", help="What the labs' names begin with, which then stay.")
    parser.add_argument(
        "--short", action="store_true", help="One configuration of each label, or two."
    )
    parser.add_argument("--on", help="What all labs are, in place of what labels ask for.")
    parser.add_argument("--seconds", type=float, default=1e9, help="Begin nothing after so long.")
    parser.add_argument("--choose", action="store_true", help="Try other thresholds.")
    parser.add_argument("--mistakes", action="store_true", help="Print each that is not right.")
    parser.add_argument("--keep", type=Path, help="Make the situations that are not in there.")
    parser.add_argument("--no-proofs", action="store_true", help="Put no situation to the proof.")
    parser.add_argument("--judge", type=Path, help="Judge situations that were kept.")
    parser.add_argument("--half", choices=("both", *situations.HALVES), default="both")
    arguments = parser.parse_args()
    if arguments.keep or arguments.judge:
        sys.exit(
            situations.carry_out(
                arguments.keep,
                arguments.judge,
                arguments.half,
                arguments.only,
                arguments.mistakes,
                proofs=not arguments.no_proofs,
            )
        )
    if arguments.list:
        for trial in every():
            link = f"; lab link {trial.label.link}" if trial.label.link else ""
            print(f"{trial.folder:30} lab up {trial.label.lab}{link}")
        return
    out = arguments.source or arguments.out
    if out is None:
        parser.error("name a folder, or --from one")
    unknown = set(arguments.only) - {trial.name for trial in every()}
    if unknown:
        parser.error(f"no label {', '.join(sorted(unknown))}")
    wanted = [trial for trial in every() if not arguments.only or trial.name in arguments.only]
    if arguments.short:
        wanted = [replace(m, label=short(m.label)) for m in wanted if m.place == 1]
    if not arguments.source:
        out.mkdir(parents=True, exist_ok=True)
        used, began = Labs(arguments.labs, arguments.on), time.monotonic()
        try:
            for trial in wanted:
                follow = arguments.next and not (out / f"{trial.folder}{NEXT}").is_dir()
                new = not (out / trial.folder).is_dir()
                if (new or follow) and time.monotonic() - began < arguments.seconds:
                    hosts = used.hosts(trial.label)
                    print(f"{trial.folder} …", file=sys.stderr)
                    if new:
                        make(trial, out, hosts, arguments.replicates)
                    if follow:
                        go_on(trial, out, hosts)
        finally:
            used.down()
    every_run = list(runs(wanted, out))
    chosen, reported = confusion.halves(every_run)
    for title, half in (("Thresholds are chosen on", chosen), ("Reported on", reported)):
        if not half:
            continue
        print(f"\n{title} {len(half)} runs of {len({run.label for run in half})} labels")
        rows = confusion.judged(half)
        print(*confusion.matrix(rows), "", *confusion.summary(rows), sep="\n")
    if arguments.choose:
        print("", *confusion.choices(chosen), sep="\n")
    if arguments.mistakes:
        print("", *confusion.mistakes(every_run), sep="\n")
    if configurations := list(proofs(wanted, out)):
        print(f"\nPut to the proof: {len(configurations)} configurations")
        print(*confusion.matrix(configurations), "", *confusion.summary(configurations), sep="\n")


if __name__ == "__main__":
    main()
