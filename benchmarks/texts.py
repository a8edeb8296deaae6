"""Every measured figure of README, CHANGELOG and docs, held against what its benchmark prints now.

    sudo .venv/bin/python benchmarks/texts.py --list
    sudo .venv/bin/python benchmarks/texts.py --only startup plan
    sudo .venv/bin/python benchmarks/texts.py --dir DIR --hours

texts.yaml says which benchmarks there are, and of each figure where it stands (in braces, within
the words around it) and the line that prints it. Each benchmark runs once, in turn, and each figure
is printed beside the text's: it holds where one is at most `within` times the other (1.5 where
nothing is said: seconds are another machine's). `--dir` is where archives of a million runs and of
a hundred million are made, which takes long and many GB; `--hours` runs those that take hours.
Without them the benchmarks that need them are left out, and said to be. The exit status is 1 when a
figure no longer holds, or nothing printed it, and when a benchmark says so by its own.

A number that stands in no line of texts.yaml is in given.yaml, which says what it is if not
measured; tests/test_texts.py finds those that are in neither.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
TOP = HERE.parent
NUMBER = r"([\d,]+(?:\.\d+)?)"
WITHIN = 1.5


@dataclass(frozen=True)
class Figure:
    """A figure in a text and the pattern of the line that prints it; `within` is a factor."""

    text: str
    words: str
    pattern: str
    within: float

    @property
    def told(self) -> float:
        """What the text says."""
        return number(re.findall(r"\{(.*?)\}", self.words)[0])

    def stands(self) -> bool:
        """Whether the text has these words, however its lines are broken."""
        plain = " ".join(re.sub(r"[{}]", "", self.words).split())
        return plain in " ".join((TOP / self.text).read_text().split())

    def printed(self, output: str) -> float | None:
        """What the benchmark prints now; None where no line is like the pattern."""
        found = re.search(self.pattern.replace("#", NUMBER), output, re.MULTILINE)
        return number(found[1]) if found else None

    def holds(self, now: float) -> bool:
        """Whether the text is right about it still."""
        low, high = sorted((self.told, now))
        return high <= self.within * low or high == low


@dataclass(frozen=True)
class Benchmark:
    """One command (a script in `benchmarks/`, or `netlimits`), and the figures that come of it."""

    command: str
    figures: tuple[Figure, ...]
    hours: bool = False

    @property
    def name(self) -> str:
        """Its script, without `.py`."""
        return Path(self.command.split()[0]).stem


def number(text: str) -> float:
    """A number with or without commas; `2.9 million` is one too, and `1.3 GB` are 1,300 (MB)."""
    digits, _, word = text.partition(" ")
    return float(digits.replace(",", "")) * {"million": 1e6, "GB": 1e3, "": 1.0}[word]


def benchmarks() -> Iterator[Benchmark]:
    """Those of texts.yaml, in its order."""
    entries: list[dict[str, Any]] = yaml.safe_load((HERE / "texts.yaml").read_text())
    for entry in entries:
        figures = (
            Figure(text, says, prints, entry.get("within", WITHIN))
            for text, rows in entry["texts"].items()
            for says, prints in rows
        )
        yield Benchmark(entry["benchmark"], tuple(figures), entry.get("hours", False))


def measured(benchmark: Benchmark, folder: Path | None) -> tuple[str, int]:
    """What the benchmark prints, with its seconds, and its exit status: bounds of its own."""
    with tempfile.TemporaryDirectory() as new:
        words = shlex.split(benchmark.command.format(dir=folder, new=new))
        program = ["-m", "netlimits"] if words[0] == "netlimits" else [str(HERE / words[0])]
        command, began = [sys.executable, *program, *words[1:]], time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=TOP, check=False)
        seconds = f"seconds in all: {time.monotonic() - began:.1f}"
        return f"{done.stdout}\n{seconds}\n", done.returncode


def main() -> int:
    """Print a line for each figure; 1 when one no longer holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these benchmarks alone")
    parser.add_argument("--dir", type=Path, help="where archives are made (some GB)")
    parser.add_argument("--hours", action="store_true", help="those that take hours, too")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    given = parser.parse_args()
    missed = 0
    for benchmark in benchmarks():
        if given.only and benchmark.name not in given.only:
            continue
        print(benchmark.command)
        needs = ["--dir"] if "{dir}" in benchmark.command and not given.dir else []
        needs += ["--hours"] if benchmark.hours and not given.hours else []
        if needs and not given.list:
            print(f"  left out: it needs {' and '.join(needs)}")
            continue
        output, status = ("", 0) if given.list else measured(benchmark, given.dir)
        if status:
            print(f"  exited with {status}: a bound of its own is missed   no longer holds")
            missed = 1
        for figure in benchmark.figures:
            now = None if given.list else figure.printed(output)
            good = given.list or (now is not None and figure.holds(now))
            missed |= not good
            shown = "" if given.list else f"{'nothing' if now is None else f'{now:,g}':>12}"
            verdict = "" if good else "   no longer holds"
            print(f"  {figure.text:28}{figure.told:>14,g}{shown}   {figure.words}{verdict}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
