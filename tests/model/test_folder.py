"""Nothing in a results folder is opened through a link, and nothing but regular files."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from recorded import recorded

from netlimits.archive import reader
from netlimits.cli import group
from netlimits.errors import NetlimitsError
from netlimits.model.folder import Folder
from netlimits.model.named_file import read_at_most

SECRET = b"somebody else's\n"
FILES = (
    "campaign.json", "experiment.yaml", "plan.csv", "journal.jsonl", "raw/000001-1.jsonl",
    "results.json", "results.csv", "results.parquet", "figures/percentiles-throughput.svg",
)  # fmt: skip
COMMANDS = (
    ("status",), ("table", "--of", "throughput", "--rows", "mtu"), ("parse",), ("resume",),
    ("restore",),
)  # fmt: skip
FIGURES = ("figures", "--of", "throughput", "--format", "svg")


def link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def relative(path: Path, target: Path) -> None:
    path.symlink_to(os.path.relpath(target, path.parent))


def hard(path: Path, target: Path) -> None:
    path.hardlink_to(target)


def pipe(path: Path, target: Path) -> None:
    os.mkfifo(path)


def device(path: Path, target: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero, without an end


def socket_(path: Path, target: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


def folder_(path: Path, target: Path) -> None:
    path.mkdir()


STRANGE = (link, relative, hard, pipe, device, socket_, folder_)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A campaign's folder with everything that can be in one."""
    out = tmp_path_factory.mktemp("whole") / "out"
    campaign = recorded(out)
    campaign.write_results()
    (out / "figures").mkdir()
    (out / FILES[-1]).write_text("old")
    return out


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


def call(command: tuple[str, ...], folder: Path) -> None:
    done = CliRunner().invoke(group, [command[0], str(folder), *command[1:]])
    assert done.exception is None or isinstance(done.exception, SystemExit | NetlimitsError), (
        done.exc_info
    )


@pytest.mark.long
@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none(out, tmp_path, name, strange: Callable[[Path, Path], None]):
    target = tmp_path / "target"
    content = (out / name).read_bytes() if strange is not hard else SECRET
    target.write_bytes(content)  # also what would be read well is not read through a link
    (out / name).unlink()
    strange(out / name, target)
    before = target.stat()
    for command in (FIGURES,) if name.startswith("figures") else COMMANDS:
        call(command, out)
        assert target.read_bytes() == content, command
    after = target.stat()
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)


@pytest.mark.long
@pytest.mark.parametrize("name", ["raw", "figures", "hosts"])
def test_a_folder_that_is_a_link(out, tmp_path, name):
    target = tmp_path / "target"
    (out / name).rename(target)
    (out / name).symlink_to(target, target_is_directory=True)
    before = {path: path.read_bytes() for path in target.iterdir()}
    for command in (*COMMANDS, FIGURES):
        call(command, out)
        assert {path: path.read_bytes() for path in target.iterdir()} == before, command


def test_the_file_beside_that_is_written_first_is_no_link_either(out, tmp_path):
    target = tmp_path / "target"
    target.write_bytes(SECRET)
    for name in ("results.csv", "results.parquet", "results.json"):
        (out / f".{os.getpid()}.{name}").symlink_to(target)
    reader.open(out).write_results()
    assert target.read_bytes() == SECRET
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_the_folder_itself_may_be_a_link(out, tmp_path):
    (tmp_path / "latest").symlink_to(out)
    assert len(reader.open(tmp_path / "latest").frame()) == 4


def test_a_link_is_named_in_the_error(out, tmp_path):
    (tmp_path / "target").write_bytes((out / "journal.jsonl").read_bytes())
    (out / "journal.jsonl").unlink()
    (out / "journal.jsonl").symlink_to(tmp_path / "target")
    with pytest.raises(NetlimitsError, match=r"journal\.jsonl: is a link"):
        reader.open(out)


@pytest.mark.parametrize("name", ["", "..", "../x", "/etc/passwd", "raw/../../x"])
def test_no_name_leaves_the_folder(tmp_path, name):
    with pytest.raises((OSError, ValueError)):
        Folder(tmp_path).read(name, 100)


def test_a_file_is_whole_or_as_it_was(tmp_path):
    folder = Folder(tmp_path)
    folder.write("a", "old")
    with pytest.raises(TypeError), folder.atomic("a") as file:
        file.write("no bytes")
    assert (tmp_path / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_what_a_user_names_is_read_within_bounds_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(100))
    (tmp_path / "link").symlink_to(tmp_path / "large")
    assert len(read_at_most(tmp_path / "link", 9)) == 10
    for name in ("pipe", "none", "."):
        with pytest.raises(OSError, match=r"."):
            read_at_most(tmp_path / name, 9)
    for kernels in ("/proc/kmsg", "/proc/self/mounts", "/dev/zero", "/dev/kmsg"):
        with pytest.raises(OSError, match=r"empty|regular|No such"):
            read_at_most(Path(kernels), 9)


def test_importing_the_kernel_s_log_does_not_wait(tmp_path):
    done = CliRunner().invoke(group, ["import", "/proc/kmsg", "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "left out: kmsg: is empty" in done.output
    assert not (tmp_path / "out").exists()
    assert isinstance(CliRunner().invoke(group, ["plan", "/proc/kmsg"]).exception, NetlimitsError)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["experiment.yaml", "plan.csv", "campaign.json", "results.parquet"]
)
def test_a_file_larger_than_any_of_ours_is_no_hour_of_checksums(tmp_path, name):
    out = tmp_path / "out"
    recorded(out).write_results()
    with (out / name).open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="is larger than"):
        Folder(out).digest(name)
    for command in COMMANDS[:3]:
        error = CliRunner().invoke(group, [command[0], str(out), *command[1:]]).exception
        if name == "results.parquet":  # is made anew where it is of no use
            assert error is None
        elif command != ("status",) or name == "campaign.json":
            assert isinstance(error, NetlimitsError)
            assert f"{out / name}: " in str(error)


def test_a_link_that_is_put_there_between_the_look_and_the_opening_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, name = tmp_path / "secret", tmp_path / "folder" / "journal.jsonl"
    secret.write_bytes(SECRET)
    name.parent.mkdir()
    name.write_bytes(b"")
    look = os.stat

    def swapped(path: object, **how: object) -> os.stat_result:
        about = look(path, **how)
        if path == name.name:
            name.unlink()
            name.symlink_to(secret)
        return about

    monkeypatch.setattr(os, "stat", swapped)
    with pytest.raises(OSError, match="symbolic links"):
        Folder(name.parent).open(name.name, os.O_RDWR)
    assert secret.read_bytes() == SECRET
