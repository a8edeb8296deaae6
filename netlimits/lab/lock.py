"""Lock a lab's folder during a command, or the folder of all labs to choose networks."""

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
"""Seconds to wait for a lab's lock: machines may take long to boot."""


@contextmanager
def locked(name: str = "") -> Iterator[None]:
    """Hold the lock of the lab `name`; without a name, the lock of all labs. Raises LabError."""
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
    """Lock the folder; return the descriptor of the lock, which child processes inherit."""
    patience = _LAB_PATIENCE if name else _PATIENCE
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        for parent in (LABS.parent, LABS, folder):
            _make_folder(parent)
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # the previous holder may have removed the folder meanwhile
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
    raise LabError(
        f"another `netlimits lab` command has been running{which} for {patience:g} s; try again "
        "when it has ended"
    )


def _make_folder(folder: Path) -> None:
    with suppress(FileExistsError, FileNotFoundError):
        folder.mkdir()
        folder.chmod(0o755)
