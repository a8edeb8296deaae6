"""The tables of measured figures in docs/how-to, measured anew.

    sudo .venv/bin/python benchmarks/pages.py bbr
    sudo .venv/bin/python benchmarks/pages.py pinning
    sudo .venv/bin/python benchmarks/pages.py queues
    .venv/bin/python benchmarks/pages.py latency-under-load

The experiment is the one that stands on the page, taken out of it, in shorter and fewer runs, as
the page says above its table (`MEASURED`). It runs on two machines of a lab of its own with two
CPUs each, which is taken down whatever happens. The table of latency-under-load is of a campaign
that is kept (`scripts/gallery.py` measures it): nothing runs.

Printed: each mean, and each ratio within blocks, of the tables that the experiment asks for, with
their intervals over the runs; then what there is to know of them. Progress and warnings go to
standard error. Exits with 1 where a run failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import netlimits as nl
from netlimits import tables
from netlimits.analysis import wording
from netlimits.archive.reader import Campaign
from netlimits.campaign.interrupt import interruptible
from netlimits.errors import NetlimitsError
from netlimits.lab import labs
from netlimits.metrics import metric

TOP = Path(__file__).parents[1]
KEPT = TOP / "experiments/gallery/latency-under-load"
FENCE = r"^```yaml\n(# {}\n.*?)^```$"
RATIO = "improvement"


@dataclass(frozen=True)
class Form:
    """A page with an experiment, and how many runs of how many seconds its table is of."""

    page: str
    seconds: int
    blocks: int

    def experiment(self, name: str) -> str:
        """The text of the file that the page shows under this name."""
        page = (TOP / "docs/how-to" / self.page).read_text("utf-8")
        (text,) = re.findall(FENCE.format(re.escape(name)), page, re.MULTILINE | re.DOTALL)
        return str(text)


MEASURED = {
    "bbr": Form("bbr.md", seconds=5, blocks=10),
    "pinning": Form("pinning.md", seconds=4, blocks=8),
    "queues": Form("latency-under-load.md", seconds=3, blocks=6),
}


def campaign(name: str, folder: Path) -> tuple[Campaign, bool]:
    """The page's experiment, run in a lab of its own, and whether each run was ok."""
    form, lab = MEASURED[name], f"p{os.getpid()}"
    file, out = folder / f"{name}.yaml", folder / "results"
    file.write_text(form.experiment(file.name))
    try:
        made = labs.up(lab, guest=labs.Guest(cpus=2), say=said)
        command = [
            *(sys.executable, "-m", "netlimits", "run", file, "--hosts", made.hosts_file),
            *("--out", out, "--set", f"measure.netperf.seconds={form.seconds}"),
            *("--set", f"repeat.replicates={form.blocks}", "--quiet"),
        ]
        done = subprocess.run(command, stdout=sys.stderr, check=False)
    finally:
        labs.down(lab)
    return nl.open(out), done.returncode == 0


def said(line: str) -> None:
    """What takes long, told beside the figures."""
    print(line, file=sys.stderr)


def summaries(campaign: Campaign) -> Iterator[pd.DataFrame]:
    """The tables that the experiment asks for."""
    for entry in campaign.experiment.report:
        if entry.get("table") == "summary":
            options = {option: value for option, value in entry.items() if option != "table"}
            yield nl.summary(campaign.frame(), **options)


def lines(table: pd.DataFrame) -> Iterator[str]:
    """A table's means and ratios, a line each, and its notes."""
    factors = list(table.attrs["factors"])
    told = table[table["statistic"].isin(["mean", RATIO]) & table["value"].notna()]
    for _, row in told.iterrows():
        of, divisor = metric(row["metric"]), 1
        unit = "" if row["statistic"] == RATIO else f" {of.unit}"
        if unit == " µs":
            unit, divisor = " ms", 1000
        interval = row[["value", "low", "high"]].astype(float) / divisor
        decimals = tables.summaries.places(interval[:1])
        value, low, high = (f"{number:,.{decimals}f}" for number in interval)
        where = ", ".join(wording.phrases([row[factor] for factor in factors], factors))
        yield f"{where}: {of.name} {value} [{low}, {high}]{unit}"
    yield from table.attrs["notes"]


def main() -> int:
    """Print the figures of one table; 1 where a run failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=[*MEASURED, KEPT.name])
    given = parser.parse_args()
    done, good = nl.open(KEPT), True
    with tempfile.TemporaryDirectory() as folder:
        if given.name in MEASURED:
            try:
                with interruptible():
                    done, good = campaign(given.name, Path(folder))
            except NetlimitsError as error:
                sys.exit(str(error))
        for table in summaries(done):
            print(*lines(table), sep="\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
