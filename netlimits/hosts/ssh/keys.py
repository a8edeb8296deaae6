"""The keys to log in with: the configured keys, then the agent's other keys; never a password."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import paramiko
from paramiko.auth_strategy import AuthSource, AuthStrategy, InMemoryPrivateKey

from netlimits.errors import one_line
from netlimits.hosts.ssh.sshconfig import SIZE_LIMIT, Endpoint
from netlimits.model.named_file import read_at_most


class OurKeys(AuthStrategy):
    """The keys to log in with, in order; `unfit` maps each unusable key file to the reason."""

    def __init__(self, endpoint: Endpoint, seconds: float) -> None:
        """Connect to the agent, which has `seconds` for each answer."""
        super().__init__(paramiko.SSHConfig())
        self._endpoint = endpoint
        self._agent = _agent(seconds) if endpoint.agent else None
        self.tried = 0
        self.encrypted: list[Path] = []
        self.unfit: dict[Path, str] = {}

    def close(self) -> None:
        if self._agent:
            self._agent.close()

    def get_sources(self) -> Iterator[AuthSource]:
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
                only = False  # without a .pub file, any key of the agent may be this one
        if not only:
            for agent_key in held.values():
                yield self._source(agent_key)

    def _source(self, key: paramiko.PKey) -> AuthSource:
        self.tried += 1
        return InMemoryPrivateKey(self._endpoint.user, key)

    def _load(self, file: Path) -> paramiko.PKey | None:
        try:
            if why := _too_open(file):
                self.unfit[file] = why
                return None
            read_at_most(file, SIZE_LIMIT)
            if _can_be_read(Path(f"{file}-cert.pub")):
                return paramiko.PKey.from_path(file)
        except FileNotFoundError:
            pass  # try the next key, as ssh(1) does
        except (TypeError, paramiko.PasswordRequiredException):
            self.encrypted.append(file)
        except OSError as error:
            self.unfit[file] = one_line(error)
        except (ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType):
            self.unfit[file] = "is not a private key"
        return None

    @staticmethod
    def unanswered(error: paramiko.AuthenticationException) -> bool:
        """Return True if a key failed because the host's answer came too late."""
        results = getattr(error, "result", None) or ()
        return any("timeout" in str(attempt.result).lower() for attempt in results)

    def refused(self) -> str:
        """Return the error message for a host that accepted none of the keys."""
        who = f"{self._endpoint.user}@{self._endpoint.where}"
        if self.encrypted:
            return (
                f"{who} needs a key: {self.encrypted[0]} is encrypted and no agent holds it; "
                f"`ssh-add {self.encrypted[0]}`"
            )
        unfit = "; ".join(f"{file} {why}" for file, why in self.unfit.items())
        if not self.tried and unfit:
            return f"{who} needs a key and none can be used: {unfit}"
        if not self.tried:
            files = ", ".join(map(str, self._endpoint.identities)) or "none"
            return f"{who} needs a key and there is none: no agent holds one, key files: {files}"
        return (
            f"{who} refused our key{'s' if self.tried > 1 else ''} ({self.tried} tried); "
            "name the right one (IdentityFile) or add it with `ssh-copy-id`"
            + (f"; not tried: {unfit}" if unfit else "")
        )


class _Agent(paramiko.Agent):
    """An agent whose answers have a time limit."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        super().__init__()

    def _connect(self, conn: socket.socket) -> None:
        conn.settimeout(self._seconds)
        try:
            super()._connect(conn)  # type: ignore[misc]  # paramiko's own, untyped
        except BaseException:
            conn.close()
            raise


def _agent(seconds: float) -> paramiko.Agent | None:
    try:
        return _Agent(seconds)
    except (paramiko.SSHException, OSError):
        return None


def _public(file: Path) -> bytes | None:
    public_file = Path(f"{file}.pub")
    try:
        return (
            paramiko.pkey.PublicBlob.from_file(public_file).key_blob
            if _can_be_read(public_file)
            else None
        )
    except (OSError, ValueError):
        return None


def _too_open(file: Path) -> str:
    """Return an error message if others may read this user's key, or "".

    OpenSSH ignores such a key.
    """
    about = file.stat()
    if about.st_uid != os.getuid() or not about.st_mode & 0o077:
        return ""
    mode = f"{about.st_mode & 0o777:04o}"
    return f"can be read by others (permissions {mode}): `chmod 600 {shlex.quote(str(file))}`"


def _can_be_read(file: Path) -> bool:
    """Return True if paramiko may try to read a file: it is missing, or not too large."""
    try:
        return len(read_at_most(file, SIZE_LIMIT)) <= SIZE_LIMIT
    except FileNotFoundError:
        return True
    except OSError:
        return False
