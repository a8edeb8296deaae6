"""The inner seam: a program whose three standard streams we hold, wherever it runs.

A `Login` opens programs, a `Stream` is one of them. SSH channels and local pipes differ in how
one waits for them and in nothing else, so the whole protocol above sees a single method,
`Stream.exchange`: send what goes, take what came, wait no longer than told. Both directions and
both outputs move in the same step, so that no full pipe can hold up another.

`Marked` reads an output: text cut by marks, lines that start with a random word which a command
cannot know and therefore not print.
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
"""Seconds that a program's last output may take to arrive after the program's end."""

TICK = 0.25
"""Seconds after which a wait looks whether the program still lives: not every end makes a sound."""

STALL = 5.0
"""Seconds without a byte after which a program that should be done counts as hung."""

LAST = 2
"""Marks of a command or a server on each output: before it, with its process id, and after it."""

STRAYS = 2**20
"""Bytes that may come outside of a command's output: greetings, late words of earlier commands."""

_BEFORE_LIMIT = 4096
_LINE_LIMIT = 256


class Exchange(NamedTuple):
    """The result of one exchange: bytes sent, bytes received, and whether the program ended.

    `exited`: the program is gone, its last output may still be on the way. `ended`: nothing
    more can come.
    """

    sent: int
    stdout: bytes
    stderr: bytes
    exited: bool
    ended: bool


class Stream(Protocol):
    """A program's standard streams."""

    def exchange(self, data: memoryview, wait: float) -> Exchange:
        """Send the start of `data`, take what came; wait up to `wait` seconds for anything."""

    def finish(self) -> None:
        """Close the program's standard input. Harmless when it is gone."""

    def close(self) -> None:
        """Let go of the program. Harmless when it is gone."""


class Login(Protocol):
    """A place where programs can be started."""

    def open(self, program: str, seconds: float) -> Stream:
        """Start `program`, plain words that every login shell reads alike, within `seconds`.

        Raises ConnectionLost when there is no connection any more, or no answer, and
        SessionRefused where no further one may be started.
        """

    def lost(self) -> str:
        """Why nothing can be started any more; empty while it can."""

    def close(self) -> None:
        """Log out."""


class Broken(Exception):
    """A conversation with a program broke off; the caller decides whether that is an error."""


class Ended(Broken):
    """The program at the other end is gone."""


class Overdue(Broken):
    """The program did not answer within the time allowed."""


class Garbled(Broken):
    """The output is no answer: too much text outside of the marks, or damaged marks."""


class Marked:
    """An output that is cut by marks; keeps OUTPUT_LIMIT bytes between the first and the LAST.

    `marks` holds what stood on each mark's line. Text outside of them belongs to nobody (a login
    shell's greeting, a late word of an earlier command): only its start is kept, in `before`, to
    explain a shell that never answers. More than STRAYS bytes of it, or a mark's line that does
    not end, is no conversation: `garbled`.
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
        """Take the next bytes."""
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
        r"""What was kept; bytes that are not UTF-8 show as `\xff`."""
        unfinished = b"" if not self.marks or len(self.marks) >= LAST else self._pending
        return (self._kept + unfinished).decode("utf-8", "backslashreplace")

    @property
    def preamble(self) -> str:
        """What came before the first mark (or all, without one), on one line."""
        data = self.before if self.marks else self.before + self._pending
        return one_line(data.decode("utf-8", "backslashreplace"))


class Talk:
    """A conversation with one program: what is still to be sent, and two outputs read together."""

    def __init__(self, stream: Stream, nonce: str, data: bytes = b"") -> None:
        self.out = Marked(nonce)
        self.err = Marked(nonce)
        self.unsent = memoryview(data)
        self.moved_at = time.monotonic()
        self.sent_at = self.moved_at
        self._stream = stream
        self._exited = False
        self._limit = self._last = math.inf

    def until(self, marks: int, seconds: float, stretch: float = 0.0) -> None:
        """Go on until both outputs have that many marks (an end is marked on both).

        While bytes still move `seconds` are stretched, a little at a time, by `stretch` at most.
        Raises Overdue after it, Ended when the program is gone, Garbled when it makes no sense.
        """
        self.allow(seconds, stretch)
        while not self.reached(marks, seconds + stretch):
            pass

    def allow(self, seconds: float, stretch: float = 0.0) -> None:
        """Have `reached` raise Overdue from then on."""
        self._limit = time.monotonic() + seconds
        self._last = self._limit + stretch

    def reached(self, marks: int, wait: float) -> bool:
        """Whether both outputs have that many marks, after one step; raises as `until`."""
        if self.marks < marks:
            # one step at least: what came in time may be read late
            _, moved = self.step(min(wait, self._limit - time.monotonic()))
            if moved:
                self._limit = min(self._last, max(self._limit, self.moved_at + STALL))
            if self.marks < marks and time.monotonic() >= self._limit:
                raise Overdue
        return self.marks >= marks

    @property
    def marks(self) -> int:
        """Marks on both outputs."""
        return min(len(self.out.marks), len(self.err.marks))

    def step(self, wait: float) -> tuple[bool, bool]:
        """One exchange of up to `wait` and TICK seconds: whether bytes went, whether any moved.

        Raises Ended when the program is gone and nothing more comes, Garbled for no conversation.
        """
        wait = max(0.0, min(wait, LINGER / 10 if self._exited else TICK))
        began = time.monotonic()
        now = self._stream.exchange(self.unsent, wait)
        sent, moved = now.sent > 0, bool(now.sent or now.stdout or now.stderr)
        if moved or (now.exited and not self._exited):
            self.moved_at = time.monotonic()
        if sent:
            self.unsent = self.unsent[now.sent :]
            self.sent_at = began  # no later than it went
        self.out.feed(now.stdout)
        self.err.feed(now.stderr)
        if self.out.garbled or self.err.garbled:
            raise Garbled
        self._exited = now.exited
        if not moved and (now.ended or (now.exited and time.monotonic() - self.moved_at >= LINGER)):
            raise Ended
        return sent, moved
