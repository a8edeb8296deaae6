"""What is read of a large campaign makes the same tables and charts as all of it would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import netlimits
from netlimits import tables
from netlimits.cli.shared import drawing, entries
from netlimits.cli.shared.entries import summary_of
from netlimits.cli.shared.results import Results
from netlimits.metrics import IDENTITY

KEPT = Path(__file__).parents[2] / "experiments" / "gallery"
ARCHIVES = sorted(path.name for path in KEPT.iterdir() if path.is_dir())
TOLD = {"stateless-offloads", "udp-send-size", "tcp-mss"}
"""Some whose charts take only columns that can be told beforehand."""


def results(name: str, chosen: frozenset[str] | None = None) -> Results:
    campaign = netlimits.open(KEPT / name)
    frame = campaign.frame()
    if chosen is not None:
        labels = [*frame.attrs["columns"]["factors"], *frame.attrs["columns"]["derived"]]
        columns = [n for n in frame.columns if n in chosen or n in labels]
        attrs = {**frame.attrs, "narrowed": [n for n in frame.columns if n not in columns]}
        frame = frame[columns]
        frame.attrs = attrs
    return Results(KEPT / name, frame, campaign)


def tabled(source: Results, options: dict[str, object]) -> list[str]:
    shown = entries.tables(source.report, options, source.frame)
    return [tables.render(summary_of(source, entry), "text", True) for entry in shown]


@pytest.mark.long
@pytest.mark.parametrize("name", ARCHIVES)
def test_tables_are_the_same(name: str) -> None:
    whole = results(name)
    for options in ({}, {"of": ["throughput", "remote_sd", "local_sd"]}):
        chosen = entries.needed_by_tables(whole.report, options)
        if chosen is None or not {"throughput_mbps", "local_sd_us_per_kib"} <= {*whole.frame}:
            continue
        narrow = results(name, chosen)
        assert len(narrow.frame.columns) < len(whole.frame.columns) / 2
        assert tabled(narrow, options) == tabled(whole, options)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(TOLD & {*ARCHIVES}))
def test_charts_are_drawn_from_the_same(name: str) -> None:
    whole = results(name)
    chosen = entries.needed_by_charts(whole.report, {})
    assert chosen is not None
    texts = []
    for source in (whole, results(name, chosen)):
        notes: list[str] = []
        figures = entries.charts(source.report, {}, source.frame)
        drawn = [p for e in figures for p in drawing.figures_of(source, e, [], notes.append)]
        texts.append([(n, [t.get_text() for a in f.axes for t in a.texts]) for n, f in drawn])
        texts[-1].append(notes)
        plt.close("all")
    assert texts[0] == texts[1]
    assert len(texts[0]) > 1


def test_what_cannot_be_told_beforehand_needs_all() -> None:
    report = netlimits.open(KEPT / "stateless-offloads").experiment.report
    assert entries.needed_by_tables(report, {}) >= {*IDENTITY} - {"reason", "limited_by"}
    assert entries.needed_by_tables(report, {"of": ["no metric"]}) is None
    assert entries.needed_by_tables(report, {"of": ["highest_average"]}) is None
    assert entries.needed_by_tables((), {}) is None
    assert entries.needed_by_tables(({"table": "verdicts"},), {}) is None
    assert entries.needed_by_charts(report, {"chart": "pacing"}) is None
    assert replace(results("tso"), frame=results("tso").frame).narrow is False


def test_times_of_windows_are_read_where_what_was_sent_stands_beside_what_arrived() -> None:
    report = ({"table": "summary", "of": ["throughput"]},)
    assert not {*entries.WINDOWS} & entries.needed_by_tables(report, {})
    both = ({"table": "summary", "of": ["throughput", "local_send_throughput"]},)
    assert {*entries.WINDOWS} <= entries.needed_by_tables(both, {})
