"""`netlimits run`: run an experiment as a new campaign."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from netlimits.campaign import creation
from netlimits.campaign.interrupt import Stop
from netlimits.checks import disk
from netlimits.checks.survey import survey
from netlimits.cli.shared import logins
from netlimits.cli.shared.conduct import Conduct, conduct_options
from netlimits.cli.shared.hosts import (
    all_logged_in,
    lab_hosts_file,
    machines_of,
    with_hosts_file_named,
)
from netlimits.cli.shared.lines import say_warnings, skipped_lines
from netlimits.cli.shared.options import EXPERIMENT, HOSTS, LOCAL, SET, Output, refuse_folder
from netlimits.cli.shared.output import echo
from netlimits.cli.shared.sides import Against, against_options, experiment_of
from netlimits.experiment import document
from netlimits.experiment.around_schema import PROFILE
from netlimits.experiment.plan import Plan, seeded
from netlimits.restore.guard.claims import refuse_claimed


@click.command()
@EXPERIMENT
@HOSTS
@LOCAL
@SET
@click.option(
    "--profile",
    is_flag=True,
    help="Profile the CPUs of both ends, in two extra runs of each configuration. The key "
    "`profile:` of the experiment has more options.",
)
@click.option(
    "--out",
    type=Output(folder=True, fresh=True),
    metavar="DIR",
    help="The folder for results; default: results/NAME-DATE-TIME.",
)
@conduct_options
@against_options
def run(
    experiment_file: Path,
    hosts_file: Path | None,
    local: bool,
    overrides: Sequence[str],
    profile: bool,
    out: Path | None,
    conduct: Conduct,
    against: Against,
) -> None:
    """Run every run of an experiment's plan, on hosts over SSH or in the lab.

    `run` checks the hosts before it changes anything. It restores them at the end, after an error
    and after Ctrl-C, and then prints how to continue. A guard on each host restores it if this
    machine is lost. `run` refuses a host that another campaign uses.

    --against interleaves a second side in the same blocks: another experiment's file, changes such
    as those of --set, or other machines (--against-hosts). The factor `side` names the side of each
    run, and `netlimits compare RESULTS` compares the sides within blocks. Two separate campaigns
    cannot be compared in that way.

    \b
    Examples:
      netlimits run quickstart --local
      netlimits run stateless-offloads --hosts hosts.yaml
      netlimits run quickstart --hosts hosts.yaml --profile
      netlimits run stateless-offloads \\
          --set measure.netperf.seconds=1 --set repeat.replicates=3
      netlimits run quickstart --hosts hosts.yaml \\
          --against measure.netperf.program=/opt/netperf/bin/netperf --sides old,new
      netlimits run tuning.yaml --against tuned.yaml --hosts hosts.yaml
      netlimits run mesh.yaml --hosts hosts.yaml --share s3://bucket/mesh
    """
    if profile:
        overrides = _profiled(experiment_file, overrides)
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
        with_hosts_file_named(file),
        conduct.sharing(folder),
        stop.interruptible(),
        all_logged_in(bound, conduct.patience) as hosts,
    ):
        refuse_claimed(hosts)
        host_survey = survey(plan, bound, hosts)
        runs = len(plan) - plan.leaving_out(host_survey.skipped).skipped_runs().total()
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


def _profiled(file: Path, overrides: Sequence[str]) -> Sequence[str]:
    """Add `profile={}` to the overrides, unless the file or an override has a profile."""
    data = document.load(file, repeated=True).data
    named = any(text.partition("=")[0].partition(".")[0] == PROFILE for text in overrides)
    if named or (isinstance(data, dict) and PROFILE in data):
        return overrides
    return [*overrides, f"{PROFILE}={{}}"]
