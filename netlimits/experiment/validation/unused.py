"""Errors for factors without effect: a forgotten `${name}`, or a superfluous name.

Such a factor only repeats runs, although its rows look like results. A list of a
`zip` group may only label the other lists. `dummies` lists factors that may lack an effect.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netlimits.errors import DocumentError, InputError, nearest
from netlimits.experiment import expressions, resolution, templates
from netlimits.experiment.around_schema import AROUND
from netlimits.experiment.document import KeyPath
from netlimits.experiment.overrides import Source
from netlimits.experiment.validation.names import Names
from netlimits.model import Experiment

_TEXTS = frozenset(("derive", "exclude", "dummies"))
"""Sections that use names: if a part of them is invalid, it is unknown which names are unused."""

UNUSED = "nothing uses it"


def errors(
    experiment: Experiment, data: Mapping[str, Any], where: Source, names: Names
) -> list[DocumentError]:
    """Return an error for each name without effect, unless a misspelt name may stand for it."""
    faults: list[DocumentError] = []
    if names.salvaged.any_name or any(cut[0] in _TEXTS for cut in names.salvaged.cuts):
        return faults
    every = resolution.names(experiment)
    meant = {nearest(name, every) for name in names.unknown}
    meant |= {nearest(name, every) for name in names.salvaged.used} - {""}
    dummies = experiment.dummies
    used = effective(experiment, [data.get(part) for part in ("settings", "measure", *AROUND)])
    labels = used | _reported(experiment)
    for name, key, mates in _given(experiment, data):
        if name in dummies or name in meant or "" in meant:
            continue
        if name in used or (name in labels and (used | meant) & mates):
            continue
        faults.append(where.error(_problem(name, experiment), *key))
    for number, name in enumerate(dummies):
        if name not in names.known:
            if not names.may_be(name):
                faults.append(where.error(f"no factor is called {name}", "dummies", number))
        elif name in used:
            problem = f"{name} has an effect: it is no dummy; leave it out here"
            faults.append(where.error(problem, "dummies", number))
    return faults


def effective(experiment: Experiment, options: Sequence[Any]) -> frozenset[str]:
    """Return the names that affect options or conditions, also through derived values."""
    used = set(_looked_up(options))
    if "tool" in resolution.names(experiment):
        used.add("tool")
    for text in (*experiment.exclude, *(use.when for use in experiment.settings if use.when)):
        used |= _needed(text)
    for name, text in reversed(list(experiment.derive.items())):
        if name in used:
            used |= _needed(text)
    return frozenset(used)


def _looked_up(options: Any) -> Iterable[str]:
    for _, text in templates.leaves(options):
        with contextlib.suppress(InputError):  # reported elsewhere
            yield from templates.names(text)


def _needed(text: str) -> frozenset[str]:
    try:
        return expressions.compile(text).names
    except InputError:
        return frozenset()


def _reported(experiment: Experiment) -> frozenset[str]:
    """Return the names that the report shows, and the names from which they are derived."""
    names, every = set(), set(resolution.names(experiment))
    for entry in experiment.report:
        for value in entry.values():
            names |= set(value if isinstance(value, list | dict) else [value]) & every
    for name, text in reversed(list(experiment.derive.items())):
        if name in names:
            names |= _needed(text) & set(experiment.derive)
    return frozenset(names)


def _given(
    experiment: Experiment, data: Mapping[str, Any]
) -> Iterable[tuple[str, KeyPath, frozenset[str]]]:
    """Yield each factor with its key and the other lists of its `zip` group."""
    for name in experiment.factors:
        key: KeyPath = ("search", "of") if name == experiment.searched else ("factors", name)
        yield name, key, frozenset()
    numbered = isinstance(data.get("zip"), list)
    for number, group in enumerate(experiment.zips):
        for name in group if number < len(experiment.zips) - bool(experiment.mesh) else ():
            key = ("zip", number, name) if numbered else ("zip", name)
            yield name, key, frozenset(group) - {name}


def _problem(name: str, experiment: Experiment) -> str:
    through = [label for label, text in experiment.derive.items() if name in _needed(text)]
    only = f"only {' and '.join(through)} need it, and nothing uses that" if through else ""
    return (
        f"{UNUSED}{': ' + only if only else ''}: use ${{{name}}} where it belongs, or, "
        f"if runs are not meant to differ by it, add `dummies: [{name}]`"
    )
