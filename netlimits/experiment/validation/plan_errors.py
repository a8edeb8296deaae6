"""Find the certain errors in the plan of an experiment that has other errors.

Each known error makes part of the plan unknown, and errors that depend on that part are not
reported. Examples: a factor with another error; a configuration that an unknown condition may
remove.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlimits.errors import DocumentError, InputError
from netlimits.experiment import expressions, replicates, schema, templates
from netlimits.experiment.configurations import Configurations
from netlimits.experiment.document import KeyPath
from netlimits.experiment.setups import Setups
from netlimits.experiment.validation.salvage import MORE, cut_option, follows
from netlimits.model import Experiment, Scalar

Lists = Mapping[str, tuple[Scalar, ...]]
_FACTORS: list[KeyPath] = [("factors",)]
_ANY = -1
"""Stands for a condition's number if an unreadable part of the file may contain conditions."""


def errors(experiment: Experiment, known: Iterable[DocumentError]) -> list[DocumentError]:
    """Return further errors of the plan, without errors that may follow from the known errors."""
    known = list(known)
    sure: list[DocumentError] = []
    while True:
        rest = _remains(experiment, [error.steps for error in known if error.steps])
        try:
            configurations = Configurations(rest.experiment)
        except DocumentError as failure:
            before = {error.steps for error in known}
            fresh = [error for error in failure.errors if error.steps not in before]
            if not fresh:
                return sure
            known += fresh
            sure += [error for error in fresh if rest.is_sure(error)]
            continue
        certain = sure + rest.later_errors(configurations)
        keys = {error.steps for error in certain}
        more = _remains(experiment, [error.steps for error in known if error.steps], all_cuts=False)
        return certain + [error for error in more.option_errors() if error.steps not in keys]


@dataclass(frozen=True, slots=True)
class Remains:
    """The experiment without the parts at the keys in `cuts`."""

    experiment: Experiment
    cuts: Sequence[KeyPath]
    partial: frozenset[str]  # names of which some values are missing
    broken: frozenset[int]  # indices in `exclude` of conditions that cannot be evaluated
    conditions: Mapping[int, str]

    def later_errors(self, configurations: Configurations) -> list[DocumentError]:
        """Return the certain errors in conditions, replicates and options."""
        wrong = [*configurations.errors]
        if self.broken and sum(configurations.removed) == configurations.product:
            wrong = []  # a broken condition may be the one that removes the last configuration
        try:
            replicates.per_configuration(self.experiment, configurations)
        except DocumentError as error:
            wrong += error.errors
        wrong = [error for error in wrong if error.steps[0] == "exclude" or not self.broken]
        stays = (lambda number: False) if self.broken else None
        options = Setups(self.experiment, configurations).errors(stays)
        return [error for error in (*wrong, *options) if self.is_sure(error, expanded=True)]

    def option_errors(self) -> list[DocumentError]:
        """Return the errors in options of configurations that no unknown condition can remove."""
        if not self.broken or _ANY in self.broken:
            return []
        try:
            configurations = Configurations(self.experiment)
        except DocumentError:
            return []
        texts = [text for number, text in self.conditions.items() if number in self.broken]

        def stays(number: int) -> bool:
            values = configurations.configuration(number).values
            removable = any(_may_remove(text, values) for text in texts)
            return configurations.is_included(number) or not removable

        errors = Setups(self.experiment, configurations).errors(stays)
        return [error for error in errors if self.is_sure(error, expanded=True)]

    def is_sure(self, error: DocumentError, *, expanded: bool = False) -> bool:
        """Return True if an error of the plan remains for any valid replacement of the cuts."""
        if follows(error, self.cuts):
            return False
        section, *steps = error.steps
        if section == "exclude":
            number = int(steps[0])
            if number in self.broken if expanded else min(self.broken, default=number) < number:
                return False
            texts = self.experiment.exclude[: number + 1] if expanded else ()
            return not any(_names(text) & self.partial for text in texts)
        return True


def _remains(
    experiment: Experiment,
    cuts: Sequence[KeyPath],
    unsure: frozenset[str] = frozenset(),
    *,
    all_cuts: bool = True,
) -> Remains:
    """Return the part of the experiment that the cuts leave; `unsure` names count as unknown."""
    sections = schema.structure()["properties"]
    lists: list[tuple[Lists, list[KeyPath]]] = [
        *(({name: values}, _FACTORS) for name, values in experiment.factors.items()),
        *((group, [("zip",), ("zip", n)]) for n, group in enumerate(experiment.zips)),
    ]
    partial: set[str] = set()
    left: list[Lists] = []
    for group, places in lists:
        rows = _rows(group, places, cuts)
        left.append({} if unsure & set(group) else rows)
        if any(len(values) < len(group[name]) for name, values in rows.items()):
            partial |= set(group)
    known = {name for group in left for name in group}
    unknown = any(not group for group in left)
    for cut in cuts:
        values = experiment.factors.get(str(cut[-1]), ()) if cut[0] == "factors" else ()
        known_in_part = any(value is MORE for value in values)
        one_value = len(cut) > 2 and isinstance(cut[-1], int)
        takes = cut[0] not in sections or (cut[0] in ("factors", "zip") and not one_value)
        unknown |= takes and not known_in_part
    derive = {}
    for name, text in experiment.derive.items():
        if ("derive", name) not in cuts and _names(text) <= known:
            known.add(name)
            derive[name] = text
            partial |= {name} if _names(text) & partial else set()
    bad = {int(cut[1]) for cut in cuts if cut[0] == "exclude" and cut[1:]}
    bad |= {number for number, text in enumerate(experiment.exclude) if _names(text) - known}
    broken = bad | {_ANY for cut in cuts if cut[0] not in sections or cut == ("exclude",)}
    # broken conditions may remove all known values of `partial` names
    if all_cuts and partial and broken and not unsure:
        return _remains(experiment, cuts, frozenset(partial))
    added = min((int(cut[1]) for cut in cuts if cut[0] == "include" and cut[1:]), default=None)
    count = len(experiment.factors)
    repeat = experiment.repeat
    if repeat.replicates_by and repeat.replicates_by not in known:
        repeat = dataclasses.replace(repeat, replicates_by="")
    options, more_cuts = _options(experiment, known, cuts)
    rest = dataclasses.replace(
        experiment,
        factors={name: values for group in left[:count] for name, values in group.items()},
        zips=tuple(group for group in left[count:] if group),
        derive=derive,
        exclude=tuple(
            "false" if number in bad else text for number, text in enumerate(experiment.exclude)
        ),
        include=() if unknown else experiment.include[:added],
        settings=tuple(
            dataclasses.replace(use, options=options["settings"][use.entry][use.name])
            for use in experiment.settings
            if use.name in options["settings"].get(use.entry, {})
            and ("settings", use.entry, schema.WHEN) not in cuts
            and (not use.when or _names(use.when) <= known)
        ),
        measure=options.get("measure", {}),
        around={name: options[name] for name in experiment.around if name in options},
        repeat=repeat,
    )
    conditions = dict(enumerate(experiment.exclude))
    return Remains(rest, (*cuts, *more_cuts), frozenset(partial), frozenset(broken), conditions)


def _rows(group: Lists, places: Iterable[KeyPath], cuts: Iterable[KeyPath]) -> Lists:
    """Return the rows of lists without the rows in cuts; no rows if a whole list is cut."""
    gone = set()
    for place in places:
        for cut in cuts:
            name, *row = cut[len(place) :] or ("",)
            if cut[: len(place)] != place or (name and name not in group):
                continue
            more = [at for at, value in enumerate(group.get(str(name), ())) if value is MORE]
            if not row and not more:
                return {}
            gone |= {*row[:1], *more}
    length = len(next(iter(group.values()), ()))
    rows = [number for number in range(length) if number not in gone]
    if not rows or any(len(values) != length for values in group.values()):
        return {}
    return {name: tuple(values[number] for number in rows) for name, values in group.items()}


def _options(
    experiment: Experiment, known: set[str], cuts: Iterable[KeyPath]
) -> tuple[dict[str, Any], list[KeyPath]]:
    """Return the options that are left, and the keys that refer to unknown names.

    Keys in `cuts` and keys that refer to unknown names are left out.
    """
    settings: dict[int, dict[str, Any]] = {}
    for use in experiment.settings:
        settings.setdefault(use.entry, {})[use.name] = use.options
    options: dict[Any, Any] = copy.deepcopy(
        {"settings": settings, "measure": dict(experiment.measure), **experiment.around}
    )
    more = [place for place, text in templates.leaves(options) if not _lookups(text) <= known]
    for section, *steps in (*cuts, *more):
        if section != "settings":
            cut_option(options, (section, *steps))
        elif steps[1:]:
            cut_option(options["settings"].get(steps[0], {}), tuple(steps[1:]))
    several = len(experiment.measure) > 1 and "tool" not in known
    if several or any(cut[0] == "measure" and len(cut) == 1 for cut in cuts):
        options["measure"] = {}
    return options, more


def _lookups(text: str) -> frozenset[str]:
    """Return the names that a text looks up, or an impossible name if it cannot be parsed."""
    with contextlib.suppress(InputError):
        return frozenset(templates.names(text))
    return frozenset([""])


def _names(text: str) -> frozenset[str]:
    """Return the names in a condition, or an impossible name if it cannot be parsed."""
    with contextlib.suppress(InputError):
        return expressions.compile(text).names
    return frozenset([""])


def _may_remove(text: str, values: Mapping[str, Scalar]) -> bool:
    """Return True if a condition may hold for a configuration once its errors are corrected."""
    return all(_may_hold(part, values) for part in _parts(text))


def _may_hold(part: str, values: Mapping[str, Scalar]) -> bool:
    try:
        condition = expressions.compile(part)
        return not condition.names <= values.keys() or condition.holds(values)
    except InputError:
        return True


def _parts(text: str) -> Iterator[str]:
    """Yield the operands of `and`, or the whole text if it has brackets or other operators."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", lambda quoted: "'" * len(quoted[0]), text)
    if re.search(r"\b(?:or|if|else|not)\b|[()\[\]]", bare):
        yield text
        return
    begin = 0
    for word in re.finditer(r"\band\b", bare):
        yield text[begin : word.start()].strip()
        begin = word.end()
    yield text[begin:].strip()
