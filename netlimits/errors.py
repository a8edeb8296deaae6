"""Everything that netlimits raises on purpose, as one tree.

    NetlimitsError                exit 1   something went wrong; the message says what to do
    ├── InputError                exit 2   what the user wrote is wrong: nothing was touched
    │   ├── DocumentError         exit 2   a YAML file, with its line and key
    │   │   └── DocumentErrors    exit 2   all that is wrong with one, a line each
    │   ├── ArchiveError          exit 2   a results folder: missing, foreign, of another version
    │   │   ├── ArchiveUnwritable exit 1   one that cannot be written to any more: a full disk
    │   │   └── ArchiveInUse      exit 2   one that another process is at
    │   └── DataError             exit 2   numbers that cannot answer the question
    ├── HostError                 exit 2   a host that cannot be used, before a campaign starts
    │   ├── ConnectError          exit 2   unreachable, key refused, host key unknown
    │   ├── HostInUse             exit 2   another campaign claims it
    │   ├── SessionRefused        exit 2   a connection that may run no more programs at once
    │   ├── ConnectionLost        exit 1   the connection went away under a command
    │   ├── CommandFailed         exit 2   a command that had to succeed did not; carries it
    │   └── CheckError            exit 2   whatever would make a campaign fail, a line each
    ├── SettingError              exit 2   a setting that the host refuses or does not have
    ├── ToolFailure               exit 1   a measurement that is none: a failed run with its reason
    │   └── OutputError           exit 1   a tool ended well, and its output cannot be read
    ├── LabError                  exit 1   the lab cannot be built, found or removed
    └── RestoreError              exit 3   a host could not be restored; says what is left and how

Each class carries the object that failed. The command line prints `str(error)` on one line
and exits with `exit_status`; nothing else prints or exits.
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
    """The root: whatever netlimits raises on purpose."""

    exit_status = 1


class InputError(NetlimitsError):
    """What the user asked for cannot be done as written; no host was touched."""

    exit_status = 2


class DocumentError(InputError):
    """A fault in a YAML file: reads as `FILE:LINE: KEY: what is wrong; what to do`.

    `key` is the key as it is shown, `steps` the keys and indexes that lead to it.
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
        """Each error by itself, in the file's order."""
        return (self,)


class DocumentErrors(DocumentError):
    """Several faults of one file; the message has a line for each, in the file's order."""

    def __init__(self, errors: Sequence[DocumentError]) -> None:
        self._errors = tuple(sorted(errors, key=lambda e: (e.line is None, e.line or 0)))
        first = self._errors[0]
        super().__init__(
            first.problem, path=first.path, line=first.line, key=first.key, steps=first.steps
        )
        self.args = ("\n".join(map(str, self._errors)),)

    @property
    def errors(self) -> tuple[DocumentError, ...]:
        """Each error by itself, in the file's order."""
        return self._errors


def raise_all(errors: Iterable[DocumentError]) -> None:
    """Raise what there is: one error as it is, several as one that lists each of them once."""
    different = list({str(error): error for error in errors}.values())
    if len(different) > 1:
        raise DocumentErrors(different)
    if different:
        raise different[0]


class ArchiveError(InputError):
    """A results folder that cannot be created, read or continued."""


class ArchiveUnwritable(ArchiveError):
    """A results folder that takes nothing more in the middle of the work: hosts were touched."""

    exit_status = 1


class ArchiveInUse(ArchiveError):
    """A results folder that another process is at."""


class DataError(InputError):
    """A frame or table that cannot answer the question asked of it."""


class HostError(NetlimitsError):
    """A host that cannot be used; `host` is its role."""

    exit_status = 2

    def __init__(self, problem: str, *, host: str = "") -> None:
        self.host = host
        super().__init__(f"{host}: {problem}" if host else problem)


class ConnectError(HostError):
    """No login on the host: unreachable, host key unknown or changed, our key refused.

    `transient` is true of what time may mend: no answer, a connection refused or cut off.
    """

    def __init__(self, problem: str, *, host: str = "", transient: bool = False) -> None:
        self.transient = transient
        super().__init__(problem, host=host)


class HostInUse(HostError):
    """A host that another campaign claims, or that one left changed."""


class SessionRefused(HostError):
    """A connection that stands, and may run no more programs at once (MaxSessions)."""


class ConnectionLost(HostError):
    """The connection went away while a command ran; the command's fate is unknown."""

    exit_status = 1


class CommandFailed(HostError):
    """A command that had to succeed did not; `completed` holds what it printed."""

    def __init__(self, problem: str, *, completed: Completed) -> None:
        self.completed = completed
        super().__init__(problem, host=completed.host)


class CheckError(HostError):
    """What the check before a campaign found: `findings` holds each, the message a line for it."""

    def __init__(self, findings: Sequence[object]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, findings)))


class SettingError(NetlimitsError):
    """A setting that the host refuses, does not have, or that did not take."""

    exit_status = 2

    def __init__(self, problem: str, *, setting: str = "", host: str = "") -> None:
        self.problem = problem
        self.setting = setting
        self.host = host
        super().__init__(": ".join(part for part in (host, setting, problem) if part))


class ToolFailure(NetlimitsError):
    """A tool ran and measured nothing that may be believed; the message is the run's reason.

    `status` is the run's: `failed`, or `timeout`, or `invalid` for a figure that exists
    and must not be used.
    """

    def __init__(self, reason: str, *, status: Status = "failed") -> None:
        self.status = status
        super().__init__(reason)


class OutputError(ToolFailure):
    """A tool ended well, and what it printed cannot be read."""


class LabError(NetlimitsError):
    """The lab cannot be built, found or taken down."""


class RestoreError(NetlimitsError):
    """A host is not as it was found; the message lists what is left and how to mend it by hand."""

    exit_status = 3


def nearest(written: str, known: Iterable[str]) -> str:
    """The known name that somebody most likely meant; "" where none is near."""
    return next(iter(difflib.get_close_matches(written[:80], [*known], n=1)), "")


def did_you_mean(written: str, known: Iterable[str]) -> str:
    """What to say after an unknown name: the nearest known one, or else all of them."""
    known = list(known)
    if near := nearest(written, known):
        return f"; did you mean {near}?"
    return f"; known: {', '.join(known)}" if known else ""


def one_line(words: Exception | str) -> str:
    """A text, or what went wrong, on one line.

    Of an OSError without the path and number that it puts around it; an error has a name at least.
    """
    if isinstance(words, str):
        return " ".join(words.split())
    message = (words.strerror if isinstance(words, OSError) else None) or str(words)
    return one_line(message) or type(words).__name__


def escaped(text: str) -> str:
    r"""The text with control codes and what turns its direction shown as `\u001b`, as in JSON.

    Line breaks, tabs and blanks of any width stay.
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
