"""The interface below hosts: a running program, local or over SSH, and its standard streams.

SSH channels and local pipes differ only in how to wait for them (`Stream.exchange`). `Marked`
parses one output, which is text between marks. A mark is a line that starts with a random word, so
that no command can print a mark by accident.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, Protocol

from netlimits.errors import one_line
from netlimits.hosts.base import OUTPUT_LIMIT

CHUNK = 2**18
"""Bytes taken from a stream in one step."""

LINGER = 1.0
"""Seconds that the last output may take to arrive after the program has ended."""

TICK = 0.25
"""Seconds between checks that the program still runs, since not every end causes an event."""

STALL = 5.0
"""Seconds without a byte after which a program that should be done counts as hung."""

LAST = 2
"""Number of marks on each output of a command: first the process id, at the end the status."""

STRAYS = 2**20
"""Bytes allowed outside of the marks: greetings, and late output of earlier commands."""

_BEFORE_LIMIT = 4096
_LINE_LIMIT = 256


class Exchange(NamedTuple):
    """Bytes sent and received; `exited` if the program ended, `ended` if its output did too."""

    sent: int
    stdout: bytes
    stderr: bytes
    exited: bool
    ended: bool


class Stream(Protocol):
    """The standard streams of a program."""

    def exchange(self, data: memoryview, wait: float) -> Exchange:
        """Send some of `data` and receive output; wait up to `wait` seconds until either works."""

    def finish(self) -> None:
        """Close the program's standard input. Harmless when the program is gone."""

    def close(self) -> None:
        """Release the program. Harmless when it is gone."""


class Login(Protocol):
    """A connection that can start programs."""

    def open(self, program: str, seconds: float) -> Stream:
        """Start `program`, a command line for any login shell, within `seconds`.

        Raises ConnectionLost if there is no answer, or SessionRefused if the host allows no more
        programs.
        """

    def lost(self) -> str:
        """Return the reason why no more programs can be started, or ""."""

    def close(self) -> None:
        """Close the connection."""


class Broken(Exception):
    """The exchange with a program ended early; the caller decides whether this is an error."""


class Ended(Broken):
    """The program at the other end is gone."""


class Overdue(Broken):
    """The program did not answer in time."""


class Garbled(Broken):
    """The output is unusable: too much text outside of the marks, or a damaged mark."""


class Marked:
    """An output with marks; keeps up to `limit` bytes of the text between the marks.

    `marks` has the rest of each mark's line. `before` keeps the start of the text before the first
    mark, such as a greeting. More than STRAYS bytes outside of the marks, or a mark without an end,
    make the output `garbled`.
    """

    def __init__(self, nonce: str, limit: int = OUTPUT_LIMIT) -> None:
        self.marks: list[str] = []
        self.before = b""
        self.truncated = False
        self.garbled = False
        self._strays = 0
        self._nonce = nonce.encode()
        self._limit = limit
        self._kept = bytearray()
        self._pending = b""

    def feed(self, data: bytes) -> None:
        if not data:
            return
        rest = self._pending + data
        while (at := rest.find(self._nonce)) >= 0:
            text = at + len(self._nonce)
            end = rest.find(b"\n", text, text + _LINE_LIMIT)
            if end < 0:
                self.garbled = self.garbled or len(rest) >= text + _LINE_LIMIT
                break
            self._keep(rest[:at])
            if len(self.marks) < LAST:
                self.marks.append(rest[text:end].decode("ascii", "replace"))
            else:
                self._stray(end + 1 - at)
            rest = rest[end + 1 :]
            if self.garbled:
                break
        safe = at if at >= 0 else max(0, len(rest) - len(self._nonce) + 1)
        self._keep(rest[:safe])
        self._pending = rest[safe:]

    def _keep(self, data: bytes) -> None:
        if not self.marks:
            self.before = (self.before + data[:_BEFORE_LIMIT])[:_BEFORE_LIMIT]
        if not 0 < len(self.marks) < LAST:
            self._stray(len(data))
            return
        room = self._limit - len(self._kept)
        self._kept += data[:room]
        self.truncated = self.truncated or len(data) > room

    def _stray(self, size: int) -> None:
        self._strays += size
        self.garbled = self.garbled or self._strays > STRAYS

    @property
    def text(self) -> str:
        r"""The kept text; a byte that is not UTF-8 becomes an escape such as `\xff`."""
        unfinished = b"" if not self.marks or len(self.marks) >= LAST else self._pending
        return (self._kept + unfinished).decode("utf-8", "backslashreplace")

    @property
    def preamble(self) -> str:
        """The text before the first mark, or all text without one, as one line."""
        data = self.before if self.marks else self.before + self._pending
        return one_line(data.decode("utf-8", "backslashreplace"))


class Talk:
    """An exchange with one program: sends `data` and reads both outputs."""

    def __init__(self, stream: Stream, nonce: str, data: bytes = b"") -> None:
        self.out = Marked(nonce)
        self.err = Marked(nonce)
        self.unsent = memoryview(data)
        self.moved_at = time.monotonic()
        self.sent_at = self.moved_at
        self._stream = stream
        self._exited = False
        self._deadline = self._latest = math.inf

    def until(self, marks: int, seconds: float) -> None:
        """Send and receive until both outputs have `marks` marks.

        Raises Broken, for example after `seconds`.
        """
        self.allow(seconds)
        while not self.reached(marks, seconds):
            pass

    def allow(self, seconds: float, stretch: float = 0.0) -> None:
        """Set the deadline of `reached`; output may extend it by up to `stretch` seconds."""
        self._deadline = time.monotonic() + seconds
        self._latest = self._deadline + stretch

    def reached(self, marks: int, wait: float) -> bool:
        """Send and receive once; return True if both outputs have `marks` marks. Raises Broken."""
        if self.marks < marks:
            # step once even after the deadline: the output may have arrived in time
            _, moved = self.step(min(wait, self._deadline - time.monotonic()))
            if moved:
                self._deadline = min(self._latest, max(self._deadline, self.moved_at + STALL))
            if self.marks < marks and time.monotonic() >= self._deadline:
                raise Overdue
        return self.marks >= marks

    @property
    def marks(self) -> int:
        return min(len(self.out.marks), len(self.err.marks))

    def step(self, wait: float) -> tuple[bool, bool]:
        """Send and receive once; return (sent some bytes, sent or received some). Raises Broken."""
        wait = max(0.0, min(wait, LINGER / 10 if self._exited else TICK))
        began = time.monotonic()
        result = self._stream.exchange(self.unsent, wait)
        sent, moved = result.sent > 0, bool(result.sent or result.stdout or result.stderr)
        if moved or (result.exited and not self._exited):
            self.moved_at = time.monotonic()
        if sent:
            self.unsent = self.unsent[result.sent :]
            self.sent_at = began  # the earliest time at which they can have been sent
        self.out.feed(result.stdout)
        self.err.feed(result.stderr)
        if self.out.garbled or self.err.garbled:
            raise Garbled
        self._exited = result.exited
        silent = time.monotonic() - self.moved_at >= LINGER
        if not moved and (result.ended or (result.exited and silent)):
            raise Ended
        return sent, moved
