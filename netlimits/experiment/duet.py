"""A duet: two experiments as one, whose runs are interleaved in the same blocks.

Drift affects both sides alike. The sides differ in settings, options, programs or machines. They
have the same roles, tools, factors and repetition. Configurations are matched by their factors.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping

from netlimits.errors import DocumentError, InputError
from netlimits.experiment import resolution, templates
from netlimits.experiment.around_schema import PROFILE
from netlimits.experiment.configurations import Configuration, Configurations, cell, identity
from netlimits.experiment.schema import ROLE
from netlimits.model import SIDE, SIDES, Experiment, Machine, Scalar

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")

Roles = Mapping[str, str]
"""Role -> its name on the second side, for roles that another machine plays there."""


def names(text: str) -> tuple[str, str]:
    """Return the names of the sides in "before,after". Raises InputError."""
    first, comma, second = (part.strip() for part in text.partition(","))
    if not comma or first == second or not all(map(_NAME.fullmatch, (first, second))):
        raise InputError(
            f"--sides {text}: write two names such as old,new (letters, digits, _ and -, at most "
            "16 characters)"
        )
    return first, second


def duet(
    before: Experiment,
    after: Experiment,
    called: tuple[str, str] = SIDES,
    roles: Roles | None = None,
) -> Experiment:
    """Combine two experiments into a duet. Raises DocumentError if they do not match.

    What both sides share, such as name and repetition, is taken from `before`.
    """
    _refuse(before, after)
    matched = _identities(before).keys() & _identities(after).keys()
    if not matched:
        raise _error(after, _unmatched(before, after), "factors")
    if roles:
        after = _with_roles(after, roles)
    every = {**before.factors}
    for name, values in after.factors.items():
        if name in every:
            both = (*every[name], *values)  # 1, 1.0, "1" and true are different values
            every[name] = tuple({repr(value): value for value in both}.values())
    return dataclasses.replace(
        before,
        roles=tuple(dict.fromkeys((*before.roles, *after.roles))),
        groups={**before.groups, **after.groups},
        factors={SIDE: called, **every},
        exclude=(),
        include=(),
        settings=(*before.settings, *after.settings),
        sides={called[0]: before, called[1]: after},
    )


def other_roles(
    experiment: Experiment,
    machines: Mapping[str, Machine],
    others: Mapping[str, Machine],
    side: str,
) -> dict[str, str]:
    """Return role -> its name such as `after-sender`, if another machine plays it on `side`."""
    renamed: dict[str, str] = {}
    for group, members in (experiment.groups or {r: (r,) for r in experiment.roles}).items():
        if any(machines[member] != others[member] for member in members):
            renamed |= {name: f"{side}-{name}" for name in (group, *members)}
    for name in renamed.values():
        if not re.fullmatch(ROLE, name):
            raise InputError(
                f"{name}: is not a valid role name (at most 32 characters); shorten the side's name"
            )
        if name in experiment.roles or name in experiment.groups:
            raise InputError(
                f"{name}: is a role of the file already; choose other names for the sides"
            )
    return renamed


class Interleaved:
    """The configurations of both sides of a duet; the first side comes first."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.columns = resolution.names(experiment)
        self.parts = {name: Configurations(side) for name, side in experiment.sides.items()}
        self.product = sum(part.product for part in self.parts.values())
        self.removed = tuple(n for part in self.parts.values() for n in part.removed)
        self.errors = [error for part in self.parts.values() for error in part.errors]

    def __len__(self) -> int:
        return sum(map(len, self.parts.values()))

    def __iter__(self) -> Iterator[Configuration]:
        return map(self.configuration, range(len(self)))

    def configuration(self, number: int) -> Configuration:
        (first, ours), (second, theirs) = self.parts.items()
        before = number < len(ours)
        side, part = (first, ours) if before else (second, theirs)
        own = part.configuration(number if before else number - len(ours)).values
        values = {name: side if name == SIDE else own[name] for name in self.columns}
        return Configuration(identity(values), values, ",".join(map(cell, values.values())))


def on_both_sides(experiment: Experiment) -> tuple[int, list[int]]:
    """Return how many configurations both sides have, and how many each side has."""
    each = [_identities(side) for side in experiment.sides.values()]
    common = set.intersection(*(set(values) for values in each))
    return len(common), [len(values) for values in each]


def _identities(experiment: Experiment) -> dict[str, None]:
    """Return the identity of each configuration's factor values, without derived values."""
    listed = Configurations(experiment)
    given = set(resolution.names(experiment)) - set(experiment.derive)
    return {
        identity({name: value for name, value in each.values.items() if name in given}): None
        for each in listed
    }


def _refuse(before: Experiment, after: Experiment) -> None:
    """Raise DocumentError if the runs of two experiments cannot share blocks."""
    for side in (before, after):
        if side.mesh:
            problem = "is a mesh, and a duet has one pair of hosts; use a factor instead"
            raise _error(side, problem, "roles")
        if side.searched:
            problem = "cannot be in a duet, whose sides have the same runs; use a factor instead"
            raise _error(side, problem, "search")
        if SIDE in resolution.names(side):
            problem = "is reserved for the sides of a duet; use another name"
            raise _error(side, problem, "factors", SIDE)
    for what, key, mine, yours in (
        ("roles", "roles", tuple(before.groups.items()), tuple(after.groups.items())),
        ("tools", "measure", sorted(before.measure), sorted(after.measure)),
    ):
        if mine != yours:
            problem = (
                f"the sides have different {what}: {_listed(mine)} and {_listed(yours)}; both "
                "sides of a duet need the same"
            )
            raise _error(after, problem, key)
    ours, theirs = set(resolution.names(before)), set(resolution.names(after))
    if unshared := sorted(ours ^ theirs):
        where = "first" if unshared[0] in ours else "second"
        problem = (
            f"{unshared[0]} is a name of the {where} side only; both sides need the same names"
        )
        raise _error(after, problem, "factors")
    if before.around.get(PROFILE) != after.around.get(PROFILE):
        problem = "differs from the first side's; profile both sides alike"
        raise _error(after, problem, PROFILE)
    repeats = [dataclasses.replace(side.repeat, seed=None) for side in (before, after)]
    if repeats[0] != repeats[1]:
        problem = "differs from the first side's; both sides run equally often, in one order"
        raise _error(after, problem, "repeat")
    if before.repeat.order != "blocked":
        problem = (
            f"{before.repeat.order} has no blocks for both sides to share: "
            "--set 'repeat={order: blocked, replicates: 10}'"
        )
        raise _error(before, problem, "repeat", "order")


def _unmatched(before: Experiment, after: Experiment) -> str:
    """Explain why the sides share no configuration: name the first factor without common values."""
    for name, values in before.factors.items():
        others = after.factors.get(name, values)
        if not {repr(v) for v in values} & {repr(v) for v in others}:
            return (
                f"no configuration is on both sides: {name} is {_words(values)} on the first and "
                f"{_words(others)} on the second; a factor needs common values: write a value "
                "that differs between the sides where it is used, or put all values into one "
                "experiment"
            )
    return "no configuration is on both sides: their factors have no values in common"


def _with_roles(experiment: Experiment, roles: Roles) -> Experiment:
    def named(members: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(roles.get(member, member) for member in members)

    around = dict(experiment.around)
    for part in ("trace", PROFILE):
        if part in around:
            around[part] = {**around[part], "roles": list(named(tuple(around[part]["roles"])))}
    return dataclasses.replace(
        experiment,
        roles=named(experiment.roles),
        groups={roles.get(g, g): named(members) for g, members in experiment.groups.items()},
        settings=tuple(
            dataclasses.replace(use, roles=named(use.roles)) for use in experiment.settings
        ),
        around=around,
    )


def _listed(parts: object) -> str:
    if isinstance(parts, list):
        return ", ".join(map(str, parts))
    assert isinstance(parts, tuple)
    return ", ".join(
        f"{group}: {len(members)}" if members != (group,) else group for group, members in parts
    )


def _words(values: tuple[Scalar, ...]) -> str:
    return ", ".join(map(templates.written, values))


def _error(side: Experiment, problem: str, *key: str) -> DocumentError:
    return resolution.source(side).error(problem, *key)
