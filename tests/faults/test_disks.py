"""Disks that are full, and folders that may not be written to or that are gone."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from faults.ground import Ground, statuses, wait

pytestmark = pytest.mark.lab

CHANGING = """\
experiment: disks
factors: {offload: [on, off]}
settings:
  - roles: [sender, receiver]
    mtu: 1400
    offload: {tso: "${offload}"}
measure:
  netperf: {seconds: 1, test: TCP_RR}
repeat: {replicates: 2, order: listed}
"""
"""A stream that is held in mid-send ends at once."""


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """A file system without a byte of room left."""
    filler = folder / "filler"
    with filler.open("wb", 0) as file:
        for size in (65536, 512, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass
        with pytest.raises(OSError, match="No space left"):
            file.write(b"0")
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def full_run(ground: Ground, host: str) -> Iterator[None]:
    """The host's /run, where notes, guards and claims lie, without a page of room left."""
    ground.on(host, "mount", "-o", "remount,size=256k", "/run")
    ground.on(host, "sh", "-c", "cat /dev/zero >/run/filler 2>/dev/null || true")
    try:
        yield
    finally:
        ground.on(host, "rm", "-f", "/run/filler")
        ground.on(host, "mount", "-o", "remount,size=50%", "/run")


def one_line(printed: str) -> str:
    """What is said last, when it is one line beside progress and warnings."""
    lines = [line for line in printed.splitlines() if line.startswith("netlimits: ")]
    assert len(lines) == 1, printed
    return lines[0]


def test_a_hosts_disk_is_full_before_the_campaign(ground):
    out = ground.folder / "out"
    with full_run(ground, "receiver"):
        line = one_line(ground.ended(ground.campaign(CHANGING, out), 2))
    assert "receiver: " in line
    assert "/run" in line
    assert not out.exists()
    ground.hosts_are_as_found()


def test_a_hosts_disk_is_full_in_mid_campaign(ground):
    """Of a guard whose patience is short, each run is to be told to the host."""
    out = ground.folder / "out"
    once = CHANGING.replace("replicates: 2", "replicates: 1")
    process = ground.campaign(once, out, "--guard", "10s")
    with ExitStack() as stack:
        with ground.held(process, out):
            stack.enter_context(full_run(ground, "receiver"))
        line = one_line(ground.ended(process, 1))
        assert ground.leaves() == ground.original, "it is put back although nothing can be written"
    assert "receiver: its guard's `renew` failed" in line
    assert "No space left" in line
    assert f"netlimits resume {out}" in line
    assert all(status == "ok" for _, _, status, _ in ground.settled(out))


@pytest.mark.parametrize(
    ("guard", "failing"),
    [
        ("5m", "its guard's `arm` failed: "),
        ("off", "a note of its original settings cannot be written there: "),
    ],
)
def test_a_change_that_a_full_disk_cannot_write_down_is_not_made(ground, guard, failing):
    """And what the disk took of it goes: nothing of ours is left there."""
    out = ground.folder / "out"
    once = CHANGING.replace("replicates: 2", "replicates: 1")
    process = ground.campaign(once, out, "--guard", guard)
    with ExitStack() as stack:
        with ground.held(process, out):
            assert bool(ground.running(".guard")) == (guard != "off")
            stack.enter_context(full_run(ground, "receiver"))
        printed = ground.ended(process, 1)
        assert ground.leaves() == ground.original
    assert f"run 2 failed: receiver: {failing}" in printed
    assert "No space left" in printed
    rows = ground.settled(out)
    assert statuses(rows) == [(1, 1, "ok"), (2, 1, "failed")], rows


@contextlib.contextmanager
def full_results(out: Path) -> Iterator[None]:
    with filled(out.parent):
        yield


@contextlib.contextmanager
def no_results(out: Path) -> Iterator[None]:
    away = out.with_name("away")
    out.rename(away)
    try:
        yield
    finally:
        away.rename(out)


@contextlib.contextmanager
def read_only_results(out: Path) -> Iterator[None]:
    with mounted(out / "raw", "-o", "ro"):
        yield


BROKEN = (
    (full_results, "No space left on device"),
    (no_results, "No such file or directory"),
    (read_only_results, "Read-only file system"),
)


def test_results_cannot_be_written_any_more(ground):
    """One campaign, which meets all three in turn."""
    disk = ground.folder / "disk"
    with mounted(disk, "-o", "size=4m"):
        out = disk / "out"
        process = ground.campaign(CHANGING, out)
        for number, (broken, why) in enumerate(BROKEN, 1):
            wait(lambda n=number: done(ground, out) >= n, f"{number} runs are done")
            with ExitStack() as stack:
                with ground.held(process, out):
                    stack.enter_context(broken(out))
                line = one_line(ground.ended(process, 1))
                ground.hosts_are_as_found()
            assert line.startswith(f"netlimits: {out}/")
            assert why in line
            assert "; hosts are restored; " in line
            assert f", then continue with: netlimits resume {out}" in line
            process = ground.start("resume", out)
        ground.ended(process)
        rows = ground.settled(out)
    assert statuses(rows) == [
        (1, 1, "ok"),
        (2, 1, "interrupted"), (2, 2, "ok"),
        (3, 1, "interrupted"), (3, 2, "ok"),
        (4, 1, "interrupted"), (4, 2, "ok"),
    ]  # fmt: skip


def done(ground: Ground, out: Path) -> int:
    """How many runs are ok so far."""
    return sum(end["status"] == "ok" for end in ground.ends(out))


def test_results_that_may_not_be_written_from_the_start(ground):
    disk = ground.folder / "disk"
    with mounted(disk, "-o", "ro"):
        printed = ground.ended(ground.campaign(CHANGING, disk / "out"), 2)
        assert "Read-only file system" in one_line(printed)
    ground.hosts_are_as_found()
