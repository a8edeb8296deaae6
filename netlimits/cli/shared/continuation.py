"""Continue a campaign on its hosts, for `resume` and `extend`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from netlimits.archive.logbook import Logbook
from netlimits.campaign import creation
from netlimits.campaign.interrupt import Stop
from netlimits.checks.survey import survey
from netlimits.cli.shared import logins
from netlimits.cli.shared.conduct import Conduct, conduct_options
from netlimits.cli.shared.hosts import all_logged_in, restore_hosts, some_logged_in
from netlimits.cli.shared.lines import say_warnings
from netlimits.cli.shared.options import FOREIGN_HOSTS, YES
from netlimits.cli.shared.output import echo
from netlimits.errors import ArchiveError
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.model import Machine

ACCEPT = click.option(
    "--accept-changed-hosts",
    is_flag=True,
    help="Continue although a host rebooted, or has another kernel, CPU or NIC than before.",
)


def continuation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (conduct_options, YES, FOREIGN_HOSTS, ACCEPT):
        command = option(command)
    return command


def go_on(
    campaign: Logbook,
    command: str,
    added: tuple[int, int] | None = None,
    *,
    accept_changed_hosts: bool,
    hosts_file: Path | None,
    yes: bool,
    conduct: Conduct,
) -> None:
    campaign.check_plan()
    campaign.archive.check_journal()
    conduct.check(campaign.experiment)
    bound, own = logins.machines_of(campaign, hosts_file, command)
    if not own:
        logins.refuse_commands(campaign)
        logins.confirm_restore(campaign, bound, yes)
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
            echo(
                f"warning: {role}: {why}; its runs stay pending, and what was set there stays "
                "changed",
                err=True,
            )
        campaign.archive.bind({r: machine for r, machine in bound.items() if r in hosts})
        restore_hosts(campaign, hosts, ours=own, unreached=unreached)
        with stop.interruptible():
            plan = campaign.plan.among(hosts) if unreached else campaign.plan
            host_survey = survey(plan, bound, hosts, campaign.skipped)
        host_survey = replace(host_survey, unreached=unreached)
        say_warnings(host_survey.findings)
        changed = creation.changed_hosts(campaign, host_survey)
        if changed and not accept_changed_hosts:
            raise ArchiveError(
                f"{campaign.path}: not the same hosts: {'; '.join(changed)}; add "
                "--accept-changed-hosts to continue anyway"
            )
        if added:
            campaign = campaign.extend(*added)
        conduct.carry_out(campaign, host_survey, hosts, stop)


@contextmanager
def _logged_in(
    campaign: Logbook, command: str, machines: Mapping[str, Machine], patience: Patience
) -> Iterator[tuple[Mapping[str, Host], Mapping[str, str]]]:
    """Yield the hosts, and unreachable host -> reason; only `resume` of a mesh accepts these."""
    if command == "resume" and campaign.experiment.mesh:
        with some_logged_in(machines, patience, campaign.experiment.mesh) as outcome:
            yield outcome
    else:
        with all_logged_in(machines, patience) as hosts:
            yield hosts, {}
