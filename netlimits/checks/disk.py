"""Free disk space: on the hosts for their saved state, and on this machine for the results."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.model import Command
from netlimits.model.state_folder import FOLDER

LEAST_KIB = 256
"""Minimum free KiB on a host; less is an error. Saved state and a guard take a few KiB each."""

SOME_KIB = 10 * 1024
"""Minimum free KiB on a host without a warning."""
RUN_BYTES = 50_000
"""Disk space for a run of netperf with both ends' evidence; a run of `quickstart` took 46 kB."""

_DF = FOLDER + 'while [ ! -d "$d" ]; do d=$(dirname "$d"); done; df -Pk "$d" "${TMPDIR:-/tmp}"'


class Disk(Check):
    name = "disk"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        return (Command(("sh", "-c", _DF), deadline=10),)

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        folders = list(free(completed[0].stdout))
        for where, kib in folders:
            if kib < SOME_KIB:
                yield Finding(
                    role,
                    self.name,
                    "error" if kib < LEAST_KIB else "warning",
                    f"{kib} KiB are free on {where}",
                    "free some space: netlimits writes what it found there before it changes it",
                )
        if not folders:
            yield self.warning(role, "`df` does not show how much is free")
        elif all(kib >= SOME_KIB for _, kib in folders):
            least = min(folders, key=lambda folder: folder[1])
            yield self.note(role, f"{least[1] >> 10} MiB are free on {least[0]}")


def free(stdout: str) -> Iterator[tuple[str, int]]:
    """Yield (mount point, free KiB) from the output of `df -Pk`; each mount point once."""
    lines = (
        re.fullmatch(r"\S+(?: \S+)*?\s+\d+\s+\d+\s+(-?\d{1,15})\s+\S+\s+(/.*)", line)
        for line in stdout.splitlines()
    )
    yield from {match[2]: max(0, int(match[1])) for match in lines if match}.items()


def here(folder: Path, runs: int) -> Finding:
    """Return a finding about `folder`: if it can be written to, and has space for `runs` runs."""
    place = folder.absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Finding("", "results", "error", f"{place}: {error.strerror}", "choose another --out")
    if not os.access(place, os.W_OK | os.X_OK):
        advice = "go to a folder of yours, or name one with `run --out`"
        return Finding("", "results", "error", f"{place} cannot be written to", advice)
    needed = runs * RUN_BYTES
    if free < needed:
        return Finding(
            "",
            "results",
            "warning",
            f"{free >> 10:,} KiB are free in {place}; {runs} runs may take {needed >> 10:,} KiB",
            "make room, or name a folder elsewhere with `run --out`",
        )
    return Finding("", "results", "note", f"{free >> 20} MiB are free in {place}")
