#!/usr/bin/env python3
"""Run benchmarks, record their figures, and write docs/benchmarks.md.

    scripts/benchmarks.py                     every benchmark that takes up to five minutes
    scripts/benchmarks.py startup plan        these ones
    scripts/benchmarks.py --long --dir DIR    the long ones too; DIR holds archives of many GB
    scripts/benchmarks.py diagnose --output FILE
                                              what it printed elsewhere, today, on this machine
    scripts/benchmarks.py --draw              only write the page

`benchmarks/figures.yaml` says which benchmarks there are and which figures they print. A benchmark
that runs replaces its own figures in `benchmarks/record.json`, with the date and the machine; the
others keep theirs. Some need root. Exits with 1 if a benchmark failed or did not print a figure.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

TOP = Path(__file__).resolve().parent.parent
FIGURES = TOP / "benchmarks" / "figures.yaml"
RECORD = TOP / "benchmarks" / "record.json"
PAGE = TOP / "docs" / "benchmarks.md"
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"

HEAD = """\
# Benchmarks

After this page you know what netlimits costs, how far it scales, and how often its intervals and
verdicts are right. It has the figures that the project measured of itself, each with the command,
the date and the machine. Run a command on your hardware for your own figures.

`scripts/benchmarks.py` runs benchmarks and writes this page; do not edit it. Results of the
experiments in the how-to pages are on those pages.
"""


@dataclass(frozen=True)
class Benchmark:
    """An entry of figures.yaml: a command and the table of the figures that it prints.

    A row is its name and a pattern for each column, where # is the number; an empty pattern leaves
    the cell empty. `matrix` begins the line above a Markdown table of labels by verdicts, and
    `listing` the head of a Markdown table that the page shows as it is.
    """

    title: str
    command: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    long: bool = False
    matrix: str = ""
    listing: str = ""

    @property
    def name(self) -> str:
        """The name of its script, without `.py`."""
        return Path(self.command.split()[0]).stem

    def table(self, output: str) -> list[list[str]]:
        """Return the rows of figures in a benchmark's output.

        Raises:
            ValueError: The output lacks a figure.
        """
        return [
            [name, *(_figure(pattern, output) for pattern in patterns)]
            for name, *patterns in self.rows
        ]

    def second_table(self, output: str) -> list[list[str]]:
        """Return the listing, or the matrix as labels with their verdicts; its head comes first."""
        if self.listing:
            return _markdown(output, self.listing)
        if not self.matrix:
            return []
        (_, *verdicts), *rows = _markdown(output[output.index(self.matrix) :], "| made as")
        table = [["made as", "verdicts"]]
        for label, *counts in rows:
            pairs = zip(verdicts, counts, strict=True)
            counted = ", ".join(
                f"{verdict} {count.strip('*')}" for verdict, count in pairs if count
            )
            table.append([label, counted])
        return table


def _figure(pattern: str, output: str) -> str:
    if not pattern:
        return ""
    match = re.search(pattern.replace("#", NUMBER), output, re.MULTILINE)
    if not match:
        raise ValueError(f"no line like {pattern}")
    return match[1]


def _markdown(output: str, head: str) -> list[list[str]]:
    """Return the cells of the first Markdown table whose head begins so.

    Raises:
        ValueError: There is none.
    """
    lines = iter(output.splitlines())
    first = next((line for line in lines if line.startswith(head)), None)
    if first is None:
        raise ValueError(f"no table that begins {head}")
    next(lines)  # the rule below the head
    return [_cells(first), *map(_cells, takewhile(lambda line: line.startswith("|"), lines))]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def benchmarks() -> Iterator[Benchmark]:
    """Return the benchmarks of figures.yaml in its order."""
    for entry in yaml.safe_load(FIGURES.read_text("utf-8")):
        rows = tuple(tuple(map(str, row)) for row in entry.pop("rows"))
        yield Benchmark(columns=tuple(map(str, entry.pop("columns"))), rows=rows, **entry)


def machine() -> str:
    """Return one line on this machine: CPUs, memory, kernel, and how busy it is."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} CPUs ({cpu[1] if cpu else platform.machine()}), {gigabytes:.0f} GB, "
        f"Linux {platform.release().partition('-')[0]}, load average {load:.1f} at the start"
    )


def printed(benchmark: Benchmark, folder: Path | None) -> str:
    """Run a benchmark and return its output.

    Raises:
        ValueError: It failed.
    """
    words = shlex.split(benchmark.command.format(dir=folder))
    command = [sys.executable, str(TOP / "benchmarks" / words[0]), *words[1:]]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=TOP, check=False)
    print(ran.stdout, end="", flush=True)
    if ran.returncode not in (0, 1):  # 1: a bound of the benchmark's own is missed
        raise ValueError(f"exit status {ran.returncode}")
    return ran.stdout


def recorded(benchmark: Benchmark, output: str, where: str) -> dict[str, Any]:
    """Return the record of a benchmark that printed this on a machine.

    Raises:
        ValueError: The output lacks a figure.
    """
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": where,
        "rows": benchmark.table(output),
        "second": benchmark.second_table(output),
    }


def page(record: dict[str, Any]) -> str:
    """Return the text of docs/benchmarks.md."""
    return HEAD + "".join(f"\n{part}\n" for each in benchmarks() for part in _section(each, record))


def _section(benchmark: Benchmark, record: dict[str, Any]) -> Iterator[str]:
    yield f"## {benchmark.title}"
    yield benchmark.about
    command = benchmark.command.format(dir="DIR")
    known = record.get(benchmark.command)
    if not known:
        yield f"`benchmarks/{command}` has not been run yet."
        return
    yield f"`benchmarks/{command}`, {known['date']}, {known['machine']}:"
    yield _table(benchmark.columns, *known["rows"])
    if known["second"]:
        yield _table(*known["second"])


def _table(head: Sequence[str], *rows: Sequence[str]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Run what was asked for and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the scripts of these names")
    parser.add_argument("--dir", type=Path, help="folder for archives, some of many GB")
    parser.add_argument("--long", action="store_true", help="run long benchmarks too")
    parser.add_argument("--output", type=Path, help="what the one NAME printed; nothing is run")
    parser.add_argument("--draw", action="store_true", help="run nothing, only write the page")
    given = parser.parse_args()
    known = [*benchmarks()]
    if unknown := {*given.names} - {each.name for each in known}:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    failed = 0
    for each in known:
        if given.draw or (given.names and each.name not in given.names):
            continue
        needs = ["--long"] if each.long and not given.long else []
        needs += ["--dir"] if "{dir}" in each.command and not given.dir else []
        needs = [] if given.output else needs
        print(f"\n{each.command}" + (f": left out, needs {' and '.join(needs)}" if needs else ""))
        if needs:
            continue
        try:
            where = machine()
            output = given.output.read_text("utf-8") if given.output else printed(each, given.dir)
            record[each.command] = recorded(each, output, where)
        except ValueError as error:
            print(f"{each.command}: {error}", file=sys.stderr)
            failed = 1
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(record), "utf-8")
    print(PAGE.relative_to(TOP))
    return failed


if __name__ == "__main__":
    sys.exit(main())
