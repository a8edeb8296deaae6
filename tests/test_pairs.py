"""Captures in pairs: each has its half, and the writer changes nothing that is expected."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pairs
import pytest

from netlimits.evidence.counted import EVIDENCE
from netlimits.settings import SETTINGS
from netlimits.tools import TOOLS

SCRIPT = pairs.CAPTURES / "expect.py"


def expect(place: str, given: str = "") -> int:
    """The script's own function."""
    specification = importlib.util.spec_from_file_location("expect", SCRIPT)
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    status: int = module.main(place, given)
    return status


@pytest.fixture
def copy(tmp_path, monkeypatch) -> Path:
    """A folder of captures with one of nuttcp, which has no pair yet."""
    (tmp_path / "nuttcp").mkdir()
    for suffix in ("txt", "json"):
        original = pairs.CAPTURES / "nuttcp" / f"tcp-612.{suffix}"
        (tmp_path / "nuttcp" / f"new.{suffix}").write_text(original.read_text())
    monkeypatch.setattr(pairs, "CAPTURES", tmp_path)
    return tmp_path / "nuttcp"


def test_every_tool_setting_and_piece_of_evidence_has_pairs():
    places = {tool.name for tool in TOOLS} | {f"evidence/{each.name}" for each in EVIDENCE}
    places |= {f"settings/{setting.name}" for setting in SETTINGS} | {"imports", "traces"}
    assert places <= pairs.READERS.keys()
    assert all(pairs.names(folder) for folder in pairs.READERS)


def test_no_capture_lies_where_no_reader_looks():
    captures = (path for path in pairs.CAPTURES.rglob("*") if path.suffix in pairs.SUFFIXES)
    folders = {path.parent.relative_to(pairs.CAPTURES).as_posix() for path in captures}
    builds = {f"{tool.name}/builds" for tool in TOOLS}
    profiles = {"evidence/profile"}  # test_stacks reads them
    assert folders - builds - profiles == pairs.READERS.keys()


@pytest.mark.parametrize("missing", ["txt", "json"])
def test_a_half_alone_fails(copy, missing):
    pairs.check("nuttcp", "new")
    (copy / f"new.{missing}").unlink()
    assert pairs.names("nuttcp") == ["new"]
    with pytest.raises(FileNotFoundError):
        pairs.check("nuttcp", "new")


def test_a_figure_of_another_type_fails(copy):
    path = copy / "new.json"
    about = json.loads(path.read_text())
    about["expected"]["figures"]["transport_mss_bytes"] += 0.0
    path.write_text(json.dumps(about))
    with pytest.raises(AssertionError):
        pairs.check("nuttcp", "new")


def test_the_writer_makes_the_other_half(copy):
    path = copy / "new.json"
    written = path.read_text()
    given = json.dumps(json.loads(written)["given"])
    path.unlink()
    assert expect("nuttcp/new", given) == 0
    assert path.read_text() == written


def test_the_writer_adds_and_never_changes(copy, capsys):
    path = copy / "new.json"
    written = path.read_text()
    about = json.loads(written)
    rate = about["expected"]["figures"]["throughput_mbps"]
    about["expected"] = {"figures": {"throughput_mbps": rate}}
    path.write_text(json.dumps(about))
    assert expect("nuttcp/new") == 0
    assert path.read_text() == written
    path.write_text(written.replace(str(rate), "1.5"))
    assert expect("nuttcp/new") == 1
    assert "figures/throughput_mbps: 1.5 is expected, not" in capsys.readouterr().err
    assert "1.5" in path.read_text()
