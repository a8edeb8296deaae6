"""scripts/nttcp, on a source that stands in for nttcp's: it is built, or what is missing is said."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "nttcp"
MAIN = """
#include "support.h"
main(argc, argv) char **argv; { shown("nttcp version 1.47\\n"); exit(0); }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two files in the C of its time, which today's compilers take only when told to."""
    folder = tmp_path / "nttcp-1.47"
    folder.mkdir()
    (folder / "nttcp.c").write_text(MAIN)
    (folder / "support.h").write_text("void shown();\n")
    (folder / "support.c").write_text("void shown(s) char *s; { printf(s); }\n")
    return folder


def build(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True)


@pytest.mark.parametrize("packed", [False, True])
def test_it_is_built_from_a_folder_or_an_archive(source: Path, tmp_path: Path, packed: bool):
    where = source
    if packed:
        where = tmp_path / "nttcp-1.47.tar.gz"
        with tarfile.open(where, "w:gz") as archive:
            archive.add(source, source.name)
    outcome = build(where, tmp_path / "bin")
    assert outcome.returncode == 0, outcome.stderr
    version = subprocess.run([tmp_path / "bin" / "nttcp", "-V"], capture_output=True, text=True)
    assert version.stdout == "nttcp version 1.47\n"
    assert sorted(path.name for path in source.iterdir()) == ["nttcp.c", "support.c", "support.h"]


def test_what_is_wrong_is_said_in_one_line_and_nothing_is_installed(source: Path, tmp_path: Path):
    (source / "nttcp.c").write_text("int main() { return 0; }\n")
    cases = {
        "there is no such folder or archive": (tmp_path / "none",),
        "holds no nttcp.c": (tmp_path / "empty",),
        "it tells no version": (source,),
        "say where the source is": (),
    }
    (tmp_path / "empty").mkdir()
    for says, words in cases.items():
        outcome = build(*words, *([tmp_path / "bin"] if words else []))
        assert outcome.returncode == 1
        assert says in outcome.stderr.splitlines()[-1]
        assert outcome.stderr.startswith("nttcp: ")
    assert not (tmp_path / "bin").exists()
