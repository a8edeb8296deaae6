"""What raw output comes to, on runs that were kept: the same figures again, and what must not count.

`arrivals/` is a campaign in namespaces on one kernel: netperf over TCP with one stream and with two,
and over UDP, with interim results, so that its receiver is looked at.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import netlimits
from netlimits.archive.raw import AFTER, BEFORE, CLIENT, GUARD, SAMPLE, RawEntry
from netlimits.campaign.controller import controller_figures
from netlimits.campaign.figures import cpu_time, interpret
from netlimits.campaign.figures.reparse import reparse
from netlimits.campaign.specifications import Specification, specified
from netlimits.errors import ToolFailure
from netlimits.model import Record

KEPT = Path(__file__).parent / "arrivals"
ONE_STREAM, TWO_STREAMS, DATAGRAMS = 1, 2, 3

CAMPAIGN = netlimits.open(KEPT)
RECORDS = {record.run.number: record for record in CAMPAIGN.records()}


def of(run: int) -> tuple[Record, Specification, list[RawEntry]]:
    record = RECORDS[run]
    machines = CAMPAIGN.archive.machines
    facts = {role: CAMPAIGN.archive.facts(role) for role in machines}
    setup = CAMPAIGN.plan.setup(record.run.values)
    specification = specified(setup, CAMPAIGN.experiment.ends, machines, facts)
    return record, specification, CAMPAIGN.archive.raw.read(run, 1, record.raw)


def changed(entries: list[RawEntry], step: str, old: str, new: str) -> list[RawEntry]:
    """The entries with another output of a step; `old` is there."""
    assert any(entry.step == step and old in entry.stdout for entry in entries)
    return [
        replace(entry, completed=replace(entry.completed, stdout=entry.stdout.replace(old, new)))
        if entry.step == step
        else entry
        for entry in entries
    ]


@pytest.mark.parametrize("run", RECORDS)
def test_raw_output_reads_to_the_figures_that_the_journal_has(run: int) -> None:
    record, specification, entries = of(run)
    measurement = interpret.read(specification, entries)
    assert {**measurement.figures, **controller_figures(record.cost)} == record.figures
    assert tuple(map(dict, measurement.interim)) == record.interim


def test_a_campaign_read_again_is_not_changed(tmp_path: Path) -> None:
    shutil.copytree(KEPT, tmp_path / "kept")
    campaign = netlimits.open(tmp_path / "kept")
    campaign.archive.lock()
    try:
        assert reparse(campaign) == (3, 0)
    finally:
        campaign.archive.close()


def test_a_client_that_took_much_longer_than_its_transfer_has_no_cpu_figures_without_looks(
    monkeypatch,
) -> None:
    """A control connection that took long made a busy CPU's 94 % read 40."""
    _, specification, entries = of(ONE_STREAM)  # 2.37 s at the sender, 2.05 s at the receiver
    unseen = [entry for entry in entries if entry.step != SAMPLE]
    both = cpu_time.figures(specification, unseen, None, {"elapsed_s": 2.0})
    assert {"local_cpu_peak_pct", "remote_cpu_peak_pct"} <= both.keys()
    monkeypatch.setattr(cpu_time, "DILUTED", 1.1)
    quick = cpu_time.figures(specification, unseen, None, {"elapsed_s": 2.0})
    assert {name.partition("_")[0] for name in quick} == {"remote"}


@pytest.mark.parametrize("run", [TWO_STREAMS, DATAGRAMS])
def test_throughput_is_what_the_receiver_saw_arrive(run: int) -> None:
    _, specification, entries = of(run)
    unseen = [entry for entry in entries if entry.step != SAMPLE]
    seen = interpret.read(specification, entries).figures
    told = interpret.read(specification, unseen).figures
    assert seen["throughput_mbps"] == seen["remote_recv_throughput_mbps"]
    assert seen["throughput_mbps"] != told["throughput_mbps"], "the tool's own figure, unseen"
    assert seen["throughput_mbps"] < seen["local_send_throughput_mbps"]


def test_netperf_tells_one_tcp_stream_whole_and_its_interim_results_are_the_receivers() -> None:
    _, specification, entries = of(ONE_STREAM)
    unseen = [entry for entry in entries if entry.step != SAMPLE]
    seen, told = (interpret.read(specification, part) for part in (entries, unseen))
    assert seen.figures["throughput_mbps"] == told.figures["throughput_mbps"]
    assert seen.interim != told.interim


@pytest.mark.parametrize("step", [CLIENT, BEFORE, AFTER, f"{AFTER} counters"])
def test_a_step_that_is_missing_is_named(step: str) -> None:
    _, specification, entries = of(ONE_STREAM)
    left = [entry for entry in entries if entry.step != step]
    with pytest.raises(ToolFailure, match=f"the raw output has no '{step}' of (sender|receiver)"):
        interpret.read(specification, left)


def test_evidence_that_an_older_netlimits_did_not_read_is_no_figure() -> None:
    _, specification, entries = of(ONE_STREAM)
    older = [e for e in entries if e.step not in (f"{BEFORE} queues", f"{AFTER} queues")]
    figures = interpret.read(specification, older).figures
    assert "local_qdisc_drops" in interpret.read(specification, entries).figures
    assert not [name for name in figures if "qdisc" in name]


def test_a_run_whose_guard_fired_is_invalid() -> None:
    _, specification, entries = of(ONE_STREAM)
    (first, *_) = [entry for entry in entries if entry.step == GUARD]
    fired = replace(first, completed=replace(first.completed, stdout="fired\n"))
    with pytest.raises(ToolFailure, match="guard restored settings during the run") as failure:
        interpret.read(specification, [*entries, fired])
    assert failure.value.status == "invalid"
    assert first.host in str(failure.value)


def test_the_stream_that_failed_is_named() -> None:
    _, specification, entries = of(TWO_STREAMS)
    (client,) = [entry for entry in entries if entry.step == CLIENT]
    line = next(ln for ln in client.stdout.splitlines() if ln.startswith("THROUGHPUT="))
    broken = changed(entries, CLIENT, line, "THROUGHPUT=0.00")
    with pytest.raises(ToolFailure, match=r"stream [12] of 2, to receiver: "):
        interpret.read(specification, broken)


def test_a_count_that_one_host_lacks_is_no_sum() -> None:
    assert interpret._added([{"drops": 1.0, "sent": 2.0}, {"drops": 3.0}]) == {"drops": 4.0}
