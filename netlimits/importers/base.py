"""The input and output types of every importer: a file's text, and the runs in it.

Files come from anywhere, so they are untrusted: size and line length are limited, control codes
are rejected, and every error is a DataError that names file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from netlimits.errors import DataError, one_line
from netlimits.model import Scalar, Status

FILE_LIMIT = 64 * 2**20
"""Bytes; a million runs of `-o` output take about as much."""
LINE_LIMIT = 2**16
"""Characters; a row with all of netperf's selectors takes a tenth of it."""
TEXT_LIMIT = 300
"""Maximum characters kept of a word or a message."""

LARGEST = 2**63
"""Larger figures are rejected; they would not fit a column."""

TORN = "the last line has no line end and may be cut off; add the line end if it is complete"

FACTORS = (
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
"""Factors of imported runs, in the order of the columns; a run has those that its file states."""

_CONTROL = re.compile(r"(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run in a file.

    Attributes:
        line: The run's last line, from 1.
        status: As for our own runs.
        reason: Why the run is not ok.
        values: Factor -> value.
        figures: Column -> value.
        interim: Interim results by column, in the order of time.
        started: Seconds since 1970, None if unknown.
        repaired: True if empty fields of unknown selectors were removed from the row.
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
    """Values that the user states because the files do not.

    Attributes:
        columns: Selectors of rows without a header.
        selectors: Selector -> text, for runs that lack it.
        factors: Factor -> value, for all runs.
        name: Pattern of the files' paths with `{factor}` (`importers.names`), or "".
    """

    columns: tuple[str, ...] = ()
    selectors: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, Scalar] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text.

    Attributes:
        name: What errors call the file.
        text: The text.
        lines: The text's lines without line ends.
        torn: True if the last line has no line end.
    """

    name: str
    text: str
    lines: Sequence[str]
    torn: bool

    def refuse(self, line: int, problem: str) -> NoReturn:
        """Raise DataError for a line, counted from 1."""
        raise DataError(f"{self.name}:{line}: {problem}")

    def line_at(self, offset: int) -> int:
        """Return the line, from 1, of an offset into `text`."""
        return self.text.count("\n", 0, offset) + 1


def source(name: str, data: bytes) -> SourceText:
    """Decode a file's bytes: UTF-8, or UTF-16 with a byte order mark (PowerShell's `>`).

    Raises:
        DataError: The file is too large, empty, not text, or contains control codes.
    """
    if len(data) > FILE_LIMIT:
        raise DataError(f"{name}: is larger than {FILE_LIMIT >> 20} MiB; split it")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}:{line}: is not text ({error.reason})") from None
    if not text.strip():
        raise DataError(f"{name}: is empty")
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        code = ord(control[0])
        raise DataError(
            f"{name}:{line}: contains a control code (0x{code:02x}); import a text file"
        )
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return SourceText(name, text, lines, torn=not text.endswith("\n"))


def clean(text: str) -> str:
    """Return the text as one line of at most TEXT_LIMIT characters, unprintable ones as blanks."""
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * TEXT_LIMIT])
    return one_line(printable)[:TEXT_LIMIT]
