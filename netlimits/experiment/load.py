"""An experiment file, read and checked: YAML in, `Experiment` out, or an error with its line.

The text becomes data with lines (document), `--set` changes it (overrides), its shape (validation)
and its names (semantics) are checked. What depends on the configurations, such as an `exclude` that
removes nothing, is checked where they are made (plan); of a file with errors, what these leave of
it (salvage) is checked on, so that all of its errors are told at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netlimits.errors import DocumentError, raise_all
from netlimits.experiment import document, unused
from netlimits.experiment.document import Document
from netlimits.experiment.expressions import shown
from netlimits.experiment.overrides import Source, apply
from netlimits.experiment.plan import Plan
from netlimits.experiment.salvage import salvage
from netlimits.experiment.semantics import Reader
from netlimits.experiment.validation import shape_errors
from netlimits.model import Experiment


def load(path: Path | str, overrides: Sequence[tuple[str, str]] = ()) -> Experiment:
    """The experiment in a file that is to be run, with `--set` overrides as (KEY, VALUE) pairs.

    Raises DocumentError that names file, line (or `--set`) and key, of all that is wrong.
    """
    return _checked(document.load(path), overrides, archived=False)


def parse(text: str, path: Path | str, overrides: Sequence[tuple[str, str]] = ()) -> Experiment:
    """The experiment in a text, such as the archive's; `path` is what errors call it.

    What was run as it is may hold factors without effect, which are an error in a file to be run.
    """
    return _checked(document.parse(text, path), overrides, archived=True)


def _checked(read: Document, changes: Sequence[tuple[str, str]], *, archived: bool) -> Experiment:
    data, where = apply(read, changes)
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else shown(data)
        raise where.error(f"an experiment is a mapping (experiment: NAME …), not {kind}")
    errors = shape_errors(data, where)
    salvaged = salvage(data, errors)
    reader = Reader(salvaged.data, where, read.text, salvaged.damaged)
    experiment = reader.experiment()
    errors += [error for error in reader.names.errors if not salvaged.follows(error)]
    useless = []
    if not archived and not salvaged.damaged & unused.NEEDED:
        useless = unused.errors(experiment, data, where, reader.names.unknown)
    if errors or useless:
        raise_all([*errors, *useless, *_later_errors(data, where, errors)])
    return experiment


_NEEDED = frozenset(("factors", "zip", "derive", "exclude", "measure"))
"""The sections without which nobody knows the configurations."""


def _later_errors(
    data: dict[str, Any], where: Source, errors: Sequence[DocumentError]
) -> list[DocumentError]:
    """The errors that the plan finds, without those that a known error may have caused."""
    salvaged = salvage(data, errors)
    if salvaged.damaged & _NEEDED or "measure" not in salvaged.data:
        return []
    try:
        Plan(Reader(salvaged.data, where, "", salvaged.damaged).experiment()).seconds()
    except DocumentError as error:
        return [later for later in error.errors if not salvaged.follows(later)]
    return []
