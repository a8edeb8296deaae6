"""The hosts file: which machine plays which role.

    sender: {ssh: vm1, interface: ens4}
    receiver: {ssh: vm2, interface: ens4, address: 192.0.2.2}
    ssh_config: lab/ssh_config      # optional, relative to this file; else the user's own

`ssh` is a name that OpenSSH's configuration resolves; `local: true` stands for this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from netlimits.document import Document, did_you_mean, load
from netlimits.model import Machine

_KEYS = ("ssh", "local", "interface", "address")
_CONFIG = "ssh_config"


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
    written = {
        str(role): _machine(document, role, config) for role in document.data if role != _CONFIG
    }
    bound = {}
    for role in written if roles is None else roles:
        if role not in written:
            hint = did_you_mean(role, written)
            raise document.error(
                f"no machine plays {role}; add `{role}: {{ssh: NAME}}`{hint}", role
            )
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


def _machine(document: Document, role: str, config: Path | None) -> Machine:
    """One role's machine. Raises DocumentError."""
    entry = document.data[role]
    if not isinstance(entry, dict):
        raise document.error("must be `{ssh: NAME, …}` or `{local: true, …}`", role)
    for key in entry:
        if key not in _KEYS:
            raise document.error(f"unknown key{did_you_mean(key, _KEYS)}", role, key)
    local = entry.get("local", False)
    if not isinstance(local, bool):
        raise document.error("must be true or false", role, "local")
    ssh = _text(document, entry, role, "ssh")
    if ssh and local:
        raise document.error("`ssh` and `local` exclude each other; keep one", role)
    if not ssh and not local:
        raise document.error("says neither `ssh: NAME` nor `local: true`", role)
    address = _text(document, entry, role, "address")
    if address:
        try:
            address = str(ipaddress.ip_address(address))
        except ValueError:
            raise document.error(
                f"{address} is not an IP address; write one such as 192.0.2.2", role, "address"
            ) from None
    interface = _text(document, entry, role, "interface")
    return Machine(role, ssh, interface, address, config if ssh else None)


def _text(document: Document, entry: dict[str, Any], role: str, key: str) -> str | None:
    """A key's text. Raises DocumentError for what is no text, is empty, or could be an option."""
    if key not in entry:
        return None
    value = entry[key]
    if not isinstance(value, str) or not value or value != "".join(value.split()):
        raise document.error("must be a name without spaces", role, key)
    if value.startswith("-"):
        raise document.error(
            f"{value} would be read as an option; a name cannot start so", role, key
        )
    return value
