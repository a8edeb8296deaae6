"""The input and output types of every importer: a file's text, and the runs in it.

Files come from anywhere, so they are untrusted: size and line length are limited, control codes
are rejected, and every error is a DataError that names file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NoReturn, TypeGuard

from netlimits.errors import DataError, ToolFailure, one_line
from netlimits.importers import containers, documents
from netlimits.importers.documents import JsonDocument
from netlimits.model import Scalar, Status

FILE_LIMIT = 64 * 2**20
"""Maximum bytes of a file; a million runs of netperf's `-o` output take about as much."""
LINE_LIMIT = 2**16
"""Maximum characters of a line; a row with all of netperf's selectors takes a tenth of it."""
TEXT_LIMIT = 300
"""Maximum characters kept of a word or a message."""

LARGEST = 2**63
"""Larger figures are rejected; they would not fit a column."""

SHORT = 0.9
"""Minimum share of its planned duration that a run must last, as for netlimits' own runs."""

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
    "threads",
    "target_mbps",
    "mss",
    "congestion_control",
    "brand",
)
"""Factors of imported runs, in the order of the columns. A run has only those that its file states.

Other factors, such as those from a benchmark's own metadata, follow these.
"""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ANSI = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78M])"
)
_INTERRUPT = re.compile(r"^(?:\^C)+", re.MULTILINE)
"""Text that a terminal prints for Ctrl-C, before the tool's summary on the same line."""
_STAMPS = (
    re.compile(
        r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
        r"(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?"
        r"(?: (?:stdout|stderr) [FP])?(?:[:,]? |$)"
    ),
    re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}(?: |$)"),
    re.compile(
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,64} [^\s:\[]{1,64}(?:\[\d{1,9}\])?:(?: |$)"
    ),
    re.compile(r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?:? "),
    re.compile(r"[\w.-]{1,64} {1,32}\| ?"),
    re.compile(r"\[(?:STDOUT|STDERR|OUTPUT|stdout|stderr|INFO|DEBUG)\] ?"),
    re.compile(r"> ?"),
)
"""Prefixes that loggers, `ts`, `--timestamps`, containers and mails put before every line."""
STAMPED = 0.8
"""A prefix is removed if at least this share of the lines has it."""


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run in a file.

    Attributes:
        line: The run's last line, from 1.
        status: The same values as for netlimits' own runs.
        reason: Why the run is not ok.
        values: Factor -> value.
        figures: Column -> value.
        interim: Interim results in order of time, each as column -> value. `stream` is the number
            of its stream, from 1; a result without `stream` covers all streams.
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
        selectors: Selector -> text, used if a run's output lacks the selector.
        factors: Factor -> value, for all runs.
        name: Pattern of the files' paths with `{factor}` (`importers.names`), or "".
        limit: Maximum bytes of a file, before and after decompression.
    """

    columns: tuple[str, ...] = ()
    selectors: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, Scalar] = field(default_factory=dict)
    name: str = ""
    limit: int = FILE_LIMIT


@dataclass(frozen=True)
class SourceText:
    """A file's text.

    Attributes:
        name: The file's name in errors.
        lines: The text's lines without line ends.
        torn: True if the last line has no line end.
    """

    name: str
    lines: Sequence[str]
    torn: bool = False

    def stripped(self) -> Iterator[tuple[int, str]]:
        """Iterate over the lines.

        Returns:
            Each line's number, from 1, and its first LINE_LIMIT characters, stripped of blanks.
        """
        return ((n, line[:LINE_LIMIT].strip()) for n, line in enumerate(self.lines, 1))

    @cached_property
    def text(self) -> str:
        """The lines, joined."""
        return "\n".join(self.lines)

    @cached_property
    def documents(self) -> list[JsonDocument]:
        """The JSON objects in the text. Raises DataError for one that is incomplete."""
        try:
            return documents.find(self.text)
        except documents.BrokenJson as error:
            self.refuse(error.line, str(error))

    def refuse(self, line: int, problem: str) -> NoReturn:
        """Raise an error for a line.

        Args:
            line: The line's number, from 1.
            problem: What is wrong and what to do.

        Raises:
            DataError: Always; the message starts with the file and the line.
        """
        raise DataError(f"{self.name}:{line}: {problem}")


def source(name: str, data: bytes, limit: int = FILE_LIMIT) -> SourceText:
    """Decode a file's bytes, and remove colour codes and prefixes that a logger put on each line.

    Args:
        name: The file's name in errors.
        data: UTF-8, or UTF-16 (PowerShell's `>`), perhaps compressed.
        limit: Maximum bytes, before and after decompression.

    Returns:
        The file's lines without colour codes and prefixes.

    Raises:
        DataError: The file is too large, empty, not text, or contains control codes.
    """
    try:
        data = containers.decompressed(data, limit)
    except containers.TooLarge:
        raise DataError(f"{name}: {too_large(limit)}") from None
    except containers.Unreadable as error:
        raise DataError(f"{name}: {error}") from None
    try:
        text = data.decode(_encoding(data))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}:{line}: is not text ({error.reason})") from None
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    text = _INTERRUPT.sub("", text)
    if not text.strip():
        raise DataError(f"{name}: is empty")
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        code = ord(control[0])
        raise DataError(
            f"{name}:{line}: contains a control code (0x{code:02x}); import a text file"
        )
    return SourceText(name, _unstamped(text.split("\n")), torn=not text.endswith("\n"))


def too_large(limit: int, size: int | None = None) -> str:
    """Return the error message for a file beyond the limit.

    Args:
        limit: The maximum in bytes.
        size: The file's size in bytes; None if unknown.

    Returns:
        The message without the file's name, with sizes in MiB.
    """
    is_of = "" if size is None else f" ({size / 2**20:.0f} MiB)"
    return f"is larger than {limit / 2**20:g} MiB{is_of}; split it, or raise --limit"


def clean(text: str) -> str:
    """Make an untrusted text printable.

    Args:
        text: A word or a message from a file.

    Returns:
        One line of at most TEXT_LIMIT characters, with blanks for unprintable characters.
    """
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * TEXT_LIMIT])
    return one_line(printable)[:TEXT_LIMIT]


def failed(
    line: int, error: ToolFailure, values: Mapping[str, Scalar], started: float | None = None
) -> ImportedRun:
    """Return a run without figures.

    Args:
        line: The run's last line, from 1.
        error: Why the run is not ok; its status becomes the run's status.
        values: Factor -> value.
        started: Seconds since 1970; None if unknown.

    Returns:
        The run, with the error's message as its reason.
    """
    return ImportedRun(line, error.status, clean(str(error)), values, started=started)


def measured_rate(rate: float | None, tool: str, problem: str = "no data arrived") -> float:
    """Check that a tool measured a rate.

    Args:
        rate: The rate, in any unit; None if the tool printed none.
        tool: The name of the tool, for the error.
        problem: The error's text for a rate of 0.

    Returns:
        `rate`.

    Raises:
        ToolFailure: The rate is missing, or is not above zero.
    """
    if rate is None:
        raise ToolFailure(f"{tool} printed no throughput: the run was interrupted")
    if rate <= 0:
        raise ToolFailure(f"throughput is 0: {problem}; is the data path open?")
    return rate


def scalar(text: str) -> Scalar:
    """Convert a text to a number if it is a decimal number.

    Args:
        text: A value from a file.

    Returns:
        An int or a float; the text unchanged if it is no decimal number of at most 15 digits.
    """
    if re.fullmatch(r"-?\d{1,15}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d{1,15}\.\d{1,15}", text) else text


def slug(name: str) -> str:
    """Convert a name to the form of a column's name.

    Args:
        name: A name from a file.

    Returns:
        At most 80 lower-case letters, digits and underscores.
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:80]


def iso_seconds(text: object) -> float | None:
    """Convert an ISO time to seconds.

    Args:
        text: A time from a file, in UTC if it has no zone.

    Returns:
        Seconds since 1970; None if the text is invalid.
    """
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def part(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the JSON object under a key.

    Args:
        document: A JSON object.
        key: A key that it may have.

    Returns:
        The object; {} if there is none.
    """
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def entries(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the JSON objects in the list under a key.

    Args:
        document: A JSON object.
        key: A key that it may have.

    Returns:
        The objects; [] if there is no list. Other elements are left out.
    """
    value = document.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a JSON number that fits a column.

    Args:
        value: A value from a JSON document.

    Returns:
        False for NaN, infinity, booleans and numbers from LARGEST on.
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def is_count(value: object) -> TypeGuard[int]:
    """Return True for a whole JSON number that is not negative and fits a column.

    Args:
        value: A value from a JSON document.

    Returns:
        True for an integer from 0 to LARGEST - 1.
    """
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def _encoding(data: bytes) -> str:
    """Return UTF-16 for its byte order mark or a NUL in every other byte, else UTF-8."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    first = data[:40]
    if len(first) >= 8 and not any(first[1::2]) and all(first[::2]):
        return "utf-16-le"
    if len(first) >= 8 and not any(first[::2]) and all(first[1::2]):
        return "utf-16-be"
    return "utf-8-sig"


def _unstamped(lines: list[str]) -> list[str]:
    """Remove up to two successive prefixes. Nearly all lines must have the prefix."""
    for _ in range(2):
        filled = [line for line in lines if line.strip()]
        for stamp in _STAMPS:
            sample = filled[:200]
            enough = STAMPED * len(filled)
            if sum(stamp.match(line) is not None for line in sample) < STAMPED * len(sample):
                continue
            if len(filled) >= 2 and sum(stamp.match(line) is not None for line in filled) >= enough:
                lines = [
                    stamp.sub("", line, count=1) if stamp.match(line) else line for line in lines
                ]
                break
        else:
            break
    return lines
