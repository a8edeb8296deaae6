"""Remove a lab by its name, even an incomplete one.

The lab's folder is removed last, so that a failed removal can be repeated.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from netlimits.errors import LabError
from netlimits.lab.layout import LABS, NAMESPACE_FILES, lab_of_interface, lab_of_namespace
from netlimits.lab.network import interfaces, namespaces
from netlimits.lab.programs import output

_GRACE = 0.5
_DEADLINE = 60.0


def leftovers() -> set[str]:
    """Return the names of all labs, complete or not, that have a namespace or a folder."""
    names = {lab_of_namespace(space) for space in namespaces()}
    names |= {lab_of_namespace(folder.name) for folder in _entries(NAMESPACE_FILES)}
    names |= {folder.name for folder in _entries(LABS)}
    return {name for name in names if name}


def remove(name: str, keep_folder: bool = False) -> bool:
    """Remove all parts of a lab; return True if there were any.

    With `keep_folder`, the lab's folder is emptied but kept. Raises LabError.
    """
    spaces = [space for space in namespaces() if lab_of_namespace(space) == name]
    folders = [LABS / name]
    folders += [f for f in _entries(NAMESPACE_FILES) if lab_of_namespace(f.name) == name]
    folders = [folder for folder in folders if folder.exists()]
    empty = folders == [LABS / name] and not any((LABS / name).iterdir())
    if not spaces and (not folders or empty):
        return False  # an interface alone is no lab, even if its name matches
    links = [link for link in interfaces() if lab_of_interface(link) == name]
    _end_processes(spaces)
    for link in sorted(links, reverse=True):  # ports before their bridge
        output("ip", "link", "delete", link)
    for space in spaces:
        output("ip", "netns", "delete", space)
    for folder in reversed(folders):
        if keep_folder and folder == LABS / name:
            _empty(folder)
        else:
            shutil.rmtree(folder)
    with suppress(OSError):
        NAMESPACE_FILES.rmdir()
    return True


def _entries(folder: Path) -> list[Path]:
    """Return a folder's entries; another lab's removal may delete the folder at any time."""
    with suppress(OSError):
        return [*folder.iterdir()]
    return []


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _end_processes(spaces: Iterable[str]) -> None:
    """End all processes in the namespaces by SIGTERM, then SIGKILL. Raises LabError."""
    spaces = list(spaces)
    deadline = time.monotonic() + _DEADLINE
    start = time.monotonic()
    while pids := {pid for space in spaces for pid in _processes(space)}:
        if os.getpid() in pids:
            raise LabError("this command itself runs in a host of the lab; leave the host first")
        if time.monotonic() > deadline:
            raise LabError(f"processes {sorted(pids)} in {', '.join(spaces)} do not end")
        for pid in pids:
            with suppress(ProcessLookupError):
                late = time.monotonic() - start >= _GRACE
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        time.sleep(0.03)


def _processes(space: str) -> list[int]:
    return [int(pid) for pid in output("ip", "netns", "pids", space, may_fail=True).split()]
