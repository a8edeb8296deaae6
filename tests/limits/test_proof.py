"""What a change says: only where it moved what it was meant to move, and of one class."""

from __future__ import annotations

import pandas as pd
import pytest
from limits.test_sequel import FULL, campaign
from limits.test_verdicts import BY_CLASS, GALLERY, TCP

import netlimits as nl
from netlimits.checks.survey import repetitions
from netlimits.cli import main
from netlimits.experiment import load, plan
from netlimits.limits import CLASSES
from netlimits.limits.evidence import evidence_of
from netlimits.limits.explained import explain
from netlimits.limits.proof import proofs
from netlimits.limits.sequel import sequel

SLOW = BY_CLASS["slow-reader"][0] | {"remote_processes": 2, "local_connections": 1}
"""A reader that is behind: its window is full of what it has not read."""
CLAMPED = BY_CLASS["receive-window"][0] | {
    "throughput_mbps": 22.7,
    "local_snd_wnd_bytes": 65_536.0,
    "local_rtt_us": 22_300.0,
    "local_min_rtt_us": 20_660.0,
}
"""A route's `window`: clamp-10ms of `measured.json`."""
POLICED = BY_CLASS["policer"][0] | {"local_connections": 1}


def told(frame: pd.DataFrame) -> dict:
    (row,) = explain(frame).to_dict("records")
    return row


def test_a_second_stream_through_the_same_slow_reader_proves_no_path():
    """It "proved" a cap: the sum stayed, since both streams wait for one server."""
    both = {"local_connections": 2, "remote_processes": 2, "throughput_mbps": 905.0}
    row = told(campaign(SLOW, slow_reader=both))
    assert (row["class"], row["state"]) == ("slow-reader", "open")
    assert "all streams have the same 2 server processes" in row["proof"]
    assert "path-cap is proven" not in row["proof"]
    suggested = FULL | {key: SLOW[key] for key in ("remote_recv_q_bytes", "local_snd_wnd_bytes")}
    row = told(campaign(FULL, path_cap=suggested | both))
    assert (row["class"], row["state"]) == ("path-cap", "open")
    assert (
        "path-cap is open: the change shows nothing about it: 90 % of the receive windows is data"
    ) in row["proof"]


def test_a_second_stream_with_a_server_of_its_own_proves_a_slow_reader():
    own = {"local_connections": 2, "remote_processes": 3, "throughput_mbps": 1790.0}
    row = told(campaign(SLOW, slow_reader=own))
    assert (row["class"], row["state"]) == ("slow-reader", "proven")


@pytest.mark.parametrize(("rate", "state"), [(600.0, "open"), (1500.0, "refuted")])
def test_a_sum_that_shrinks_refutes_nothing(rate, state):
    """A policer's cap was "refuted" since a second stream made the sum smaller."""
    row = told(campaign(FULL, path_cap={"throughput_mbps": rate}))
    assert (row["class"], row["state"]) == ("path-cap", state)


def test_a_larger_buffer_behind_a_clamped_window_has_no_effect_and_refutes_nothing():
    """A route's `window` was refuted as receive window: the buffer grew, and the window did not."""
    row = told(campaign(CLAMPED, receive_window={}))
    assert (row["class"], row["state"]) == ("receive-window", "open")
    assert (
        "receive-window is open: the change had no effect on its cause: the window stayed at "
        "65,536 bytes (before: 65,536)"
    ) in row["proof"]
    grown = {"local_snd_wnd_bytes": 131_072.0}
    row = told(campaign(CLAMPED, receive_window=grown))
    assert (row["class"], row["state"]) == ("receive-window", "refuted")
    assert "That supports that the window is wide enough" in row["proof"]
    row = told(campaign(CLAMPED, receive_window=grown | {"throughput_mbps": 44.0}))
    assert (row["class"], row["state"]) == ("receive-window", "proven")


@pytest.mark.parametrize(
    ("lost", "rate", "state"), [(2.0, 18.0, "proven"), (190.0, 17.9, "open"), (2.0, 9.0, "refuted")]
)
def test_a_policer_is_proven_where_a_little_less_ends_the_losses(lost, rate, state):
    less = {"local_tcp_retrans_segs": lost, "throughput_mbps": rate}
    row = told(campaign(POLICED, policer=less))
    assert (row["class"], row["state"]) == ("policer", state)
    assert ("% were still lost" in row["proof"]) is (state == "open")


def test_losses_that_do_not_end_with_less_to_send_speak_against_a_policer():
    for lost, contrary in ((190.0, True), (60.0, False)):
        frame, evidence = evidence_of(
            campaign(POLICED, policer={"local_tcp_retrans_segs": lost, "throughput_mbps": 17.9})
        )
        by_class = proofs(frame, evidence, None)
        assert by_class["policer"].contrary is contrary


def test_what_counters_do_not_suggest_is_not_proven_beside_an_open_verdict():
    """ "loss is proven" stood beside `open`, at 0.02 % sent again."""
    few = FULL | {"local_tcp_retrans_segs": 160.0}
    row = told(campaign(few, path_cap={"throughput_mbps": 1350.0}))
    assert row["state"] == "refuted"
    assert "proven" not in row["proof"]
    assert "That supports that the limit is partly that of each connection" in row["proof"]
    undecided = TCP | {"local_tcp_retrans_segs": 160.0}
    row = told(campaign(undecided, loss={"throughput_mbps": 1700.0}))
    assert row["state"] == "open"
    assert "proven" not in row["proof"]


def test_a_cap_of_each_connection_is_proven_by_the_runs_that_refute_one_of_all():
    """×1.9 with a second stream: one interval, and two classes that it speaks of."""
    twice = {"throughput_mbps": 1710.0, "local_connections": 2}
    row = told(campaign(FULL | {"local_connections": 1}, path_cap=twice))
    assert (row["class"], row["state"]) == ("per-flow-cap", "proven")
    assert row["proof"].count("95 % interval") == 1
    assert "path-cap is refuted" in row["proof"]


def test_levels_that_changed_the_same_are_one_sample():
    """Twelve runs prove what six of them leave open: two levels of one second stream."""
    frame = campaign(FULL, path_cap={}, path_cap_2={})
    assert set(frame["intervention"]) == {"none", "streams-x2", "path_cap_2"}
    wide = frame["intervention"] == "streams-x2"
    frame.loc[frame["intervention"] == "path_cap_2", "intervention"] = "loss"
    frame.loc[wide, "throughput_mbps"] *= [1.0, 0.99, 1.01, 1.0, 1.0, 1.12]
    frame.loc[frame["intervention"] == "loss", "throughput_mbps"] *= [1, 1, 1, 1, 1, 0.95]
    alone = told(frame[frame["intervention"] != "loss"])
    both = told(frame)
    assert (alone["class"], alone["state"]) == ("path-cap", "open")
    assert (both["class"], both["state"]) == ("path-cap", "proven")
    assert both["proof"].count("95 % interval") == 1


def test_one_connection_where_two_were_asked_for_says_nothing():
    row = told(campaign(FULL | {"local_connections": 1}, path_cap={"local_connections": 1}))
    assert (row["class"], row["state"]) == ("path-cap", "open")
    assert "1 connections carried data, as 1 did before" in row["proof"]


def test_an_experiment_without_factors_is_called_all_runs(tmp_path, capsys):
    """It was called `config 44136fa355b3`."""
    rows = [{"run": n, "config": "44136fa355b3", "status": "ok", **FULL} for n in (1, 2, 3)]
    frame = pd.DataFrame(rows)
    assert "config" not in explain(frame).columns
    tried = campaign(FULL, path_cap={}).drop(columns="size")
    assert "config" not in explain(tried).columns
    frame.to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(SystemExit):
        main(["explain", str(tmp_path / "runs.csv")])
    assert capsys.readouterr().out.startswith("all runs: path-cap (100 % of 3 runs)")


def test_what_is_planned_repeats_nothing(tmp_path):
    """Two classes asked for the same second stream: two levels, and a warning about our own file."""
    text = sequel(nl.open(GALLERY / "tcp-mss"), ("path-cap", "loss", "link", "per-flow-cap"))
    (tmp_path / "next.yaml").write_text(text, encoding="utf-8")
    planned = plan.Plan(plan.seeded(load.load(tmp_path / "next.yaml")))
    assert not [*repetitions.findings(planned)]
    levels = {c.values["intervention"] for c in planned.configurations}
    assert "streams-x2" in levels
    assert not levels & {each.name for each in CLASSES}
    for part in text.split("send_size")[1:]:
        assert part.count("streams-x2, for loss") <= 1


@pytest.mark.parametrize(("busiest", "state"), [(4e5, "open"), (2.1e5, "proven")])
def test_spread_packets_prove_a_collision_though_all_cpus_are_then_as_busy(busiest, state):
    """What moves is the share of one CPU, not how busy it is: twice the packets are there."""
    taken = {"remote_softnet_packets": 4e5, "remote_softnet_busiest": 4e5}
    one_queue = BY_CLASS["softirq-core"][0] | taken
    spread = {"throughput_mbps": 1790.0, "remote_softnet_busiest": busiest}
    row = told(campaign(one_queue, softirq_core=spread))
    assert (row["class"], row["state"]) == ("softirq-core", state)
