"""`netlimits run | resume | extend`: campaigns, from first run to last."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli import echo, logins, quoted
from netlimits.cli.hosts import all_logged_in, machines_of
from netlimits.cli.lines import counts, say_put_back, say_warnings, skipped_lines
from netlimits.cli.options import (
    AT_ONCE,
    COUNTS,
    GUARD,
    HOSTS,
    JSON,
    PATIENCE,
    RESULTS,
    SCHEDULER,
    SET,
    YES,
    progress_options,
)
from netlimits.cli.sharing import SHARE, sharing
from netlimits.cli.sides import Against, against_options, experiment_of, pairs_at_once
from netlimits.errors import (
    ArchiveError,
    ArchiveUnwritable,
    InputError,
    NetlimitsError,
    RestoreError,
    one_line,
)

if TYPE_CHECKING:
    from netlimits.archive.part_folder import PartFolder
    from netlimits.archive.reader import Campaign
    from netlimits.campaign.interrupt import Stop
    from netlimits.checks.survey import Survey
    from netlimits.hosts.base import Host
    from netlimits.hosts.patience import Patience
    from netlimits.model import Experiment, Machine


@click.command()
@click.argument("experiment_file", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@HOSTS
@click.option("--local", is_flag=True, help="Every role is this machine, over loopback.")
@SET
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder for results; results/NAME-DATE-TIME if left out.",
)
@GUARD
@PATIENCE
@AT_ONCE
@SCHEDULER
@SHARE
@JSON
@progress_options
@against_options
def run(
    experiment_file: Path,
    hosts_file: Path | None,
    local: bool,
    overrides: Sequence[str],
    out: Path | None,
    guard: str,
    patience: Patience,
    at_once: int | None,
    scheduler: str | None,
    share: PartFolder | None,
    as_json: bool,
    against: Against,
) -> None:
    """Run an experiment: every run of its plan, on hosts over SSH, or in the lab.

    Hosts are checked before anything is touched and put back as they were found at the end,
    after an error and after Ctrl-C, which also says how to go on. A guard on each host puts it
    back should this machine be lost. A host on which another campaign is at work is refused.

    --against interleaves a second side in the same blocks: another experiment's file, changes such
    as those of --set, other machines by --against-hosts. The factor `side` tells them apart, and
    `netlimits compare RESULTS` compares them within blocks, as two campaigns never can be.

    \b
    Examples:
      netlimits run experiments/quickstart.yaml --local
      netlimits run experiments/stateless-offloads.yaml --hosts hosts.yaml
      netlimits run experiments/stateless-offloads.yaml \\
          --set measure.netperf.seconds=1 --set repeat.replicates=3
      netlimits run experiments/quickstart.yaml --hosts hosts.yaml \\
          --against measure.netperf.program=/opt/netperf/bin/netperf --sides old,new
      netlimits run tuning.yaml --against tuned.yaml --hosts hosts.yaml
      netlimits run mesh.yaml --hosts hosts.yaml --share s3://bucket/mesh
    """
    from netlimits.campaign import creation
    from netlimits.campaign.interrupt import Stop
    from netlimits.checks import disk
    from netlimits.checks.survey import survey
    from netlimits.experiment.plan import Plan, seeded
    from netlimits.restore.guard.claims import refuse_claimed

    experiment, bound = experiment_of(
        experiment_file, overrides, against, lambda roles: machines_of(roles, hosts_file, local)
    )
    most = pairs_at_once(experiment, at_once)
    _refuse_scheduler(experiment, scheduler)
    plan = Plan(seeded(experiment))
    folder = out or creation.default_path(plan.experiment)
    _refuse_used(folder)
    guarding = _guard_seconds(guard)
    if share:
        share.claim(None)
    with (
        sharing(share, folder, as_json=as_json),
        Stop() as stop,
        stop.interruptible(),
        all_logged_in(bound, patience) as hosts,
    ):
        refuse_claimed(hosts)
        host_survey = survey(plan, bound, hosts)
        runs = len(plan) - plan.leaving_out(host_survey.skipped).left_out().total()
        room = disk.here(folder, runs)
        say_warnings([*host_survey.findings, room])
        stop.defer()
        campaign = creation.create(
            plan, host_survey, folder, logins.registrar(host_survey.machines)
        )
        if share:
            share.claim(campaign)
        echo(f"results: {campaign.path}", err=as_json)
        for line in skipped_lines(campaign.skipped_runs()):
            echo(line, err=as_json)
        with logins.locked(campaign):
            _carry_out(
                campaign, host_survey, hosts, stop, guarding, patience, most, as_json, scheduler
            )


ACCEPT = click.option(
    "--accept-changed-hosts",
    is_flag=True,
    help="Go on although a host's kernel, CPU, NIC or boot is not what it was.",
)


def _going_on(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the commands that go on with a campaign on its hosts."""
    for option in (
        progress_options,
        JSON,
        SHARE,
        SCHEDULER,
        AT_ONCE,
        PATIENCE,
        GUARD,
        YES,
        COUNTS,
        ACCEPT,
    ):
        command = option(command)
    return command


@click.command()
@RESULTS
@_going_on
def resume(results: Path, **options: Any) -> None:
    """Go on with a campaign that was interrupted: put back what it left, then do what is left.

    A run that has an outcome keeps it; a run that was interrupted gets a new attempt. A campaign
    that you did not begin on this machine logs in nowhere by itself: --hosts says which hosts
    count, and what would be put back there is shown first.

    \b
    Examples:
      netlimits resume results/stateless-offloads-20260101-120000
      netlimits resume results/from-elsewhere --hosts hosts.yaml
    """
    from netlimits.archive import reader

    _go_on(reader.open(results), "resume", **options)


@click.command()
@RESULTS
@click.option(
    "--replicates",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="How many more runs each configuration gets.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**48 - 1),
    metavar="INTEGER",
    help="The seed of their order; drawn, and recorded, if left out.",
)
@_going_on
def extend(results: Path, replicates: int, seed: int | None, **options: Any) -> None:
    """Add runs to a finished campaign: more blocks on the same hosts, ordered by the same rule.

    Where intervals are too wide to decide by, more runs narrow them: four times as many halve them.
    The runs that there are stay as they are; what is added has a seed of its own, which the
    journal keeps. Ctrl-C, `resume` and `status` are as for `run`.

    \b
    Examples:
      netlimits extend results/stateless-offloads-20260101-120000 --replicates 10
      netlimits extend results/stateless-offloads-20260101-120000 --replicates 10 --seed 7
    """
    from netlimits.archive import reader
    from netlimits.experiment.plan import SEED_BITS

    campaign = reader.open(results)
    if campaign.imported:
        raise ArchiveError(f"{results}: was imported from files: there are no hosts to run on")
    if left := campaign.state()["left"]:
        raise ArchiveError(
            f"{results}: {left} runs are left; finish it first: netlimits resume {quoted(results)}"
        )
    added = replicates, secrets.randbits(SEED_BITS) if seed is None else seed
    campaign.plan.extended(*added)  # raises before any host is asked
    _go_on(campaign, "extend", added, **options)


def _go_on(
    campaign: Campaign,
    command: str,
    added: tuple[int, int] | None = None,
    *,
    accept_changed_hosts: bool,
    hosts_file: Path | None,
    yes: bool,
    guard: str,
    patience: Patience,
    at_once: int | None,
    scheduler: str | None,
    share: PartFolder | None,
    as_json: bool,
) -> None:
    """Go on with a campaign on its hosts; `added` are replicates and their seed."""
    from netlimits.archive import reader
    from netlimits.campaign import creation, shards
    from netlimits.campaign.interrupt import Stop
    from netlimits.checks.survey import survey
    from netlimits.restore.put_back import restore_from_journal

    reader.check_plan(campaign)
    most = pairs_at_once(campaign.experiment, at_once)
    _refuse_scheduler(campaign.experiment, scheduler)
    bound, own = logins.machines_of(campaign, hosts_file, command)
    if not own:
        logins.refuse_commands(campaign)
        logins.show(campaign, bound, yes)
    guarding = _guard_seconds(guard)
    if share:
        share.claim(campaign)
    with (
        sharing(share, campaign.path, as_json=as_json),
        Stop() as stop,
        logins.locked(campaign),
        stop.interruptible(),
        all_logged_in(bound, patience) as hosts,
    ):
        stop.defer()
        say_put_back(tuple(shards.put_back(campaign.archive, hosts, ours=own)))
        say_put_back(restore_from_journal(campaign.archive, hosts, ours=own))
        with stop.interruptible():
            host_survey = survey(campaign.plan, bound, hosts, campaign.skipped)
        say_warnings(host_survey.findings)
        changed = creation.changed_hosts(campaign, host_survey)
        if changed and not accept_changed_hosts:
            raise ArchiveError(
                f"{campaign.path}: not the same hosts: {'; '.join(changed)}; "
                "--accept-changed-hosts goes on all the same"
            )
        if added:
            campaign = campaign.extend(*added)
        _carry_out(campaign, host_survey, hosts, stop, guarding, patience, most, as_json, scheduler)


def _carry_out(
    campaign: Campaign,
    survey: Survey,
    hosts: Mapping[str, Host],
    stop: Stop,
    guard: float | None,
    patience: Patience,
    at_once: int,
    as_json: bool,
    scheduler: str | None,
) -> None:
    """Run what is left, show progress, write the frames, and say what came of it."""
    from netlimits.campaign import cluster, pairs, runner
    from netlimits.campaign.interrupt import Interrupted
    from netlimits.cli.progress import display
    from netlimits.hosts.connect import connect

    def again(machine: Machine) -> Host:
        return connect(machine, patience)

    work: runner.Runner | cluster.ClusterRunner
    kind = pairs.PairsRunner if campaign.experiment.mesh else runner.Runner
    if scheduler:
        for host in hosts.values():  # each worker logs in to its own
            host.close()
        work = cluster.ClusterRunner(
            campaign, survey, stop, scheduler, guard, patience.seconds, at_once
        )
    else:
        work = kind(campaign.archive, campaign.plan, survey, hosts, stop, again, guard)
    if isinstance(work, pairs.PairsRunner):
        work.pairs_at_once = at_once
    campaign.archive.append("opened")
    try:
        with display(campaign.experiment) as on_progress:
            work.carry_out(on_progress)
    except NetlimitsError as error:
        if isinstance(error, Interrupted | RestoreError):
            _write_frames(campaign)
        if isinstance(error, Interrupted | RestoreError | ArchiveUnwritable):
            with suppress(ArchiveError):  # its folder may be gone altogether
                echo(counts(campaign.state()), err=True)
        if error.exit_status == 2:  # which says that nothing was touched
            error.exit_status = 1
        done = "" if isinstance(error, RestoreError) else "; hosts are put back"
        error.args = (f"{error}{done}; go on with: netlimits resume {quoted(campaign.path)}",)
        raise
    campaign.archive.append("closed")
    history = None if campaign.archive.parts() else campaign.history()
    state, written = campaign.state(history), campaign.write_results(history)
    first = "compare" if campaign.experiment.sides else "table"
    _report(state, written, campaign.path, first, as_json)


def _report(
    state: Mapping[str, Any], written: Sequence[Path], folder: Path, first: str, as_json: bool
) -> None:
    """Say what came of the campaign, and which commands show it: `first` before the others."""
    if as_json:
        files = [str(path) for path in written]
        echo(json.dumps({**state, "files": files}, indent=2))
    else:
        echo(counts(state))
        for reason, count in list(state["reasons"].items())[:5]:
            echo(f"  {count} × {one_line(reason)}")
        for path in written:
            echo(str(path))
        if state["ok"]:
            echo(f"next: netlimits {first} {quoted(folder)}")
            echo(f"      netlimits figures {quoted(folder)}")
            echo(f"      netlimits report {quoted(folder)}")
    if state["ok"] < state["planned"]:
        sys.exit(1)


def _refuse_scheduler(experiment: Experiment, scheduler: str | None) -> None:
    """Say before any host is asked that workers cannot do it."""
    if not scheduler:
        return
    from netlimits.campaign import cluster

    if not experiment.mesh:
        raise InputError("--scheduler is for a mesh; the experiment has one pair: leave it out")
    cluster.client(scheduler).close()


def _guard_seconds(guard: str) -> float | None:
    from netlimits.restore.guard.guards import patience

    seconds = patience(guard)
    if seconds is None:
        echo(
            "netlimits: --guard off: hosts stay changed when this machine is lost, until "
            "`netlimits restore`",
            err=True,
        )
    return seconds


def _write_frames(campaign: Campaign) -> None:
    try:
        campaign.write_results()
    except ArchiveError as error:
        echo(f"netlimits: {error}", err=True)


def _refuse_used(folder: Path) -> None:
    """Say before any host is asked that results cannot go there."""
    try:
        used = folder.is_dir() and any(folder.iterdir())
    except OSError as error:
        raise ArchiveError(f"{folder}: {error.strerror}; choose a folder with --out") from None
    if used:
        raise ArchiveError(f"{folder}: is not empty; name another folder with --out")
