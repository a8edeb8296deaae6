"""The length of the transmit queue: on what the kernel shows, and the commands."""

from __future__ import annotations

import pairs
import pytest

from netlimits.settings import setting

LENGTH = setting("txqueuelen")
PATH = "/sys/class/net/data0/tx_queue_len"


@pytest.mark.parametrize("name", pairs.names("settings/txqueuelen"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/txqueuelen", name)


def test_it_is_written_and_restored():
    before = pairs.state(LENGTH, "veth")
    assert before == {"packets": 1000}
    (command,) = LENGTH.change("data0", before, 500)
    assert (command.argv, command.stdin, command.sudo) == (("tee", PATH), "500\n", True)
    assert LENGTH.change("data0", before, 1000) == ()
    assert LENGTH.unmet(before, 500) == ("packets is 1000, not 500",)
    (back,) = LENGTH.undo("data0", before, {"packets": 500})
    assert (back.argv, back.stdin) == (("tee", PATH), "1000\n")
    assert LENGTH.differences(before, {"packets": 500}) == ("packets is 500, was 1000",)


@pytest.mark.lab
def test_a_veth_gets_it_and_gets_its_own_back(bench):
    before = bench.leaves()
    bench.reach("txqueuelen", 500)
    assert bench.sh("cat", PATH) == "500\n"
    bench.put_back_as(before)
