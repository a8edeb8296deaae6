"""Links, pipes and devices under the names of a folder's files: nothing is opened through one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from faults.attacks.base import Family, Held

NAMES = (
    "campaign.json", "experiment.yaml", "plan.csv", "journal.jsonl", "raw", "raw/000002-1.jsonl",
    "hosts", "hosts/source.json", "results.json", "results.csv", "results.parquet", "figures",
    "figures/percentiles-throughput.svg", f".{os.getpid()}.results.csv",
    f".{os.getpid()}.results.parquet", f".{os.getpid()}.results.json", ".",
)  # fmt: skip
COMMANDS = (
    ("status",), ("status", "--guards"), ("table", "--of", "throughput", "--rows", "mtu"),
    ("parse",), ("resume",), ("restore",), ("restore", "--yes"),
    ("figures", "--of", "throughput", "--format", "svg"),
)  # fmt: skip


def attack(held: Held) -> str | None:
    out = held.campaign()
    victim = held.folder / "victim"
    victim.mkdir()
    name, kind = held.chance.choice(NAMES[:-1]), held.chance.choice(KINDS)
    path = out / name
    path.parent.mkdir(exist_ok=True)
    inside = victim / "file"
    if path.is_dir():
        path.rename(victim / "folder")
        kind, inside = "link", victim / "folder"
    else:
        inside.write_bytes(path.read_bytes() if path.exists() else b"somebody's\n")
        path.unlink(missing_ok=True)
    held.says(f"{name} is a {kind}")
    _planted(path, kind, inside)
    before = _everything(victim)
    for command in held.chance.sample(COMMANDS, 4):
        held.says(" ".join(command))
        held.call(command[0], out, *command[1:])
        if _everything(victim) != before:
            return f"{command} wrote to somebody else's file"
    return None


KINDS = ("link", "relative link", "hard link", "pipe", "device", "socket", "folder", "dangling")


def _planted(path: Path, kind: str, target: Path) -> None:
    if kind == "link":
        path.symlink_to(target)
    elif kind == "relative link":
        path.symlink_to(os.path.relpath(target, path.parent))
    elif kind == "hard link":
        path.hardlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target.parent / "new")


def _everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file under a folder, with its mode and bytes."""
    return {
        str(path): (path.stat().st_mode, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


FAMILY = Family("folders", attack, weight=4)
