"""What `Host.background` promises, on this machine and over SSH alike."""

from __future__ import annotations

import pytest
from waiting import LONG, wait

from netlimits.errors import ConnectionLost
from netlimits.model import Command


def test_a_command_runs_beside_another_and_hands_over_what_came_of_it(host, tmp_path):
    """The other ends only once this one has looked."""
    file = tmp_path / "looked"
    look = host.background(Command(("sh", "-c", f"sleep 0.1; echo looked; touch {file}; exit 3")))
    until = f"until [ -e {file} ]; do sleep 0.05; done"
    assert host.run(Command(("sh", "-c", until), deadline=LONG)).status == 0
    wait(lambda: not look.alive())
    completed = look.stop()
    assert (completed.stdout, completed.status) == ("looked\n", 3)


def test_one_that_goes_on_is_ended(host, ps):
    look = host.background(Command(("sleep", "317.125"), deadline=400))
    ps.appears("sleep", "317.125")
    completed = look.stop()
    assert completed.status != 0
    assert not completed.timed_out
    assert ps.gone("sleep", "317.125")
    assert host.run(Command(("echo", "fine"))).stdout == "fine\n"


def test_its_deadline_ends_it(host, ps):
    look = host.background(Command(("sleep", "318.125"), deadline=0.5))
    wait(lambda: not look.alive())
    assert look.stop().timed_out
    assert ps.gone("sleep", "318.125")


def test_a_closed_host_says_so(host):
    look = host.background(Command(("sleep", "5"), deadline=8))
    host.close()
    with pytest.raises(ConnectionLost):
        look.stop()
