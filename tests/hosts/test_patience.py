"""One number raises every deadline: what the command line says, and what becomes of it."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from netlimits.campaign.interrupt import Interrupted, interruptible
from netlimits.hosts.patience import USUAL, Patience
from netlimits.hosts.threads import concurrently
from netlimits.model import Command


def test_commands_get_what_exceeds_the_usual():
    command = Command(("ip", "link"), deadline=10)
    assert Patience().allow(command) is command
    assert Patience(5).allow(command) is command
    assert Patience(USUAL + 40).allow(command).deadline == 50


def test_what_the_configuration_says_of_a_connection_holds_unless_more_is_asked_for():
    assert Patience().connecting(None) == USUAL
    assert Patience().connecting(10) == 10
    assert Patience(5).connecting(10) == 10
    assert Patience(300).connecting(10) == 300


def test_what_is_at_once_is_in_order_and_the_first_error_is_raised_when_all_have_ended():
    ended = []

    def act(number: int) -> int:
        ended.append(number)
        if number in (3, 5):
            raise ValueError(number)
        return number * 2

    assert concurrently(act, [1, 2, 4], 2) == [2, 4, 8]
    assert concurrently(act, []) == []
    ended.clear()
    with pytest.raises(ValueError, match="3"):
        concurrently(act, range(7), 3)
    assert sorted(ended) == list(range(7))


def test_a_wait_for_many_is_interrupted_and_what_is_under_way_is_told():
    began, leave = threading.Event(), threading.Event()
    ended: list[int] = []

    def act(number: int) -> None:
        began.set()
        leave.wait(60)
        ended.append(number)

    def signal_when_begun() -> None:
        began.wait(60)  # by then the handler is in place
        os.kill(os.getpid(), signal.SIGTERM)

    sender = threading.Thread(target=signal_when_begun)
    sender.start()
    with pytest.raises(Interrupted, match="SIGTERM"), interruptible():
        concurrently(act, range(5), 2, leave=leave.set)
    sender.join()
    assert leave.is_set()
    assert set(ended) <= {0, 1}, "nothing more is begun"
