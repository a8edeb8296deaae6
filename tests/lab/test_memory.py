"""Whether machines fit, as this machine's and its control groups' files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.errors import LabError
from netlimits.lab import guests
from netlimits.lab.guests import memory
from netlimits.lab.guests.qemu import OVERHEAD
from netlimits.lab.layout import Guest

MIB = 2**20


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8 GiB available, in the group /outer/inner, without limits."""
    groups = tmp_path / "cgroup"
    (groups / "outer" / "inner").mkdir(parents=True)
    (tmp_path / "meminfo").write_text("MemTotal: 9999999 kB\nMemAvailable:    8388608 kB\n")
    (tmp_path / "own").write_text("1:cpu:/other\n0::/outer/inner\n")
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(memory, "_GROUPS", groups)
    return groups


def limited(group: Path, most: str, used: int) -> None:
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{used}\n")


def fits(hosts: int, size: int) -> bool:
    try:
        memory.check(hosts, Guest(memory=size))
    except LabError:
        return False
    return True


def test_all_machines_together_fit_into_what_is_available(machine: Path) -> None:
    size = 8192 // 2 - OVERHEAD
    assert fits(2, size)
    assert not fits(2, size + 1)
    with pytest.raises(
        LabError, match=r"3 machines of 4096 MiB need \d+ MiB and 8192 MiB are free"
    ):
        memory.check(3, Guest(memory=4096))


@pytest.mark.parametrize("group", ["outer", "outer/inner"])
def test_the_least_that_any_group_above_leaves_counts(machine: Path, group: str) -> None:
    limited(machine / "outer", "max", 0)
    limited(machine / "outer" / "inner", "max", 0)
    assert fits(1, 2048)
    limited(machine / group, str(2048 * MIB), 1024 * MIB)
    assert fits(1, 1024 - OVERHEAD)
    assert not fits(1, 1025 - OVERHEAD)


def test_what_files_take_of_a_group_is_free(machine: Path) -> None:
    limited(machine / "outer", str(2048 * MIB), 1792 * MIB)
    assert not fits(1, 1024 - OVERHEAD)
    (machine / "outer" / "memory.stat").write_text(
        f"anon {1024 * MIB}\ninactive_file {512 * MIB}\nactive_file {128 * MIB}\n"
        f"slab_reclaimable {128 * MIB}\nslab {200 * MIB}\n"
    )
    assert fits(1, 1024 - OVERHEAD)
    assert not fits(1, 1025 - OVERHEAD)


def test_what_cannot_be_is_refused_before_an_image_is_made(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guests.network, "check", lambda: None)
    monkeypatch.setattr(guests, "image", lambda *_: pytest.fail("an image was made"))
    with pytest.raises(LabError, match="fewer --hosts, or less --memory"):
        guests.prepared(3, Guest(memory=4096), print)


def test_a_machine_that_tells_nothing_is_not_refused(machine: Path) -> None:
    memory._MEMORY.write_text("MemTotal: 1 kB\n")
    memory._OWN_GROUP.unlink()
    assert fits(100, 10**6)
