"""Verdicts where an experiment's `report:` asks for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from folders import complete

import netlimits as nl
from netlimits import charts
from netlimits.analysis import frames
from netlimits.cli import main
from netlimits.errors import DocumentError
from netlimits.experiment import load

EXPERIMENT = """\
experiment: told
factors: {send_size: [64, 1024]}
measure: {netperf: {send_size: "${send_size}"}}
repeat: {replicates: 2, seed: 1}
report:
  - verdicts
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A finished campaign that asks for verdicts."""
    file = tmp_path_factory.mktemp("told") / "told.yaml"
    file.write_text(EXPERIMENT)
    complete(file.with_suffix(""), file)
    return file.with_suffix("")


def printed(capsys, *words) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.long
def test_a_report_of_verdicts_is_a_table_and_a_column(folder, capsys):
    out = printed(capsys, "table", folder)
    assert "Verdict" in out
    assert "Evidence" in out
    explained = json.loads(printed(capsys, "explain", folder, "--json"))
    assert all(word in out for row in explained for word in row["evidence"].split())
    assert max(map(len, out.partition("\n\n")[0].splitlines())) < 140
    rows = json.loads(
        printed(capsys, "table", folder, "--of", "throughput", "--rows", "send_size",
                "--format", "json")
    )["rows"]  # fmt: skip
    assert {row["verdict"] for row in rows} == {row["class"] for row in explained}


def test_a_report_of_one_table_and_verdicts_is_one_table_to_programs(tmp_path, capsys):
    file = tmp_path / "told.yaml"
    file.write_text(EXPERIMENT + "  - {table: summary, of: [throughput], rows: send_size}\n")
    folder = tmp_path / "told"
    complete(folder, file)
    header, *rows = printed(capsys, "table", folder, "--format", "csv").splitlines()
    assert "verdict" in header.split(",")
    assert len(rows) == 2


def test_a_text_table_says_beside_each_row_what_limited_it(folder, capsys):
    (limit,) = {row["class"] for row in json.loads(printed(capsys, "explain", folder, "--json"))}
    rows = printed(capsys, "table", folder, "--of", "throughput", "--rows", "send_size")
    header, _, *body = rows.splitlines()[1:5]
    assert header.split()[-2:] == ["Limited", "by"]
    assert [line.split()[-1] for line in body] == [limit, limit]


@pytest.mark.long
def test_the_figures_say_it_too(folder, tmp_path, capsys, monkeypatch):
    keys = []
    save = charts.save
    monkeypatch.setattr(
        charts,
        "save",
        lambda figure, path: (keys.append(figure.get_supxlabel()), save(figure, path))[1],
    )
    printed(capsys, "figures", folder, "--format", "svg", "--out", tmp_path / "figures")
    (limit,) = {row["class"] for row in json.loads(printed(capsys, "explain", folder, "--json"))}
    assert keys
    assert set(keys) == {f"Limited by: {limit}"}
    page = tmp_path / "page.html"
    printed(capsys, "report", folder, "--out", page)
    assert "Limited by" in page.read_text(), "a column of its tables"


def test_each_run_has_its_configurations_limit(folder):
    campaign = nl.open(folder)
    limits = nl.limited_by(campaign)
    frame = campaign.frame().assign(limited_by=limits)
    assert len(limits) == len(frame)
    by_size = frame.groupby("send_size")["limited_by"].agg(set)
    explained = nl.explain(campaign).set_index("send_size")["class"]
    assert {size: next(iter(each)) for size, each in by_size.items()} == dict(explained)
    assert "limited_by" not in frames.varied(frame), "it is no factor"


def test_another_word_is_an_error_with_its_line():
    with pytest.raises(DocumentError, match=r"verdict.*did you mean verdicts"):
        load.parse(EXPERIMENT.replace("- verdicts", "- verdict"), "told.yaml")
