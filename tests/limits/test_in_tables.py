"""Verdicts where an experiment's `report:` asks for them."""

from __future__ import annotations

import json

import pytest
from folders import complete

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


def printed(capsys, *words) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_a_report_of_verdicts_is_a_table_and_a_column(tmp_path, capsys):
    file = tmp_path / "told.yaml"
    file.write_text(EXPERIMENT)
    folder = tmp_path / "told"
    complete(folder, file)
    out = printed(capsys, "table", folder)
    assert "Verdict" in out
    assert "Evidence" in out
    explained = json.loads(printed(capsys, "explain", folder, "--json"))
    assert all(row["evidence"] in out for row in explained)
    rows = json.loads(
        printed(capsys, "table", folder, "--of", "throughput", "--rows", "send_size",
                "--format", "json")
    )["rows"]  # fmt: skip
    assert {row["verdict"] for row in rows} == {row["class"] for row in explained}


def test_another_word_is_an_error_with_its_line():
    with pytest.raises(DocumentError, match=r"verdict.*did you mean verdicts"):
        load.parse(EXPERIMENT.replace("- verdicts", "- verdict"), "told.yaml")
