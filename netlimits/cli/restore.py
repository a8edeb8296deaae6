"""`netlimits restore`: restore hosts to their original settings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import click

from netlimits.archive import logbook
from netlimits.campaign.interrupt import interruptible
from netlimits.campaign.mesh import shards
from netlimits.cli.shared import logins
from netlimits.cli.shared.hosts import (
    restore_hosts,
    say_restored,
    with_free_command,
    with_hosts_file_named,
)
from netlimits.cli.shared.options import FOREIGN_HOSTS, PATIENCE, YES
from netlimits.cli.shared.output import echo, quoted
from netlimits.errors import HostError, InputError
from netlimits.experiment.hosts_file import machines
from netlimits.hosts.patience import Patience
from netlimits.model import Machine
from netlimits.restore.forget import forget_journal, forget_notes
from netlimits.restore.restoration import restore_from_notes


@click.command()
@click.argument("results", required=False, type=click.Path(path_type=Path))
@FOREIGN_HOSTS
@click.option(
    "--force",
    is_flag=True,
    help="Take the hosts from a running campaign, which then stops.",
)
@click.option(
    "--forget",
    is_flag=True,
    help="Restore nothing; leave the hosts as they are and free them for other campaigns.",
)
@YES
@PATIENCE
def restore(
    results: Path | None,
    hosts_file: Path | None,
    force: bool,
    forget: bool,
    yes: bool,
    patience: Patience,
) -> None:
    """Restore hosts to their original settings, from a campaign's journal or the hosts' own notes.

    Each host has a note that lists the original settings, a guard that restores them if the
    controller is lost, and a claim that names the campaign that uses the host. `restore` also
    removes these three. It refuses a host that a running campaign uses, unless --force is given;
    the campaign then stops at its next change. If you did not start the campaign on this machine,
    add --hosts: netlimits shows what it would restore there, and asks first. If there is nothing to
    restore, it does nothing. The exit status is 3 if a restore failed.

    With RESULTS, netlimits also compares the hosts' whole network state with the state before the
    campaign. With --forget it restores nothing: it prints each setting that stays changed, with the
    commands that restore it, and removes notes, guards and claims. For the hosts of a running
    campaign, --forget needs --force too.

    \b
    Examples:
      netlimits restore results/stateless-offloads-20260101-120000
      netlimits restore results/from-elsewhere --hosts hosts.yaml
      netlimits restore --hosts hosts.yaml      (the controller's files are lost)
      netlimits restore --hosts hosts.yaml --force      (end the campaign that uses them)
      netlimits restore --hosts hosts.yaml --forget      (give up: restore nothing)
    """
    from netlimits.hosts.connect import connect_all

    if results is None and hosts_file is None:
        raise InputError("name a results folder, add --hosts FILE, or both")
    if forget:
        _forget(results, hosts_file, force, patience)
        return
    if results is not None:
        campaign = logbook.open(results)
        bound, own = logins.machines_of(campaign, hosts_file, "restore")
        if not own:
            logins.confirm_restore(campaign, bound, yes)
        with logins.locked(campaign), interruptible(), connect_all(bound, patience) as hosts:
            done = restore_hosts(campaign, hosts, force, ours=own)
    elif hosts_file is not None:
        with (
            with_hosts_file_named(hosts_file),
            with_free_command(f"--hosts {quoted(hosts_file)}"),
            interruptible(),
            connect_all(machines(hosts_file), patience) as hosts,
        ):
            done = len(restored := restore_from_notes(hosts, force))
            say_restored(restored)
    if not done:
        echo("nothing to restore")


def _forget(results: Path | None, hosts_file: Path | None, force: bool, patience: Patience) -> None:
    from netlimits.hosts.connect import logged_in

    lines: list[str] = []
    with ExitStack() as stack:
        campaign = logbook.open(results) if results else None
        bound: Mapping[str, Machine] = machines(hosts_file) if hosts_file else {}
        if campaign:
            bound, _ = logins.machines_of(campaign, hosts_file, "restore")
            stack.enter_context(logins.locked(campaign))
        stack.enter_context(interruptible())
        outcomes = stack.enter_context(logged_in(bound, patience))
        errors = {r: error for r, error in outcomes.items() if isinstance(error, HostError)}
        hosts = {r: host for r, host in outcomes.items() if not isinstance(host, HostError)}
        if hosts_file:
            stack.enter_context(with_hosts_file_named(hosts_file))

        def tell(line: str) -> None:
            lines.append(line)
            echo(line)

        if campaign:
            shards.forget(campaign.archive, hosts, force, tell)
            forget_journal(campaign.archive, hosts, force, tell)
        else:
            forget_notes(hosts, force, tell)
    if errors:
        raise HostError(
            "; ".join(map(str, errors.values()))
            + "; notes, guards and claims stay there until you run "
            "`netlimits restore --hosts FILE --forget`"
        )
    if not lines:
        echo("nothing to give up")
