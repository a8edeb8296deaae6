"""One thread that reads the output of all programs nobody waits for at the moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock, Thread

SOON, LATER = 0.05, 0.25
"""Seconds until a program is polled again: it has just printed something, or nothing."""

SHARE = 0.1
"""Maximum share of the thread's time that polling may take."""


class Drain:
    """Polls functions until they return None; less often while all programs are silent.

    It uses a bare lock: Ctrl-C inside a `threading.Condition` may leave the condition's lock taken.
    """

    def __init__(self) -> None:
        self._polls: list[Callable[[], float | None]] = []
        self._lock = Lock()
        self._works = False

    def add(self, poll: Callable[[], float | None]) -> None:
        """Call `poll`, which must not block, after as many seconds as it returns; None: never."""
        with self._lock:
            self._polls.append(poll)
            idle, self._works = not self._works, True
        if idle:
            Thread(target=self._work, name="drain", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                polls = [*self._polls]
                if not polls:
                    self._works = False
                    return
            began = time.monotonic()
            pauses = {poll: poll() for poll in polls}
            if over := [poll for poll, seconds in pauses.items() if seconds is None]:
                with self._lock:
                    self._polls = [poll for poll in self._polls if poll not in over]
            pause = min((seconds for seconds in pauses.values() if seconds), default=0.0)
            time.sleep(max(pause, (time.monotonic() - began) / SHARE))


DRAIN = Drain()
"""The drain of this process."""
