"""An experiment file, read and checked: YAML in, `Experiment` out, or an error with its line.

The text becomes data with lines (document), `--set` changes it (overrides), its shape (validation)
and its names (semantics) are checked. What depends on the configurations, such as an `exclude` that
removes nothing, is checked where they are made (plan).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netlimits.experiment import document
from netlimits.experiment.document import Document
from netlimits.experiment.expressions import shown
from netlimits.experiment.overrides import apply
from netlimits.experiment.resolution import raise_all
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
    wrong = shape_errors(data, where)
    damaged = {error.key.removeprefix("--set ").partition(".")[0] for error in wrong}
    reader = Reader(data, where, read.text, damaged - {""})
    experiment = reader.experiment(archived=archived)
    raise_all([*wrong, *reader.names.errors])
    return experiment
