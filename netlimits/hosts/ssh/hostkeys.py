"""Check a host's key; for an unknown key, raise an error with the command that adds the key.

This module parses known_hosts itself, since paramiko's reader supports no wildcards and fails on
`@cert-authority` and `@revoked`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NoReturn

import paramiko
from paramiko.hostkeys import HostKeyEntry, HostKeys, InvalidHostKey

from netlimits.errors import ConnectError
from netlimits.hosts.ssh.sshconfig import Endpoint
from netlimits.model.named_file import read_all

KNOWN_LIMIT = 64 * 2**20
"""Maximum size of a known_hosts file in bytes."""

_HASHED = re.compile(r"\|1\|[A-Za-z0-9+/]{27}=\|[A-Za-z0-9+/]{27}=")


class KnownOnly(paramiko.MissingHostKeyPolicy):
    """A paramiko policy that refuses unknown host keys."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> NoReturn:
        where = self._endpoint.where
        if key.asbytes() in set(_revoked(self._endpoint)):
            raise ConnectError(
                f"the host key of {where} is revoked: {_shown(key)}; ask its administrator for a "
                "new key"
            )
        raise ConnectError(
            f"the host key of {where} is unknown: {_shown(key)}; "
            f"if it is the right one, add it with `{self._endpoint.add_key}`"
        )


def changed(endpoint: Endpoint, error: paramiko.BadHostKeyException) -> ConnectError:
    file = next((f for f in endpoint.known_hosts if f.is_file()), Path("~/.ssh/known_hosts"))
    return ConnectError(
        f"the host key of {endpoint.where} has changed: {_shown(error.key)} now, "
        f"{_shown(error.expected_key)} is known; somebody may be in between. If the host was "
        f"reinstalled: `ssh-keygen -f {file} -R '{endpoint.key_name}'`, then `{endpoint.add_key}`"
    )


def load_known(client: paramiko.SSHClient, endpoint: Endpoint) -> None:
    """Add the host's keys in known_hosts to the client, but only the first key of each type.

    Revoked keys are left out.
    """
    host_keys = client.get_host_keys()
    revoked = set(_revoked(endpoint))
    for marker, key in _lines(endpoint):
        kinds: Container[str] = host_keys.lookup(endpoint.key_name) or ()
        if not marker and key.get_name() not in kinds and key.asbytes() not in revoked:
            host_keys.add(endpoint.key_name, key.get_name(), key)


def _revoked(endpoint: Endpoint) -> Iterator[bytes]:
    return (key.asbytes() for marker, key in _lines(endpoint) if marker == "@revoked")


def _shown(key: paramiko.PKey) -> str:
    return f"{key.get_name()} {key.fingerprint}"


def _lines(endpoint: Endpoint) -> Iterator[tuple[str, paramiko.PKey]]:
    """Yield (marker, key) for each line of known_hosts about the host; skip unreadable lines."""
    for file in endpoint.known_hosts:
        try:
            text = read_all(file, KNOWN_LIMIT).decode("utf-8", "replace")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConnectError(f"{file} cannot be read: {error.strerror}") from None
        for line in text.splitlines():
            marker, rest = _marked(line.strip())
            try:
                entry = HostKeyEntry.from_line(rest)
            except (InvalidHostKey, paramiko.SSHException, ValueError):
                continue
            if entry and entry.key and matches(endpoint.key_name, entry.hostnames or []):
                yield marker, entry.key


def _marked(line: str) -> tuple[str, str]:
    """Split a line into its marker (`@revoked`, or "") and the rest."""
    marker, _, rest = line.partition(" ")
    return (marker, rest.strip()) if marker.startswith("@") else ("", line)


def matches(name: str, patterns: list[str]) -> bool:
    """Return True if the patterns of a known_hosts line match `name`.

    Patterns may be hashed, contain `*` and `?`, or start with `!`, which excludes a name.
    """
    matched = False
    for pattern in patterns:
        if pattern.startswith("|1|"):
            hashed = _HASHED.fullmatch(pattern)
            matched = matched or bool(hashed and HostKeys.hash_host(name, pattern) == pattern)
            continue
        plain = re.escape(pattern.removeprefix("!")).replace(r"\*", ".*").replace(r"\?", ".")
        if re.fullmatch(plain, name, re.IGNORECASE):
            if pattern.startswith("!"):
                return False
            matched = True
    return matched
