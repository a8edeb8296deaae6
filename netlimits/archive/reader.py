"""A campaign as a thing to open: its experiment, its frame, its state.

campaign = netlimits.open("results/stateless-offloads-20260101-120000")
campaign.frame()       # one row an attempt
campaign.intervals()   # one row an interim result
campaign.packets(1)    # one row a packet of a run's trace
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from netlimits.archive import formats, records
from netlimits.archive.checksums import TextDigest
from netlimits.archive.creation import AGAINST
from netlimits.archive.records import History
from netlimits.archive.store import Archive
from netlimits.errors import ArchiveError, one_line
from netlimits.experiment import document, duet, load
from netlimits.experiment.plan import Plan
from netlimits.model import Experiment, Record, Run

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.analysis.relations import Relation


@dataclass(frozen=True)
class Campaign:
    """One campaign's folder, for reading; `planned` is the plan that it was just made of."""

    archive: Archive
    planned: Plan | None = None

    @property
    def path(self) -> Path:
        """The folder."""
        return self.archive.path

    @cached_property
    def imported(self) -> Mapping[str, Any] | None:
        """What the folder was imported from (`netlimits import`), None for a campaign of ours."""
        source: dict[str, Any] | None = self.archive.meta.get("imported")
        return source

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment as it was run: the file to the letter, `--set`, and the seed drawn.

        Of an imported campaign only the name and the factors' names are known. Raises ArchiveError
        where its file cannot be read, or does not fit campaign.json.
        """
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
                raise ArchiveError(f"{self.path / 'campaign.json'}: is damaged")
            loaded = duet.duet(loaded, second, called, roles)
        if loaded.repeat.seed not in (None, meta["seed"]):
            raise ArchiveError(
                f"{path}: has the seed {loaded.repeat.seed}, and campaign.json {meta['seed']}; one "
                "of them was edited: restore it"
            )
        if lacking := [role for role in loaded.roles if role not in meta["machines"]]:
            raise ArchiveError(f"{self.path / 'campaign.json'}: has no machine for {lacking[0]}")
        return replace(loaded, repeat=replace(loaded.repeat, seed=meta["seed"]))

    def _parsed(self, name: str, overrides: Iterable[Sequence[str]]) -> Experiment:
        """One of the folder's experiments, with what was changed in it."""
        self.archive.check(name)
        path = self.path / name
        try:
            text = self.archive.folder.read(name, document.BYTE_LIMIT).decode("utf-8")
        except (OSError, ValueError) as error:
            raise ArchiveError(f"{path}: cannot be read: {one_line(error)}") from None
        return _experiment(text, path, tuple((key, written) for key, written in overrides))

    @property
    def skipped(self) -> Mapping[str, str]:
        """The reason for each tool whose runs were left out from the beginning."""
        reasons: dict[str, str] = self.archive.meta.get("skipped", {})
        return reasons

    @cached_property
    def plan(self) -> Plan:
        """The experiment's plan and what was added to it, less the runs that were left out."""
        if self.planned:
            return self.planned.leaving_out(self.skipped)
        plan = Plan(self.experiment).leaving_out(self.skipped)
        for added in self.archive.extensions():
            plan = plan.extended(added["replicates"], added["seed"])
        return plan

    def extend(self, replicates: int, seed: int) -> Campaign:
        """Add so many runs of each configuration; the campaign with them. Its journal is locked."""
        self.plan.extended(replicates, seed)  # raises before anything is written
        self.archive.append("extended", replicates=replicates, seed=seed)
        return replace(self)

    @cached_property
    def runs(self) -> Mapping[int, Run]:
        """The plan, by run number; of an imported campaign the runs that were read."""
        if self.imported:
            count = sum(file["runs"] for file in self.imported["files"])
            rows = records.imported(self.archive, count).values()
            return {row["run"]: Run(row["run"], 1, row["config"], row["values"]) for row in rows}
        return {run.number: run for run in self.plan.runs()}

    def history(self) -> History:
        """All that the journal tells, read once."""
        return records.history(self.archive, self.runs)

    def records(self) -> list[Record]:
        """Every attempt, in the order in which they started."""
        return [*self.history().records]

    def frame(self, columns: Collection[str] | None = None, *, coded: bool = False) -> pd.DataFrame:
        """One row an attempt: identity, factors and derived values, metrics (archive.frames).

        `columns` are all that is needed of it: of a campaign with parts no others are read. Its
        text may be `coded`, as categories, which take less memory and time.
        `attrs["planned"]`: how many runs are planned, and how many are in the frame.
        """
        from netlimits.archive import frames

        frame = self._rolled(columns, coded)
        if frame is None:
            frame = frames.kept(self.archive)
        if frame is None:
            frame = self._frame()
        if not self.imported:
            frame.attrs["planned"] = [self.planned_runs(), _different(frame["run"])]
        return frame

    def relation(
        self, columns: Collection[str] | None = None, memory: str | None = None
    ) -> Relation:
        """The same as `frame`, in DuckDB: for more runs than memory holds (archive.relation).

        `summary`, `compare`, `analysis.percentiles` and `analysis.spread` take it in a frame's
        place. `memory` is what DuckDB may take for itself ("1GB"). Raises DataError where DuckDB
        is not installed.
        """
        from netlimits.analysis.relations import Relation
        from netlimits.archive import relation

        opened = relation.connection(memory or relation.MEMORY)
        shared, told = self.archive.meta["shared_kernel"], None
        if next(self.archive.each_part(), None):
            told = relation.rows(opened, self.archive, self.experiment, shared, columns)
        if told is None:
            frame = self.frame(columns)
            return Relation(
                relation.of_frame(opened, frame),
                opened,
                {str(name): value for name, value in frame.attrs.items()},
            )
        rows, attrs = told
        return Relation(rows, opened, {**attrs, "planned": [self.planned_runs()]})

    def frames(self) -> Iterator[pd.DataFrame]:
        """The frame in pieces, each with all columns: of a campaign with parts one for each."""
        from netlimits.archive import frames

        parts = self.archive.parts()
        if not parts:
            yield self.frame()
            return
        yield from frames.pieces(
            self.archive, parts, self.experiment, self.archive.meta["shared_kernel"]
        )

    def _rolled(self, columns: Collection[str] | None, coded: bool) -> pd.DataFrame | None:
        """The frame out of the parts; None where there are none, or they do not tell it."""
        parts = self.archive.parts()
        if not parts:
            return None
        from netlimits.archive import frames, rolled

        shared = self.archive.meta["shared_kernel"]
        try:
            return frames.rolled_frame(
                self.archive, parts, self.experiment, shared, columns, coded=coded
            )
        except rolled.Unlike:
            return None

    def intervals(self) -> pd.DataFrame:
        """One row an interim result: run, attempt, factors, `ending_s`, `interval_s`, the rate.

        A run with parallel streams of its own (iperf3's `parallel`) has their sum in one row, so
        that `analysis.aggregate` takes runs for streams unless it is told other columns.
        """
        from netlimits.archive import frames

        if parts := self.archive.parts():
            return frames.rolled_intervals(self.archive, parts, self.experiment)
        return frames.intervals(self.records())

    def packets(
        self, run: int, attempt: int | None = None, role: str | None = None
    ) -> pd.DataFrame:
        """The packet trace of a run, as `analysis.traces.trace` has it, cut to the run's MSS.

        Without `attempt` that of the run's last one; `role` chooses where several were traced.
        Raises ArchiveError where none was taken, DataError for a trace that cannot be read.
        """
        from netlimits.archive import traces

        return traces.of_run(self.archive, self._attempt(run, attempt), role)

    def traces(self, runs: Iterable[int] | None = None, role: str | None = None) -> pd.DataFrame:
        """The packet traces of several runs under one another, with `run` and the factors.

        Without `runs` those of every run that is ok. Raises ArchiveError for a run that was not
        made, and where none is ok; DataError as `packets`.
        """
        from netlimits.archive import traces

        last = {record.run.number: record for record in self.records()}
        ok = sorted(number for number, record in last.items() if record.status == "ok")
        chosen = ok if runs is None else list(runs)
        if missing := [number for number in chosen if number not in last]:
            raise ArchiveError(f"{self.path}: there was no run {missing[0]}")
        if not chosen:
            raise ArchiveError(f"{self.path}: no run is ok, so there is no trace")
        return traces.of_runs(self.archive, [last[run] for run in chosen], role)

    def ok_runs(self) -> list[int]:
        """The numbers of the runs whose last attempt is ok, in the plan's order."""
        frame = self.frame(("status",))
        last = frame.drop_duplicates("run", keep="last")
        return sorted(map(int, last.loc[last["status"] == "ok", "run"]))

    def _attempt(self, run: int, attempt: int | None) -> Record:
        """An attempt at a run, or its last one. Raises ArchiveError for one that was not made."""
        attempts = [
            r for r in self.records() if r.run.number == run and attempt in (None, r.attempt)
        ]
        if not attempts:
            which = f"run {run}" if attempt is None else f"attempt {attempt} at run {run}"
            raise ArchiveError(f"{self.path}: there was no {which}")
        return attempts[-1]

    def write_results(self, history: History | None = None) -> tuple[Path, ...]:
        """Make `results.csv` and `results.parquet` anew from the journal; returns their paths.

        A campaign with parts has these instead: nothing is written of it as a whole, and what was
        before it had them goes. Nothing may append to the journal meanwhile, or since `history`
        was read of it: results.json says how far it went.
        """
        from netlimits.archive import frames

        if self.archive.parts():
            frames.remove(self.archive)
            return (self.path / "parts",)
        history = history or self.history()
        return frames.write(self.archive, self._frame(history), history.lines)

    def _frame(self, history: History | None = None) -> pd.DataFrame:
        from netlimits.archive import frames

        history, shared = history or self.history(), self.archive.meta["shared_kernel"]
        return frames.frame(self.experiment, history.records, shared)

    def state(self, history: History | None = None) -> dict[str, Any]:
        """How far it is: runs by outcome, runs left, attempts interrupted, what is not restored.

        `running` says by whom it is being run right now, and at which run; None where nobody does.
        """
        from netlimits.archive import state

        return state.of(self, history)

    def left(self, frame: pd.DataFrame) -> tuple[int, int]:
        """How many runs have no outcome in this campaign's frame, and how many are planned."""
        if self.imported:
            return 0, len(self.runs)
        planned = self.planned_runs()
        done = _different(frame.loc[frame["status"] != "interrupted", "run"])
        return planned - done, planned

    def planned_runs(self) -> int:
        """How many runs are planned, without those that are left out."""
        return len(self.plan) - self.plan.left_out().total()

    def skipped_runs(self) -> list[dict[str, Any]]:
        """The tools whose runs are left out: `tool`, how many `runs`, the `reason`."""
        left_out = self.plan.left_out() if self.skipped else {}
        return [
            {"tool": tool, "runs": left_out[tool], "reason": reason}
            for tool, reason in self.skipped.items()
        ]


def open(path: str | Path) -> Campaign:  # noqa: A001 - the API says netlimits.open
    """The campaign in a folder. Raises ArchiveError when there is none, or another version's."""
    opened = Archive.open(Path(path))
    if not formats.meta(opened.meta):
        raise ArchiveError(f"{opened.path / 'campaign.json'}: is damaged")
    opened.check("campaign.json")
    return Campaign(opened)


@lru_cache(maxsize=4)
def _experiment(text: str, path: Path, overrides: tuple[tuple[str, str], ...]) -> Experiment:
    """The experiment in a text: who opens a folder again and again reads it once."""
    return load.parse(text, path, overrides)


def _different(numbers: pd.Series) -> int:
    """How many different numbers there are; neighbours tell where none falls."""
    values = numbers.to_numpy()
    if (values[1:] < values[:-1]).any():
        return int(numbers.nunique())
    return int((values[1:] > values[:-1]).sum()) + bool(len(values))


def check_plan(campaign: Campaign) -> None:
    """Raise ArchiveError when the archived experiment no longer makes the archived plan."""
    if campaign.imported:
        raise ArchiveError(f"{campaign.path}: was imported from files: there is nothing to resume")
    digest = TextDigest()
    campaign.plan.as_begun().write_csv(cast(IO[str], digest))
    path = campaign.path / "plan.csv"
    try:
        kept = campaign.archive.folder.digest("plan.csv")
    except OSError as error:
        raise ArchiveError(f"{path}: {one_line(error)}") from None
    if digest.hexdigest() != kept:
        raise ArchiveError(
            f"{campaign.path}: experiment.yaml no longer makes plan.csv; one of them was edited, "
            "or another netlimits wrote them: restore it, or start a new campaign"
        )
