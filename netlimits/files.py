"""Files that are there whole or not at all, and that their owner alone can read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def private(path: Path, mode: str = "w", **how: Any) -> Any:
    """A file opened for writing that only its owner can read, whatever the umask."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600), **how)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; moved over it, on disk, once all is well, else removed."""
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield beside
        with beside.open("rb") as file:
            os.fchmod(file.fileno(), 0o600)  # whatever wrote it
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    with whole(path) as beside, private(beside, encoding="utf-8", newline="") as file:
        file.write(text)
