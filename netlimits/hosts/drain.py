"""One thread that reads what programs print while nobody waits for them.

Servers, and commands beside others, live as long as a run or a campaign. A thread for each would be
two or three for each host, and of a thousand hosts thousands; there is little to read, so one looks
at all of them in turn. Whoever waits for a program reads it itself meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock, Thread

SOON, LATER = 0.05, 0.25
"""Seconds until a program is looked at again that has just printed something, or nothing."""

SHARE = 0.1
"""Of its time, what looking may take."""


class Drain:
    """What is looked at until it says that nothing more will come; less often while all is silent.

    A bare lock: Ctrl-C in the middle of a `threading.Condition` may leave that one's lock taken.
    """

    def __init__(self) -> None:
        self._looks: list[Callable[[], float | None]] = []
        self._lock = Lock()
        self._works = False

    def add(self, look: Callable[[], float | None]) -> None:
        """Call `look`, which must not wait, again and again.

        It gives the seconds after which it wants to be called again, None for never.
        """
        with self._lock:
            self._looks.append(look)
            idle, self._works = not self._works, True
        if idle:
            Thread(target=self._work, name="drain", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                looks = [*self._looks]
                if not looks:
                    self._works = False
                    return
            began = time.monotonic()
            again = {look: look() for look in looks}
            if over := [look for look, seconds in again.items() if seconds is None]:
                with self._lock:
                    self._looks = [look for look in self._looks if look not in over]
            pause = min((seconds for seconds in again.values() if seconds), default=0.0)
            time.sleep(max(pause, (time.monotonic() - began) / SHARE))


DRAIN = Drain()
"""That of this process."""
