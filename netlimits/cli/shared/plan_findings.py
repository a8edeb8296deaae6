"""What `plan`, `check` and `run` say beside a file's errors: what else of its plan will not do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from netlimits.errors import DocumentError, InputError

LARGE = 10_000
"""Configurations from which on a plan is only counted and streamed."""


@contextmanager
def findings_beside(
    path: Path, overrides: Sequence[tuple[str, str]], hosts_file: Path | None = None
) -> Iterator[None]:
    """Note them on an error of the file, behind which they are printed."""
    try:
        yield
    except DocumentError as error:
        if error.path == path:
            with suppress(DocumentError):  # what the errors leave may lack something
                for line in _lines(path, overrides, hosts_file):
                    error.add_note(line)
        raise


def _lines(
    path: Path, overrides: Sequence[tuple[str, str]], hosts_file: Path | None
) -> Iterator[str]:
    """The findings on what the file's errors leave; configurations may differ by the rest."""
    from netlimits.checks.survey import foreseen, packets, repetitions
    from netlimits.experiment.hosts_file import machines
    from netlimits.experiment.validation.partial_plan import rest

    left = rest(path, overrides)
    if left is None or len(left[0].configurations) > LARGE:
        return
    plan, whole = left
    try:
        bound = machines(hosts_file, plan.experiment.roles) if hosts_file else None
    except InputError:
        bound = None  # its own errors are told where it is read
    for finding in foreseen(plan, bound) if whole else packets(plan, bound):
        if finding.check != repetitions.NAME:
            yield f"{finding.severity}: {finding}"
