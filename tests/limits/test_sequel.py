"""The experiment that would prove verdicts, and what its results are read to say."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from limits.test_verdicts import BY_CLASS, CAPPED, TCP

import netlimits as nl
from netlimits.cli import main
from netlimits.errors import DataError
from netlimits.experiment import load, plan, resolution
from netlimits.limits import CLASSES
from netlimits.limits.base import Intervention
from netlimits.limits.changes import CHANGES, Configured
from netlimits.limits.evidence import evidence_of
from netlimits.limits.explained import explain, limited_by
from netlimits.limits.sequel import dosed, sequel
from netlimits.model import Around, Pace, SettingUse, Setup
from netlimits.report.answers import limited

KEPT = Path(__file__).parents[2] / "experiments" / "gallery"
GALLERY = sorted(folder for folder in KEPT.iterdir() if folder.name != "mesh")
EVERY = tuple(each.name for each in CLASSES)


def test_of_a_mesh_a_pair_is_put_to_the_proof_by_itself():
    with pytest.raises(DataError, match="mesh: is a mesh: run the pair that you ask about"):
        sequel(nl.open(KEPT / "mesh"), EVERY)


@pytest.mark.long
@pytest.mark.parametrize("folder", GALLERY, ids=lambda path: path.name)
def test_every_intervention_of_a_real_campaign_can_be_planned(folder, tmp_path):
    path = tmp_path / "next.yaml"
    campaign = nl.open(folder)
    path.write_text(sequel(campaign, EVERY), encoding="utf-8")
    experiment = load.load(path)
    planned = plan.Plan(plan.seeded(experiment))
    assert planned.seconds() > 0
    assert planned.replicates == (max(6, campaign.experiment.repeat.replicates),) * 2
    assert experiment.repeat.order == "blocked"
    before = {configuration.config: configuration.values for configuration in
              plan.Plan(campaign.experiment).configurations}  # fmt: skip
    ran = {campaign.runs[run].config for run in campaign.ok_runs()}
    bare = [c.values for c in planned.configurations if c.values["intervention"] == "none"]
    assert len(bare) == len(ran)
    assert len(planned.configurations) > len(bare)
    for values in bare:  # what was measured is what is measured again
        (same,) = [before[config] for config in ran
                   if all(before[config].get(k, v) == v for k, v in values.items())]  # fmt: skip
        old, new = (
            resolution.setup(of, by) for of, by in
            ((campaign.experiment, same), (experiment, values))
        )  # fmt: skip
        assert new.options | {"interim_seconds": 0} == old.options | {"interim_seconds": 0}
        assert [use.options for use in new.settings] == [use.options for use in old.settings]
        assert new.around == old.around


EXPERIMENT = load.parse("experiment: a\nmeasure: {netperf: {}}\n", "a.yaml")
LOADED = SettingUse("load", ("sender",), {"workers_per_cpu": 2}, 2)
CAKE = SettingUse("qdisc", ("sender",), {"kind": "cake", "bandwidth": "10mbit"}, 1)
ONE_QUEUE = SettingUse("rss", ("receiver",), {"equal": 1}, 1)
SHAPED = SettingUse("qdisc", ("sender",), {"kind": "tbf", "rate": "100mbit", "burst": "64kb"}, 1)


def configured(settings=(), around=None, **options) -> Configured:
    of = {"sysctls": {"remote": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}}, "mtu": 1500}
    setup = Setup("netperf", options, around or Around(), settings)
    return Configured(EXPERIMENT, setup, 1e8, **of)


def roomy(most: str, **options) -> Configured:
    return replace(
        configured(**options), sysctls={"remote": {"net.core.rmem_max": most}, "local": {}}
    )


@pytest.mark.parametrize(
    ("what", "times", "of", "levels"),
    [
        ("streams", 2, configured(), {("streams",): 2}),
        ("streams", 2, replace(configured(), setup=Setup("iperf3", {"parallel": 3}, Around(), ())),
         {("measure", "iperf3", "parallel"): 6}),
        ("send_size", 4, configured(send_size="1K"), {("measure", "netperf", "send_size"): 4096}),
        ("packet_size", 0.5, configured(mss=612), {("measure", "netperf", "mss"): 306}),
        ("packet_size", 0.5, replace(configured(), mtu=1500), {("measure", "netperf", "mss"): 730}),
        ("packet_size", 0.5, replace(configured(send_size=1000), udp=True),
         {("measure", "netperf", "send_size"): 500}),
        ("datagram", 1, configured(), {("measure", "netperf", "send_size"): 1472}),
        ("datagram", 1, replace(configured(), ipv6=True),
         {("measure", "netperf", "send_size"): 1452}),
        ("packet_size", 0.5, replace(configured(), ipv6=True),
         {("measure", "netperf", "mss"): 720}),
        ("shaper", 1.2, configured((CAKE,)), {("settings", 0, "qdisc", "bandwidth"): 12_000_000}),
        ("shaper", 1.2, configured((SHAPED,)), {("settings", 0, "qdisc", "rate"): 120_000_000}),
        ("pace", 1.1, configured((), Around(pace=Pace(1e6, 2e6))),
         {("pace", "rate"): pytest.approx(1.1e6), ("pace", "frame_rate"): pytest.approx(2.2e6),
          ("pace", "tolerance_pct"): 20}),
        ("receive_buffer", 2, configured(remote_buffer="8K"),
         {("measure", "netperf", "remote_buffer"): 16384}),
        ("receive_buffer", 4, roomy("212992", remote_buffer="64K"),
         {("measure", "netperf", "remote_buffer"): 262144,
          ("settings", "receiver", "sysctl", "net.core.rmem_max"): 262144}),
        ("receive_buffer", 2, roomy("212992", remote_buffer="64K"),
         {("measure", "netperf", "remote_buffer"): 131072}),
        ("send_buffer", 4, replace(roomy("212992"),
                                   setup=Setup("iperf3", {"window": "50K"}, Around(), ())),
         {("measure", "iperf3", "window"): 204800}),
        ("receive_buffer", 2, configured(),
         {("settings", "receiver", "sysctl", "net.ipv4.tcp_rmem"): "4096 262144 12582912"}),
        ("streams", 2,
         replace(configured(), setup=Setup("iperf3", {"rate": "5M", "parallel": 2}, Around(), ())),
         {("measure", "iperf3", "parallel"): 4}),
        ("receiver_load", 1, configured(),
         {("settings", "receiver", "load", "workers_per_cpu"): 1}),
        ("sender_load", 1, configured((LOADED,)), {("settings", 0, "load", "workers_per_cpu"): 5}),
        ("rps", 1, replace(configured(), cpus={"remote": 4}),
         {("settings", "receiver", "rps", "cpus"): "0-3"}),
        ("rps", 1, replace(configured((ONE_QUEUE,)), queues={"remote": 4}),
         {("settings", 0, "rss", "equal"): 4}),
    ],
)  # fmt: skip
def test_what_an_intervention_changes(what, times, of, levels):
    assert CHANGES[what](of, times) == levels


@pytest.mark.parametrize(
    ("what", "of", "why"),
    [
        ("rate", configured(), "has no `rate`"),
        ("streams", configured((), Around(pace=Pace(1e6, 2e6))), "pace is that of one connection"),
        ("shaper", configured(), "gives the sender's qdisc no rate"),
        (
            "shaper",
            configured((replace(CAKE, options={"kind": "cake", "bandwidth": "unlimited"}),)),
            "gives the sender's qdisc no rate",
        ),
        ("packet_size", configured(mss=60), "hardly more than TCP's options"),
        ("send_buffer", configured(local_buffer="150K"), "net.core.wmem_max of the sender is not"),
        (
            "streams",
            replace(configured(), setup=Setup("iperf3", {"parallel": 100}, Around(), ())),
            "iperf3 has 128 parallel streams at most",
        ),
        ("pace", configured((SHAPED,)), "beside the qdisc"),
        ("pace", replace(configured(), throughput=None), "what arrived is not known"),
        ("send_size", configured(), "not in the experiment"),
        ("packet_size", replace(configured(), mtu=None), "the MTU is not known"),
        (
            "packet_size",
            replace(configured(), setup=Setup("nttcp", {}, Around(), ())),
            "nttcp has no option for the MSS",
        ),
        ("send_buffer", configured(), "net.ipv4.tcp_wmem of the sender is not known"),
        ("receive_buffer", configured(remote_buffer="1,2"), "not one size"),
        ("sender_load", replace(configured(), one_machine=True), "one machine"),
        ("rps", configured(), "how many CPUs the receiver has is not known"),
        ("rps", replace(configured(), cpus={"remote": 1}), "has one CPU"),
        ("rps", configured((SettingUse("rps", ("receiver",), {"cpus": 0}, 1),)), "steered already"),
    ],
)
def test_what_no_setting_can_change_is_by_hand(what, of, why):
    assert why in CHANGES[what](of, 2)


@pytest.mark.long
def test_only_configurations_that_are_chosen_are_put_to_the_proof(tmp_path, capsys):
    path = tmp_path / "next.yaml"
    words = ("--config", "tso=off", "--config", "tool=iperf3", "--config", "send_size=1000")
    with pytest.raises(SystemExit) as ended:
        main(["explain", str(KEPT / "tso"), "--next", str(path), *words, "--suspect", "loss"])
    assert ended.value.code == 0
    told = capsys.readouterr()
    planned = plan.Plan(plan.seeded(load.load(path)))
    assert {(c.values["tso"], c.values["tool"], c.values["send_size"])
            for c in planned.configurations} == {("off", "iperf3", 1000)}  # fmt: skip
    assert told.out == f"{path}\n"
    assert told.err.startswith(f"{len(planned)} runs, about ")
    assert "of_script" not in path.read_text("utf-8").partition("experiment:")[0]


def test_what_nothing_can_be_changed_of_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(CHANGES, "sender_load", lambda of, times: "not today")
    campaign = nl.open(KEPT / "packets-per-second")
    text = sequel(campaign)
    (tmp_path / "next.yaml").write_text(text, encoding="utf-8")
    planned = plan.Plan(plan.seeded(load.load(tmp_path / "next.yaml")))
    levels: dict[int, set[str]] = {}
    for configuration in planned.configurations:
        values = configuration.values
        levels.setdefault(values["send_size"], set()).add(values["intervention"])
    assert all(len(each) > 1 for each in levels.values())
    assert text.count("It is left out") == 14 - len(levels)
    assert "sender-cpu, by hand" in text


BY_HAND = ("cpu-quota", "host-full", "ack-path")
"""Classes that no setting changes the cause of."""


def test_every_class_says_what_changes_and_what_follows():
    for each in CLASSES:
        of = each.intervention
        assert of.what in CHANGES or each.name in BY_HAND
        assert of.expectation
        same_sum = each.name in ("link", "path-cap") or of.what == "arrived"
        assert not of.least <= 1 <= of.most or same_sum  # else nothing would prove it


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [(0.98, 1.01, "proven"), (1.1, 1.3, "refuted"), (0.9, 1.0, "open"), (math.nan, 1, "open")],
)
def test_the_whole_interval_must_be_as_expected(low, high, state):
    assert Intervention("", least=0.97, most=1.03).state(low, high) == state


LEVELS = {each.name: each.intervention.level or each.name for each in CLASSES}


def campaign(figures, **others) -> pd.DataFrame:
    """Six blocks without an intervention, and with each of `others`: class -> figures then.

    `_2` behind a class is another level that changed the same.
    """
    rows = []
    for block in range(1, 7):
        for level, changed in {"none": {}, **others}.items():
            drift = 1 + block / 100
            now = {**figures, **changed}
            now["throughput_mbps"] *= drift
            change = LEVELS.get(level.removesuffix("_2").replace("_", "-"))
            rows.append(
                {"run": len(rows) + 1, "block": block, "status": "ok", "attempt": 1,
                 "config": level, "size": 64,
                 "intervention": level if level.endswith("_2") else change or "none",
                 "next_rate": change, "paced_by": change and "tbf", **now}
            )  # fmt: skip
    return pd.DataFrame(rows)


FULL = TCP | CAPPED


@pytest.mark.long
@pytest.mark.parametrize(
    ("others", "limit", "state"),
    [
        ({"path_cap": {}}, "path-cap", "proven"),
        ({"path_cap": {"throughput_mbps": 1500.0}}, "path-cap", "refuted"),
        ({"path_cap": {}, "link": {}}, "path-cap", "proven"),
        ({"path_cap": {"throughput_mbps": 1500.0}, "sender_cpu": {"throughput_mbps": 1500.0}},
         "path-cap", "refuted"),  # a second stream moves what others limit, too
        ({"none": {"local_cpu_peak_pct": 92.0}, "path_cap": {"throughput_mbps": 1500.0},
          "sender_cpu": {"throughput_mbps": 500.0, "local_cpu_peak_pct": 100.0}},
         "sender-cpu", "proven"),
        ({"path_cap": {}, "packet_rate": {"throughput_mbps": FULL["throughput_mbps"] / 2}},
         "packet-rate", "proven"),  # which is a cap of the path, too
        ({"path_cap": {}, "packet_rate": {}}, "path-cap", "proven"),
        ({"sender_cpu": {}}, "path-cap", "open"),
        ({"path_cap": {"throughput_mbps": math.nan}}, "path-cap", "open"),
    ],
)  # fmt: skip
def test_interventions_prove_or_refute(others, limit, state):
    (verdict,) = explain(campaign(FULL, **others)).to_dict("records")
    assert (verdict["size"], verdict["class"], verdict["state"]) == (64, limit, state)
    assert verdict["runs"] == 6
    assert "next_rate" not in verdict
    assert "intervention" not in verdict


EASED = {"remote_cpu_peak_softirq_pct": 60.0}
"""What some other CPU took over of the busiest one's packets."""


def test_what_a_class_explains_does_not_take_its_place_while_it_is_open():
    busy = BY_CLASS["softirq-core"][0]
    half = {"throughput_mbps": busy["throughput_mbps"] / 2}
    for softirq, limit, state in (
        ({"throughput_mbps": math.nan}, "softirq-core", "open"),
        ({}, "softirq-core", "open"),  # it eased no CPU, and so tells nothing
        (EASED, "packet-rate", "proven"),
    ):
        frame = campaign(busy, softirq_core=softirq, packet_rate=half)
        (verdict,) = explain(frame).to_dict("records")
        assert (verdict["class"], verdict["state"]) == (limit, state)
        told = "is proven" if limit == "packet-rate" else "would also explain the ratio"
        assert f"packet-rate {told}" in verdict["proof"]


def test_nothing_that_follows_from_a_class_is_told_before_that_is_refuted():
    busy = BY_CLASS["softirq-core"][0] | {"remote_cpu_peak_softirq_pct": 88.0}
    half = {"throughput_mbps": busy["throughput_mbps"] / 2}
    faster = {"throughput_mbps": busy["throughput_mbps"] * 2}
    for softirq, limit, state in (
        ({"throughput_mbps": math.nan}, "undetermined", "open"),
        ({**EASED, **faster}, "softirq-core", "proven"),
        (EASED, "packet-rate", "proven"),
    ):
        frame = campaign(busy, softirq_core=softirq, packet_rate=half)
        (verdict,) = explain(frame).to_dict("records")
        assert (verdict["class"], verdict["state"]) == (limit, state)
        if state == "proven":
            assert not verdict["runner_up"]
            assert math.isnan(verdict["confidence"])


def test_what_is_refuted_limits_nothing_in_charts_and_answers():
    frame = campaign(FULL, path_cap={"throughput_mbps": 1500.0})
    told = explain(frame)
    assert list(told["state"]) == ["refuted"]
    assert set(limited_by(frame)) == {"undetermined"}
    assert not [answer for answer in limited(told, (), "x") if "path-cap" in answer.text]


def test_a_stream_that_follows_the_round_trip_proves_no_latency():
    """A window of 30,000 bytes at 22 ms: twice the round trip halved what arrived."""
    longer = {"throughput_mbps": 400.0, "local_rtt_us": 9000.0}
    (row,) = explain(campaign(FULL, latency=longer)).to_dict("records")
    assert (row["class"], row["state"]) != ("latency", "proven")


def test_an_open_verdict_is_no_headline():
    told = explain(campaign(FULL, sender_cpu={}))
    assert [*told["class"], *told["state"]] == ["path-cap", "open"]
    (answer,) = limited(told, (), "x")
    assert answer.text == "What limited the runs: path-cap in all runs (open)."


def test_a_proof_that_left_a_class_open_asks_for_blocks_and_not_for_itself():
    """ "To decide: a second stream" stood under a second stream that had just been run."""
    frame = campaign(FULL, path_cap={})
    odd = (frame["block"] == 3) & (frame["intervention"] != "none")
    frame.loc[odd, "throughput_mbps"] *= 2
    (verdict,) = explain(frame).to_dict("records")
    assert (verdict["class"], verdict["state"]) == ("path-cap", "open")
    assert verdict["decide"] == "6 more blocks of the same runs"


def test_bounds_that_a_change_passed_are_not_told():
    """A sender's CPU was bound to 64 Mbit/s, and the change had just sent 120 with it."""
    rate = {"throughput_mbps": FULL["throughput_mbps"] * 4}
    (verdict,) = explain(campaign(FULL, path_cap=rate)).to_dict("records")
    assert verdict["state"] == "refuted"
    assert "CPU" not in verdict["bounds"]
    (verdict,) = explain(campaign(FULL, sender_cpu={})).to_dict("records")
    assert verdict["state"] == "open"
    assert "the sender's CPU" in verdict["bounds"]
    (verdict,) = explain(campaign(FULL, path_cap={})).to_dict("records")
    assert (verdict["state"], verdict["bounds"], verdict["runner_up"]) == ("proven", "", "")


def test_what_interventions_change_hides_no_packet_rate_of_another_size():
    frame = campaign(FULL | {"mss": 1200, "next_mss": 1200, "elapsed_s": 2.0})
    small = frame.assign(run=frame["run"] + 6, mss=300, next_mss=300)
    small["throughput_mbps"] /= 4
    both = pd.concat([frame, small], ignore_index=True)
    both["intervention"] = ["none", "path-cap", "none"] * 4
    _, evidence = evidence_of(both)
    assert all(len(run.rates_by_size) == 2 for run in evidence.values())


def test_the_ratio_within_blocks_is_told(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    campaign(FULL, path_cap={"throughput_mbps": 909.0}).to_csv(path, index=False)
    with pytest.raises(SystemExit):
        main(["explain", str(path)])
    out = " ".join(capsys.readouterr().out.split())
    assert "size 64: path-cap (proven, 100 % of 6 runs)" in out
    assert "throughput was 1.01 times as much (95 % interval 1.01 to 1.01, 6 blocks)" in out
    (row,) = explain(pd.read_csv(path)).to_dict("records")
    assert [row[name] for name in ("ratio", "ratio_low", "ratio_high")] == pytest.approx([1.01] * 3)


def test_an_intervention_whose_runs_all_failed_is_open():
    frame = campaign(FULL, path_cap={}, sender_cpu={})
    frame.loc[frame["intervention"] == "sender-load-x1", ["status", "reason"]] = "invalid", "no"
    (verdict,) = explain(frame).to_dict("records")
    assert verdict["state"] == "proven"
    assert verdict["proof"].endswith("sender-load-x1: none of its runs is ok.")
    assert verdict["not_ok"].startswith("6 invalid")


def test_where_all_interventions_failed_or_all_without_one_nothing_is_proven():
    frame = campaign(FULL, path_cap={})
    failed = {"status": "invalid", "reason": "no pace"}
    for level, limit in (("streams-x2", "path-cap"), ("none", "undetermined")):
        some = frame.copy()
        some.loc[some["intervention"] == level, list(failed)] = list(failed.values())
        (verdict,) = explain(some).to_dict("records")
        assert (verdict["class"], verdict["runs"]) == (limit, 6 if level == "streams-x2" else 0)
        assert verdict["state"] in ("suggested", "open", "undetermined")
        assert "intervention" not in verdict
        assert verdict["not_ok"].startswith("6 invalid")


def test_a_single_block_has_a_ratio_and_no_interval():
    frame = campaign(FULL, path_cap={})
    (verdict,) = explain(frame[frame["block"] == 1]).to_dict("records")
    assert verdict["state"] == "open"
    assert "nan" not in verdict["proof"]
    assert "too few for an interval" in verdict["proof"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--suspect", "path-cap"), "--suspect needs --next FILE"),
        (
            ("--next", "x.yaml", "--suspect", "path"),
            "there is no such class; did you mean path-cap?",
        ),
        (("--next", "x.yaml", "--run", "1"), "choose some with --config"),
        (("--next", "x.yaml", "--json"), "--json is for verdicts"),
        (("--next", "x.yaml"), "needs a campaign's folder"),
    ],
)
def test_a_wrong_wish_is_one_line(words, why, tmp_path, capsys):
    path = tmp_path / "runs.csv"
    pd.DataFrame([{"run": 1, "size": 1, **BY_CLASS["send-buffer"][0]}]).to_csv(path, index=False)
    with pytest.raises(SystemExit) as ended:
        main(["explain", str(path), *words])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert why in err
    assert err.count("\n") == 1


def test_doses_are_made_beside_every_configuration_the_first_ones_that_can_be(tmp_path):
    campaign, path = nl.open(KEPT / "packets-per-second"), tmp_path / "experiment.yaml"
    wanted = [
        Intervention("twice the rate", "rate", 2),  # none is asked for: it cannot be made
        Intervention("twice the streams", "streams", 2),
        Intervention("half the packets", "packet_size", 0.5),
        Intervention("twice the buffer", "receive_buffer", 2),
    ]
    path.write_text(dosed(campaign, lambda *_: wanted, 2, "diagnose-a-b", 3, 4), encoding="utf-8")
    experiment = load.load(path)
    planned = plan.Plan(plan.seeded(experiment))
    assert (experiment.name, planned.replicates) == ("diagnose-a-b", (3, 3))
    assert {planned.setup(c.values).options["seconds"] for c in planned.configurations} == {4}
    levels = [c.values["intervention"] for c in planned.configurations]
    ran = {campaign.runs[run].config for run in campaign.ok_runs()}
    assert levels.count("none") == len(ran)
    assert set(levels) == {"none", "streams-x2", "packet-size-x0.5"}
    nothing = dosed(campaign, lambda *_: (), 2, "diagnose-a-b", 3, 4)
    bare = plan.Plan(plan.seeded(load.parse(nothing, path)))
    assert {c.values["intervention"] for c in bare.configurations} == {"none"}
