"""Load an experiment file: return an `Experiment`, or raise all errors with their lines.

If parts of a file are invalid, the other parts are still checked, and all errors are reported
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netlimits.errors import DocumentError, raise_all
from netlimits.experiment import document, schema
from netlimits.experiment.document import Document
from netlimits.experiment.expressions import shown
from netlimits.experiment.overrides import apply
from netlimits.experiment.plan import Plan
from netlimits.experiment.validation import plan_errors, unused
from netlimits.experiment.validation.salvage import renamed, salvage
from netlimits.experiment.validation.semantics import Reader
from netlimits.experiment.validation.shape import shape_errors
from netlimits.experiment.violations import LACKS, MISSPELT, UNKNOWN
from netlimits.model import Experiment


def load(path: Path | str, overrides: Sequence[tuple[str, str]] = ()) -> Experiment:
    """Load an experiment to run, with `--set` overrides as (KEY, VALUE) pairs."""
    return _checked(document.load(path, repeated=True), overrides, archived=False)


def sides(
    path: Path | str,
    overrides: Sequence[tuple[str, str]],
    other: Path | str | None,
    changes: Sequence[tuple[str, str]],
) -> tuple[Experiment, Experiment]:
    """Return both sides of a duet: the file, and `other` (or the same file) with `changes`."""
    loaded: list[Experiment] = []
    errors: list[DocumentError] = []
    for file, own in ((path, ()), (other or path, tuple(changes))):
        try:
            loaded.append(load(file, [*overrides, *own]))
            Plan(loaded[-1])
        except DocumentError as error:
            errors += [_against(fault, own) for fault in error.errors]
    raise_all(errors)
    return loaded[0], loaded[1]


def _against(error: DocumentError, changes: Sequence[tuple[str, str]]) -> DocumentError:
    """Return the error; if one of `changes` caused it, name the option `--against`."""
    key, colon, rest = error.key.partition(": ")
    if not any(key == f"--set {text}" for text, _ in changes):
        return error
    named = f"--against {key.removeprefix('--set ')}{colon}{rest}"
    return DocumentError(
        error.problem, path=error.path, line=error.line, key=named, steps=error.steps
    )


def parse(text: str, path: Path | str, overrides: Sequence[tuple[str, str]] = ()) -> Experiment:
    """Parse an archived experiment's text; `path` names it in errors."""
    return _checked(document.parse(text, path, repeated=True), overrides, archived=True)


def _checked(read: Document, changes: Sequence[tuple[str, str]], *, archived: bool) -> Experiment:
    experiment, causes, errors = _read(read, changes, archived=archived)
    if errors:
        raise_all([*errors, *plan_errors.errors(experiment, causes)])
    return experiment


def _read(
    read: Document, changes: Sequence[tuple[str, str]], *, archived: bool
) -> tuple[Experiment, list[DocumentError], list[DocumentError]]:
    """Return the experiment, the errors that may have caused others, and all errors."""
    data, where = apply(read, changes)
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else shown(data)
        raise where.error(f"an experiment is a mapping (experiment: NAME …), not {kind}")
    machines = [part for name, part in data.items() if name != "ssh_config"]
    if machines and all(isinstance(part, dict) and "ssh" in part for part in machines):
        raise where.error("is a hosts file: name it with --hosts, after an experiment")
    data, where, misspelt = renamed(data, where)
    errors = shape_errors(data, where)
    unknown = data.keys() - schema.structure()["properties"].keys()
    if unknown:  # a key that seems to be missing may only be misspelt
        errors = [error for error in errors if error.steps]
    salvaged = salvage(data, errors, read.replaced)
    reader = Reader(salvaged, where, read.text)
    experiment = reader.experiment()
    errors += [error for error in reader.names.errors if not salvaged.follows(error)]
    useless = [] if archived else unused.errors(experiment, data, where, reader.names)
    mine = [each for each in (*misspelt, *errors) if each.problem.startswith(UNKNOWN)]
    if any(
        each.steps[:1] not in (("repeat",), ("report",)) for each in mine
    ):  # the value of a misspelt key may use a factor
        useless = [error for error in useless if not error.problem.startswith(unused.UNUSED)]
    harmless = {name for name in unknown if not isinstance(data[name], list | dict)}
    causes = [error for error in (*read.repeated, *errors) if not {*error.steps[:1]} & harmless]
    renamed_to = {each.steps[:-1] for each in errors if each.problem.startswith(MISSPELT)}
    errors = [e for e in errors if e.steps not in renamed_to or not e.problem.startswith(LACKS)]
    return experiment, causes, [*read.repeated, *misspelt, *errors, *useless]
