"""`netlimits run | resume | extend`: campaigns, from first run to last."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli import echo, logins, quoted
from netlimits.cli.conduct import Conduct, conduct_options
from netlimits.cli.hosts import (
    all_logged_in,
    lab_hosts_file,
    machines_of,
    naming,
    some_logged_in,
)
from netlimits.cli.lines import say_warnings, skipped_lines
from netlimits.cli.options import COUNTS, HOSTS, RESULTS, SET, YES
from netlimits.cli.outputs import OutputFolder, refuse_folder
from netlimits.cli.restore import put_back
from netlimits.cli.sides import Against, against_options, experiment_of
from netlimits.errors import ArchiveError

if TYPE_CHECKING:
    from netlimits.archive.logbook import Logbook
    from netlimits.hosts.base import Host
    from netlimits.hosts.patience import Patience
    from netlimits.model import Machine


@click.command()
@click.argument("experiment_file", metavar="EXPERIMENT", type=click.Path(path_type=Path))
@HOSTS
@click.option("--local", is_flag=True, help="Every role is this machine, over loopback.")
@SET
@click.option(
    "--out",
    type=OutputFolder(fresh=True),
    metavar="DIR",
    help="The folder for results; results/NAME-DATE-TIME if left out.",
)
@conduct_options
@against_options
def run(
    experiment_file: Path,
    hosts_file: Path | None,
    local: bool,
    overrides: Sequence[str],
    out: Path | None,
    conduct: Conduct,
    against: Against,
) -> None:
    """Run an experiment: every run of its plan, on hosts over SSH, or in the lab.

    `run` checks the hosts before it changes anything, and restores them at the end, after an error
    and after Ctrl-C, which also prints how to go on. A guard on each host restores it if this
    machine is lost. A host that another campaign uses is refused.

    --against interleaves a second side in the same blocks: another experiment's file, changes such
    as those of --set, or other machines (--against-hosts). The factor `side` tells them apart, and
    `netlimits compare RESULTS` compares them within blocks, which two campaigns do not allow.

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
    conduct.check(experiment)
    plan = Plan(seeded(experiment))
    folder = out or creation.default_path(plan.experiment)
    refuse_folder(folder, fresh=True)
    conduct.claim(None)
    file = hosts_file or (None if local else lab_hosts_file())
    with (
        Stop() as stop,
        naming(file),
        conduct.sharing(folder),
        stop.interruptible(),
        all_logged_in(bound, conduct.patience) as hosts,
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
        conduct.claim(campaign)
        echo(f"results: {campaign.path}", err=conduct.as_json)
        for line in skipped_lines(campaign.skipped_runs()):
            echo(line, err=conduct.as_json)
        with logins.locked(campaign):
            conduct.carry_out(campaign, host_survey, hosts, stop)


ACCEPT = click.option(
    "--accept-changed-hosts",
    is_flag=True,
    help="Go on although a host's kernel, CPU, NIC or boot is not what it was.",
)


def _going_on(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the commands that go on with a campaign on its hosts."""
    for option in (conduct_options, YES, COUNTS, ACCEPT):
        command = option(command)
    return command


@click.command()
@RESULTS
@_going_on
def resume(results: Path, **options: Any) -> None:
    """Go on with an interrupted campaign: restore what it left changed, then do the pending runs.

    A run that has an outcome keeps it; a run that was interrupted gets a new attempt. If hosts of a
    mesh are unreachable, the runs of the other hosts are done, and theirs stay pending. For a
    campaign that you did not start on this machine add --hosts: netlimits shows what it would
    restore there, and asks first.

    \b
    Examples:
      netlimits resume results/stateless-offloads-20260101-120000
      netlimits resume results/from-elsewhere --hosts hosts.yaml
    """
    from netlimits.archive import logbook

    _go_on(logbook.open(results), "resume", **options)


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
    from netlimits.archive import logbook
    from netlimits.experiment.plan import SEED_BITS

    campaign = logbook.open(results)
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
    campaign: Logbook,
    command: str,
    added: tuple[int, int] | None = None,
    *,
    accept_changed_hosts: bool,
    hosts_file: Path | None,
    yes: bool,
    conduct: Conduct,
) -> None:
    """Go on with a campaign on its hosts; `added` are replicates and their seed."""
    from netlimits.campaign import creation
    from netlimits.campaign.interrupt import Stop
    from netlimits.checks.survey import survey

    campaign.check_plan()
    conduct.check(campaign.experiment)
    bound, own = logins.machines_of(campaign, hosts_file, command)
    if not own:
        logins.refuse_commands(campaign)
        logins.show(campaign, bound, yes)
    conduct.claim(campaign)
    with (
        Stop() as stop,
        logins.locked(campaign),
        conduct.sharing(campaign.path),
        stop.interruptible(),
        _logged_in(campaign, command, bound, conduct.patience) as (hosts, unreached),
    ):
        stop.defer()
        for role, why in unreached.items():
            echo(f"warning: {role}: {why}; its runs are left, as is what was set there", err=True)
        campaign.archive.bind({r: machine for r, machine in bound.items() if r in hosts})
        put_back(campaign, hosts, ours=own, unreached=unreached)
        with stop.interruptible():
            plan = campaign.plan.among(hosts) if unreached else campaign.plan
            host_survey = survey(plan, bound, hosts, campaign.skipped)
        host_survey = replace(host_survey, unreached=unreached)
        say_warnings(host_survey.findings)
        changed = creation.changed_hosts(campaign, host_survey)
        if changed and not accept_changed_hosts:
            raise ArchiveError(
                f"{campaign.path}: not the same hosts: {'; '.join(changed)}; "
                "--accept-changed-hosts goes on all the same"
            )
        if added:
            campaign = campaign.extend(*added)
        conduct.carry_out(campaign, host_survey, hosts, stop)


@contextmanager
def _logged_in(
    campaign: Logbook, command: str, machines: Mapping[str, Machine], patience: Patience
) -> Iterator[tuple[Mapping[str, Host], Mapping[str, str]]]:
    """The hosts, and why others are none: all of them, or those of a mesh that `resume` finds."""
    if command == "resume" and campaign.experiment.mesh:
        with some_logged_in(machines, patience, campaign.experiment.mesh) as outcome:
            yield outcome
    else:
        with all_logged_in(machines, patience) as hosts:
            yield hosts, {}
