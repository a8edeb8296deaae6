"""What the reports print of their experiments' conditions stands in experiments/, not in a comment."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from netlimits.experiment import load, plan, resolution
from netlimits.model import Experiment, Setup
from netlimits.reproduce import published

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
UDP = ("udp-send-size", "packets-per-second", "constant-bitrate")
OMNI = ("stateless-offloads", "stateless-offloads-gro-hw")
TURIN = ("tool-comparison", "tso", "jumbo", "cpu-stress")
LENGTHS = published.table("turin-lengths")


def seeded(name: str) -> Experiment:
    return plan.seeded(load.load(EXPERIMENTS / f"{name}.yaml"))


@cache
def setups(name: str) -> list[Setup]:
    """What each configuration of an experiment sets and measures."""
    experiment = seeded(name)
    configurations = {run.config: run.values for run in plan.Plan(experiment).runs()}
    return [resolution.setup(experiment, values) for values in configurations.values()]


def state(setup: Setup, role: str) -> dict[str, Any]:
    """What is set on one role: `mtu` -> 1500, `offload.tso` -> off, without what may be fixed."""
    flat: dict[str, Any] = {}
    for use in setup.settings:
        if role in use.roles:
            options = use.options if isinstance(use.options, dict) else {"": use.options}
            for key, value in options.items():
                value = value["want"] if isinstance(value, dict) and "want" in value else value
                flat[f"{use.name}.{key}".rstrip(".")] = value
    return flat


ROOM = "sysctl.net.core.rmem_default"
STAMPS = "sysctl.net.ipv4.tcp_timestamps"
SETTINGS = [
    *((name, "receiver", {"mtu": 8896, ROOM: 2147483647}) for name in (*UDP, *OMNI)),
    *((name, "sender", {"mtu": 8896}) for name in (*UDP, *OMNI, "tcp-mss")),
    *(
        (name, role, {f"offload.{word}": "on" for word in ("tso", "gso", "gro", "lro")})
        for name in ("tcp-mss", "packets-per-second")
        for role in ("sender", "receiver")
    ),
    *(
        (name, role, {"offload.tso": "on", STAMPS: 1})
        for name in ("mtu-aggregate", "mtu-aggregate-capped")
        for role in ("source", "sinks-1")
    ),
    *((name, "sender", {"link.speed": 2500, "link.duplex": "full"}) for name in TURIN),
    *((name, "receiver", {"link.speed": 2500, "link.duplex": "full"}) for name in TURIN),
    *((name, "sender", {"mtu": 1500}) for name in ("tool-comparison", "tso", "cpu-stress")),
    ("tool-comparison", "sender", {"offload.tso": "off"}),
    ("jumbo", "sender", {"offload.tso": "off"}),
    ("tso", "sender", {f"offload.{word}": "on" for word in ("sg", "gso", "gro")}),
    (
        "cpu-stress",
        "sender",
        {f"offload.{word}": "off" for word in ("tso", "gso", "gro", "lro", "sg", "tx", "rx")},
    ),
    ("ack-overhead", "sender", {"mtu": 1500}),
    ("rr-bursts", "server", {"mtu": 1500, "offload.tso": "off", STAMPS: 0}),
]
OPTIONS = [
    *((name, {"recv_size": "64K,64K", "seconds": 10}) for name in UDP),
    *((name, {"recv_size": "128K,128K", "direction": "send", "route": True}) for name in OMNI),
    (
        "ack-overhead",
        {"seconds": 10, "send_size": "32K", "local_buffer": "128K", "remote_buffer": "128K"},
    ),
    ("rr-bursts", {"request_size": 128, "response_size": 16384, "local_buffer": "32K"}),
]


@pytest.mark.parametrize(("name", "role", "expected"), SETTINGS)
def test_a_reports_conditions_are_set(name: str, role: str, expected: dict[str, Any]):
    for setup in setups(name):
        assert expected.items() <= state(setup, role).items()


@pytest.mark.parametrize(("name", "expected"), OPTIONS)
def test_a_reports_options_are_given(name: str, expected: dict[str, Any]):
    for setup in setups(name):
        assert expected.items() <= setup.options.items()


@pytest.mark.parametrize("name", OMNI)
def test_the_percentile_script_brands_its_runs_and_asks_for_an_mss_of_12_more(name: str):
    for setup in setups(name):
        assert setup.options["mss"] == setup.options["send_size"] + 12
        assert setup.options["result_brand"] == state(setup, "sender")["offload.tso"]


@pytest.mark.parametrize("name", ["udp-send-size", "tcp-mss", "constant-bitrate"])
def test_a_loop_of_twenty_draws_each_size(name: str):
    experiment = seeded(name)
    assert experiment.repeat.order == "coin-flips"
    assert sum(1 for _ in plan.Plan(experiment).runs()) == 20


def test_the_mails_three_series_are_there():
    series = {
        (state(setup, "sender")["offload.tso"], state(setup, "sender")[DIVISOR])
        for setup in setups("ack-overhead")
    }
    assert series == {("off", 8), ("on", 8), ("on", 1)}


DIVISOR = "sysctl.net.ipv4.tcp_tso_win_divisor"


@pytest.mark.long
@pytest.mark.parametrize("name", TURIN)
def test_both_scripts_lengths_counts_and_repetitions(name: str):
    experiment = seeded(name)
    counts, samples = {}, Counter[str]()
    for run in plan.Plan(experiment).runs():
        samples[run.values["tool"]] += 1
        if run.values["tool"] == "nttcp":
            options = resolution.setup(experiment, run.values).options
            counts[options["send_size"]] = options["count"]
    printed = LENGTHS.query("tool == 'nttcp'").set_index("send_size")["count"]
    assert set(LENGTHS["send_size"]) == set(counts)
    assert {size: counts[size] for size in printed.index} == printed.to_dict()
    assert samples["nttcp"] == 2 * samples["iperf3"]
    replicates = {run.values["samples"] for run in plan.Plan(experiment).runs()}
    assert replicates == {10, 20}
