"""The lab's runs that ship in the package: those of the gallery's campaigns."""

from __future__ import annotations

from pathlib import Path

import pytest

import netlimits as nl
from netlimits.analysis import frames
from netlimits.reproduce import published, turin, turin_lab

KEPT = Path(__file__).parents[2] / "experiments" / "gallery"


@pytest.mark.parametrize("name", turin_lab.EXPERIMENTS)
def test_the_runs_are_the_gallery_s(name: str) -> None:
    kept = frames.usable(nl.open(KEPT / name).frame())
    shipped = turin_lab.runs(name)
    assert len(shipped) == len(kept)
    for column in shipped.columns:
        ours, theirs = shipped[column].tolist(), kept[column].tolist()
        if isinstance(theirs[0], float):
            assert ours == pytest.approx(theirs, rel=1e-4, nan_ok=True)
        else:
            assert [str(value) for value in ours] == [str(value) for value in theirs]


def test_every_statement_without_data_is_held_against_the_lab_s_runs() -> None:
    stated = set(published.statements().index)
    assert set(turin_lab.judgements()) == set(turin.REPORT.no_data)
    assert set(turin_lab.judgements()) <= stated


def test_the_file_is_small() -> None:
    file = Path(turin_lab.__file__).with_name(turin_lab.FILE)
    assert file.stat().st_size < 128 * 1024
