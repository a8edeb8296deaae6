"""Keys: the host's, which must be known, and ours, from the agent and from files.

A host key that no known_hosts file has is refused, with its fingerprint and the command that
adds it; so is one that differs. Of our keys the configured ones go first, from the agent where it
holds them (it can use what is encrypted on disk), then the agent's others. Never a password.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import paramiko
from paramiko.auth_strategy import AuthSource, AuthStrategy, InMemoryPrivateKey
from paramiko.hostkeys import InvalidHostKey

from netlimits.errors import ConnectError
from netlimits.hosts.sshconfig import Endpoint


class KnownOnly(paramiko.MissingHostKeyPolicy):
    """Refuses a host key that is not known."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> NoReturn:
        """Raise ConnectError with the fingerprint and what to do about it."""
        raise ConnectError(
            f"the host key of {self._endpoint.where} is unknown: {key.get_name()} "
            f"{key.fingerprint}; if it is the right one, add it with `{self._endpoint.add_key}`"
        )


def changed(endpoint: Endpoint, error: paramiko.BadHostKeyException) -> ConnectError:
    """What to say of a host that shows another key than the known one."""
    file = next((f for f in endpoint.known_hosts if f.is_file()), endpoint.known_hosts[0])
    return ConnectError(
        f"the host key of {endpoint.where} has changed: {error.key.get_name()} "
        f"{error.key.fingerprint} now, {error.expected_key.get_name()} "
        f"{error.expected_key.fingerprint} is known; somebody may be in between. If the host was "
        f"set up anew: `ssh-keygen -f {file} -R '{endpoint.key_name}'`, then `{endpoint.add_key}`"
    )


def load_known(client: paramiko.SSHClient, endpoint: Endpoint) -> None:
    """Give the client the known host keys. Raises ConnectError for a file that is broken."""
    for file in endpoint.known_hosts:
        try:
            client.load_system_host_keys(str(file))
        except FileNotFoundError:
            continue
        except (OSError, InvalidHostKey, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "a line in it is not base64"
            raise ConnectError(f"{file} cannot be read: {reason}") from None


class OurKeys(AuthStrategy):
    """The keys to log in with, in order; `encrypted` gathers those that only an agent could use."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(paramiko.SSHConfig())
        self._endpoint = endpoint
        self._agent = _agent() if endpoint.agent else None
        self.tried = 0
        self.encrypted: list[Path] = []

    def close(self) -> None:
        """Leave the agent alone."""
        if self._agent:
            self._agent.close()

    def get_sources(self) -> Iterator[AuthSource]:
        """Each key once."""
        held = {key.asbytes(): key for key in self._agent.get_keys()} if self._agent else {}
        only = self._endpoint.identities_only
        for file in self._endpoint.identities:
            public = _public(file)
            if public in held:
                yield self._source(held.pop(public))
            elif key := self._load(file):
                if key.asbytes() in held:
                    held.pop(key.asbytes())
                yield self._source(key)
            elif public is None and file in self.encrypted:
                only = False  # which of the agent's keys it is cannot be seen, so each may be it
        if not only:
            for agent_key in held.values():
                yield self._source(agent_key)

    def _source(self, key: paramiko.PKey) -> AuthSource:
        self.tried += 1
        return InMemoryPrivateKey(self._endpoint.user, key)

    def _load(self, file: Path) -> paramiko.PKey | None:
        try:
            return paramiko.PKey.from_path(file)
        except (TypeError, paramiko.PasswordRequiredException):
            self.encrypted.append(file)
        except (OSError, ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType):
            pass  # not there, or of no kind that paramiko reads: as in ssh(1), the next one
        return None

    def refused(self) -> str:
        """Why no key of ours opened the door."""
        who = f"{self._endpoint.user}@{self._endpoint.where}"
        if self.encrypted:
            return (
                f"{who} needs a key: {self.encrypted[0]} is encrypted and no agent holds it; "
                f"`ssh-add {self.encrypted[0]}`"
            )
        if not self.tried:
            files = ", ".join(map(str, self._endpoint.identities)) or "none"
            return f"{who} needs a key and there is none: no agent holds one, key files: {files}"
        return (
            f"{who} refused our key{'s' if self.tried > 1 else ''} ({self.tried} tried); "
            "name the right one (IdentityFile) or add it with `ssh-copy-id`"
        )


def _agent() -> paramiko.Agent | None:
    """The agent, if one answers."""
    try:
        return paramiko.Agent()
    except (paramiko.SSHException, OSError):
        return None


def _public(file: Path) -> bytes | None:
    """The public half that lies beside a key file."""
    try:
        return paramiko.pkey.PublicBlob.from_file(f"{file}.pub").key_blob
    except (OSError, ValueError):
        return None
