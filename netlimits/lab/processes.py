"""Processes of a lab that run on by themselves, recognized by their file and their namespace."""

from __future__ import annotations

import os
from pathlib import Path

from netlimits.lab.layout import NAMESPACES


def running(file: Path, space: str) -> int | None:
    """The process that the file names, if it is in that network namespace; None if not."""
    try:
        pid = int(file.read_text())
        own = Path(f"/proc/{pid}/ns/net").stat()
        return pid if os.path.samestat(own, (NAMESPACES / space).stat()) else None
    except (OSError, ValueError):
        return None
