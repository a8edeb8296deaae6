"""Ctrl-C is heard at once where nothing is held, and a moment later where locks are."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FunctionType

import pytest
from waiting import LONG

from netlimits.campaign.interrupt import AGAIN, MOMENT, Interrupted, Stop


def signalled(seconds: float, events: list[str]) -> None:
    """Ask for the end, and go on for a while in the very same code."""
    os.kill(os.getpid(), signal.SIGINT)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    events.append("went on")


within_paramiko = FunctionType(
    signalled.__code__, {**signalled.__globals__, "__name__": "paramiko.channel"}
)
"""The same as if it were paramiko's own code."""


def collects(events: list[str]) -> None:
    signalled(3 * MOMENT, events)
    events.append("came out of it")


collects_within_threading = FunctionType(
    collects.__code__, {**collects.__globals__, "__name__": "threading"}
)


def collects_then_waits(events: list[str]) -> None:
    collects_within_threading(events)
    time.sleep(60)


def then_waits(events: list[str]) -> None:
    within_paramiko(10 * MOMENT, events)
    time.sleep(60)


def test_a_signal_is_a_flag_until_a_wait_may_be_interrupted():
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.requested == "SIGINT"
        with pytest.raises(Interrupted, match="SIGINT"), stop.interruptible():
            pytest.fail("was let in")


def test_a_wait_ends_at_once():
    events: list[str] = []
    with Stop() as stop, stop.interruptible(), pytest.raises(Interrupted):
        signalled(60, events)
    assert not events


def test_a_signal_just_before_a_wait_ends_it():
    """It set the flag, and then the wait began, which no signal interrupts any more."""
    lock = threading.Lock()
    lock.acquire()
    with Stop() as stop, stop.interruptible():
        stop.requested = "SIGINT"
        with pytest.raises(Interrupted):
            lock.acquire(timeout=LONG)


def test_no_alarm_goes_off_where_no_wait_may_be_interrupted():
    with Stop() as stop:
        with stop.interruptible():
            assert signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_within_paramiko_it_ends_as_soon_as_it_is_out_of_it():
    events: list[str] = []
    began = time.monotonic()
    with Stop() as stop, stop.interruptible(), pytest.raises(Interrupted):
        then_waits(events)
    assert events == ["went on"]
    assert time.monotonic() - began < 60


@pytest.mark.long
def test_what_never_comes_out_of_it_ends_all_the_same():
    events: list[str] = []
    began = time.monotonic()
    with Stop() as stop, stop.interruptible(), pytest.raises(Interrupted):
        within_paramiko(120, events)
    assert not events
    assert time.monotonic() - began >= AGAIN * MOMENT / 2


def test_what_a_garbage_collection_runs_within_it_is_within_it():
    """A callback of the test runner's was interrupted, in the middle of what may hold a lock."""
    events: list[str] = []
    with Stop() as stop, stop.interruptible(), pytest.raises(Interrupted):
        collects_then_waits(events)
    assert events == ["went on", "came out of it"]


def test_handlers_and_timer_are_as_before():
    before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGALRM)]
    with Stop():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGALRM)] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
