"""What every importer takes and gives: a file's text within bounds, and the runs that it tells of.

Files come from anywhere, so they are read as untrusted: size and line length are limited, control
codes are refused, and every fault is a DataError that names file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from netlimits.errors import DataError, one_line
from netlimits.model import Scalar, Status

FILE_LIMIT = 64 * 2**20
"""Bytes; a million runs of `-o` output are about that."""
LINE_LIMIT = 2**16
"""Characters; all of netperf's selectors in one row come to a tenth of it."""
TEXT_LIMIT = 300
"""Characters kept of a word or a message."""

LARGEST = 2**63
"""A figure beyond it is none, and would not fit a column."""

TORN = "the file's last line has no end and may be cut off; end it if it is whole"

FACTORS = (
    "file",
    "tool",
    "reported_by",
    "test",
    "protocol",
    "direction",
    "send_size",
    "request_size",
    "response_size",
    "count",
    "streams",
    "target_mbps",
    "mss",
    "congestion_control",
    "brand",
)
"""What imported runs differ by, in the order of columns; a run has those that its file states."""

_CONTROL = re.compile(r"(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Imported:
    """One run as a file tells it; `line` is where it ends, `started` epoch seconds if known.

    `repaired` says that empty fields of unknown selectors were left out of its row.
    """

    line: int
    status: Status = "ok"
    reason: str = ""
    values: Mapping[str, Scalar] = field(default_factory=dict)
    figures: Mapping[str, Scalar] = field(default_factory=dict)
    interim: tuple[Mapping[str, float], ...] = ()
    started: float | None = None
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """What the user states because files do not.

    `columns` are the selectors of rows without a header, `selectors` those that a run lacks.
    `factors` are the same for all runs.
    """

    columns: tuple[str, ...] = ()
    selectors: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text; `lines` are without their ends, `torn` says that the last one has none."""

    name: str
    text: str
    lines: Sequence[str]
    torn: bool

    def refuse(self, line: int, problem: str) -> NoReturn:
        """Raise DataError for a line, counted from 1."""
        raise DataError(f"{self.name}:{line}: {problem}")

    def line_at(self, offset: int) -> int:
        """The line, from 1, of an offset into `text`."""
        return self.text.count("\n", 0, offset) + 1


def source(name: str, data: bytes) -> SourceText:
    """The text of a file's bytes: UTF-8, or UTF-16 where it says so (PowerShell's `>`).

    Raises DataError for what is no text: too large, empty, control codes.
    """
    if len(data) > FILE_LIMIT:
        raise DataError(f"{name}: is larger than {FILE_LIMIT >> 20} MiB; split it")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}:{line}: is no text ({error.reason})") from None
    if not text.strip():
        raise DataError(f"{name}: is empty")
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        code = ord(control[0])
        raise DataError(f"{name}:{line}: holds a control code (0x{code:02x}); is it text?")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return SourceText(name, text, lines, torn=not text.endswith("\n"))


def clean(text: str) -> str:
    """The text on one line, unprintable characters as blanks, no longer than TEXT_LIMIT."""
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * TEXT_LIMIT])
    return one_line(printable)[:TEXT_LIMIT]
