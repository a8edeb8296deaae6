"""The hosts file: which machine plays which role.

sender: {ssh: vm1, interface: ens4}
receiver: {ssh: vm2, interface: ens4, address: 192.0.2.2}
sinks: [{ssh: vm3}, {ssh: vm4}] # a role of several machines: sinks-1, sinks-2
hosts: [{ssh: n1, group: rack1}, {ssh: n2, group: rack2}]       # a mesh's
ssh_config: lab/ssh_config      # optional, relative to this file; else the user's own
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from netlimits.errors import DocumentError, did_you_mean, nearest, raise_all
from netlimits.experiment.document import Document, load
from netlimits.experiment.mesh import pairs
from netlimits.model import Machine

KEYS = {
    "ssh": "A name that your OpenSSH configuration resolves to host, user, port, key and jump "
    "hosts.",
    "local": "true for this machine, in place of `ssh`.",
    "interface": "The data interface. Settings and counters need it.",
    "address": "The address to send data to; default: the interface's own address.",
    "group": "In a mesh: a shared rack or uplink; only one measurement at a time runs through it.",
    "ssh_config": "Beside the roles: the ssh configuration file, relative to this file; default: "
    "your own.",
}
"""Key -> description: the keys of a machine, and `ssh_config`, which applies to all."""

_CONFIG = "ssh_config"
_KEYS = tuple(key for key in KEYS if key != _CONFIG)


def machines(
    path: Path | str,
    roles: Iterable[str] | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Machine]:
    """Return the machine of each role, in the roles' order; other hosts in the file are ignored.

    `note` is called with a message if the roles are bound to machines by order instead of by name.
    """
    document = load(path, repeated=True)
    if not isinstance(document.data, dict):
        raise document.error("is not a hosts file; write `ROLE: {ssh: NAME, interface: NAME}`")
    if "measure" in document.data and "experiment" in document.data:
        raise document.error("is an experiment, not a hosts file; name it without --hosts")
    errors = [*document.repeated]
    config = _ssh_config(document, errors)
    written = {machine.role: machine for machine in _written(document, config, errors)}
    roles = None if roles is None else tuple(roles)
    if roles and roles == pairs.names(len(roles)):
        bound = _of_mesh(document, written, roles, errors)
        raise_all(errors)
        return bound
    if roles and not errors and _other_names(document, written, roles):
        names = list(written)[: len(roles)]
        bindings = ", ".join(f"{role}: {name}" for role, name in zip(roles, names, strict=True))
        note(f"{path}: names none of the roles; its machines play them in order: {bindings}")
        return {
            role: replace(written[name], role=role) for role, name in zip(roles, names, strict=True)
        }
    bound = {}
    for role in written if roles is None else roles:
        if role in written:
            bound[role] = written[role]
        elif role not in document.data:
            errors.append(_missing(document, written, role, roles or ()))
    raise_all(errors)
    return bound


def _missing(
    document: Document, written: Mapping[str, Machine], role: str, roles: tuple[str, ...]
) -> DocumentError:
    """Return the error for a role without a machine, at the misspelt key if one is found."""
    group, _, number = role.rpartition("-")
    wanted = {_CONFIG, *roles, *(other.rpartition("-")[0] for other in roles)}
    unknown = {str(key): entry for key, entry in document.data.items() if key not in wanted}
    if misspelt := nearest(role, unknown):
        right = group if isinstance(unknown[misspelt], list) and number.isdigit() else role
        problem = f"no role is called {misspelt}; did you mean {right}?"
        return document.error(problem, misspelt)
    add = f"`{role}: {{ssh: NAME}}`"
    if group in document.data and number.isdigit():
        add = f"machine {number} to the list under {group}"
    has = f"; the file has {', '.join(written)}" if written else ""
    return document.error(f"no machine plays {role}; add {add}{has}", role)


def _other_names(
    document: Document, written: Mapping[str, Machine], roles: tuple[str, ...]
) -> bool:
    """Return True if there are enough machines, but no key of the file is a role or its group."""
    groups = {role.rpartition("-")[0] for role in roles}
    return len(written) >= len(roles) and not {*roles, *groups} & {*written, *document.data}


def _of_mesh(
    document: Document,
    written: Mapping[str, Machine],
    roles: tuple[str, ...],
    errors: list[DocumentError],
) -> dict[str, Machine]:
    """Return a mesh's machines: the first ones under `hosts`, or in a file without `hosts`."""
    listed = isinstance(document.data.get(pairs.HOSTS), list)
    every = [m for role, m in written.items() if role.startswith(f"{pairs.HOSTS}-") or not listed]
    if len(every) < len(roles) and not errors:
        machines = f"{len(every)} machine{'' if len(every) == 1 else 's'}"
        problem = f"has {machines}, but the experiment's mesh has {len(roles)} hosts"
        errors.append(document.error(problem, *([pairs.HOSTS] if listed else [])))
    return {role: replace(m, role=role) for role, m in zip(roles, every, strict=False)}


def _ssh_config(document: Document, errors: list[DocumentError]) -> Path | None:
    name = document.data.get(_CONFIG)
    if _CONFIG not in document.data:
        return None
    if not isinstance(name, str) or not name:
        errors.append(document.error("must be a file's name", _CONFIG))
        return None
    file = document.path.parent / Path(name).expanduser()
    if not file.is_file():
        errors.append(document.error(f"there is no file {file}", _CONFIG))
    return file


def _written(
    document: Document, config: Path | None, errors: list[DocumentError]
) -> Iterator[Machine]:
    for role, entry in document.data.items():
        if role == _CONFIG:
            continue
        several = isinstance(entry, list)
        names = members_of(str(role), len(entry)) if several else (str(role),)
        entries = entry if several else [entry]
        for index, (member, inner) in enumerate(zip(names, entries, strict=True)):
            at = (role, index) if several else (role,)
            if several and member in document.data:
                problem = f"{member} is number {index + 1} of {role} already"
                errors.append(document.error(problem, member))
            faults = [document.error(problem, *at, *key) for problem, *key in _faults(inner)]
            errors += faults
            if not faults:
                yield _machine(member, inner, config)


def members_of(role: str, count: int) -> tuple[str, ...]:
    """Return the names of the machines that play a role of `count` machines: sinks-1, sinks-2."""
    return tuple(f"{role}-{number}" for number in range(1, count + 1))


def _machine(role: str, entry: Mapping[str, Any], config: Path | None) -> Machine:
    ssh, address = entry.get("ssh"), entry.get("address")
    return Machine(
        role,
        ssh,
        entry.get("interface"),
        str(ipaddress.ip_address(address)) if address else None,
        config if ssh else None,
        group=entry.get("group", ""),
    )


def _faults(entry: Any) -> Iterator[tuple[str, ...]]:
    if not isinstance(entry, dict):
        yield ("must be `{ssh: NAME, …}` or `{local: true, …}`",)
        return
    unknown = [key for key in entry if key not in _KEYS]
    for key in unknown:
        yield f"unknown key{did_you_mean(key, _KEYS)}", key
    for key in ("ssh", "address", "interface", "group"):
        if key in entry and (problem := _fault_of_text(key, entry[key])):
            yield problem, key
    local = entry.get("local", False)
    if not isinstance(local, bool):
        yield "must be true or false", "local"
    elif local and "ssh" in entry:
        yield ("use either `ssh` or `local`",)
    elif not local and "ssh" not in entry and not unknown:
        yield ("needs `ssh: NAME` or `local: true`",)


def _fault_of_text(key: str, value: Any) -> str:
    """Return what is wrong with a key's text (empty, with spaces, like an option), or ""."""
    if not isinstance(value, str) or not value or value != "".join(value.split()):
        return "must be a name without spaces"
    if key == "interface" and ("/" in value or value in (".", "..")):
        return f"{value} is a path, not an interface"
    if value.startswith("-"):
        return f"{value} would be read as an option; write a name that does not start with -"
    if key == "address":
        try:
            ipaddress.ip_address(value)
        except ValueError:
            return f"{value} is not an IP address; write one such as 192.0.2.2"
    return ""
