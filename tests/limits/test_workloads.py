"""The experiment that observes workloads: it loads, and measures what its rows say."""

from __future__ import annotations

import pytest

from netlimits.experiment import load
from netlimits.experiment.plan import Plan, seeded
from netlimits.limits.ladder.workloads import observation, seconds, supported
from netlimits.tools import WORKLOADS

NAMES = [*WORKLOADS]


def planned(tmp_path, tool: str, **options) -> Plan:
    path = tmp_path / "observed.yaml"
    path.write_text(
        observation(supported(tool, NAMES), "diagnose-a-b", "What?", tool=tool, **options)
    )
    return Plan(seeded(load.load(path)))


@pytest.mark.parametrize(("tool", "names"), [("netperf", NAMES), ("iperf3", NAMES[:3])])
def test_each_workload_that_a_tool_can_make_is_a_configuration(tmp_path, tool, names):
    assert supported(tool, NAMES) == tuple(names)
    plan = planned(tmp_path, tool, replicates=3)
    assert [each.values["workload"] for each in plan.configurations] == names
    assert len(plan) == 3 * len(names)


def test_four_streams_are_four_and_datagrams_fill_a_packet(tmp_path):
    plan = planned(tmp_path, "netperf")
    setups = {c.values["workload"]: plan.setup(c.values) for c in plan.configurations}
    assert setups["tcp-4"].around.streams == 4
    assert setups["udp"].options["send_size"] == 1472
    assert setups["rr"].options["test"] == "TCP_RR"
    assert "send_size" not in setups["tcp"].options


@pytest.mark.parametrize(
    ("trip", "length"), [(None, 1), (300.0, 1), (20_000.0, 2), (45_000.0, 5), (300_000.0, 5)]
)
def test_a_run_takes_a_hundred_round_trips_and_five_seconds_at_most(trip, length):
    assert seconds(trip) == length


def test_what_a_rung_keeps_holds_in_every_run(tmp_path):
    kept = [{"roles": ["receiver"], "sysctl": {"net.ipv4.tcp_rmem": "4096 131072 12582912"}}]
    plan = planned(tmp_path, "netperf", settings=kept)
    for configuration in plan.configurations:
        (use,) = plan.setup(configuration.values).settings
        assert use.options == kept[0]["sysctl"]
