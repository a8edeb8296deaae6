"""Several hosts at the same time, and no more than some."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from threading import Event

from waiting import LONG, wait

from netlimits.hosts.threads import MOST, Drain, concurrently


def test_no_more_than_some_hosts_are_at_it_at_the_same_time():
    together, counting = threading.Barrier(MOST), threading.Lock()
    going, most = 0, 0

    def act(item: int) -> int:
        nonlocal going, most
        with counting:
            going += 1
            most = max(most, going)
        together.wait(LONG)  # only so many at once come further
        with counting:
            going -= 1
        return item

    items = range(3 * MOST)
    assert concurrently(act, items) == [*items]
    assert most == MOST


def test_each_is_looked_at_after_the_seconds_that_it_wants_and_no_more_after_none():
    drain = Drain()
    at: list[float] = []
    wants, over = [0.02, 0.2, 0.02, None], Event()

    def look() -> float | None:
        at.append(time.monotonic())
        if len(at) == len(wants):
            over.set()
        return wants[len(at) - 1]

    drain.add(look)
    assert over.wait(LONG)
    gaps = [late - early for early, late in pairwise(at)]
    assert all(gap >= seconds for gap, seconds in zip(gaps, wants, strict=False))
    assert len(at) == len(wants)


def test_it_begins_again_for_what_comes_after_all_was_over():
    drain = Drain()
    looked: list[str] = []
    for name in ("first", "second"):
        drain.add(lambda name=name: looked.append(name))
        wait(lambda name=name: name in looked)
        wait(lambda: not drain._works)
    assert looked == ["first", "second"]


def test_one_that_wants_it_soon_is_not_held_up_by_one_that_does_not():
    drain = Drain()
    soon, over = [], Event()

    def often() -> float | None:
        soon.append(time.monotonic())
        return None if len(soon) == 5 or over.is_set() else 0.01

    drain.add(often)
    drain.add(lambda: None if len(soon) == 5 or over.is_set() else LONG)
    wait(lambda: len(soon) == 5)
    over.set()
