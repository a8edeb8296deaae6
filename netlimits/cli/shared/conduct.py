"""Carry out a campaign for `run`, `resume` and `extend`: options, progress and results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.archive.logbook import Logbook
from netlimits.archive.records import unfinished
from netlimits.campaign.interrupt import Interrupted, Stop, interruptible
from netlimits.campaign.progress import Progress
from netlimits.checks.survey import Survey
from netlimits.cli.shared.hosts import free_command, say_changed
from netlimits.cli.shared.lines import counts
from netlimits.cli.shared.options import (
    AT_ONCE,
    GUARD,
    JSON,
    PATIENCE,
    QUIET,
    SCHEDULER,
    VERBOSE,
    options_of,
)
from netlimits.cli.shared.output import echo, echo_json, quoted
from netlimits.cli.shared.progress import display
from netlimits.cli.shared.sides import pairs_at_once
from netlimits.errors import (
    ArchiveError,
    ArchiveUnwritable,
    InputError,
    NetlimitsError,
    RestoreError,
    one_line,
)
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.model import Experiment, Machine
from netlimits.restore.guard import guards

if TYPE_CHECKING:
    from netlimits.archive.copies import RunsCopy
    from netlimits.campaign.mesh.cluster import ClusterRunner
    from netlimits.campaign.session import Session


def _runs_copy(context: click.Context, _: click.Parameter, place: str | None) -> RunsCopy | None:
    if place is None or context.resilient_parsing:
        return None
    from netlimits.archive.copies import RunsCopy

    return RunsCopy.at(place)


SHARE = click.option(
    "--share",
    metavar="PLACE",
    callback=_runs_copy,
    help="Also write the runs as Parquet files to this place: a folder, or a URL such as "
    "s3://bucket/mesh.",
)


@dataclass(frozen=True, slots=True)
class Conduct:
    guard: str
    patience: Patience
    at_once: int | None
    scheduler: str | None
    share: RunsCopy | None
    as_json: bool
    verbosity: str | None

    def check(self, experiment: Experiment) -> None:
        """Raise InputError for options that do not fit an experiment; warn of `--guard off`."""
        pairs_at_once(experiment, self.at_once)
        if self.scheduler:
            from netlimits.campaign.mesh import cluster

            if not experiment.mesh:
                raise InputError(
                    "--scheduler is for a mesh, and the experiment has one pair; leave it out"
                )
            cluster.client(self.scheduler).close()
        if guards.patience(self.guard) is None:
            echo(
                "netlimits: --guard off: if this machine is lost, hosts stay changed until "
                "`netlimits restore`",
                err=True,
            )

    def claim(self, campaign: Logbook | None) -> None:
        """Claim the place of `--share` for the runs of `campaign` (None: of a new campaign)."""
        if self.share:
            self.share.claim(campaign)

    def sharing(self, folder: Path) -> AbstractContextManager[None]:
        return sharing(self.share, folder, as_json=self.as_json)

    def carry_out(
        self, campaign: Logbook, survey: Survey, hosts: Mapping[str, Host], stop: Stop
    ) -> None:
        written = self.work_through(campaign, survey, hosts, stop)
        shown = ("compare",) if campaign.experiment.sides else ("explain", "table")
        shown = ("table",) if campaign.experiment.searched else shown
        _report(campaign.state(), written, campaign.path, shown, self.as_json)

    def work_through(
        self,
        campaign: Logbook,
        survey: Survey,
        hosts: Mapping[str, Host],
        stop: Stop,
        left: Callable[[float], float] = float,
    ) -> tuple[Path, ...]:
        """Carry out the pending runs and return the files written.

        `left` converts the remaining seconds of these runs to the seconds that progress shows.
        """
        work = self._work(campaign, survey, hosts, stop)
        campaign.archive.append("opened")
        try:
            with display(campaign.experiment, self.verbosity) as on_progress:
                self._every_run(
                    work,
                    stop,
                    lambda now: on_progress(replace(now, seconds_left=left(now.seconds_left))),
                )
        except NetlimitsError as error:
            _say_cut_off(campaign, error)
            raise
        finally:
            _say_side_effects(campaign, work)
        campaign.archive.append("closed")
        return _results(campaign)

    def _work(
        self, campaign: Logbook, survey: Survey, hosts: Mapping[str, Host], stop: Stop
    ) -> Session | ClusterRunner:
        from netlimits.campaign.mesh import cluster
        from netlimits.campaign.session import Session
        from netlimits.hosts.connect import connect

        guard = guards.patience(self.guard)
        if self.scheduler:
            for host in hosts.values():  # each worker has its own logins
                host.close()
            most = pairs_at_once(campaign.experiment, self.at_once)
            return cluster.ClusterRunner(
                campaign, survey, stop, self.scheduler, guard, self.patience.seconds, most,
                self.share,
            )  # fmt: skip

        def reconnect(machine: Machine) -> Host:
            return connect(machine, self.patience)

        return Session(campaign.archive, campaign.plan, survey, hosts, reconnect, guard)

    def _every_run(
        self, work: Session | ClusterRunner, stop: Stop, on_progress: Callable[[Progress], None]
    ) -> None:
        from netlimits.campaign import rehearsal
        from netlimits.campaign.mesh.schedule import every_pair
        from netlimits.campaign.schedule import every_search, in_order
        from netlimits.campaign.session import Session

        if not isinstance(work, Session):
            work.carry_out(on_progress)
            return
        experiment = work.plan.experiment
        with work.open():
            rehearsal.before_first_run(work, stop)
            if experiment.mesh:
                most = pairs_at_once(experiment, self.at_once)
                every_pair(work, stop, on_progress, at_once=most)
            elif experiment.searched:
                every_search(work, stop, on_progress)
            else:
                in_order(work, stop, on_progress)


conduct_options = options_of(
    "conduct", Conduct, GUARD, PATIENCE, AT_ONCE, SCHEDULER, SHARE, JSON, VERBOSE, QUIET
)
"""Decorator that passes the options of `Conduct` to the command as one argument, `conduct`."""


def _results(campaign: Logbook) -> tuple[Path, ...]:
    from netlimits.archive.reader import Campaign

    return Campaign(campaign.archive, campaign.planned).write_results()


def _say_cut_off(campaign: Logbook, error: NetlimitsError) -> None:
    """Print the state of a campaign that an error ended, and add to the error how to continue."""
    if isinstance(error, Interrupted | RestoreError):
        try:
            _results(campaign)
        except ArchiveError as unwritten:
            echo(f"netlimits: {unwritten}", err=True)
    if isinstance(error, Interrupted | RestoreError | ArchiveUnwritable):
        with suppress(ArchiveError):  # its folder may have been deleted
            echo(counts(campaign.state()), err=True)
    if error.exit_status == 2:  # 2 would mean that no host was changed
        error.exit_status = 1
    done = "" if isinstance(error, RestoreError) else f"; hosts are restored{_but_for(campaign)}"
    advice = f"continue with: netlimits resume {quoted(campaign.path)}"
    if not campaign.path.exists():
        advice = f"its folder was moved or deleted; move it back, then {advice}"
    elif isinstance(error, ArchiveUnwritable):
        advice = f"make the folder writable again, then {advice}"
    if isinstance(error, RestoreError):
        advice += f"\n{free_command(quoted(campaign.path))}"
    error.args = (f"{error}{done}; {advice}",)


def _say_side_effects(campaign: Logbook, work: Session | ClusterRunner) -> None:
    from netlimits.campaign.session import Session

    if isinstance(work, Session):
        say_changed(work.changed_by_others)
    elif work.unshared:
        echo(f"netlimits: a worker could not leave its runs there: {work.unshared}", err=True)
    if problem := campaign.archive.compaction.problem:
        command = f"netlimits parse {quoted(campaign.path)}"
        echo(f"netlimits: parts are missing ({problem}); write them with: {command}", err=True)


def _but_for(campaign: Logbook) -> str:
    with suppress(ArchiveError):  # the folder may have been deleted
        roles = sorted({event["role"] for event in unfinished(campaign.archive)})
        return f", but for {' and '.join(roles)}" if roles else ""
    return ""


def _report(
    state: Mapping[str, Any],
    written: Sequence[Path],
    folder: Path,
    shown: Sequence[str],
    as_json: bool,
) -> None:
    """Print the outcome and commands that show it, `shown` first; exit 1 if a run is not ok."""
    if as_json:
        files = [str(path) for path in written]
        echo_json({**state, "files": files})
    else:
        echo(counts(state))
        for reason, count in list(state["reasons"].items())[:5]:
            echo(f"  {count} × {one_line(reason)}")
        for path in written:
            echo(str(path))
        if state["ok"]:
            for number, command in enumerate((*shown, "figures", "report")):
                echo(f"{'     ' if number else 'next:'} netlimits {command} {quoted(folder)}")
    if state["left"] or (state["ok"] < state["planned"] and not state["searches"]):
        sys.exit(1)


@contextmanager
def sharing(copy: RunsCopy | None, folder: Path, *, as_json: bool) -> Iterator[None]:
    """Copy the campaign's runs to `copy` at the end, also after an error in the `with` block."""
    try:
        yield
    except BaseException:
        try:
            _leave(copy, folder, as_json=as_json)
        except NetlimitsError as beside:
            echo(f"netlimits: {beside}", err=True)
        raise
    _leave(copy, folder, as_json=as_json)


def _leave(copy: RunsCopy | None, folder: Path, *, as_json: bool) -> None:
    from netlimits.archive import reader

    if copy is None or not (folder / "campaign.json").exists():
        return
    try:
        with interruptible():
            echo(copy.write(reader.open(folder)), err=as_json)
    except NetlimitsError as error:
        command = f"netlimits export {quoted(folder)} --format parquet --out {quoted(copy.place)}"
        if not isinstance(error, Interrupted):
            error.exit_status = 1
        error.args = (f"{error}; all runs are in {folder}; leave them there with: {command}",)
        raise
