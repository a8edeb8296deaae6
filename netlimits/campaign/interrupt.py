"""Handle Ctrl-C and other requests to end a campaign; they take effect where it is safe.

A signal only sets a flag. During a measurement it also ends the wait at once. Code of paramiko or
`threading` may hold locks that nobody else would release. If a signal interrupts such code, it is
delivered again a moment later. A regular alarm catches a signal that arrives just before a wait.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, TracebackType
from typing import Any, Protocol

from netlimits.errors import NetlimitsError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

MOMENT = 0.005
"""Seconds after which a delayed signal is delivered again."""

_LOCKS = ("paramiko", "threading")
"""Packages whose code acquires and releases locks explicitly."""

AGAIN = 400
"""Maximum number of times that a signal is delayed, generous for a busy machine. After that the
signal ends the wait even if locks are held."""

BEAT = 0.5
"""Seconds between two alarms."""


class Interrupted(NetlimitsError):
    """A signal or another request ended the campaign; hosts are restored before the exit."""

    exit_status = 130


class Stopping(Protocol):
    """The interface through which a run learns that it has to stop."""

    def check(self) -> None: ...

    def interruptible(self) -> AbstractContextManager[None]:
        """Return a context in which a request to stop takes effect at once."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Return a context in which SIGNALS raise Interrupted at once, so that callers can clean up."""
    with Stop() as stop, stop.interruptible():
        yield


class Stop:
    """A context manager that handles SIGNALS; it works in the main thread only."""

    def __init__(self) -> None:
        self.requested = ""
        self._interruptible = False
        self._before: dict[signal.Signals, Any] = {}
        self._delays = 0

    def __enter__(self) -> Stop:
        self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._hear_again)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _alarm(0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        if self.requested:
            raise Interrupted(f"interrupted by {self.requested}")

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Return a context in which a signal raises Interrupted at once."""
        self.check()
        self._interruptible = True
        _alarm(BEAT)
        try:
            yield
        finally:
            self._interruptible = False
            _alarm(0)

    def defer(self) -> None:
        """Delay further signals until the next `check`, even within `interruptible`."""
        self._interruptible = False
        self.check()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.requested = signal.Signals(number).name
        self._delays = 0
        self._hear_again(number, frame)

    def _hear_again(self, number: int, frame: FrameType | None) -> None:
        if not (self._interruptible and self.requested):
            return
        if self._delays < AGAIN and _holds_locks(frame):
            self._delays += 1
            _alarm(MOMENT)
            return
        self._interruptible = False
        self.check()


def _alarm(seconds: float) -> None:
    """Start an alarm that goes off every `seconds`, or stop it with 0."""
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def _holds_locks(frame: FrameType | None) -> bool:
    """Return True if the interrupted code, or one of its callers, is in a package of _LOCKS."""
    while frame:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in _LOCKS:
            return True
        frame = frame.f_back
    return False
