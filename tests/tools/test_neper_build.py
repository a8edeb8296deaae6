"""scripts/neper, on a source that stands in for neper's: it is built, or what is missing is said."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from netlimits.tools.neper import TESTS

SCRIPT = Path(__file__).parents[2] / "scripts" / "neper"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A program for each test, which make knows how to build without a Makefile."""
    folder = tmp_path / "neper"
    folder.mkdir()
    for test in TESTS:
        (folder / f"{test}.c").write_text(
            '#include <stdio.h>\nint main(void) { puts("1.1.0"); return 0; }\n'
        )
    return folder


def build(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True)


@pytest.mark.parametrize("packed", [False, True])
def test_it_is_built_from_a_folder_or_an_archive(source: Path, tmp_path: Path, packed: bool):
    where = source
    if packed:
        where = tmp_path / "neper.tar.gz"
        with tarfile.open(where, "w:gz") as archive:
            archive.add(source, source.name)
    outcome = build(where, tmp_path / "bin")
    assert outcome.returncode == 0, outcome.stderr
    assert sorted(path.name for path in (tmp_path / "bin").iterdir()) == sorted(TESTS)
    assert sorted(path.suffix for path in source.iterdir()) == [".c"] * len(TESTS)


def test_what_is_wrong_is_said_in_one_line_and_nothing_is_installed(source: Path, tmp_path: Path):
    (source / "udp_rr.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "tcp_rr.c").write_text("int main(void) {\n")
    cases = {
        "there is no such folder or archive": (tmp_path / "none",),
        "holds no tcp_rr.c": (tmp_path / "empty",),
        "udp_rr tells no version": (source,),
        "it did not compile": (broken,),
        "say where the source is": (),
    }
    for says, words in cases.items():
        outcome = build(*words, *([tmp_path / "bin"] if words else []))
        assert outcome.returncode == 1
        assert says in outcome.stderr.splitlines()[-1]
    assert not (tmp_path / "bin").exists()
