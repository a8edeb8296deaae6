"""The way back: from the journal, or from the notes on the hosts, to the hosts as they were found.

What is found is written to the journal first, to the host second, and into the host's guard
third, all before the first change; what is put back is taken off the host first and then noted
in the journal. So a process that is killed anywhere leaves at most something to be put back
twice, which does no harm. Guards and claims go last, once the put-back is confirmed.
"""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from netlimits import guard, notes
from netlimits.archive import Archive, unfinished
from netlimits.errors import NetlimitsError, RestoreError
from netlimits.evidence import facts
from netlimits.guard import Guards
from netlimits.hosts.base import Host, must
from netlimits.model import Command
from netlimits.settings.applied import Applied, Found, from_event


def guards(
    archive: Archive, host: Callable[[str], Host], patience: float | None = guard.PATIENCE
) -> Guards:
    """The guards and claims of an archive's campaign on its machines; `patience` in seconds."""
    holder = guard.holder(archive.path.name, identity(archive))
    return Guards(host, archive.machines, holder, patience)


def identity(archive: Archive) -> str:
    """What tells a campaign from all others: its folder on this machine, and when it was made.

    So `resume` knows the claim that it left itself, and a copy elsewhere is another campaign.
    """
    folder = archive.path.stat()
    made = (socket.gethostname(), folder.st_ino, archive.meta["created"], archive.meta["seed"])
    return hashlib.sha256(repr(made).encode()).hexdigest()[:16]


def applied(
    archive: Archive,
    host: Callable[[str], Host],
    known_facts: Mapping[str, Mapping[str, Any]],
    guarding: Guards,
    found: tuple[Found, ...] = (),
) -> Applied:
    """An Applied that writes what it finds to the journal, to the host and into its guard."""
    order = 0

    def address(of: Found) -> str:
        return str((facts.value(known_facts[of.role], "link") or {}).get("address", ""))

    def on_found(of: Found) -> None:
        nonlocal order
        order += 1
        fields = {"role": of.role, "interface": of.interface, "setting": of.setting}
        archive.append("found", **fields, state=of.state)
        name, campaign = archive.path.name, identity(archive)
        note = notes.write(of, address(of), name, campaign, time.time(), order)
        must(host(of.role).run(note))
        guarding.arm(of)

    def on_put_back(of: Found) -> None:
        must(host(of.role).run(notes.remove(of, address(of))))
        archive.append("put_back", role=of.role, interface=of.interface, setting=of.setting)

    return Applied(host, on_found, on_put_back, found, guarding.putting_back)


def put_back(work: Applied, guarding: Guards) -> None:
    """Put everything back, then end the guards and claims of the hosts where nothing is left.

    Raises RestoreError for what is left; its host's guard stays, and tries again at its time.
    """
    try:
        work.put_back()
    finally:
        guarding.release({found.role for found in work.changed})


def restore(archive: Archive, hosts: Mapping[str, Host]) -> tuple[Found, ...]:
    """Put back what a killed process left changed, as its journal tells; returns what that was.

    Raises HostError when another campaign is at work on a host now.
    """
    found = tuple(from_event(event) for event in unfinished(archive))
    known = {role: archive.facts(role) for role in archive.machines}
    guarding = guards(archive, hosts.__getitem__)
    guarding.claim()
    put_back(applied(archive, hosts.__getitem__, known, guarding, found), guarding)
    return found


def restore_from_notes(hosts: Mapping[str, Host]) -> tuple[Found, ...]:
    """Put back what the notes on the hosts themselves tell; returns what that was.

    Guards and claims, whoever's they are, are removed from each host that is as found again.
    Raises RestoreError when something is left, after every host was tried.
    """
    done: list[Found] = []
    problems: list[str] = []
    for role, host in hosts.items():
        try:
            guard.hold(host)
            done += _from_notes(role, host, hosts)
            guard.clear(host)
        except NetlimitsError as error:
            problems.append(str(error))
    if problems:
        raise RestoreError("\n".join(problems))
    return tuple(done)


def _from_notes(role: str, host: Host, hosts: Mapping[str, Host]) -> Iterator[Found]:
    for note in notes.notes(must(host.run(notes.read()))):
        found = Found(role, note["interface"], note["setting"], note["state"])
        mac = _link_address(host, found.interface)
        if mac != note["link_address"]:
            continue  # another host's, whose login shares this home folder
        noted = Found(str(note["role"]), found.interface, found.setting, found.state)

        def forget(_: Found, noted: Found = noted, mac: str = mac) -> None:
            must(host.run(notes.remove(noted, mac)))

        def hold(_: Found) -> None:
            guard.hold(host)

        Applied(hosts.__getitem__, lambda _: None, forget, (found,), hold).put_back()
        yield found


def _link_address(host: Host, interface: str) -> str:
    completed = host.run(Command(("cat", f"/sys/class/net/{interface}/address"), deadline=10))
    return completed.stdout.strip()
