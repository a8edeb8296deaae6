"""`benchmarks/engines.py`: what plain engines say of a campaign's parts is what its table says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import benchmark
import folders
import pytest

from netlimits.analysis.summary import summary
from netlimits.archive import parts, reader
from netlimits.archive.records import end_fields, run_fields

TOP = Path(__file__).parents[1]
engines = benchmark.module("engines")

FASTER, FAILED = 7, 8
"""Runs that were made again: one came to ten times its rate and lost nothing, the other
failed."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """The report's campaign in parts, two of its runs made again an hour later."""
    out: Path = tmp_path_factory.mktemp("engines") / "runs"
    campaign = folders.complete(out, TOP / "experiments" / "stateless-offloads.yaml", 3)
    last = {record.run.number: record for record in campaign.records()}
    hour = max(record.started for record in last.values()) + 3600
    rate = 10 * float(last[FASTER].figures["throughput_mbps"])
    alone = {"disturbed_pct": 0.0, "loss_pct": 0.0}
    faster = {**last[FASTER].figures, "throughput_mbps": rate, **alone}
    campaign.archive.lock()
    failed = replace(last[FAILED], attempt=2, started=hour + 20, figures={}, status="failed")
    for record in (
        replace(last[FASTER], attempt=2, started=hour, figures=faster),
        failed,
        replace(failed, attempt=3, started=hour + 40),  # the last one is in no part
    ):
        begun = {"attempt": record.attempt, "started": record.started}
        campaign.archive.append("start", **run_fields(record.run), **begun)
        campaign.archive.append("end", **end_fields(record))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "ATTEMPTS", 2)
        campaign.archive.compaction.roll_all()
    campaign.archive.close()
    return out


@pytest.mark.long
@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
def test_an_engine_says_what_the_table_says(runs, engine):
    frame = reader.open(runs).frame()
    table = summary(frame, [*engines.FIGURES], "send_size", "transport")
    cells, outcomes, counts, breaks, others, means, ways = engines.ENGINES[engine, "table"](runs)
    assert [cell[:2] for cell in cells] == sorted(cell[:2] for cell in cells)
    for place, metric in enumerate(engines.FIGURES):
        told = table[(table["metric"] == metric) & (table["statistic"] == "mean")]
        told = told.sort_values(["send_size", "transport"])
        of_metric = [cell[2 + 4 * place : 6 + 4 * place] for cell in cells]
        assert [mean for mean, *_ in of_metric] == pytest.approx([*told["value"]])
        assert [n for _, _, n, _ in of_metric] == [*told["n"]]
    assert dict(outcomes) == {"ok": 17, "failed": 1}
    ok, disturbed, most, lost = counts[0]
    assert (ok, disturbed, lost) == (17, 16, 16)
    assert breaks == [(1,)]
    assert {each[2:] for each in others} == {(1, 1)}
    assert len(means) == 1
    assert ways == [(17, 18)]
    notes = " ".join(table.attrs["notes"])
    assert "18 runs: 17 ok, 1 failed" in notes
    assert f"16 of 17 runs had other traffic on their link, up to {most:.2g} %" in notes
    assert "16 of 17 runs lost packets" in notes
    assert "made in 2 sessions" in notes


@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
def test_cells_alone_are_of_all_rows(runs, engine):
    (cells,) = engines.ENGINES[engine, "cells"](runs)
    assert sum(cell[4] for cell in cells) == 19
