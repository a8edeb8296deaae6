"""A campaign's experiment, plan, records and searches, without loading pandas or pyarrow."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Self, cast

from netlimits.archive import formats, records
from netlimits.archive.store import AGAINST, Archive
from netlimits.errors import ArchiveError, one_line
from netlimits.experiment import document, duet, load, search
from netlimits.experiment.plan import Plan
from netlimits.experiment.search import controller
from netlimits.model import STATUSES, Experiment, Record, Run
from netlimits.model.searches import MISSED, WHY, Bounds, SearchTrial, counted


@dataclass(slots=True)
class SearchTrials:
    """A search: its first trial (`of`), its options in the YAML, each trial's last attempt."""

    of: Run
    options: dict[str, Any]
    records: dict[int, Record] = field(default_factory=dict)

    @property
    def trials(self) -> list[SearchTrial]:
        name = self.options["of"]
        return [
            *counted(
                (
                    float(r.run.values[name] or 0),
                    r.status,
                    _share(r.figures.get(MISSED)),
                    str(r.figures.get(WHY, "") or r.reason),
                )
                for _, r in sorted(self.records.items())
                if r.status != "interrupted"
            )
        ]

    def advance(self) -> int | Bounds:
        """Return the load of the next trial, or the result. Raises ArchiveError."""
        return controller.advance(search.read(self.options, 0), self.trials)

    def interrupted(self, load: int) -> Record | None:
        """Return the trial at a load that has no outcome yet."""
        name = self.options["of"]
        waiting = (r for r in self.records.values() if r.status == "interrupted")
        return next((r for r in waiting if r.run.values[name] == load), None)


def searches(plan: Plan, records: Iterable[Record]) -> list[SearchTrials]:
    """Return all searches of a plan in their order, with the trials among these records."""
    experiment = plan.experiment
    options = dict(experiment.around["search"])
    own_columns = {experiment.searched, *experiment.derived}

    def key(run: Run) -> tuple[object, ...]:
        given = ((n, repr(v)) for n, v in run.values.items() if n not in own_columns)
        return run.block, *sorted(given)

    every = {
        key(run): SearchTrials(run, options)
        for run in plan.searches()
        if not plan.skip_reason(run.values)
    }
    for record in records:
        if known := every.get(key(record.run)):
            before = known.records.get(record.run.number)
            if before is None or before.attempt <= record.attempt:
                known.records[record.run.number] = record
    return list(every.values())


def unfinished(known: Sequence[SearchTrials]) -> int:
    """Return the number of searches that need more trials."""
    return sum(not isinstance(each.advance(), Bounds) for each in known)


def _share(percent: Any) -> float | None:
    return None if percent is None else float(percent) / 100


@dataclass(frozen=True)
class Logbook:
    """A campaign's folder; `planned` is its plan, if the caller already has it."""

    archive: Archive
    planned: Plan | None = None

    @property
    def path(self) -> Path:
        return self.archive.path

    @cached_property
    def imported(self) -> Mapping[str, Any] | None:
        """The sources of imported results (`netlimits import`), None for a campaign."""
        source: dict[str, Any] | None = self.archive.meta.get("imported")
        if not source:
            return source
        parts = [
            source,
            *(e["added"] for e in self.archive.journal.having(b'"added"') if "added" in e),
        ]
        factors = dict.fromkeys(name for part in parts for name in part["factors"])
        files = [file for part in parts for file in part["files"]]
        return {**source, "files": files, "factors": [*factors], "parts": parts}

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment as it was run: the file with `--set` and the seed that was drawn."""
        if self.planned:
            return self.planned.experiment
        meta = self.archive.meta
        if self.imported:
            factors: dict[str, tuple[()]] = dict.fromkeys(self.imported["factors"], ())
            path = self.path / "campaign.json"
            name = meta.get("experiment", "imported")
            return Experiment(name, path, text="", roles=(), factors=factors)
        path = self.path / "experiment.yaml"
        self.archive.check("plan.csv")
        loaded = self._parsed("experiment.yaml", meta["overrides"])
        if against := meta.get("against"):
            second = self._parsed(AGAINST, against["overrides"])
            called = duet.names(",".join(against["sides"]))
            roles: dict[str, str] = against["roles"]
            if any(new != f"{called[1]}-{role}" for role, new in roles.items()):
                raise ArchiveError(
                    f"{self.path / 'campaign.json'}: is damaged; restore the file from a copy"
                )
            loaded = duet.duet(loaded, second, called, roles)
        if loaded.repeat.seed not in (None, meta["seed"]):
            raise ArchiveError(
                f"{path}: has the seed {loaded.repeat.seed}, and campaign.json {meta['seed']}; one "
                "of them was edited: restore it"
            )
        if lacking := [role for role in loaded.roles if role not in meta["machines"]]:
            raise ArchiveError(
                f"{self.path / 'campaign.json'}: has no machine for {lacking[0]}, a role of the "
                "experiment; one of them was edited: restore it"
            )
        return replace(loaded, repeat=replace(loaded.repeat, seed=meta["seed"]))

    def _parsed(self, name: str, overrides: Iterable[Sequence[str]]) -> Experiment:
        self.archive.check(name)
        path = self.path / name
        try:
            text = self.archive.folder.read(name, document.BYTE_LIMIT).decode("utf-8")
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: cannot be read: {one_line(error)}") from None
        return _experiment(text, path, tuple((key, written) for key, written in overrides))

    @property
    def skipped(self) -> Mapping[str, str]:
        """Tool whose runs are skipped -> the reason."""
        reasons: dict[str, str] = self.archive.meta.get("skipped", {})
        return reasons

    @cached_property
    def plan(self) -> Plan:
        """The experiment's plan with added runs; the runs of skipped tools are marked."""
        if self.experiment.searched:
            known = {record.run.number: record.run for record in records.records(self.archive)}
            plan = self.planned or Plan(self.experiment)
            return plan.leaving_out(self.skipped).with_trials(known.values())
        if self.planned:
            return self.planned.leaving_out(self.skipped)
        plan = Plan(self.experiment).leaving_out(self.skipped)
        for added in self.archive.extensions():
            chosen = added.get("configurations", ())
            plan = plan.extended(added["replicates"], added["seed"], chosen)
        return plan

    def extend(self, replicates: int, seed: int, chosen: Sequence[int] = ()) -> Self:
        """Add `replicates` runs of all or the `chosen` configurations to the plan.

        Return a logbook that reads the extended plan.
        """
        self.plan.extended(replicates, seed, chosen)  # raises an error before anything is written
        only = {"configurations": [*chosen]} if chosen else {}
        self.archive.append("extended", replicates=replicates, seed=seed, **only)
        return replace(self)

    @cached_property
    def runs(self) -> Mapping[int, Run]:
        """Number -> run of the plan, or of the imported results."""
        if self.imported:
            return {record.run.number: record.run for record in self.records()}
        return {run.number: run for run in self.plan.runs()}

    @cached_property
    def configurations(self) -> Mapping[str, Run]:
        """The first run of each configuration, by its hash."""
        first: dict[str, Run] = {}
        for run in self.runs.values() if self.imported else self.plan.runs():
            first.setdefault(run.config, run)
        return first

    def runs_of(self, numbers: Collection[int]) -> Mapping[int, Run]:
        """Return number -> run of these runs, without keeping all of a large plan."""
        if self.imported:
            return self.runs
        return {run.number: run for run in self.plan.runs() if run.number in numbers}

    def records(self) -> list[Record]:
        """Return all attempts in the order of their starts. Raises ArchiveError if damaged."""
        attempts = records.records(self.archive)
        self.check_imported(len({record.run.number for record in attempts}))
        return attempts

    def records_of(self, runs: Collection[int]) -> list[Record]:
        """Return the attempts at these runs, in the order of `records`, with less memory."""
        if self.imported:
            return [record for record in self.records() if record.run.number in runs]
        return records.of_runs(self.archive, runs)

    def check_imported(self, runs: int) -> None:
        """Raise ArchiveError if the number of imported runs differs from campaign.json."""
        count = sum(file["runs"] for file in self.imported["files"]) if self.imported else runs
        if runs != count:
            raise ArchiveError(
                f"{self.archive.journal.path}: holds {runs} runs, and {count} were imported; "
                "restore it from a copy, or import the files in raw/imported again"
            )

    def state(self) -> dict[str, Any]:
        """Return the JSON of `status --json`, such as counts of runs and the running process."""
        outcomes, about_attempts = records.state(self.archive)
        planned = len(self.runs) if self.imported else self.planned_runs()
        return {
            "path": str(self.path),
            "experiment": self.experiment.name,
            "seed": self.experiment.repeat.seed,
            "imported": self.imported and [file["file"] for file in self.imported["files"]],
            "planned": planned,
            "searches": len(self.search_trials()),
            "skipped": self.skipped_runs(),
            **{s: outcomes.get(s, 0) for s in STATUSES if s != "interrupted"},
            "left": planned - outcomes.total(),
            **about_attempts,
        }

    def planned_runs(self) -> int:
        """Return the number of planned runs, without skipped runs."""
        if self.experiment.searched:
            known = self.search_trials()
            trials = (r for each in known for r in each.records.values())
            return sum(r.status != "interrupted" for r in trials) + unfinished(known)
        return len(self.plan) - self.plan.skipped_runs().total()

    def search_trials(self) -> list[SearchTrials]:
        """Return the campaign's searches with their trials so far; empty if it has no search."""
        if self.imported or not self.experiment.searched:
            return []
        return searches(self.plan, records.records(self.archive))

    def skipped_runs(self) -> list[dict[str, Any]]:
        counts = self.plan.skipped_runs() if self.skipped else {}
        return [
            {"tool": tool, "runs": counts[tool], "reason": reason}
            for tool, reason in self.skipped.items()
        ]

    def check_plan(self) -> None:
        """Raise ArchiveError if the archived experiment does not generate the archived plan."""
        if self.imported:
            raise ArchiveError(f"{self.path}: holds imported results; they cannot be resumed")
        digest = _Digest()
        self.plan.as_begun().write_csv(cast(IO[str], digest))
        try:
            kept = self.archive.folder.digest("plan.csv")
        except OSError as error:
            raise ArchiveError(f"{self.path / 'plan.csv'}: {one_line(error)}") from None
        if digest.hash.hexdigest() != kept:
            raise ArchiveError(
                f"{self.path}: experiment.yaml does not give plan.csv; one of them was edited, or "
                "another version of netlimits wrote them: restore it, or start a new campaign"
            )


def opened(path: str | Path) -> Archive:
    """Open the campaign in a folder, and check its campaign.json. Raises ArchiveError."""
    archive = Archive.open(Path(path))
    if not formats.is_campaign_file(archive.meta):
        raise ArchiveError(
            f"{archive.path / 'campaign.json'}: is damaged; restore the file from a copy"
        )
    archive.check("campaign.json")
    return archive


def open(path: str | Path) -> Logbook:  # noqa: A001 - the name in archive.reader
    return Logbook(opened(path))


@lru_cache(maxsize=4)
def _experiment(text: str, path: Path, overrides: tuple[tuple[str, str], ...]) -> Experiment:
    """Parse an experiment once, even if a folder is opened repeatedly."""
    return load.parse(text, path, overrides)


class _Digest(io.TextIOBase):
    """A text file that keeps only the SHA-256 of what is written to it."""

    def __init__(self) -> None:
        self.hash = sha256()

    def write(self, text: str) -> int:
        self.hash.update(text.encode())
        return len(text)
