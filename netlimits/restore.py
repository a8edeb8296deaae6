"""The way back: from the journal, or from the notes on the hosts, to the hosts as they were found.

What is found is written to the journal first and to the host second, both before the first
change; what is put back is taken off the host first and then noted in the journal. So a process
that is killed anywhere leaves at most something to be put back twice, which does no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from netlimits import notes
from netlimits.archive import Archive, unfinished
from netlimits.evidence import facts
from netlimits.hosts.base import Host, must
from netlimits.model import Command
from netlimits.settings.applied import Applied, Found, from_event


def applied(
    archive: Archive,
    host: Callable[[str], Host],
    known_facts: Mapping[str, Mapping[str, Any]],
    found: tuple[Found, ...] = (),
) -> Applied:
    """An Applied that writes what it finds to the journal first and to the host second."""

    def address(of: Found) -> str:
        return str((facts.value(known_facts[of.role], "link") or {}).get("address", ""))

    def on_found(of: Found) -> None:
        fields = {"role": of.role, "interface": of.interface, "setting": of.setting}
        archive.append("found", **fields, state=of.state)
        must(host(of.role).run(notes.write(of, address(of), archive.path.name, time.time())))

    def on_put_back(of: Found) -> None:
        must(host(of.role).run(notes.remove(of, address(of))))
        archive.append("put_back", role=of.role, interface=of.interface, setting=of.setting)

    return Applied(host, on_found, on_put_back, found)


def restore(archive: Archive, hosts: Mapping[str, Host]) -> tuple[Found, ...]:
    """Put back what a killed process left changed, as its journal tells; returns what that was."""
    found = tuple(from_event(event) for event in unfinished(archive))
    known = {role: archive.facts(role) for role in archive.machines}
    applied(archive, hosts.__getitem__, known, found).put_back()
    return found


def restore_from_notes(hosts: Mapping[str, Host]) -> tuple[Found, ...]:
    """Put back what the notes on the hosts themselves tell; returns what that was."""
    done: list[Found] = []
    for role, host in hosts.items():
        for note in list(notes.notes(must(host.run(notes.read())))):
            found = Found(role, note["interface"], note["setting"], note["state"])
            mac = _link_address(host, found.interface)
            if mac != note["link_address"]:
                continue  # another host's, whose login shares this home folder

            def forget(of: Found, host: Host = host, mac: str = mac) -> None:
                must(host.run(notes.remove(of, mac)))

            Applied(hosts.__getitem__, lambda _: None, forget, (found,)).put_back()
            done.append(found)
    return tuple(done)


def _link_address(host: Host, interface: str) -> str:
    completed = host.run(Command(("cat", f"/sys/class/net/{interface}/address"), deadline=10))
    return completed.stdout.strip()
