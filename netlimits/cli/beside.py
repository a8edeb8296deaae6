"""What `plan`, `check` and `run` say beside a file's errors: what else of its plan will not do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from netlimits.cli import echo
from netlimits.errors import DocumentError, InputError

LARGE = 10_000
"""Configurations from which on a plan is only counted and streamed."""


@contextmanager
def findings_beside(
    path: Path, overrides: Sequence[tuple[str, str]], hosts_file: Path | None = None
) -> Iterator[None]:
    """Tell them before an error of the file ends the command."""
    try:
        yield
    except DocumentError as error:
        if error.path == path:
            _tell(path, overrides, hosts_file)
        raise


def _tell(path: Path, overrides: Sequence[tuple[str, str]], hosts_file: Path | None) -> None:
    from netlimits.checks.survey import foreseen, packets
    from netlimits.experiment.hosts_file import machines
    from netlimits.experiment.rest import rest

    left = rest(path, overrides)
    if left is None or len(left[0].configurations) > LARGE:
        return
    plan, whole = left
    try:
        bound = machines(hosts_file, plan.experiment.roles) if hosts_file else None
    except InputError:
        bound = None  # its own errors are told where it is read
    for finding in foreseen(plan, bound) if whole else packets(plan, bound):
        echo(f"{finding.severity}: {finding}", err=True)
