"""Places that cannot be written to are refused before anything is read, asked or computed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from netlimits.cli import group
from netlimits.cli.shared.options import refuse_folder
from netlimits.errors import InputError

FOLDERS = ("run --out", "import --out", "figures --out", "published --out")
FILES = ("report --out", "table --out", "explain --next", "plan --csv")
FRESH = FOLDERS[:1]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    return tmp_path


def error(command: str, place: str) -> str:
    """What a command says of a place, whatever else is wrong: nothing of that has been looked at."""
    name, option = command.split()
    argument = [] if name == "published" else ["nosuch"]
    done = CliRunner().invoke(group, [name, *argument, option, place])
    assert isinstance(done.exception, InputError), (done.output, done.exception)
    assert done.exception.exit_status == 2
    return str(done.exception)


@pytest.mark.parametrize("command", [*FOLDERS, *FILES])
def test_what_no_command_can_write_to(command: str, places: Path) -> None:
    before = sorted(places.rglob("*"))
    under = error(command, "file/x")
    assert "file is a file, not a folder" in under or under == "file/x: there is no folder file"
    assert error(command, "") == f"{command.split()[1]}: is empty; name a path"
    assert "File name too long" in error(command, "x" * 300)
    assert sorted(places.rglob("*")) == before


@pytest.mark.parametrize("command", FOLDERS)
def test_a_file_is_no_folder(command: str, places: Path) -> None:
    assert error(command, "file") == "file: is a file, not a folder; name another folder"
    if command in FRESH:
        assert error(command, "full") == "full: is not empty; name another folder"


@pytest.mark.parametrize("command", [*FILES, "compare --report", "export --out"])
def test_a_folder_is_no_file(command: str, places: Path) -> None:
    assert error(command, "full") == "full: is a folder; name a file"
    if command == "explain --next":
        assert error(command, "file") == "file: exists already; name another file"


def test_looking_leaves_no_folder_behind_and_a_file_as_it_was(places: Path) -> None:
    refuse_folder(places / "a" / "b" / "c", fresh=True)
    assert not (places / "a").exists()
    CliRunner().invoke(group, ["table", "nosuch", "--out", "file"])
    assert (places / "file").read_text() == "mine"


@pytest.mark.parametrize("command", ["run nosuch.yaml --local", "import nosuch.txt"])
def test_results_that_cannot_be_made_here_are_refused_too(command: str, places: Path) -> None:
    (places / "results").write_text("mine")
    Path("nosuch.yaml").write_text("experiment: x\nmeasure: {netperf: {seconds: 1}}\n")
    done = CliRunner().invoke(group, command.split())
    assert "results is a file, not a folder; name another place" in str(done.exception)
