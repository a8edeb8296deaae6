"""`netlimits check` on this machine alone: exit statuses, table and JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from netlimits.cli import main

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("iperf3", "ss", "ip"))), reason="needs iperf3, ss and ip"
)
TEXT = """\
experiment: small
measure:
  iperf3: {seconds: 1, port: 5317}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(TEXT)
    return tmp_path


def check(capsys, *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["check", "small.yaml", *argv])
    output = capsys.readouterr()
    return end.value.code or 0, output.out, output.err


@pytest.mark.long
def test_a_machine_that_will_do(capsys, here):
    status, out, _ = check(capsys, "--local", "--json")
    report = json.loads(out)
    assert (status, report["errors"]) == (0, 0)
    assert report["warnings"] + report["notes"] == len(report["findings"])
    ports = [finding["problem"] for finding in report["findings"] if finding["check"] == "ports"]
    assert ports == ["iperf3 over TCP reaches 127.0.0.1, control port 5317 and data"]
    (kernel,) = [
        finding
        for finding in report["findings"]
        if finding["severity"] == "warning" and finding["check"] == "kernel"
    ]
    assert "one boot id" in kernel["problem"]
    assert [path.name for path in here.iterdir()] == ["small.yaml"], "nothing is left behind"


@pytest.mark.long
def test_what_would_fail_stands_first_with_status_1(capsys, here):
    (here / "small.yaml").write_text(TEXT.replace("port: 5317", "port: 5317, protocol: udp"))
    status, out, err = check(capsys, "--local")
    assert (status, err) == (1, "")
    first, *_, last = out.splitlines()
    assert first.startswith("error    sender")
    assert "measure.iperf3.rate: UDP needs one" in first
    assert last.startswith("1 error, ")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("seconds: 1", "secons: 1"), "did you mean seconds"),
        (("port: 5317", "port: 99999"), "port"),
        (("port: 5317", "if_missing: maybe"), "if_missing"),
    ],
)
def test_a_wrong_file_is_status_2(capsys, here, change, complaint):
    (here / "small.yaml").write_text(TEXT.replace(*change))
    status, out, err = check(capsys, "--local")
    assert (status, out) == (2, "")
    assert "small.yaml:3" in err
    assert complaint in err
