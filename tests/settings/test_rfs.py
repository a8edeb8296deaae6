"""Receive flow steering: on captured text of a veth with four queues, whose host table is missing."""

from __future__ import annotations

import pairs
import pytest

from netlimits.errors import SettingError
from netlimits.settings import setting

RFS = setting("rfs")
HOST = {"entries": 0, "rx-0": 0, "rx-1": 0}


@pytest.mark.parametrize("name", pairs.names("settings/rfs"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/rfs", name)


def test_each_queue_gets_its_share_rounded_as_the_kernel_does():
    commands = RFS.change("data0", HOST, {"entries": 30_000})
    assert [(c.argv, c.stdin) for c in commands] == [
        (("sysctl", "-w", "net.core.rps_sock_flow_entries=32768"), ""),
        (("tee", "/sys/class/net/data0/queues/rx-0/rps_flow_cnt"), "16384\n"),
        (("tee", "/sys/class/net/data0/queues/rx-1/rps_flow_cnt"), "16384\n"),
    ]
    on = {"entries": 32768, "rx-0": 16384, "rx-1": 16384}
    assert RFS.unmet(on, {"entries": 30_000}) == ()
    assert RFS.unmet(on, {"entries": 0}) == (
        "entries is 32768, not 0", "rx-0 is 16384, not 0", "rx-1 is 16384, not 0",
    )  # fmt: skip
    assert len(RFS.undo("data0", HOST, on)) == 3


def test_a_namespace_has_the_queues_tables_alone():
    veth = pairs.state(RFS, "veth")
    assert RFS.unmet(pairs.state(RFS, "steered"), {"per_queue": 100}) == ()
    with pytest.raises(SettingError, match=r"a network namespace has no .* give `per_queue` alone"):
        RFS.change("data0", veth, {"entries": 100})
