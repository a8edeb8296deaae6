"""A campaign in DuckDB: what its frame tells, whatever its parts have come to."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from recorded import EXPERIMENT, recorded

import netlimits
from netlimits.archive import parts, reader, relation
from netlimits.archive.records import end_fields, run_fields
from netlimits.errors import DataError
from netlimits.model import Record

MANY = EXPERIMENT.replace("replicates: 2", "replicates: 12")


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of 24 runs in parts of four attempts, one of them tried twice."""
    monkeypatch.setattr(parts, "ATTEMPTS", 4)
    recorded(tmp_path / "out", failed=(3, 9), text=MANY, traced=())
    campaign = reader.open(tmp_path / "out")
    campaign.archive.lock()
    campaign.archive.append("start", **run_fields(campaign.runs[1]), attempt=2, started=2e9)
    campaign.archive.compaction.roll_all()
    campaign.archive.close()
    return tmp_path / "out"


def alike(out: Path, columns: tuple[str, ...] | None = None) -> None:
    """The relation's rows are the frame's."""
    campaign = reader.open(out)
    frame, rows = campaign.frame(columns), campaign.relation(columns).frame()
    keys = ["run", "attempt"]
    assert list(rows.columns) == list(frame.columns)
    assert rows.attrs["columns"] == frame.attrs["columns"]
    frame, rows = (table.sort_values(keys, ignore_index=True) for table in (frame, rows))
    for table in (frame, rows) if "started" in frame.columns else ():
        table["started"] = table["started"].astype("datetime64[us, UTC]")
    pd.testing.assert_frame_equal(rows, frame, check_dtype=False)
    for name in frame.columns:
        assert rows[name].dtype.kind == frame[name].dtype.kind, name


def test_a_campaign_with_parts(out: Path) -> None:
    assert len(reader.open(out).archive.parts()) > 3
    alike(out)
    alike(out, ("status", "throughput_mbps", "started"))


def test_a_campaign_without_parts(out: Path) -> None:
    shutil.rmtree(out / "parts")
    alike(out)


def test_what_was_told_again_takes_the_place_of_what_was(out: Path) -> None:
    campaign = reader.open(out)
    campaign.archive.lock()
    for run, status in ((2, "failed"), (17, "invalid"), (2, "invalid"), (24, "failed")):
        record = Record(campaign.runs[run], 1, status, "now known", 1e9, 4, {"calls": 1.5})
        campaign.archive.append("parsed", **end_fields(record))
    campaign.archive.compaction.roll_all()
    campaign.archive.close()
    alike(out)


@pytest.mark.parametrize("number", [1, 3])
def test_a_part_that_is_damaged_or_lost_is_read_from_the_journal(out: Path, number: int) -> None:
    file = out / "parts" / f"{number:06d}.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    alike(out)
    file.unlink()
    alike(out)
    file.symlink_to("/etc/hostname")
    alike(out)


def test_a_column_of_several_kinds_is_as_in_the_frame(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(parts, "ATTEMPTS", 4)
    text = MANY.replace("[1500, 8896]", '[1500, "8896"]')
    assert text != MANY
    recorded(tmp_path / "out", failed=(), text=text, traced=())
    campaign = reader.open(tmp_path / "out")
    campaign.archive.lock()
    campaign.archive.compaction.roll_all()
    campaign.archive.close()
    assert relation._type(frozenset(("int", "str")), True) is None
    alike(tmp_path / "out")


def test_analyses_take_it(out: Path) -> None:
    campaign = reader.open(out)
    pd.testing.assert_frame_equal(
        netlimits.summary(campaign.relation(), "throughput", "mtu"),
        netlimits.summary(campaign.frame(), "throughput", "mtu"),
    )


def test_without_duckdb_it_says_what_to_install(out: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(
        DataError, match=r"^a relation needs DuckDB: pip install 'netlimits\[large\]'$"
    ):
        reader.open(out).relation()


def test_parts_that_are_written_meanwhile_lose_no_row(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between what a relation reads of each part and the reading of their rows."""
    for path in (out / "parts").iterdir():
        if not path.name.startswith("000001"):
            path.unlink()
    writer = reader.open(out).archive
    writer.lock()
    told = relation._sources

    def written(*given):
        while writer.roll():
            pass
        return told(*given)

    monkeypatch.setattr(relation, "_sources", written)
    rows = reader.open(out).relation().frame()
    writer.close()
    assert len(reader.open(out).archive.parts()) > 1
    keys = ["run", "attempt"]
    frame = reader.open(out).frame()
    assert sorted(rows[keys].itertuples(index=False)) == sorted(frame[keys].itertuples(index=False))
