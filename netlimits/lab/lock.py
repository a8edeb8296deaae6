"""One command at a time for each lab, and one at a time that chooses networks for a lab.

What is locked is a folder: a lab's own, or the one of all labs.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netlimits.errors import LabError
from netlimits.lab.layout import LABS

_PATIENCE = 30.0
_LAB_PATIENCE = 600.0
"""Seconds; machines may take long to boot."""


@contextmanager
def locked(name: str = "") -> Iterator[None]:
    """Hold a lab, or without `name` what all labs share. Raises LabError.

    Folders are made if need be, and removed if empty.
    """
    folder = LABS / name
    descriptor = _held(folder, name)
    try:
        yield
    finally:
        with suppress(OSError):
            if folder.exists():
                folder.rmdir()
            if folder != LABS:
                LABS.rmdir()
            LABS.parent.rmdir()
        os.close(descriptor)


def _held(folder: Path, name: str) -> int:
    """A descriptor of the folder that holds the lock; the programs we start inherit it."""
    patience = _LAB_PATIENCE if name else _PATIENCE
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        for parent in (LABS.parent, LABS, folder):
            _make_folder(parent)
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever held it before may have removed the folder since.
                if os.path.samestat(os.fstat(descriptor), folder.stat()):
                    os.set_inheritable(descriptor, True)
                    return descriptor
            except BlockingIOError:
                pass
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        time.sleep(0.02)
    which = f" with lab {name}" if name else ""
    raise LabError(f"another `netlimits lab` command has been at work{which} for {patience:g} s")


def _make_folder(folder: Path) -> None:
    with suppress(FileExistsError, FileNotFoundError):
        folder.mkdir()
        folder.chmod(0o755)
