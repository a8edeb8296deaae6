"""Transmit packet steering: on captured text of a veth with four queues."""

from __future__ import annotations

import jsonschema
import pairs
import pytest

from netlimits.errors import SettingError
from netlimits.settings import setting

XPS = setting("xps")
STATE = pairs.state(XPS, "veth")


@pytest.mark.parametrize("name", pairs.names("settings/xps"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/xps", name)


def test_queues_share_the_cpus_in_turn():
    four = {"online": "0-1", **{f"tx-{n}": "0" for n in range(4)}}
    commands = XPS.change("data0", four, {"spread": "cpus"})
    assert [(c.argv[1], c.stdin) for c in commands] == [
        (f"/sys/class/net/data0/queues/tx-{n}/xps_cpus", f"{1 << n % 2}\n") for n in range(4)
    ]
    assert XPS.change("data0", pairs.state(XPS, "spread"), {"spread": "cpus"}) == ()
    assert XPS.unmet(four, {"spread": "1"})[0] == "tx-0 is used by no CPUs, not by CPUs 1"


def test_each_queue_may_have_cpus_of_its_own():
    two = {"online": "0-1", "tx-0": "1", "tx-1": "2"}
    commands = XPS.change("data0", two, {"queues": ["0-1", "off"]})
    assert [(c.argv[1][-13:], c.stdin) for c in commands] == [
        ("tx-0/xps_cpus", "3\n"), ("tx-1/xps_cpus", "0\n"),
    ]  # fmt: skip
    with pytest.raises(SettingError, match="there are 2 queues, and CPUs for 1"):
        XPS.change("data0", two, {"queues": [0]})
    with pytest.raises(SettingError, match="CPU 7 is not there"):
        XPS.change("data0", two, {"queues": [0, 7]})


def test_the_cpus_of_the_nics_node():
    node = {"online": "0-7", "local": "4-7", "tx-0": "0", "tx-1": "0"}
    assert [c.stdin for c in XPS.change("data0", node, {"spread": "local-node"})] == [
        "10\n",
        "20\n",
    ]
    with pytest.raises(SettingError, match="does not tell its NUMA node; name the CPUs"):
        XPS.change("data0", STATE, {"spread": "local-node"})


def test_the_way_back_writes_what_differs():
    back = XPS.undo("data0", STATE, pairs.state(XPS, "spread"))
    assert len(back) == len([name for name in STATE if name.startswith("tx-")])
    assert XPS.undo("data0", STATE, STATE) == ()


@pytest.mark.parametrize("wrong", [{}, {"cpus": 0, "spread": "cpus"}, {"spread": "x"}])
def test_what_the_schema_refuses(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, XPS.schema)
