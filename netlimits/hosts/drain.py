"""One thread that reads what programs print while nobody waits for them.

Servers, and commands beside others, live as long as a run or a campaign. A thread for each would be
two or three for each host, and of a thousand hosts thousands; there is little to read, so one looks
at all of them in turn. Whoever waits for a program reads it itself meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock, Thread

PAUSE = 0.05
"""Seconds between two looks at all programs; longer, where looking takes long."""

SHARE = 0.1
"""Of its time, what looking may take."""


class Drain:
    """What is looked at until it says that nothing more will come.

    A bare lock: Ctrl-C in the middle of a `threading.Condition` may leave that one's lock taken.
    """

    def __init__(self) -> None:
        self._looks: list[Callable[[], bool]] = []
        self._lock = Lock()
        self._works = False

    def add(self, look: Callable[[], bool]) -> None:
        """Call `look` again and again, until it is False; it must not wait."""
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
            if over := [look for look in looks if not look()]:
                with self._lock:
                    self._looks = [look for look in self._looks if look not in over]
            time.sleep(max(PAUSE, (time.monotonic() - began) / SHARE))


DRAIN = Drain()
"""That of this process."""
