"""Several hosts at the same time, in threads that nobody has to wait for.

concurrent.futures joins its threads whatever happens, so one host that does not answer would hold
up Ctrl-C, and the end of the process. Here the thread that waits can be interrupted at any time;
what it leaves behind ends as soon as its host is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

MOST = 16
"""Hosts at the same time, of which most are waited for: a campaign has two threads a host or fewer
(their connections have one each), and an sshd drops some of many logins (MaxStartups)."""

LEAVE = 3.0
"""Seconds that threads get to clear up after an interrupt, where they were told of it."""


def at_once(
    act: Callable[[A], B],
    items: Iterable[A],
    most: int = MOST,
    leave: Callable[[], None] | None = None,
) -> list[B]:
    """What `act` gives for each item, at the same time, `most` of them at once.

    All are waited for; the first error in their order is raised then. When the wait itself is
    interrupted, `leave` is called to cut short what is under way, no further item is begun, and
    the interrupt goes on.
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
                except BaseException as error:  # handed over, to be raised by who waits
                    future.set_exception(error)

    count = min(len(futures), most)
    inline = current_thread() is not main_thread()  # which alone can be interrupted
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
