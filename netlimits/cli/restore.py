"""`netlimits restore`: hosts as they were found."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlimits.cli import echo, logins
from netlimits.cli.hosts import connected
from netlimits.cli.lines import say_changed, say_put_back
from netlimits.cli.options import COUNTS, PATIENCE, YES
from netlimits.errors import InputError

if TYPE_CHECKING:
    from netlimits.archive.reader import Campaign
    from netlimits.hosts.base import Host
    from netlimits.hosts.patience import Patience


@click.command()
@click.argument("results", required=False, type=click.Path(path_type=Path))
@COUNTS
@click.option(
    "--force",
    is_flag=True,
    help="Take the hosts from a campaign that is at work there now, which then stops.",
)
@YES
@PATIENCE
def restore(
    results: Path | None, hosts_file: Path | None, force: bool, yes: bool, patience: Patience
) -> None:
    """Put hosts back as they were found, from a campaign's journal or from notes on the hosts.

    Guards and claims that a lost campaign left are removed too. A host on which a campaign is at
    work now, since its connection stands, is refused; with --force that campaign can change
    nothing there any more. A campaign that you did not begin on this machine logs in nowhere by
    itself: --hosts beside it says which hosts count, and what would be put back there is shown
    first. Harmless when there is nothing to put back. Exit status 3 when something could not be.

    \b
    Examples:
      netlimits restore results/stateless-offloads-20260101-120000
      netlimits restore results/from-elsewhere --hosts hosts.yaml
      netlimits restore --hosts hosts.yaml      (the controller's files are lost)
      netlimits restore --hosts hosts.yaml --force      (its campaign is to end)
    """
    from netlimits.archive import reader
    from netlimits.campaign.interrupt import interruptible
    from netlimits.experiment.hosts_file import machines
    from netlimits.restore.put_back import restore_from_notes

    if results is None and hosts_file is None:
        raise InputError("name a results folder, or --hosts FILE, or both")
    if results is not None:
        campaign = reader.open(results)
        bound, own = logins.machines_of(campaign, hosts_file, "restore")
        if not own:
            logins.show(campaign, bound, yes)
        with logins.locked(campaign), interruptible(), connected(bound, patience) as hosts:
            done = put_back(campaign, hosts, force, ours=own)
    elif hosts_file is not None:
        with interruptible(), connected(machines(hosts_file), patience) as hosts:
            done = len(restored := restore_from_notes(hosts, force))
            say_put_back(restored)
    if not done:
        echo("nothing to put back")


def put_back(
    campaign: Campaign,
    hosts: Mapping[str, Host],
    force: bool = False,
    *,
    ours: bool = True,
    unreached: Collection[str] = (),
) -> int:
    """Restore what a campaign that was killed left changed, and print it; how many settings.

    What others changed of the hosts' network state is printed too.
    """
    from netlimits.campaign import shards
    from netlimits.restore.put_back import restore_from_journal

    changed: list[str] = []
    how: dict[str, Any] = {"ours": ours, "unreached": unreached, "tell": changed.append}
    try:
        done = [
            *shards.put_back(campaign.archive, hosts, force, **how),
            *restore_from_journal(campaign.archive, hosts, force, **how),
        ]
    finally:
        say_changed(changed)
    say_put_back(done)
    return len(done)
