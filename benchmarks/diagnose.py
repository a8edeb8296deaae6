"""`netlimits diagnose` on labelled situations: is what it proves right, how long does it take?

    sudo .venv/bin/python benchmarks/diagnose.py FOLDER [--only NAME …] [--time 110s]
    sudo .venv/bin/python benchmarks/diagnose.py FOLDER --kill 20 [--seed N]
    .venv/bin/python benchmarks/diagnose.py --judge FOLDER [--again]

diagnose.yaml lists the situations. Each is made in a lab of its own and diagnosed; the answer stays
in FOLDER, and what is there is not made again. `--again` computes the answers anew from the runs
in FOLDER, after a change of the verdicts. Printed: a row for each, and the goals that are
missed. `--kill N` kills N diagnoses at random moments instead (SIGKILL), has `netlimits restore` do
the rest, and compares the hosts' network state byte by byte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import situations
import yaml
from confusion import shown
from making import Situation, SituationLab, lab_of

from netlimits.limits.base import OPEN, PROVEN
from netlimits.limits.ladder.doses import RESOURCES
from netlimits.limits.ladder.sensitivity import RULED_OUT

LIST = Path(__file__).with_name("diagnose.yaml")
SEED = 20261126
"""Of the moments at which diagnoses are killed."""
RIGHT, STILL_OPEN, SECONDS = 0.95, 0.10, 90.0
"""Goals: proven verdicts that are right, open ones at most, the median time of one workload."""
LOOKS = (
    "ip -d -4 addr show dev data0 | grep -v valid_lft", "ip -4 route show table all",
    "tc -d qdisc show dev data0", "ethtool -k data0", "ethtool -c data0", "ethtool -g data0",
    "sysctl -a 2>/dev/null | grep -E '^net[.](core|ipv4[.](tcp|udp)_)' | "
    "grep -vE 'fastopen_key|_count|stat'", "cat /sys/class/net/data0/queues/rx-*/rps_cpus",
)  # fmt: skip
"""What shows the network state of a host, byte by byte."""


@dataclass(frozen=True, slots=True)
class Case:
    """A situation, and the workload that shows it."""

    situation: Situation
    workload: str

    @property
    def name(self) -> str:
        """The situation's."""
        return self.situation.name


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a case: the limit and its state, resources ruled out, seconds, restored.

    `load` is the machine's load average before the lab was built.
    """

    case: Case
    limit: str
    state: str
    ruled_out: Sequence[str]
    seconds: float
    restored: bool
    load: float = 0.0

    @property
    def is_right(self) -> bool:
        """True if the class is right; one that only counters suggest may be a likely one."""
        likely = () if self.state == PROVEN else self.case.situation.likely
        return self.limit in (*self.case.situation.right, *likely)

    @property
    def wrongly_ruled_out(self) -> list[str]:
        """The resource of the labelled cause, if it was ruled out and is the only right one."""
        right = self.case.situation.right
        own = [
            each.name for each in RESOURCES if each.limits[0] in right or right[0] in each.limits
        ]
        return [name for name in own if name in self.ruled_out] if len(right) == 1 else []


def every() -> list[Case]:
    """Return all cases, in the order of the file."""
    listed = yaml.safe_load(LIST.read_text("utf-8"))
    kept = {each.name: each for each in situations.every()}
    cases = [Case(kept[name], workload) for name, workload in listed["kept"].items()]
    for name, each in listed["machines"].items():
        workload = each.pop("workload")
        given = {"lab": "--machines", "family": name, "truth": "", "experiment": "", "checks": ()}
        cases.append(Case(Situation(name=name, **{**given, **each}), workload))
    return cases


def state(lab: SituationLab) -> list[str]:
    """Return the network state of both hosts."""
    return [lab.output(at, f"{look}; true") for at in ("sender", "receiver") for look in LOOKS]


def command(case: Case, lab: SituationLab, folder: Path, seconds: str) -> list[str]:
    """Return the command that diagnoses a case."""
    words = ["diagnose", "--hosts", lab.hosts_file, "--workload", case.workload, "--quiet"]
    words += ["--time", seconds, "--json", "--out", folder / "answer"]
    return [sys.executable, "-m", "netlimits", *map(str, words)]


def make(case: Case, out: Path, seconds: str) -> None:
    """Diagnose a case in its lab, and keep the answer with what it took."""
    folder = out / case.name
    shutil.rmtree(folder, ignore_errors=True)  # an attempt that has no answer
    folder.mkdir(parents=True)
    load, *_ = os.getloadavg()
    with lab_of(case.situation, folder) as lab:
        before, began = state(lab), time.monotonic()
        done = subprocess.run(command(case, lab, folder, seconds), capture_output=True, text=True)
        took = time.monotonic() - began
        if done.returncode not in (0, 1) or not done.stdout:
            raise RuntimeError(f"{case.name}: {done.stderr[-2000:]}")
        answer = json.loads(done.stdout)
        kept = {"answer": answer, "seconds": took, "load": load, "restored": state(lab) == before}
    (folder / "kept.json").write_text(json.dumps(kept, indent=1) + "\n")


def again(folder: Path, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer that the kept runs of a diagnosis give now."""
    results = folder / Path(kept["answer"]["results"]).name
    words = ["diagnose", "--from", str(results), "--json"]
    done = subprocess.run([sys.executable, "-m", "netlimits", *words], capture_output=True,
                          text=True, check=True)  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def judged(case: Case, kept: Mapping[str, Any]) -> Row:
    """Return what came of a case, of its kept answer."""
    workload = next(iter(kept["answer"]["workloads"]), None)
    beside = (kept["seconds"], kept["restored"], kept["load"])
    if workload is None:
        return Row(case, "", OPEN, (), *beside)
    ruled_out = [each["resource"] for each in workload["sensitivities"]
                 if each["state"] == RULED_OUT]  # fmt: skip
    ruled_out += list(workload["ruled_out"])
    return Row(case, workload["limit"], workload["state"], ruled_out, *beside)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a Markdown table, a row a situation."""
    yield "| situation | workload | cause | limit | state |  | time |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        mark = "right" if row.is_right else "wrong" if row.state == PROVEN else "elsewhere"
        if row.wrongly_ruled_out:
            mark += f", {row.wrongly_ruled_out[0]} ruled out"
        right = " / ".join(row.case.situation.right)
        cells = (row.case.name, row.case.workload, right, row.limit or "–", row.state, mark)
        yield f"| {' | '.join(cells)} | {row.seconds:.0f} s |"


def missed(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the goals that are missed."""
    proven = [row for row in rows if row.state == PROVEN]
    if sum(row.is_right for row in proven) < RIGHT * len(proven):
        yield f"fewer than {100 * RIGHT:.0f} % of the proven verdicts are right"
    if sum(row.state == OPEN for row in rows) > STILL_OPEN * len(rows):
        yield f"more than {100 * STILL_OPEN:.0f} % are open"
    if any(row.wrongly_ruled_out for row in rows):
        yield "a labelled cause was ruled out"
    if rows and median(row.seconds for row in rows) > SECONDS:
        yield f"the median time is above {SECONDS:.0f} s"
    if not all(row.restored for row in rows):
        yield "a host was not restored"


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the shares that the goals are about."""
    proven = [row for row in rows if row.state == PROVEN]
    suggested = [row for row in rows if row.state not in (PROVEN, OPEN)]
    yield f"proven, and right: {shown(sum(row.is_right for row in proven), len(proven))}"
    yield f"suggested, and right: {shown(sum(row.is_right for row in suggested), len(suggested))}"
    yield f"open: {shown(sum(row.state == OPEN for row in rows), len(rows))}"
    yield f"labelled causes ruled out: {sum(bool(row.wrongly_ruled_out) for row in rows)}"
    if rows:
        yield f"median time: {median(row.seconds for row in rows):.0f} s"
        yield f"hosts restored: {sum(row.restored for row in rows)} of {len(rows)}"
        yield f"load average before each, median: {median(row.load for row in rows):.1f}"


def kill(case: Case, out: Path, times: int, seed: int) -> int:
    """Kill diagnoses at random moments; return how many left a host changed."""
    changed, draw = 0, random.Random(seed)
    folder = out / f"killed-{case.name}"
    folder.mkdir(parents=True)
    with lab_of(case.situation, folder) as lab:
        before = state(lab)
        for number in range(times):
            each = folder / str(number)
            each.mkdir()
            process = subprocess.Popen(command(case, lab, each, "60s"), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)  # fmt: skip
            moment = draw.uniform(2, 55)
            time.sleep(moment)
            process.kill()
            process.wait()
            words = ("restore", "--hosts", str(lab.hosts_file))
            done = subprocess.run([sys.executable, "-m", "netlimits", *words], capture_output=True,
                                  text=True)  # fmt: skip
            same = state(lab) == before
            changed += not same
            print(f"killed after {moment:.1f} s: restore {done.returncode}, "
                  f"{'as before' if same else 'CHANGED'}", flush=True)  # fmt: skip
    return changed


def main() -> int:
    """Make what is lacking, and judge all; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--judge", type=Path, metavar="FOLDER")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", nargs="+", default=())
    parser.add_argument("--time", default="110s")
    parser.add_argument("--kill", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=SEED, help="Of the moments of --kill.")
    given = parser.parse_args()
    known = {case.name: case for case in every()}
    cases = [known[name] for name in given.only or known]
    out = given.judge or given.folder or parser.error("name a folder")
    if given.kill:
        return min(1, kill(cases[0], out, given.kill, given.seed))
    for case in cases if given.folder else ():
        if not (out / case.name / "kept.json").exists():
            print(f"{case.name} …", file=sys.stderr, flush=True)
            try:
                make(case, out, given.time)
            except (RuntimeError, subprocess.SubprocessError) as error:
                print(f"not made: {error}", file=sys.stderr)
    rows = []
    for case in cases:
        if (file := out / case.name / "kept.json").exists():
            kept = json.loads(file.read_text())
            if given.again:
                kept["answer"] = again(file.parent, kept)
            rows.append(judged(case, kept))
    print(*table(rows), "", *summary(rows), "", sep="\n")
    goals = list(missed(rows))
    print(*(f"missed: {goal}" for goal in goals), sep="\n")
    return 1 if goals else 0


if __name__ == "__main__":
    sys.exit(main())
