"""`status`, of a campaign that runs and of one that does not."""

from __future__ import annotations

import getpass
import os
import time

import pytest
from click.testing import CliRunner
from recorded import recorded

from netlimits.archive import reader
from netlimits.archive.records import run_fields
from netlimits.cli import main, status
from netlimits.cli.report import report
from netlimits.errors import ArchiveError


def told(capsys: pytest.CaptureFixture[str], folder: object) -> str:
    with pytest.raises(SystemExit) as end:
        main(["status", str(folder)])
    assert end.value.code == 0
    return capsys.readouterr().out


def test_a_campaign_that_runs_is_neither_dead_nor_to_be_restored(tmp_path, capsys):
    folder = recorded(tmp_path / "out", failed=[2]).path
    whole = folder / "journal.jsonl"
    lines = whole.read_text().splitlines(keepends=True)
    while '"run": 4' in lines[-1]:
        lines.pop()
    whole.write_text("".join(lines))
    held = reader.open(folder)
    held.archive.lock()
    try:
        held.archive.append("opened")
        held.archive.append(
            "found", role="sender", interface="data0", setting="mtu", state={"mtu": 1500}
        )
        run = held.runs[4]
        held.archive.append("start", **run_fields(run), attempt=1, started=time.time())
        printed = told(capsys, folder)
        page = CliRunner().invoke(report, [str(folder), "--out", str(tmp_path / "r.html")])
        assert page.exit_code == 0, page.output
    finally:
        held.archive.close()
    html = (tmp_path / "r.html").read_text()
    assert "run 4 is under way, by process" in html
    assert "the process ended before" not in html
    assert "4 runs: 2 ok, 1 failed, 1 left\n" in printed
    assert f"running: process {os.getpid()} of {getpass.getuser()}, since 20" in printed
    assert ", at run 4\n" in printed
    assert "changed while it runs: sender: data0: mtu" in printed
    for wrong in ("interrupted", "the process ended", "restore", "resume"):
        assert wrong not in printed
    over = told(capsys, folder)
    assert "running" not in over
    assert "4 runs: 2 ok, 1 failed, 1 left (1 attempt interrupted)" in over
    assert "1 × its end was not recorded" in over
    assert "changed, perhaps not restored: sender: data0: mtu" in over
    assert "netlimits resume" in over


def test_of_what_was_changed_hosts_say_whether_it_is_restored(tmp_path):
    place = {"role": "sender", "interface": "data0", "setting": "mtu"}
    state = {"path": str(tmp_path), "not_put_back": [place]}
    answer = {"guard": "none", "log": [], "changed": [{**place, "campaign": "out"}]}
    fired = {"guard": "fired", "log": ["restoring at noon", "done"], "changed": []}
    outcomes = {
        "changed, perhaps not restored": {},
        "changed, not restored yet": {"sender": answer},
        "restored (says its host)": {"sender": {**answer, "changed": []}},
        "restored by its host's guard": {"sender": {**answer, **fired}},
    }
    for outcome, answers in outcomes.items():
        first, *_, last = status._left(state, answers)
        assert first == f"{outcome}: sender: data0: mtu"
        assert last == f"restore and verify with: netlimits restore {tmp_path}"
    assert "netlimits status " in [*status._left(state, {})][1]


def test_between_two_runs_none_is_called_interrupted(tmp_path, capsys):
    folder = recorded(tmp_path / "out").path
    held = reader.open(folder)
    held.archive.lock()
    try:
        printed = told(capsys, folder)
    finally:
        held.archive.close()
    assert ", between two runs\n" in printed
    assert "4 runs: 4 ok\n" in printed


def test_a_folder_that_is_not_there_is_said_to_be_so(tmp_path):
    for name, problem in (("nosuch", "does not exist"), ("", "holds no campaign")):
        with pytest.raises(ArchiveError, match=f"{tmp_path / name}: {problem}"):
            reader.open(tmp_path / name)
