"""What `Host.aside` promises, on this machine and over SSH alike."""

from __future__ import annotations

import time

import pytest

from netlimits.errors import ConnectionLost
from netlimits.model import Command


def test_a_command_runs_beside_another_and_hands_over_what_came_of_it(host):
    look = host.aside(Command(("sh", "-c", "sleep 0.3; echo looked; exit 3")))
    began = time.monotonic()
    assert host.run(Command(("sleep", "0.6"))).status == 0
    assert not look.alive(), "it was over while the other ran"
    completed = look.stop()
    assert time.monotonic() - began < 5
    assert (completed.stdout, completed.status) == ("looked\n", 3)


def test_one_that_goes_on_is_ended(host, ps):
    look = host.aside(Command(("sleep", "317.125"), deadline=400))
    ps.appears("sleep", "317.125")
    began = time.monotonic()
    completed = look.stop()
    assert time.monotonic() - began < 5
    assert completed.status != 0
    assert ps.gone("sleep", "317.125")
    assert host.run(Command(("echo", "fine"))).stdout == "fine\n"


def test_its_deadline_ends_it(host, ps):
    look = host.aside(Command(("sleep", "318.125"), deadline=0.5))
    time.sleep(1.5)
    assert look.stop().timed_out
    assert ps.gone("sleep", "318.125")


def test_a_closed_host_says_so(host):
    look = host.aside(Command(("sleep", "5"), deadline=8))
    host.close()
    with pytest.raises(ConnectionLost):
        look.stop()
