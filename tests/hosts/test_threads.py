"""Several hosts at the same time, and no more than some."""

from __future__ import annotations

import threading

from waiting import LONG

from netlimits.hosts.threads import MOST, at_once


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
    assert at_once(act, items) == [*items]
    assert most == MOST
