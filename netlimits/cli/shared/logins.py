"""The hosts that `resume`, `restore` and `status` log in to: never from somebody else's folder.

If this user began the campaign here and the folder is unchanged (archive.registry), its logins
are used. For any other folder the user has to name the hosts with `--hosts FILE`, and confirms
what would be restored.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import click

from netlimits.archive import registry
from netlimits.archive.logbook import Logbook
from netlimits.archive.records import unfinished
from netlimits.archive.registry import Registration
from netlimits.cli.shared.output import echo, quoted
from netlimits.errors import ArchiveError, ConnectError, InputError, NetlimitsError, one_line
from netlimits.experiment.hosts_file import machines
from netlimits.model import Command, Machine
from netlimits.model.folder import Folder
from netlimits.restore import states
from netlimits.settings import setting
from netlimits.tools import PROGRAM_OPTIONS


def registrar(machines: Mapping[str, Machine]) -> Callable[[Folder, Registration], None]:
    """Return a function that registers a new campaign as this user's own, or warns."""

    def register(_: Folder, entry: Registration) -> None:
        try:
            registry.write(entry, _configurations(machines))
        except (OSError, ValueError, NetlimitsError) as error:
            echo(
                f"warning: {registry.place()}: {one_line(error)}; `netlimits resume` and "
                "`restore` of this campaign will ask for --hosts FILE",
                err=True,
            )

    return register


@contextmanager
def locked(campaign: Logbook) -> Iterator[None]:
    """Lock the journal; record its new end in the registry, so that the folder stays known."""
    archive = campaign.archive
    registration = registry.entry(archive.identity)
    doubt = _doubt(campaign)
    archive.lock()

    def on_part(checksum: str) -> None:
        nonlocal registration
        if registration and not doubt:
            with suppress(OSError):  # readers then use the journal, not the part
                registration = registry.with_part(registration, checksum)

    archive.compaction.on_part = on_part
    try:
        yield
    finally:
        lines = archive.journal.head.lines
        archive.close()
        if registration and not doubt:
            try:
                registry.extend(registration, archive.folder, lines)
            except OSError as error:
                echo(f"warning: {registry.place()}: {one_line(error)}", err=True)


def machines_of(
    campaign: Logbook, hosts_file: Path | None, command: str
) -> tuple[Mapping[str, Machine], bool]:
    """Return the machine of each role, and whether the folder is this user's own."""
    archive = campaign.archive
    if campaign.imported:
        return {}, True
    doubt = _doubt(campaign)
    if hosts_file is None:
        if doubt:
            raise InputError(
                f"{campaign.path}: {doubt}, so its logins are not used: name the hosts: netlimits "
                f"{command} {quoted(campaign.path)} --hosts FILE"
            )
        return archive.machines, True

    begun = archive.machines
    bound = {
        role: _placed(campaign, machine, begun[role])
        for role, machine in machines(hosts_file, begun).items()
    }
    archive.bind(bound)
    return bound, not doubt


def _placed(campaign: Logbook, machine: Machine, begun: Machine) -> Machine:
    for what in ("interface", "address"):
        now, then = getattr(machine, what), getattr(begun, what)
        if now and then and now != then:
            raise InputError(
                f"{campaign.path}: {machine.role} had the {what} {then}, and the hosts file says "
                f"{now}: these are not the campaign's hosts"
            )
    return replace(
        machine,
        interface=machine.interface or begun.interface,
        address=machine.address or begun.address,
    )


def refuse_commands(campaign: Logbook) -> None:
    """Raise ArchiveError if somebody else's experiment names commands to run on hosts."""
    experiment = campaign.experiment
    for side in experiment.sides.values() or [experiment]:
        named = [f"settings.{use.entry}.{use.name}" for use in side.settings
                 if setting(use.name).traits.runs_commands]  # fmt: skip
        named += [f"measure.{tool}.{option}" for tool, options in side.measure.items()
                  for option in PROGRAM_OPTIONS if option in options]  # fmt: skip
        if named:
            raise ArchiveError(
                f"{side.path}: {named[0]}: has commands for your hosts, and the campaign is not "
                "yours; read them, then start a campaign of your own"
            )


def confirm_restore(campaign: Logbook, machines: Mapping[str, Machine], yes: bool) -> None:
    """Show what would be restored of somebody else's campaign, and ask for confirmation."""
    events = unfinished(campaign.archive)
    for event in events:
        role, interface, name = (event[key] for key in ("role", "interface", "setting"))
        where = f"{campaign.archive.journal.path}: {role}: {interface}: {name}"
        if role not in machines or interface != machines[role].interface:
            raise ArchiveError(f"{where}: is no interface of this campaign's hosts")
        if fault := states.fault(name, event["state"]) or states.owner_only(name):
            raise ArchiveError(f"{where}: {fault}; nothing is restored")
        for command in setting(name).undo(interface, states.settable(name, event["state"]), {}):
            echo(f"to restore: {role}: {_in_words(command)}", err=True)
    if not events or yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"{campaign.path}: is not a campaign of yours; if the above may be done on these "
            "hosts, add --yes"
        )
    click.confirm("Restore this on these hosts?", abort=True, err=True)


def _in_words(command: Command) -> str:
    fed = f"echo {command.stdin.strip()} | " if command.stdin else ""
    argv = list(command.argv)
    # a script is a constant of ours, so show its name ($0) and its arguments only
    words = [f"({argv[3]})", *argv[4:]] if argv[:2] == ["sh", "-c"] else argv
    return fed + " ".join(words)


def _configurations(machines: Mapping[str, Machine]) -> set[Path]:
    """Return the ssh configuration files that machines name, and all files that they include."""
    from netlimits.hosts.ssh.sshconfig import SshConfig

    named = {machine.ssh_config for machine in machines.values() if machine.ssh_config}
    return {path.absolute() for file in named for path in SshConfig(file).read}


def _doubt(campaign: Logbook) -> str:
    """Return why a folder cannot be trusted as this user's own, "" if it can."""
    registration = registry.entry(campaign.archive.identity)
    try:
        doubt = registry.doubt(registration, campaign.archive.folder)
        if doubt or registration is None:
            return doubt
        included = _configurations(campaign.archive.machines)
    except ConnectError as error:
        return f"what it logs in by cannot be read ({error})"
    except OSError as error:
        raise ArchiveError(f"{campaign.path}: {one_line(error)}") from None
    more = sorted(str(path) for path in included if str(path) not in registration.logins)
    return f"{more[0]}, which it logs in by, was not there when it began" if more else ""
