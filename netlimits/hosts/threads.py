"""Work on several hosts concurrently, in threads for which Ctrl-C does not have to wait.

concurrent.futures always joins its threads, so one silent host would hold up Ctrl-C.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread, main_thread
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

MOST = 16
"""Default maximum number of concurrent threads.

A campaign has up to two threads per host and one for its connection, and sshd refuses some of many
concurrent logins (MaxStartups).
"""

LEAVE = 3.0
"""Seconds to wait for the threads after an interrupt, once `leave` has cut their calls short."""


def concurrently(
    act: Callable[[A], B],
    items: Iterable[A],
    most: int = MOST,
    leave: Callable[[], None] | None = None,
) -> list[B]:
    """Call `act` on all items in up to `most` threads; return the results in order.

    If calls raise errors, the error of the first of these items is raised after all calls.

    If the wait is interrupted, no further item starts, and `leave` is called to cut short the calls
    in progress.
    """
    queue: SimpleQueue[tuple[A, Future[B]]] = SimpleQueue()
    futures: list[Future[B]] = []
    for item in items:
        futures.append(Future())
        queue.put((item, futures[-1]))

    def work() -> None:
        with suppress(Empty):
            while True:
                item, future = queue.get_nowait()
                try:
                    future.set_result(act(item))
                except BaseException as error:  # the waiting thread raises this error
                    future.set_exception(error)

    count = min(len(futures), most)
    # only the main thread must stay free for Ctrl-C; any other thread does a share of the work
    inline = current_thread() is not main_thread()
    threads = [Thread(target=work, name=f"at once {n}", daemon=True) for n in range(count - inline)]
    try:
        for thread in threads:
            thread.start()
        if inline:
            work()
        wait(futures)
        for thread in threads:
            thread.join()
    except BaseException:
        with suppress(Empty):
            while True:
                queue.get_nowait()
        if leave:
            leave()
            limit = time.monotonic() + LEAVE
            for thread in threads:
                if thread.ident is not None:
                    thread.join(max(0.0, limit - time.monotonic()))
        raise
    return [future.result() for future in futures]


SOON, LATER = 0.05, 0.25
"""Seconds between two polls of a program: SOON if it has just printed something, else LATER."""

SHARE = 0.1
"""Maximum share of the thread's time that polling may take."""


class Drain:
    """Calls poll functions in one thread until each returns None.

    It uses a bare lock: Ctrl-C inside a `threading.Condition` may leave the condition's lock taken.
    """

    def __init__(self) -> None:
        self._polls: list[Callable[[], float | None]] = []
        self._lock = Lock()
        self._works = False

    def add(self, poll: Callable[[], float | None]) -> None:
        """Call `poll` again and again, until it returns None.

        `poll` returns the desired seconds until the next call, and must not block.
        """
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
"""The only instance, shared by all hosts."""
