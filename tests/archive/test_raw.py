"""Raw output in files and in packs: an attempt's is read from wherever it is."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from netlimits.archive import packs
from netlimits.archive.raw import RawEntry, RawOutput
from netlimits.errors import ArchiveError
from netlimits.model import Command, Completed
from netlimits.model.folder import Folder

PRELUDE = """\
import os, signal, sys
from pathlib import Path
last, count = int(sys.argv[2]), 0
def killing(act):
    def step(*given, **named):
        global count
        count += 1
        if count > last:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*given, **named)
    return step
for name in sys.argv[1].split(","):
    setattr(os, name, killing(getattr(os, name)))
place = Path(sys.argv[3])
"""


def killed_after(
    last: int, calls: Iterable[str], code: str, place: object
) -> subprocess.CompletedProcess[bytes]:
    """Run code with `place` and kill it after `last` of these calls of `os`.

    `code` may print `count`, the number of calls so far.
    """
    words = [sys.executable, "-c", PRELUDE + code, ",".join(calls), str(last), str(place)]
    return subprocess.run(words, capture_output=True, check=False)


ATTEMPTS = [(1, 1), (2, 1), (2, 2), (3, 1), (5, 1)]


def entries(run: int, attempt: int) -> list[RawEntry]:
    text = f"run {run} attempt {attempt}\n" * 30
    return [RawEntry("client", Completed("sender", Command(("x",)), 0, text, "", 1.0))]


@pytest.fixture
def digests(tmp_path) -> dict[tuple[int, int], str]:
    (tmp_path / "raw").mkdir()
    raw = RawOutput(Folder(tmp_path))
    return {attempt: raw.write(*attempt, entries(*attempt)) for attempt in ATTEMPTS}


def whole(folder: Path, digests: dict[tuple[int, int], str]) -> None:
    """Each attempt is there, with its checksum."""
    raw = RawOutput(Folder(folder))
    assert raw.attempts() == digests.keys()
    for attempt, digest in digests.items():
        assert raw.read(*attempt, digest) == entries(*attempt)


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "raw").iterdir())


def test_what_is_packed_is_read_as_before(tmp_path, digests):
    RawOutput(Folder(tmp_path)).pack([*ATTEMPTS[:3], (4, 1)])
    assert listing(tmp_path) == ["000001.runs-1-2.zst", "000003-1.jsonl", "000005-1.jsonl"]
    whole(tmp_path, digests)
    RawOutput(Folder(tmp_path)).pack(ATTEMPTS)
    assert listing(tmp_path) == ["000001.runs-1-2.zst", "000002.runs-3-5.zst"]
    whole(tmp_path, digests)
    assert RawOutput(Folder(tmp_path)).attempts(above=2) == {(3, 1), (5, 1)}


def test_nothing_to_pack_makes_no_pack(tmp_path, digests):
    RawOutput(Folder(tmp_path)).pack([(4, 1)])
    assert len(listing(tmp_path)) == len(ATTEMPTS)
    shutil.rmtree(tmp_path / "raw")
    RawOutput(Folder(tmp_path)).pack(ATTEMPTS)
    RawOutput(Folder(tmp_path)).finish()
    assert RawOutput(Folder(tmp_path)).attempts() == set()


def test_what_is_large_or_a_link_stays_where_it_is(tmp_path, digests, monkeypatch):
    RawOutput(Folder(tmp_path)).write(6, 1, entries(6, 1) * 9)
    monkeypatch.setattr(packs, "ATTEMPT_LIMIT", 5000)
    (tmp_path / "raw/000003-1.jsonl").rename(tmp_path / "elsewhere")
    (tmp_path / "raw/000003-1.jsonl").symlink_to(tmp_path / "elsewhere")
    RawOutput(Folder(tmp_path)).pack([*ATTEMPTS, (6, 1)])
    assert listing(tmp_path) == ["000001.runs-1-5.zst", "000003-1.jsonl", "000006-1.jsonl"]
    with pytest.raises(ArchiveError, match="is a link"):
        RawOutput(Folder(tmp_path)).read(3, 1)


def test_an_attempt_that_is_kept_nowhere_is_named(tmp_path, digests):
    RawOutput(Folder(tmp_path)).pack(ATTEMPTS)
    with pytest.raises(ArchiveError, match=r"raw/000004-1\.jsonl: cannot be read: No such file"):
        RawOutput(Folder(tmp_path)).read(4, 1)
    with pytest.raises(ArchiveError, match=r"000001\.runs-1-5\.zst: is not what was written when"):
        RawOutput(Folder(tmp_path)).read(1, 1, "0" * 64)


def test_a_damaged_pack_is_named(tmp_path, digests):
    RawOutput(Folder(tmp_path)).pack(ATTEMPTS)
    path = tmp_path / "raw/000001.runs-1-5.zst"
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"runs-1-5\.zst: is damaged: a checksum is wrong"):
        RawOutput(Folder(tmp_path)).read(1, 1)
    path.write_bytes(data[:-1])
    with pytest.raises(ArchiveError, match=r"runs-1-5\.zst: is damaged: .*; restore it from"):
        RawOutput(Folder(tmp_path)).read(1, 1)
    assert RawOutput(Folder(tmp_path)).attempts() == set(), "figures are there all the same"


def damaged(*_):
    raise packs.DamagedPack("is damaged")


@pytest.mark.parametrize("read", [lambda *_: b"another text", damaged])
def test_files_stay_where_a_pack_does_not_read_back(tmp_path, digests, monkeypatch, read):
    monkeypatch.setattr(packs.Contents, "read", read)
    with pytest.raises(OSError, match="does not read back"):
        RawOutput(Folder(tmp_path)).pack(ATTEMPTS)
    monkeypatch.undo()
    assert len(listing(tmp_path)) == len(ATTEMPTS), "no pack is left"
    whole(tmp_path, digests)


def test_a_file_that_differs_from_what_is_packed_counts_and_stays(tmp_path, digests):
    RawOutput(Folder(tmp_path)).pack(ATTEMPTS)
    RawOutput(Folder(tmp_path)).write(2, 2, entries(9, 9))
    RawOutput(Folder(tmp_path)).finish()
    assert RawOutput(Folder(tmp_path)).read(2, 2) == entries(9, 9)


PACK = """\
from netlimits.archive.raw import RawOutput
from netlimits.model.folder import Folder
raw = RawOutput(Folder(place))
raw.finish()
raw.pack([(1, 1), (2, 1), (2, 2), (3, 1), (5, 1)])
"""


@pytest.mark.long
def test_a_kill_at_any_step_of_packing_loses_nothing(tmp_path, digests):
    kills = 0
    for last in range(30):
        folder = tmp_path / f"killed-{last}"
        shutil.copytree(tmp_path / "raw", folder / "raw")
        ran = killed_after(last, ("fsync", "rename", "unlink", "fchmod"), PACK, folder)
        whole(folder, digests)
        kills += ran.returncode == -signal.SIGKILL
        raw = RawOutput(Folder(folder))
        raw.finish()
        raw.pack(ATTEMPTS)
        assert listing(folder) == ["000001.runs-1-5.zst"], "what was half done is finished or gone"
        whole(folder, digests)
        if not ran.returncode:
            break
    assert kills > 8, "the file, its name and the removal of each file that it stands for"
