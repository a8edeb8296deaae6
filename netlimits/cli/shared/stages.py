"""The stages of `netlimits diagnose`; each is a campaign.

The hosts are observed unchanged. Then doses, which are small changes of one resource, run in blocks
with the baseline. The most helpful change is kept (a rung) while the next limit is sought.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from secrets import randbits
from statistics import mean
from typing import TYPE_CHECKING

from netlimits.archive import logbook
from netlimits.archive.logbook import Logbook
from netlimits.campaign import creation
from netlimits.campaign.interrupt import Interrupted, Stop
from netlimits.checks import Finding
from netlimits.checks.survey import Survey, look
from netlimits.cli.shared import logins
from netlimits.cli.shared.conduct import Conduct
from netlimits.cli.shared.hosts import all_logged_in
from netlimits.cli.shared.lines import say_warnings
from netlimits.cli.shared.output import echo, quoted
from netlimits.errors import CheckError, InputError
from netlimits.experiment import load
from netlimits.experiment.plan import SEED_BITS, Plan, seeded
from netlimits.hosts.base import Host
from netlimits.limits.base import Intervention
from netlimits.limits.figures import RunFigures
from netlimits.limits.ladder import doses, workloads
from netlimits.limits.verdicts import Verdict
from netlimits.model import Machine, Record
from netlimits.restore.guard.claims import refuse_claimed

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign

A_RUN = 2.5
"""Estimated seconds of a run of one second, including settings, evidence and tool start."""
BETWEEN = 0.3
"""Seconds between two runs, for the journal and the guards."""
CLOSING = 8.0
"""Seconds to reserve after the last run, to restore hosts, judge, and write the report."""
STAGE = 6.0
"""Seconds of a stage in addition to its runs: logins, a survey, claims, restoring."""
MOST_DOSES, FEWEST_BLOCKS, ENOUGH_BLOCKS, FIRST_BLOCKS = 6, 2, 4, 6
"""Maximum number of doses of a workload, and three numbers of blocks.

Each dose gets at least FEWEST_BLOCKS. If ENOUGH_BLOCKS of the deciding doses do not fit the budget,
fewer doses are run.
After FIRST_BLOCKS, only undecided doses get more blocks.
"""
SAFE = 0.75
"""Share of the time left for which the first blocks are planned, since doses make runs longer."""
LATE = 1.5
"""No dose is run if even the fewest blocks need more than this multiple of the planned time."""
_LINE = re.compile(r"^\S+:\d+: ")
"""FILE:LINE of a finding; in a generated experiment it means nothing to the user."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The time that a diagnosis may take, in seconds from its start."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        return self.began + self.seconds - CLOSING - time.monotonic()


@dataclass
class Stages:
    """Run the stages of one direction; `left_out` collects the changes that cannot be made."""

    machines: Mapping[str, Machine]
    conduct: Conduct
    stop: Stop
    budget: Budget
    folder: Path
    title: str
    left_out: list[str] = field(default_factory=list)
    _a_run: float = A_RUN
    _warned: bool = False

    def observe(self, text: str, folder: Path) -> Campaign:
        plan = self._plan(text, folder)
        with self._hosts() as hosts:
            survey, errors = self._looked(plan, hosts)
            if errors:
                raise CheckError(errors)
            self._run(plan, survey, hosts, folder)
        return self._open(folder)

    def dose(self, observed: Campaign, folder: Path) -> Campaign | None:
        """Run doses of the resources that `observed` leaves open; None if no dose can be run."""
        refused: set[str] = set()
        while True:
            planned = self._fitting(observed, refused, folder)
            if planned is None:
                return None
            with self._hosts() as hosts:
                survey, errors = self._looked(planned, hosts)
                levels = _levels_of(planned, errors)
                if not errors:
                    self._run(planned, survey, hosts, folder)
                    break
            if not levels - refused:
                raise CheckError(errors)
            refused |= levels
            why = "; ".join(f"{each.host}: {_LINE.sub('', each.problem)}" for each in errors)
            self.left_out.append(f"{', '.join(sorted(levels))}: {why}")
        self._extend(folder, survey)
        return self._open(folder)

    def room(self, workloads: int) -> bool:
        return self.budget.left > 2 * STAGE + self._a_run * workloads * (2 + 2 * ENOUGH_BLOCKS)

    def _fitting(self, observed: Campaign, refused: set[str], folder: Path) -> Plan | None:
        """Return the plan with as many doses as fit the budget; None if no dose can be run."""
        from netlimits.limits import sequel
        from netlimits.limits.proof import INTERVENTION, NONE

        length = workloads.seconds(_round_trip(observed))
        a_run = self._a_run + length - workloads.SECONDS

        def plan(most: int, deciding: bool, blocks: int) -> Plan:
            def chosen(verdict: Verdict, runs: Sequence[RunFigures]) -> Sequence[Intervention]:
                every = doses.candidates(verdict, runs, deciding=deciding)
                return [dose for dose in every if dose.level not in refused]

            text = sequel.dosed(observed, chosen, most, self.title, blocks, length)
            return self._plan(text, folder)

        kept, least, room = None, 0.0, SAFE * (self.budget.left - STAGE)
        for most, deciding in product(range(MOST_DOSES, 0, -1), (False, True)):
            once = plan(most, deciding, 1)
            if any(each.values[INTERVENTION] != NONE for each in once.configurations):
                fit, least = int(room / (len(once) * a_run)), FEWEST_BLOCKS * len(once) * a_run
                kept = (most, deciding, min(FIRST_BLOCKS, max(FEWEST_BLOCKS, fit)))
                if fit >= (ENOUGH_BLOCKS if deciding else FIRST_BLOCKS):
                    break
        if kept and least > LATE * room:
            wanted = self.budget.seconds + least / SAFE
            self.left_out.append(
                f"all doses: too little time, as a run takes {a_run:.0f} s; --time {wanted:.0f}s"
            )
            return None
        return plan(*kept) if kept else None

    def _extend(self, folder: Path, survey: Survey) -> None:
        from netlimits.limits.ladder.diagnosis import undecided

        campaign = logbook.open(folder)
        chosen = undecided(self._open(folder))
        blocks = int((self.budget.left - STAGE) / (len(chosen) * self._a_run)) if chosen else 0
        if blocks < 1:
            return
        say(f"{blocks} more block{'s' if blocks > 1 else ''} for what is not proven")
        with self._hosts() as hosts, logins.locked(campaign):
            self.stop.defer()
            extended = campaign.extend(blocks, randbits(SEED_BITS), chosen)
            self._work(extended, survey, hosts)

    def _plan(self, text: str, folder: Path) -> Plan:
        return Plan(seeded(load.parse(text, folder / "experiment.yaml")))

    @contextmanager
    def _hosts(self) -> Iterator[Mapping[str, Host]]:
        with (
            self.stop.interruptible(),
            all_logged_in(self.machines, self.conduct.patience) as hosts,
        ):
            refuse_claimed(hosts)
            yield hosts

    def _looked(self, plan: Plan, hosts: Mapping[str, Host]) -> tuple[Survey, list[Finding]]:
        """Survey the hosts; return survey and errors. Warn, and try the tools, only once."""
        survey = look(plan, self.machines, hosts, try_tools=not self._warned)
        if not self._warned:
            self.conduct.check(plan.experiment)
            say_warnings(survey.findings)
            self._warned = True
        return survey, [each for each in survey.findings if each.severity == "error"]

    def _run(self, plan: Plan, survey: Survey, hosts: Mapping[str, Host], folder: Path) -> None:
        self.stop.defer()
        campaign = creation.create(plan, survey, folder, logins.registrar(survey.machines))
        with logins.locked(campaign):
            self._work(campaign, survey, hosts)

    def _work(self, campaign: Logbook, survey: Survey, hosts: Mapping[str, Host]) -> None:
        try:
            self.conduct.work_through(campaign, survey, hosts, self.stop, self._left)
        except Interrupted as error:
            folder = quoted(campaign.path)
            error.args = (f"{error}; then print its answer: netlimits diagnose --from {folder}",)
            raise
        self._a_run = BETWEEN + seconds_of_a_run(campaign.records())

    def _left(self, seconds: float) -> float:
        """Return the seconds until the answer: the rest of the budget, but at least `seconds`."""
        return max(seconds, self.budget.left + CLOSING)

    def _open(self, folder: Path) -> Campaign:
        from netlimits.archive import reader

        return reader.open(folder)


def seconds_of_a_run(records: Iterable[Record]) -> float:
    """Return the mean of the shortest runs, one of each configuration.

    Longer ones, such as the first, also start servers.
    """
    shortest: dict[str, float] = {}
    for record in records:
        known = shortest.get(record.run.config, record.duration_s)
        shortest[record.run.config] = min(known, record.duration_s)
    return mean(shortest.values())


def _round_trip(observed: Campaign) -> float | None:
    """Return the lowest round trip of all runs in µs, None if unknown."""
    frame = observed.frame()
    columns = [name for name in frame.columns if name.endswith("_min_rtt_us")]
    least = frame[columns].min().min() if columns else None
    return None if least is None or least != least else float(least)


def _levels_of(plan: Plan, errors: Iterable[Finding]) -> set[str]:
    """Return the changes whose settings have errors; an error of `sudo` affects the whole host."""
    from netlimits.limits.proof import INTERVENTION

    places: dict[str, set[tuple[str, str]]] = {}
    for configuration in plan.configurations:
        uses = plan.setup(configuration.values).settings
        own = {(use.name, role) for use in uses for role in use.roles}
        places.setdefault(str(configuration.values[INTERVENTION]), set()).update(own)
    wrong = {(each.check, each.host) for each in errors}
    return {
        level
        for level, own in places.items()
        if any((name, role) in wrong or ("sudo", role) in wrong for name, role in own)
    }


def refuse_short(seconds: float, workloads: int) -> None:
    least = CLOSING + A_RUN * workloads * (1 + 2 * FEWEST_BLOCKS)
    if seconds < least:
        raise InputError(
            f"--time {seconds:g}s: is too short for {workloads} workload"
            f"{'s' if workloads > 1 else ''}; it takes {least:.0f} s at least: choose fewer with "
            "--workload, or --no-changes"
        )


def say(line: str) -> None:
    echo(line, err=True)
