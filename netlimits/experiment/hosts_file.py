"""The hosts file: which machine plays which role.

    sender: {ssh: vm1, interface: ens4}
    receiver: {ssh: vm2, interface: ens4, address: 192.0.2.2}
    sinks: [{ssh: vm3}, {ssh: vm4}] # a role of several machines: sinks-1, sinks-2
    ssh_config: lab/ssh_config      # optional, relative to this file; else the user's own

`ssh` is a name that OpenSSH's configuration resolves; `local: true` stands for this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from netlimits.errors import did_you_mean
from netlimits.experiment.document import Document, load
from netlimits.model import Machine

KEYS = {
    "ssh": "A name that OpenSSH's configuration resolves: host, user, port, key, jump hosts.",
    "local": "true for this machine, in place of `ssh`.",
    "interface": "The data interface; needed by what is set on it.",
    "address": "Where the data goes; left out, it is the interface's own.",
    "ssh_config": "Beside the roles: the configuration file to resolve `ssh` with, relative to "
    "this file; else the user's own.",
}
"""What may stand in the file: the keys of a machine, and `ssh_config` for all of them."""

_CONFIG = "ssh_config"
_KEYS = tuple(key for key in KEYS if key != _CONFIG)


def machines(path: Path | str, roles: Iterable[str] | None = None) -> dict[str, Machine]:
    """The machine of each role, in the roles' order; other hosts in the file are ignored.

    Without `roles` it is every machine in the file.

    Raises DocumentError for a file, a key or a value that cannot be, and for a role that is
    bound to nothing.
    """
    document = load(path)
    if not isinstance(document.data, dict):
        raise document.error("is not a hosts file; write `ROLE: {ssh: NAME, interface: NAME}`")
    config = _ssh_config(document)
    written = {machine.role: machine for machine in _written(document, config)}
    bound = {}
    for role in written if roles is None else roles:
        if role not in written:
            hint = did_you_mean(role, written)
            several, _, number = role.rpartition("-")
            add = f"`{role}: {{ssh: NAME}}`"
            if several in document.data and number.isdigit():
                add = f"machine {number} to the list under {several}"
            raise document.error(f"no machine plays {role}; add {add}{hint}", role)
        bound[role] = written[role]
    return bound


def _ssh_config(document: Document) -> Path | None:
    name = document.data.get(_CONFIG)
    if _CONFIG not in document.data:
        return None
    if not isinstance(name, str) or not name:
        raise document.error("must be a file's name", _CONFIG)
    file = document.path.parent / Path(name).expanduser()
    if not file.is_file():
        raise document.error(f"there is no file {file}", _CONFIG)
    return file


def _written(document: Document, config: Path | None) -> Iterator[Machine]:
    """Every machine in the file. Raises DocumentError."""
    for role, entry in document.data.items():
        if role == _CONFIG:
            continue
        if not isinstance(entry, list):
            yield _machine(document, str(role), entry, config, role)
            continue
        for index, member in enumerate(members_of(str(role), len(entry))):
            if member in document.data:
                raise document.error(f"{member} is number {index + 1} of {role} already", member)
            yield _machine(document, member, entry[index], config, role, index)


def members_of(role: str, count: int) -> tuple[str, ...]:
    """The names of the machines that play a role of `count` machines: sinks-1, sinks-2."""
    return tuple(f"{role}-{number}" for number in range(1, count + 1))


def _machine(
    document: Document, role: str, entry: Any, config: Path | None, *at: str | int
) -> Machine:
    """The machine of one role, written at `at`. Raises DocumentError."""
    if not isinstance(entry, dict):
        raise document.error("must be `{ssh: NAME, …}` or `{local: true, …}`", *at)
    for key in entry:
        if key not in _KEYS:
            raise document.error(f"unknown key{did_you_mean(key, _KEYS)}", *at, key)
    local = entry.get("local", False)
    if not isinstance(local, bool):
        raise document.error("must be true or false", *at, "local")
    ssh = _text(document, entry, *at, "ssh")
    if ssh and local:
        raise document.error("`ssh` and `local` exclude each other; keep one", *at)
    if not ssh and not local:
        raise document.error("says neither `ssh: NAME` nor `local: true`", *at)
    address = _text(document, entry, *at, "address")
    if address:
        try:
            address = str(ipaddress.ip_address(address))
        except ValueError:
            raise document.error(
                f"{address} is not an IP address; write one such as 192.0.2.2", *at, "address"
            ) from None
    interface = _text(document, entry, *at, "interface")
    return Machine(role, ssh, interface, address, config if ssh else None)


def _text(document: Document, entry: dict[str, Any], *at: str | int) -> str | None:
    """A key's text. Raises DocumentError for what is no text, is empty, or could be an option."""
    key = at[-1]
    if key not in entry:
        return None
    value = entry[key]
    if not isinstance(value, str) or not value or value != "".join(value.split()):
        raise document.error("must be a name without spaces", *at)
    if key == "interface" and ("/" in value or value in (".", "..")):
        raise document.error(f"{value} is a path, not an interface", *at)
    if value.startswith("-"):
        raise document.error(f"{value} would be read as an option; a name cannot start so", *at)
    return value
