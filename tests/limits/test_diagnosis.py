"""A workload's limit, of what `explain` and the sensitivities say; the schema of the answer."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

import netlimits as nl
from netlimits.errors import DataError
from netlimits.limits.ladder.diagnosis import Help, as_json, judged, workloads
from netlimits.limits.ladder.diagnosis_schema import SCHEMA


def verdict(name: str = "undetermined", state: str = "undetermined", near: str = "") -> dict:
    likely = [{"name": near, "score": 0.74}] if near else []
    return {"class": name, "state": state, "points_to": near, "likely": likely,
            "known_figures": {}}  # fmt: skip


def row(change: str, resource: str, value: float, state: str) -> dict:
    figures = {"factor": 0.5, "ratio": 0.64, "ratio_low": 0.6, "ratio_high": 0.7}
    return {"change": change, "resource": resource, "sensitivity": value, "state": state, **figures}


CPU = row("sender-load-x1", "sender CPU", 0.64, "proven")
READER = row("receiver-load-x1", "receiver CPU", 0.45, "proven")
FREE = row("sender-load-x1", "sender CPU", 0.02, "ruled out")
STREAMS = row("streams-x2", "streams", 1.0, "proven")


@pytest.mark.parametrize(
    ("of", "rows", "answer"),
    [
        (verdict("path-cap", "proven"), [STREAMS], ("path-cap", "proven")),
        (verdict(), [CPU], ("sender-cpu", "proven")),
        (verdict(), [READER, CPU], ("sender-cpu", "proven")),
        (verdict("small-sends", "open"), [CPU], ("small-sends", "proven")),
        (verdict(near="small-sends"), [CPU], ("small-sends", "proven")),
        (verdict("path-cap", "open"), [FREE], ("path-cap", "suggested")),
        (verdict("sender-cpu", "suggested"), [FREE], ("", "open")),
        (verdict("path-cap", "refuted", "policer"), [FREE], ("policer", "open")),
        (verdict(near="sender-cpu"), [FREE], ("", "open")),
        (verdict(near="receive-window"), [STREAMS], ("receive-window", "open")),
    ],
)
def test_a_limit_is_what_is_proven_then_what_is_followed_then_what_counters_suggest(
    of, rows, answer
):
    limit, state, words = judged(of, rows)
    assert (limit, state) == answer
    assert bool(words) is (state == "proven")


def test_smaller_packets_prove_a_packet_rate_only_where_both_cpus_are_ruled_out():
    packets = row("packet-size-x0.5", "bytes a packet", 1.0, "proven")
    assert judged(verdict(), [packets, CPU])[:2] == ("sender-cpu", "proven")
    assert judged(verdict(), [packets, FREE])[1] == "open"
    assert judged(verdict(), [packets, FREE], ["receiver CPU"])[:2] == ("packet-rate", "proven")


def test_what_is_left_of_runs_that_disagree_is_suggested_behind_what_is_proven():
    assert judged(verdict(), [FREE], ["receiver CPU"], "path-cap")[:2] == ("path-cap", "suggested")
    assert judged(verdict(), [CPU], (), "path-cap")[:2] == ("sender-cpu", "proven")


def test_a_cpu_that_throughput_follows_comes_before_a_cap_of_the_same_sum():
    cap, loss = verdict("path-cap", "proven"), verdict("loss", "proven")
    assert judged(cap, [STREAMS, CPU])[:2] == ("sender-cpu", "proven")
    assert judged(loss, [STREAMS, CPU])[:2] == ("loss", "proven")


def test_a_longer_round_trip_proves_something_of_transactions_alone():
    trip = row("delay-x2", "round trip", 1.0, "proven")
    assert judged(verdict(near="loss"), [trip])[:2] == ("loss", "open")
    transactions = verdict() | {"known_figures": {"transaction_rate_tps": 900.0}}
    assert judged(transactions, [trip])[:2] == ("latency", "proven")


def test_a_proof_has_the_dose_and_the_ratio_with_its_interval():
    assert judged(verdict(), [CPU])[2] == "sender CPU ×0.5 → ×0.64 [0.60, 0.70]"


def test_another_campaign_is_no_diagnosis():
    kept = Path(__file__).parents[2] / "experiments" / "gallery" / "packets-per-second"
    with pytest.raises(DataError, match="holds no diagnosis; name a results folder"):
        workloads(nl.open(kept))


def test_the_schema_is_one_and_holds_a_rung():
    jsonschema.Draft202012Validator.check_schema(dict(SCHEMA))
    rung = Help("tcp", "receive-buffer-x2", 1.9, 1.8, 2.0, 940.0,
                {"send": (0.3, 0.29), "receive": (0.4, None)},
                [("receiver", "sysctl", {"net.ipv4.tcp_rmem": "1 2 3"})],
                "sender-cpu (proven)")  # fmt: skip
    part = SCHEMA["properties"]["ladder"]["items"]
    jsonschema.validate(as_json(rung, ["vm2: sysctl -w …"]), part)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"workload": "tcp"}, part)
