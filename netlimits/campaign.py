"""A campaign as a thing to open: its experiment, its frame, its state.

campaign = netlimits.open("results/stateless-offloads-20260101-120000")
campaign.frame()       # one row an attempt
campaign.intervals()   # one row an interim result
campaign.packets(1)    # one row a packet of a run's trace
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlimits import __version__, archive, outcome, plan, shapes
from netlimits import experiment as experiments
from netlimits.archive import Archive, end_fields
from netlimits.errors import ArchiveError, DataError, ToolFailure
from netlimits.evidence import facts
from netlimits.model import STATUSES, Experiment, Record, Run
from netlimits.survey import Survey

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Campaign:
    """One campaign's folder, for reading."""

    archive: Archive

    @property
    def path(self) -> Path:
        """The folder."""
        return self.archive.path

    @property
    def imported(self) -> Mapping[str, Any] | None:
        """What the folder was imported from (`netlimits import`), None for a campaign of ours."""
        found: dict[str, Any] | None = self.archive.meta.get("imported")
        return found

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment as it was run: the file to the letter, `--set`, and the seed drawn.

        Of an imported campaign only the name and the factors' names are known.
        """
        meta = self.archive.meta
        if self.imported:
            factors: dict[str, tuple[()]] = dict.fromkeys(self.imported["factors"], ())
            path = self.path / "campaign.json"
            name = meta.get("experiment", "imported")
            return Experiment(name, path, text="", roles=(), factors=factors)
        overrides = [(key, text) for key, text in meta["overrides"]]
        loaded = experiments.load(self.path / "experiment.yaml", overrides)
        return replace(loaded, repeat=replace(loaded.repeat, seed=meta["seed"]))

    @property
    def skipped(self) -> Mapping[str, str]:
        """The reason for each tool whose runs were left out from the beginning."""
        found: dict[str, str] = self.archive.meta.get("skipped", {})
        return found

    @cached_property
    def runs(self) -> Mapping[int, Run]:
        """The plan, by run number; of an imported campaign the runs that were read."""
        if self.imported:
            rows = archive.imported(self.archive).values()
            return {row["run"]: Run(row["run"], 1, row["config"], row["values"]) for row in rows}
        return {run.number: run for run in plan.runs(self.experiment)}

    def records(self) -> list[Record]:
        """Every attempt, in the order in which they started."""
        return archive.records(self.archive, self.runs)

    def frame(self) -> pd.DataFrame:
        """One row an attempt: identity, factors and derived values, metrics (netlimits.results)."""
        from netlimits import results

        kept = results.kept(self.archive)
        return self._frame() if kept is None else kept

    def intervals(self) -> pd.DataFrame:
        """One row an interim result: run, attempt, factors, `ending_s`, `interval_s`, the rate.

        A run with parallel streams of its own (iperf3's `parallel`) has their sum in one row, so
        that `analysis.aggregate` takes runs for streams unless it is told other columns.
        """
        from netlimits import results

        return results.intervals(self.records())

    def packets(
        self, run: int, attempt: int | None = None, role: str | None = None
    ) -> pd.DataFrame:
        """The packet trace of a run, as `analysis.traces.trace` has it, cut to the run's MSS.

        Without `attempt` that of the run's last one; `role` chooses where several were traced.
        Raises ArchiveError where none was taken, DataError for a trace that cannot be read.
        """
        from netlimits.analysis.traces import trace

        record = self._attempt(run, attempt)
        where = f"{self.path}: run {run}"
        taken = {
            entry["host"]: entry["stdout"]
            for entry in self.archive.read_raw(run, record.attempt)
            if entry["step"] == outcome.TRACE and "tcpdump" in entry["argv"]
        }
        if not taken:
            raise ArchiveError(f"{where} has no packet trace: the experiment takes none")
        if role is None and len(taken) > 1:
            raise ArchiveError(f"{where} has traces of {', '.join(taken)}: say which")
        chosen = next(iter(taken)) if role is None else role
        if chosen not in taken:
            raise ArchiveError(f"{where} has no trace of {chosen}; there is {', '.join(taken)}")
        mss = record.figures.get("transport_mss_bytes")
        try:
            return trace(taken[chosen].encode(), mss=int(mss) if mss else None)
        except DataError as error:
            raise DataError(f"{where}: {error}") from None

    def traces(self, runs: Iterable[int] | None = None, role: str | None = None) -> pd.DataFrame:
        """The packet traces of several runs under one another, with `run` and the factors.

        Without `runs` those of every run that is ok.
        """
        import pandas as pd

        chosen = self.ok_runs() if runs is None else runs
        parts = [
            self.packets(run, role=role).assign(run=run, **self.runs[run].values) for run in chosen
        ]
        if not parts:
            raise ArchiveError(f"{self.path}: no run is ok, so there is no trace")
        return pd.concat(parts, ignore_index=True)

    def ok_runs(self) -> list[int]:
        """The numbers of the runs whose last attempt is ok, in the plan's order."""
        last = {record.run.number: record.status for record in self.records()}
        return sorted(number for number, status in last.items() if status == "ok")

    def _attempt(self, run: int, attempt: int | None) -> Record:
        """An attempt at a run, or its last one. Raises ArchiveError for one that was not made."""
        made = [r for r in self.records() if r.run.number == run and attempt in (None, r.attempt)]
        if not made:
            which = f"run {run}" if attempt is None else f"attempt {attempt} at run {run}"
            raise ArchiveError(f"{self.path}: there was no {which}")
        return made[-1]

    def write_results(self) -> tuple[Path, Path]:
        """Make `results.csv` and `results.parquet` anew from the journal; returns their paths.

        Nothing may append to the journal meanwhile: they are stamped with its length.
        """
        from netlimits import results

        return results.write(self.archive, self._frame())

    def _frame(self) -> pd.DataFrame:
        from netlimits import results

        shared = self.archive.meta["shared_kernel"]
        return results.frame(self.experiment, self.records(), shared)

    def state(self) -> dict[str, Any]:
        """How far it is: runs by outcome, runs left, attempts interrupted, what is not put back."""
        records = self.records()
        outcomes = {r.run.number: r.status for r in records if r.status != "interrupted"}
        counts = Counter(outcomes.values())
        skipped = self._skipped()
        return {
            "path": str(self.path),
            "experiment": self.experiment.name,
            "seed": self.experiment.repeat.seed,
            "imported": self.imported and [one["file"] for one in self.imported["files"]],
            "planned": len(self.runs) - sum(skipped.values()),
            "skipped": [
                {"tool": tool, "runs": skipped[tool], "reason": reason}
                for tool, reason in self.skipped.items()
            ],
            **{status: counts.get(status, 0) for status in STATUSES if status != "interrupted"},
            "left": len(self.runs) - sum(skipped.values()) - len(outcomes),
            "interrupted": sum(r.status == "interrupted" for r in records),
            "not_put_back": [
                {k: e[k] for k in ("role", "interface", "setting")}
                for e in archive.unfinished(self.archive)
            ],
            "reconnected": dict(Counter(archive.reconnected(self.archive))),
            "reasons": dict(Counter(r.reason for r in records if r.reason).most_common()),
        }

    def _skipped(self) -> Counter[str]:
        """How many runs of each tool are left out."""
        return plan.Plan(self.experiment, self.skipped).left_out() if self.skipped else Counter()


def open(path: str | Path) -> Campaign:  # noqa: A001 - the API says netlimits.open
    """The campaign in a folder. Raises ArchiveError when there is none, or another version's."""
    opened = Archive.open(Path(path))
    if not shapes.has(opened.meta, shapes.META):
        raise ArchiveError(f"{opened.path / 'campaign.json'}: is damaged")
    return Campaign(opened)


def create(experiment: Experiment, found: Survey, path: Path) -> Campaign:
    """A new campaign's folder, with the plan, ready to be run.

    `experiment` has its seed. Raises ArchiveError when the folder cannot be made or is in use.
    """
    meta = {
        "netlimits": __version__,
        "experiment": experiment.name,
        "file": str(experiment.path),
        "overrides": [list(pair) for pair in experiment.overrides],
        "seed": experiment.repeat.seed,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machines": {
            role: {**asdict(machine), "ssh_config": _text(machine.ssh_config)}
            for role, machine in found.machines.items()
        },
        "features": {
            name: {"version": f.version, "features": sorted(f.names)}
            for name, f in found.features.items()
        },
        "shared_kernel": found.shared_kernel,
        "skipped": dict(found.skipped),
        "clocks": {role: asdict(one) for role, one in found.clocks.items()},
        "findings": [asdict(one) for one in found.findings],
    }
    made = Archive.create(
        path,
        meta,
        experiment.text,
        found.facts,
        lambda file: plan.write_csv(experiment, file, found.skipped),
    )
    return Campaign(made)


def default_path(experiment: Experiment) -> Path:
    """`results/NAME-DATE-TIME` under the current folder, numbered when it is there already."""
    stem = f"{experiment.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, number = Path("results") / stem, 2
    while path.exists():
        path, number = Path("results") / f"{stem}-{number}", number + 1
    return path


def changed_hosts(campaign: Campaign, found: Survey) -> tuple[str, ...]:
    """By what the hosts are no longer those that the campaign began on, in words."""
    return tuple(
        f"{role}: {mismatch}"
        for role in campaign.archive.machines
        for mismatch in facts.mismatches(campaign.archive.facts(role), found.facts[role])
    )


def reparse(campaign: Campaign) -> tuple[int, int]:
    """Read every attempt's raw output again; returns how many were read and how many changed.

    The journal must be locked. An attempt whose tool never ran stays as it is.
    """
    read = changed = 0
    for record in campaign.records():
        if record.status == "interrupted":
            continue
        entries = campaign.archive.read_raw(record.run.number, record.attempt)
        if not outcome.has_client(entries):
            continue
        read += 1
        again = _read_again(record, campaign, entries)
        if again != record:
            changed += 1
            campaign.archive.append("parsed", **end_fields(again))
    return read, changed


def check_plan(campaign: Campaign) -> None:
    """Raise ArchiveError when the archived experiment no longer makes the archived plan."""
    import io

    if campaign.imported:
        raise ArchiveError(f"{campaign.path}: was imported from files: there is nothing to resume")

    text = io.StringIO(newline="")
    plan.write_csv(campaign.experiment, text, campaign.skipped)
    path = campaign.path / "plan.csv"
    try:
        kept = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror}") from None
    if text.getvalue() != kept:
        raise ArchiveError(
            f"{campaign.path}: experiment.yaml no longer makes plan.csv; one of them was edited, "
            "or another netlimits wrote them: put it back, or start a new campaign"
        )


def _read_again(record: Record, campaign: Campaign, entries: list[dict[str, Any]]) -> Record:
    _, asked = outcome.asked(campaign.experiment, record.run, campaign.archive.machines)
    try:
        again = outcome.read(asked, entries)
    except ToolFailure as error:
        status: Any = error.status
        return replace(record, status=status, reason=str(error), figures={}, interim=())
    return replace(
        record, status="ok", reason="", figures=dict(again.figures), interim=again.interim
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())
