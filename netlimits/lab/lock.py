"""One lab command at a time: they choose networks that are free, and sweep up after one another."""

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


@contextmanager
def locked() -> Iterator[None]:
    """Hold the folder of all labs, made if need be and removed if empty. Raises LabError."""
    descriptor = _held()
    try:
        yield
    finally:
        with suppress(OSError):
            LABS.rmdir()
            LABS.parent.rmdir()
        os.close(descriptor)


def _held() -> int:
    """A descriptor of LABS that holds the lock; the programs we start inherit it."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        for folder in (LABS.parent, LABS):
            _made(folder)
        with suppress(FileNotFoundError):
            descriptor = os.open(LABS, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever held it before may have removed the folder since.
                if os.path.samestat(os.fstat(descriptor), LABS.stat()):
                    os.set_inheritable(descriptor, True)
                    return descriptor
            except BlockingIOError:
                pass
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        time.sleep(0.02)
    raise LabError(f"another `netlimits lab` command has been at work for {_PATIENCE:g} s")


def _made(folder: Path) -> None:
    with suppress(FileExistsError, FileNotFoundError):
        folder.mkdir()
        folder.chmod(0o755)
