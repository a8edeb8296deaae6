"""Files to import that were changed, cut, or are none: an error, or runs; no traceback."""

from __future__ import annotations

import os
from pathlib import Path

from faults.attacks.archives import CHANGES
from faults.attacks.base import Family, Held

FOLDER = Path(__file__).parents[2] / "captures" / "imports"
CAPTURES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".txt", ".csv"))
KERNELS = (
    "/proc/kmsg",
    "/proc/self/mem",
    "/dev/zero",
    "/dev/tty",
    "/proc/sysrq-trigger",
    "/proc/self/environ",
)


def attack(held: Held) -> str | None:
    path = held.folder / "file"
    if held.chance.random() < 0.1:
        target = held.chance.choice((*KERNELS, "pipe"))
        held.says(target)
        if target == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(target)
    else:
        capture = held.chance.choice(CAPTURES)
        data = capture.read_bytes()
        for _ in range(held.chance.randrange(1, 4)):
            change = held.chance.choice(CHANGES)
            data = change(data, held.chance) if data.strip() else data
            held.says(f"{change.__name__} in {capture.name}")
        path.write_bytes(data)
    out = held.folder / "out"
    printed, through = held.call("import", path, "--out", out)
    if not through and "nothing was imported" in printed and out.exists():
        return "a folder is left"
    if out.exists():
        held.call("status", out)
        printed, through = held.call("parse", out)
        if not through or ", 0 changed" not in printed:
            return f"it is not read again as it was: {printed}"
    return None


FAMILY = Family("imported", attack, weight=3)
