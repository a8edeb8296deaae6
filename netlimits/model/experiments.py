"""What an experiment file says, as frozen values: settings, repeats, a mesh, and all of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from netlimits.model.values import Scalar, Values

SIDE, SIDES = "side", ("before", "after")
"""The factor that tells the sides of a duet apart, and what these are called unless named."""

Ends = Mapping[str, tuple[str, ...]]
"""`local` -> the client's role, `remote` -> the roles of the servers: one, or several sinks."""


@dataclass(frozen=True, slots=True)
class SettingUse:
    """One setting of `settings:`: `name`, on `roles`, with options still unresolved.

    `entry` is the item of the list that it stands in, from 0, and `when` the condition under which
    it is set, "" for always.
    """

    name: str
    roles: tuple[str, ...]
    options: Any
    line: int
    entry: int = 0
    when: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often, in which order. `runs` only for `coin-flips`, `replicates` for the others.

    `replicates_by` is the factor or derived value that holds each configuration's own number.
    """

    replicates: int = 1
    order: Literal["blocked", "shuffled", "listed", "coin-flips"] = "blocked"
    seed: int | None = None
    runs: int | None = None
    replicates_by: str = ""


@dataclass(frozen=True, slots=True)
class Mesh:
    """Many hosts and the pairs of them that measure, (sender, receiver); `shape` names these.

    Each pair is a value of the factors SENDER and RECEIVER.
    """

    SENDER: ClassVar[str] = "sender"
    RECEIVER: ClassVar[str] = "receiver"

    hosts: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    shape: str

    def among(self, hosts: Collection[str]) -> Mesh:
        """The same with the pairs alone of which both ends are among these hosts."""
        pairs = ((a, b) for a, b in self.pairs if a in hosts and b in hosts)
        return dataclasses.replace(self, pairs=tuple(pairs))


@dataclass(frozen=True, slots=True)
class Experiment:
    """What an experiment file says, checked, with `${…}` still unresolved in settings and measure.

    `factors` and each group of `zips` map a name to its values, in the file's order; `dummies` are
    names that are to change nothing. `derive` maps a name to an expression, in an order that can
    be evaluated. `measure` maps a tool's name to its options; `unchosen` names those in the file
    that no value of the factor `tool` chooses; `around` holds `streams`, `pace`, `bulk` and the
    like as written. `roles` are those of single machines; `groups` maps each role as written to
    them (`sinks: 2` is `sinks-1`, `sinks-2`). `text` is the file to the letter and `overrides`
    what `--set` changed, as (key, value as written): the two together make the experiment again.

    A duet (experiment.duet) has `sides`: the experiments whose runs are interleaved, by the values
    of the factor `side`. What a configuration sets and measures is then its side's.

    A `mesh` has its hosts as roles, and its pairs among `zips`.
    """

    name: str
    path: Path
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    question: str = ""
    source: str = ""
    roles: tuple[str, ...] = ("sender", "receiver")
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    factors: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    zips: tuple[Mapping[str, tuple[Scalar, ...]], ...] = ()
    dummies: tuple[str, ...] = ()
    derive: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    include: tuple[Values, ...] = ()
    settings: tuple[SettingUse, ...] = ()
    measure: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unchosen: tuple[str, ...] = ()
    around: Mapping[str, Any] = field(default_factory=dict)
    repeat: Repeat = Repeat()
    report: tuple[Mapping[str, Any], ...] = ()
    lines: Mapping[tuple[str | int, ...], int] = field(default_factory=dict)
    sides: Mapping[str, Experiment] = field(default_factory=dict)
    mesh: Mesh | None = None

    def ends_of(self, values: Values) -> Ends:
        """Who runs the client in a configuration, and who its servers."""
        if self.mesh:
            sender, receiver = (str(values[end]) for end in (Mesh.SENDER, Mesh.RECEIVER))
            return {"local": (sender,), "remote": (receiver,)}
        return self.of(values).ends

    @property
    def derived(self) -> frozenset[str]:
        """The names that follow from the factors, on either side of a duet."""
        return frozenset(name for side in self.sides.values() or [self] for name in side.derive)

    def of(self, values: Values) -> Experiment:
        """The side that a configuration is of; this one, where there are none."""
        return self.sides[str(values[SIDE])] if self.sides else self

    @property
    def other_names(self) -> dict[str, str]:
        """Each role and group of a duet that has another name on its second side, and that name."""
        if not self.sides:
            return {}
        first, second = self.sides.values()
        mine, yours = (*first.roles, *first.groups), (*second.roles, *second.groups)
        return {a: b for a, b in zip(mine, yours, strict=True) if a != b}

    @property
    def ends(self) -> Ends:
        """Who runs the tool's client, and who its servers: the first role, and the last.

        Of a duet those of its first side, of a mesh those of its first pair.
        """
        if self.mesh:
            sender, receiver = self.mesh.pairs[0]
            return {"local": (sender,), "remote": (receiver,)}
        if self.sides:
            return next(iter(self.sides.values())).ends
        groups = list(self.groups.values()) or [(role,) for role in self.roles]
        return {"local": groups[0], "remote": groups[-1]}

    @property
    def all_ends(self) -> Ends:
        """The same of every configuration: of a mesh all its senders, and all its receivers."""
        if not self.mesh:
            return self.ends
        senders, receivers = (
            tuple(dict.fromkeys(end)) for end in zip(*self.mesh.pairs, strict=True)
        )
        return {"local": senders, "remote": receivers}
