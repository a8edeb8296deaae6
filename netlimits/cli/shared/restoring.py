"""Restore what a campaign left changed on its hosts, and say what was restored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from netlimits.archive.logbook import Logbook
from netlimits.campaign.mesh import shards
from netlimits.cli import echo, quoted
from netlimits.errors import RestoreError, one_line
from netlimits.hosts.base import Host
from netlimits.restore.restoration import restore_from_journal


@contextmanager
def freeing(of: str) -> Iterator[None]:
    """Append to a RestoreError the command that frees the hosts in any case."""
    try:
        yield
    except RestoreError as error:
        error.args = (f"{error}\n{frees(of)}",)
        raise


def frees(of: str) -> str:
    return f"to leave it as it is, and free the hosts: netlimits restore {of} --forget"


def put_back(
    campaign: Logbook,
    hosts: Mapping[str, Host],
    force: bool = False,
    *,
    ours: bool = True,
    unreached: Collection[str] = (),
) -> int:
    """Restore and print what a killed campaign left changed; return the number of settings."""
    changed: list[str] = []
    how: dict[str, Any] = {"ours": ours, "unreached": unreached, "tell": changed.append}
    try:
        with freeing(quoted(campaign.path)):
            done = [
                *shards.put_back(campaign.archive, hosts, force, **how),
                *restore_from_journal(campaign.archive, hosts, force, **how),
            ]
    finally:
        say_changed(changed)
    say_put_back(done)
    return len(done)


def say_put_back(changes: Sequence[Any]) -> None:
    for change in changes:
        echo(f"restored: {change.role}: {change.interface}: {change.setting}")


def say_changed(lines: Iterable[str]) -> None:
    for line in lines:
        echo(f"warning: {one_line(line)}", err=True)
