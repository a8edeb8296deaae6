"""The exceptions of netlimits, as one tree.

    NetlimitsError                exit 1   anything that netlimits raises on purpose
    ├── InputError                exit 2   the user's input is wrong; no host was touched
    │   ├── DocumentError         exit 2   an error in a YAML file, with its line and key
    │   │   └── DocumentErrors    exit 2   all errors of a YAML file, one per line
    │   ├── ArchiveError          exit 2   a results folder is missing, foreign or incompatible
    │   │   ├── ArchiveUnwritable exit 1   a results folder cannot be written: the disk is full
    │   │   └── ArchiveInUse      exit 2   another process uses the results folder
    │   └── DataError             exit 2   the data cannot answer the question
    ├── HostError                 exit 2   a host cannot be used
    │   ├── ConnectError          exit 2   unreachable, login refused, host key unknown
    │   ├── HostInUse             exit 2   another campaign claims the host
    │   ├── SessionRefused        exit 2   the SSH server allows no more sessions (MaxSessions)
    │   ├── ConnectionLost        exit 1   the connection broke while a command ran
    │   ├── CommandFailed         exit 2   a command failed that must succeed
    │   └── CheckError            exit 2   the findings of a check, one per line
    ├── SettingError              exit 2   the host rejects a setting or does not have it
    ├── ToolFailure               exit 1   a run gave no valid measurement
    │   └── OutputError           exit 1   a tool succeeded but its output cannot be parsed
    ├── LabError                  exit 1   a lab cannot be built, found or removed
    └── RestoreError              exit 3   a host could not be restored

Attributes such as `host` identify what failed. The command line prints `str(error)`, with one line
for each error, and exits with `exit_status`. No other code prints errors or exits.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlimits.model import Completed, Status


class NetlimitsError(Exception):
    """Base class of all exceptions that netlimits raises on purpose."""

    exit_status = 1


class InputError(NetlimitsError):
    """The user's input is wrong; no host was touched (except by `ArchiveUnwritable`)."""

    exit_status = 2


class DocumentError(InputError):
    """An error in a YAML file. The message reads `FILE:LINE: KEY: problem; what to do`.

    `key` is the key as the message shows it. `steps` is the path to the key: keys and indexes.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: Path | str,
        line: int | None = None,
        key: str = "",
        steps: tuple[str | int, ...] = (),
    ) -> None:
        self.problem = problem
        self.steps = steps
        self.path = Path(path)
        self.line = line
        self.key = key
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(": ".join(part for part in (place, key, problem) if part))

    @property
    def errors(self) -> tuple[DocumentError, ...]:
        """All errors of the file, in the order of their lines."""
        return (self,)


class DocumentErrors(DocumentError):
    """All errors of one YAML file; the message has one line for each error, by line number."""

    def __init__(self, errors: Sequence[DocumentError]) -> None:
        self._errors = tuple(sorted(errors, key=lambda e: (e.line is None, e.line or 0)))
        first = self._errors[0]
        super().__init__(
            first.problem, path=first.path, line=first.line, key=first.key, steps=first.steps
        )
        self.args = ("\n".join(map(str, self._errors)),)

    @property
    def errors(self) -> tuple[DocumentError, ...]:
        """All errors of the file, in the order of their lines."""
        return self._errors


def raise_all(errors: Iterable[DocumentError]) -> None:
    """Raise a single error unchanged, or several errors as one DocumentErrors.

    Errors with the same message count once. If there is no error, do nothing.
    """
    different = list({str(error): error for error in errors}.values())
    if len(different) > 1:
        raise DocumentErrors(different)
    if different:
        raise different[0]


class ArchiveError(InputError):
    """A results folder cannot be created, read or continued."""


class ArchiveUnwritable(ArchiveError):
    """A results folder cannot be written while a campaign runs, for example on a full disk.

    Unlike with other input errors, hosts may already have been changed.
    """

    exit_status = 1


class ArchiveInUse(ArchiveError):
    """Another process uses the results folder."""


class DataError(InputError):
    """A frame or table does not hold the data that the question needs."""


class HostError(NetlimitsError):
    """A host cannot be used; `host` is the host's role."""

    exit_status = 2

    def __init__(self, problem: str, *, host: str = "") -> None:
        self.host = host
        super().__init__(f"{host}: {problem}" if host else problem)


class ConnectError(HostError):
    """Login failed: host unreachable, host key unknown or changed, or the user's key rejected.

    `transient` is true if a retry may succeed, since the host did not answer, or refused or reset
    the connection.
    """

    def __init__(self, problem: str, *, host: str = "", transient: bool = False) -> None:
        self.transient = transient
        super().__init__(problem, host=host)


class HostInUse(HostError):
    """Another campaign claims the host or left it changed."""


class SessionRefused(HostError):
    """The SSH server allows no more sessions on an open connection (MaxSessions)."""


class ConnectionLost(HostError):
    """The connection broke while a command ran; the command may still have completed."""

    exit_status = 1


class CommandFailed(HostError):
    """A command failed that must succeed; `completed` holds the command's output."""

    def __init__(self, problem: str, *, completed: Completed) -> None:
        self.completed = completed
        super().__init__(problem, host=completed.host)


class CheckError(HostError):
    """The check before a campaign failed; the message lists `findings`, one per line."""

    def __init__(self, findings: Sequence[object]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, findings)))


class SettingError(NetlimitsError):
    """The host rejects a setting, does not have it, or reads back another value."""

    exit_status = 2

    def __init__(self, problem: str, *, setting: str = "", host: str = "") -> None:
        self.problem = problem
        self.setting = setting
        self.host = host
        super().__init__(": ".join(part for part in (host, setting, problem) if part))


class ToolFailure(NetlimitsError):
    """A run gave no valid measurement; the message becomes the run's `reason`.

    `status` is the run's status: `failed`, `timeout` or `invalid`. `invalid` means that the run has
    a figure, which must not be used.
    """

    def __init__(self, reason: str, *, status: Status = "failed") -> None:
        self.status = status
        super().__init__(reason)


class OutputError(ToolFailure):
    """A tool succeeded, but its output cannot be parsed."""


class LabError(NetlimitsError):
    """A lab cannot be built, found or removed."""


class RestoreError(NetlimitsError):
    """A host could not be restored.

    The message names the changes that remain and says how to restore them by hand.
    """

    exit_status = 3


def nearest(written: str, known: Iterable[str]) -> str:
    """Return the known name that is closest to a misspelt name, "" if no name is close."""
    return next(iter(difflib.get_close_matches(written[:80], [*known], n=1)), "")


def did_you_mean(written: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown name: the closest known name, or else all known names."""
    known = list(known)
    if near := nearest(written, known):
        return f"; did you mean {near}?"
    return f"; known: {', '.join(known)}" if known else ""


def one_line(words: Exception | str) -> str:
    """Return a text or an exception's message on one line.

    An exception without a message gives the name of its class. An OSError gives only its
    `strerror`, without path and errno.
    """
    if isinstance(words, str):
        return " ".join(words.split())
    message = (words.strerror if isinstance(words, OSError) else None) or str(words)
    return one_line(message) or type(words).__name__


def escaped(text: str) -> str:
    r"""Escape control codes and bidirectional marks as JSON does: `\u001b`.

    Line feeds, tabs and spaces of any width are not escaped.
    """
    if text.isprintable():
        return text
    return text.translate({ord(c): _escape(ord(c)) for c in set(text) if not _shows(c)})


def _shows(character: str) -> bool:
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"


def _escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
