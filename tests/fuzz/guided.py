"""Coverage-guided fuzzing of every target with atheris, each in a process of its own.

    python tests/fuzz/guided.py --runs 200000

netlimits is imported once under atheris' instrumentation; then a process a target is forked, so
that none pays for the import and a finding of one does not end the others. A process counts in
shared memory the inputs that its target really read, and is ended by libFuzzer for an exception
that is not netlimits' own, an input of more than SECONDS, or more than MEGABYTES. With the same
seed and runs it does the same again. What was counted and found is printed as JSON.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import shutil
import struct
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
with atheris.instrument_imports(include=["netlimits"]):
    from fuzz import targets

SECONDS = 60
"""What one input may take, by the wall clock, on a machine that is busy with other things."""

MEGABYTES = 1024
"""What a process may hold, with Python, pandas and the coverage counters (about 200) in it."""

LONGEST = 20_000
"""Bytes of an input."""


@dataclass(slots=True)
class Outcome:
    """What came of one target: inputs read, the most memory held, and what was found."""

    target: str
    inputs: int
    seconds: float
    megabytes: int
    finding: str = ""
    artifacts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Job:
    """A process that fuzzes one target."""

    target: targets.Target
    folder: Path
    runs: int
    counter: mmap.mmap
    pid: int = 0
    started: float = 0.0

    def start(self, seed: int) -> None:
        """Fork it."""
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._fuzz(seed)
            finally:
                os._exit(70)  # never reached: libFuzzer ends the process itself

    def _fuzz(self, seed: int) -> None:
        log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        corpus = self.folder / "corpus"
        corpus.mkdir()
        kept = [path.read_bytes() for path in targets.regressions(self.target)]
        for number, seed_bytes in enumerate([*self.target.seeds, *kept]):
            (corpus / f"{number:04d}").write_bytes(seed_bytes)
        words = [f'"{_escaped(word)}"\n' for word in (*self.target.words, targets.SPLIT) if word]
        (self.folder / "words").write_text("".join(words))
        targets.SCRATCH = self.folder / "scratch"
        targets.SCRATCH.mkdir()
        options = {
            "runs": self.runs,
            "seed": seed,
            "timeout": SECONDS,
            "rss_limit_mb": MEGABYTES,
            "max_len": LONGEST,
            "dict": self.folder / "words",
            "artifact_prefix": f"{self.folder}/found-",
            "print_final_stats": 1,
        }
        argv = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), str(corpus)]
        atheris.Setup(argv, self._input)
        atheris.Fuzz()

    def _input(self, data: bytes) -> None:
        try:
            self.target(data)
        except Exception:
            (self.folder / "found-exception").write_bytes(data)
            raise
        (count,) = struct.unpack("Q", self.counter[:8])
        self.counter[:8] = struct.pack("Q", count + 1)

    def outcome(self, status: int, usage: resource.struct_rusage) -> Outcome:
        """What came of it, once it has ended."""
        (inputs,) = struct.unpack("Q", self.counter[:8])
        log = (self.folder / "log").read_text("utf-8", "replace")
        return Outcome(
            self.target.name,
            inputs,
            round(time.monotonic() - self.started, 2),
            usage.ru_maxrss // 1024,
            finding="" if status == 0 else _finding(log) or f"ended with status {status}",
            artifacts=sorted(map(str, self.folder.glob("found-*"))),
        )


def _escaped(word: bytes) -> str:
    """A word as libFuzzer's dictionaries have it."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:= "
    return "".join(chr(b) if b in plain else f"\\x{b:02x}" for b in word)


def _finding(log: str) -> str:
    """The part of libFuzzer's log that tells what was found."""
    for sign in ("=== Uncaught Python exception", "ERROR: libFuzzer"):
        if (at := log.find(sign)) >= 0:
            return log[at : at + 4000]
    return log[-2000:]


def fuzz(names: list[str], runs: int, seed: int, jobs: int, folder: Path) -> list[Outcome]:
    """Fuzz the targets with `runs` inputs altogether, `jobs` processes at a time."""
    chosen = [targets.targets()[name] for name in names]
    whole = sum(target.weight for target in chosen)
    waiting = []
    for target in sorted(chosen, key=lambda target: -target.weight):
        place = folder / target.name.replace(" ", "-").replace("/", "-")
        place.mkdir(parents=True)
        share = -int(-runs * target.weight // whole)
        waiting.append(Job(target, place, share, mmap.mmap(-1, 8)))
    running: dict[int, Job] = {}
    outcomes = []
    while waiting or running:
        while waiting and len(running) < jobs:
            job = waiting.pop(0)
            job.start(seed)
            running[job.pid] = job
        pid, status, usage = os.wait3(0)
        if pid in running:
            outcomes.append(running.pop(pid).outcome(os.waitstatus_to_exitcode(status), usage))
    return sorted(outcomes, key=lambda outcome: outcome.target)


def main() -> int:
    """Fuzz as the arguments say; the exit status is 1 when anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200_000, help="inputs altogether")
    parser.add_argument("--seed", type=int, default=2021)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--keep", type=Path, help="copy corpora, logs and findings to this folder")
    parser.add_argument("targets", nargs="*", help="names; all if left out")
    arguments = parser.parse_args()
    os.environ["HOME"] = "/nonexistent"
    started = time.monotonic()
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        outcomes = fuzz(
            arguments.targets or list(targets.targets()),
            arguments.runs,
            arguments.seed,
            arguments.jobs,
            Path(folder),
        )
        if arguments.keep:
            shutil.copytree(folder, arguments.keep, dirs_exist_ok=True)
    report = {
        "inputs": sum(outcome.inputs for outcome in outcomes),
        "seconds": round(time.monotonic() - started, 1),
        "targets": [asdict(outcome) for outcome in outcomes],
    }
    print(json.dumps(report, indent=1))
    return int(any(outcome.finding for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
