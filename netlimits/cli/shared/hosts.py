"""The hosts of a command: the machine of each role, connections to all of them, and restoring."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from netlimits.archive.logbook import Logbook
from netlimits.campaign.mesh import shards
from netlimits.checks.survey import refuse
from netlimits.cli.shared.output import echo, quoted
from netlimits.errors import ConnectError, HostError, InputError, RestoreError, one_line
from netlimits.experiment.hosts_file import machines
from netlimits.experiment.mesh import pairs
from netlimits.hosts.base import Host
from netlimits.hosts.patience import Patience
from netlimits.lab import labs
from netlimits.model import Machine, Mesh
from netlimits.restore.restoration import restore_from_journal


def machines_of(
    roles: Sequence[str], hosts_file: Path | None, local: bool
) -> Mapping[str, Machine]:
    if local and hosts_file:
        raise InputError("use either --hosts FILE or --local")
    if hosts_file:
        return machines(hosts_file, roles, say_note)
    if not local:
        return _in_lab(roles)
    if tuple(roles) == pairs.names(len(roles)):
        raise InputError("--local is one machine, and a mesh needs one for each host")
    return {role: Machine(role, interface="lo", address="127.0.0.1") for role in roles}


def say_note(note: str) -> None:
    echo(f"note: {note}", err=True)


def _in_lab(roles: Sequence[str]) -> Mapping[str, Machine]:
    hosts = list(machines(lab_hosts_file()).values())
    if len(hosts) < len(roles):
        raise InputError(
            f"the experiment needs {len(roles)} hosts ({_listed(roles)}) and the lab has "
            f"{len(hosts)}: `netlimits lab down` and `netlimits lab up --hosts {len(roles)}`"
        )
    return {role: replace(machine, role=role) for role, machine in zip(roles, hosts, strict=False)}


def _listed(roles: Sequence[str]) -> str:
    return ", ".join(roles if len(roles) < 6 else (*roles[:2], "…", roles[-1]))


def lab_hosts_file() -> Path:
    path: Path | None = labs.hosts_file()
    if path is None:
        raise InputError("no hosts: add --hosts FILE, or build the lab with `netlimits lab up`")
    return path


@contextmanager
def all_logged_in(
    machines: Mapping[str, Machine], patience: Patience
) -> Iterator[Mapping[str, Host]]:
    """Yield a connected host for each machine. Raises CheckError that names all failed logins."""
    from netlimits.checks.survey.login import logged_in

    with logged_in(machines, patience) as (hosts, findings):
        refuse(findings)
        yield hosts


@contextmanager
def some_logged_in(
    machines: Mapping[str, Machine], patience: Patience, mesh: Mesh
) -> Iterator[tuple[Mapping[str, Host], Mapping[str, str]]]:
    """Yield the reachable hosts of a mesh, and unreachable host -> reason.

    Raises:
        CheckError: No pair of hosts is reachable, or a login failed for good.
    """
    from netlimits.checks.survey.login import finding
    from netlimits.hosts.connect import logged_in

    with logged_in(machines, patience) as outcomes:
        hosts: dict[str, Host] = {}
        errors: dict[str, HostError] = {}
        for role, outcome in outcomes.items():
            if isinstance(outcome, HostError):
                errors[role] = outcome
            else:
                hosts[role] = outcome
        enough = mesh.among(hosts).pairs
        refuse(
            finding(role, error)
            for role, error in errors.items()
            if not (enough and isinstance(error, ConnectError) and error.transient)
        )
        yield hosts, {r: str(error).removeprefix(f"{r}: ") for r, error in errors.items()}


@contextmanager
def with_hosts_file_named(hosts_file: Path | None) -> Iterator[None]:
    """Replace FILE in a HostError's `--hosts FILE` with the name of the hosts file."""
    try:
        yield
    except HostError as error:
        if hosts_file:
            file = f"--hosts {quoted(hosts_file)}"
            error.args = (str(error).replace("--hosts FILE", file),)
        raise


@contextmanager
def with_free_command(of: str) -> Iterator[None]:
    """Append to a RestoreError the command that frees the hosts without restoring them."""
    try:
        yield
    except RestoreError as error:
        error.args = (f"{error}\n{free_command(of)}",)
        raise


def free_command(of: str) -> str:
    return f"to leave it as it is, and free the hosts: netlimits restore {of} --forget"


def restore_hosts(
    campaign: Logbook,
    hosts: Mapping[str, Host],
    force: bool = False,
    *,
    ours: bool = True,
    unreached: Collection[str] = (),
) -> int:
    """Restore what an ended campaign left changed, and print it; return the number of settings."""
    changed: list[str] = []
    how: dict[str, Any] = {"ours": ours, "unreached": unreached, "tell": changed.append}
    try:
        with with_free_command(quoted(campaign.path)):
            done = [
                *shards.put_back(campaign.archive, hosts, force, **how),
                *restore_from_journal(campaign.archive, hosts, force, **how),
            ]
    finally:
        say_changed(changed)
    say_restored(done)
    return len(done)


def say_restored(changes: Sequence[Any]) -> None:
    for change in changes:
        echo(f"restored: {change.role}: {change.interface}: {change.setting}")


def say_changed(lines: Iterable[str]) -> None:
    for line in lines:
        echo(f"warning: {one_line(line)}", err=True)
