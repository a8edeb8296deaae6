"""Another process rolls up what a campaign measured, and reads what is done: pyarrow stays there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recorded import EXPERIMENT, recorded

from netlimits.archive import aside, parts, reader
from netlimits.archive.done import done
from netlimits.errors import ArchiveError

MANY = EXPERIMENT.replace("replicates: 2", "replicates: 12")
AT_WORK = """
import sys
from pathlib import Path
from netlimits.archive import parts
from netlimits.archive.done import done
from netlimits.archive.store import Archive

parts.ATTEMPTS = 4
archive = Archive.open(Path(sys.argv[1]))
archive.lock()
while archive.roll():
    pass
runs = done(archive)
print(archive.roller.last.number, runs.first_left, sorted(runs.outcomes.items()))
archive.close()
print(*(name for name in ("pyarrow", "pandas") if name in sys.modules))
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return recorded(tmp_path / "out", failed=(3, 9), text=MANY, traced=()).path


def begun(folder: str) -> int:
    """A function that another process finds by its name."""
    return done(reader.open(folder).archive).first_left


def full(_: str) -> None:
    raise OSError(28, "No space left on device")


def at_work(folder: Path) -> list[str]:
    """What a process says that has nothing loaded but what a campaign at work needs."""
    command = [sys.executable, "-c", AT_WORK, str(folder)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")


def everything(folder: Path) -> dict[str, bytes]:
    names = [path for path in folder.rglob("*") if path.parent.name in ("parts", "raw")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def test_a_campaign_at_work_rolls_up_without_loading_pyarrow(out, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "ATTEMPTS", 4)
    here = tmp_path / "here"
    shutil.copytree(out, here)
    archive = reader.open(here).archive
    archive.lock()
    archive.roll_all()
    runs = done(archive)
    archive.close()
    told, loaded, _ = at_work(out)
    outcomes = sorted(runs.outcomes.items())
    assert told == f"{archive.roller.last.number} {runs.first_left} {outcomes}"
    assert archive.roller.last.number > 4
    assert loaded == ""
    assert everything(out) == everything(here)
    assert any(name.endswith(".zst") for name in everything(out))


def test_what_is_wrong_is_raised_as_if_it_were_here(out, monkeypatch):
    journal = out / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"event":', b'"Event":', 3))
    monkeypatch.setattr(aside, "HEAVY", "no such module")
    with pytest.raises(ArchiveError) as error:
        aside.aside(begun, str(out))
    assert str(error.value) == f"{journal}:1: was changed: its checksum does not hold"


def test_it_is_done_here_where_no_process_can_be_had(monkeypatch):
    monkeypatch.setattr(aside, "HEAVY", "no such module")
    assert aside.aside(os.getpid) != os.getpid()
    with monkeypatch.context() as upgraded:
        upgraded.setattr(aside, "__version__", "0")
        assert aside.aside(os.getpid) == os.getpid()
    with pytest.raises(OSError, match="No space left"):
        aside.aside(full, "folder")
    with pytest.raises(ZeroDivisionError):
        aside.aside(divmod, 7, 0)
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert aside.aside(os.getpid) == os.getpid()


def test_one_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(aside, "HEAVY", "no such module")
    with pytest.raises(TimeoutError, match=r"0\.3 s"):
        aside.aside(time.sleep, 60, longest=0.3)


def test_what_python_prints_as_it_begins_is_no_answer(out, tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('INFO: site loaded', flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    noise, told, loaded, _ = at_work(out)
    assert noise == "INFO: site loaded"
    assert int(told.split()[0]) > 4
    assert loaded == ""
