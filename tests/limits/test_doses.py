"""Which changes a workload gets: those of its leading classes, and of what evidence leaves open."""

from __future__ import annotations

import pytest
from limits.test_verdicts import BY_CLASS, CAPPED, TCP, UDP

from netlimits.limits.changes import CHANGES
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures
from netlimits.limits.ladder.doses import RESOURCES, candidates, resource, ruled_out
from netlimits.limits.verdicts import of_run

BUSY = {f"{end}_process_cpu_pct": 97.0 for end in ("local", "remote")}
IDLE = {f"{end}_process_cpu_pct": 12.0 for end in ("local", "remote")}
NAMED = {each.name: each for each in RESOURCES}


def levels(figures: dict, *, deciding: bool = False) -> list[str]:
    run = RunFigures(figures)
    return [change.level for change in candidates(of_run(run), [run], deciding=deciding)]


def test_every_dose_is_a_change_and_every_class_of_a_resource_is_one():
    assert all(each.dose.what in CHANGES for each in RESOURCES)
    assert {name for each in RESOURCES for name in each.limits} <= {c.name for c in CLASSES}


@pytest.mark.parametrize(
    ("level", "name", "factor"),
    [("sender-load-x1", "sender CPU", 0.5), ("receive-buffer-x2", "receive buffer", 2.0),
     ("delay-x2", "round trip", 0.5), ("packet-size-x0.5", "bytes a packet", 0.5),
     ("rps-x1", "softirq CPUs", 2.0)],
)  # fmt: skip
def test_a_change_tells_its_resource_and_how_much_of_it_is_left(level, name, factor):
    known = resource(level)
    assert known
    assert (known[0].name, known[1]) == (name, factor)


def test_a_change_that_is_no_dose_has_no_resource():
    assert resource("arrived-x0.95") is None


def test_a_program_that_needs_little_cpu_gets_no_load():
    assert not {"sender-load-x1", "receiver-load-x1"} & {*levels(TCP | IDLE)}
    assert {"sender-load-x1", "receiver-load-x1"} <= {*levels(TCP | BUSY)}
    softirq = TCP | IDLE | {"remote_cpu_peak_pct": 88.0}
    assert "receiver-load-x1" in levels(softirq), "what is done for a program counts, too"


def test_of_a_shared_machine_that_others_fill_only_the_runs_own_cpu_counts():
    idle = {"local_process_cpu_pct": 1.0, "remote_process_cpu_pct": 1.0,
            "local_cpu_wait_pct": 1.0, "remote_cpu_wait_pct": 1.0}  # fmt: skip
    full = {f"{end}_cpu_peak_pct": 100.0 for end in ("local", "remote")}
    full |= {f"{end}_cpu_peak_softirq_pct": 3.0 for end in ("local", "remote")}
    shared = RunFigures(TCP | full | idle, one_machine=True)
    unsampled = dict.fromkeys(idle, None)
    unknown = RunFigures(TCP | full | unsampled, one_machine=True)
    for runs, free in (([shared], True), ([shared, unknown], True), ([unknown], False)):
        why = ruled_out(NAMED["sender CPU"], of_run(runs[0]), runs)
        assert bool(why) is free


def test_a_load_comes_before_a_second_stream_whose_sum_stays_on_a_full_cpu_as_well():
    capped = TCP | CAPPED | {"local_process_cpu_pct": 55.0, "remote_process_cpu_pct": 12.0}
    order = levels(capped)
    assert order.index("sender-load-x1") < order.index("streams-x2")


def test_a_buffer_that_was_in_the_way_comes_before_one_that_was_not():
    waited = TCP | IDLE | {"local_rwnd_limited_pct": 80.0}
    assert levels(waited)[0] == "receive-buffer-x2"
    assert "send-buffer-x4" not in levels(waited)


def test_datagrams_have_no_send_buffer_and_a_receive_buffer_that_overflowed():
    full = UDP | {"remote_udp_in_datagrams": 7e5, "remote_udp_rcvbuf_errors": 2.9e5}
    assert "receive-buffer-x2" in levels(full)
    assert "receive-buffer-x2" not in levels(UDP)
    assert "send-buffer-x4" not in levels(full)


def test_transactions_get_a_longer_round_trip_and_no_second_stream():
    figures, _ = BY_CLASS["latency"]
    assert "delay-x2" in levels(figures)
    assert "streams-x2" not in levels(figures)


def test_doses_that_prove_nothing_by_themselves_come_last_and_may_be_left_out():
    figures = TCP | BUSY | {"local_rwnd_limited_pct": 30.0}
    loads = {"sender-load-x1", "receiver-load-x1"}
    every, chosen = levels(figures), levels(figures, deciding=True)
    assert chosen == every[: len(chosen)]
    assert {*chosen} >= loads
    assert {"streams-x2", "delay-x2"} == {*every} - {*chosen} - {"packet-size-x0.5"}
    assert "streams-x2" in levels(TCP | IDLE | CAPPED, deciding=True), "it proves a cap"


def test_a_cap_on_the_path_may_be_one_of_packets():
    assert levels(TCP | IDLE | CAPPED)[:2] == ["streams-x2", "packet-size-x0.5"]
    assert "packet-size-x0.5" not in levels(TCP | IDLE)


def test_what_rules_a_resource_out_is_told():
    run = RunFigures(TCP | IDLE)
    why = ruled_out(NAMED["sender CPU"], of_run(run), [run])
    assert why == "the program used and waited for 12 % of a CPU, and the busiest CPU was 40 % busy"
    assert ruled_out(NAMED["streams"], of_run(run), [run]) == ""


@pytest.mark.parametrize("name", BY_CLASS)
def test_the_change_that_proves_the_leading_class_is_among_the_doses(name):
    figures, _ = BY_CLASS[name]
    verdict = of_run(RunFigures(figures))
    wanted = {c.intervention.level for c in CLASSES if c.name in verdict.leading} - {""}
    assert wanted <= {*levels(figures)}
