"""The immutable data types into which an experiment file is parsed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

Scalar = bool | int | float | str | None
Values = Mapping[str, Scalar]
"""Name of a factor or derived value -> its value in one configuration."""

Family = Literal["ipv4", "ipv6"]

SIDE, SIDES = "side", ("before", "after")
"""Name of the factor for the sides of a duet, and the default names of the two sides."""

Ends = Mapping[str, tuple[str, ...]]
"""`local` -> the client's role, `remote` -> the servers' roles (several if there are sinks)."""


@dataclass(frozen=True, slots=True)
class SettingUse:
    """A setting in `settings:`, named `name`, for the machines of `roles`.

    `options` may contain `${…}`. `line` is the line in the file, or 0 if another source requests
    the setting: `--set` or `pace`. `entry` is the index of its item in the list `settings:`, or -1
    for a qdisc that `pace` requires. `when` is the condition under which the setting is applied; ""
    means always.
    """

    name: str
    roles: tuple[str, ...]
    options: Any
    line: int
    entry: int = 0
    when: str = ""

    def place(self, path: object) -> str:
        """Return where the setting was requested: a line of the file, an option, or `pace`."""
        if self.line:
            return f"{path}:{self.line}"
        return (
            f"{path}: {f'--set settings.{self.entry}.{self.name}' if self.entry >= 0 else 'pace'}"
        )


@dataclass(frozen=True, slots=True)
class Repeat:
    """The number and order of the runs.

    `runs` is the number of runs for the order `coin-flips`. `replicates` is the number of runs of
    each configuration for other orders. `replicates_by` is the name of a factor or derived value
    that gives this number for each configuration; "" if there is none.
    """

    replicates: int = 1
    order: Literal["blocked", "shuffled", "listed", "coin-flips"] = "blocked"
    seed: int | None = None
    runs: int | None = None
    replicates_by: str = ""


@dataclass(frozen=True, slots=True)
class Mesh:
    """The hosts of a mesh, and the pairs (sender, receiver) to measure.

    `shape` is the rule that generated the pairs. In the plan, the factors SENDER and RECEIVER hold
    the pair of a configuration.
    """

    SENDER: ClassVar[str] = "sender"
    RECEIVER: ClassVar[str] = "receiver"

    hosts: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    shape: str

    def among(self, hosts: Collection[str]) -> Mesh:
        """Return the mesh with only the pairs whose two hosts are both in `hosts`."""
        pairs = ((a, b) for a, b in self.pairs if a in hosts and b in hosts)
        return dataclasses.replace(self, pairs=tuple(pairs))


@dataclass(frozen=True, slots=True)
class Experiment:
    """A validated experiment file. `settings`, `measure` and `around` may still contain `${…}`.

    `text` is the exact content of the file, and `overrides` are the (key, value) pairs of `--set`.
    Together they reproduce the experiment.

    `factors` and each group of `zips` map names to values, in the order of the file. `dummies` are
    names of factors that may have no effect. `derive` maps names to expressions, in an order in
    which they can be evaluated.

    `measure` maps the name of a tool to the tool's options. `unchosen` are tools in the file that
    no value of the factor `tool` selects. `around` has the keys of `measure:` that exist for all
    tools, such as `streams` and `pace`, with the values in the file.

    Each of `roles` is one machine. `groups` maps each role in the file to its machines: the role
    `sinks: 2` has the machines `sinks-1` and `sinks-2`. Without such a role, `groups` is empty.

    A duet (experiment.duet) has `sides`. They map a value of the factor `side` to the experiment
    that defines the settings and measurements of this side. The runs of both sides are interleaved.

    If there is a `mesh`, its hosts are the roles, and its pairs are a group of `zips`.
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
        """Return the roles of the client and the servers in the configuration with these values."""
        if self.mesh:
            sender, receiver = (str(values[end]) for end in (Mesh.SENDER, Mesh.RECEIVER))
            return {"local": (sender,), "remote": (receiver,)}
        return self.side_of(values).ends

    @property
    def searched(self) -> str:
        """Name of the factor whose highest value is searched; "" if there is no search."""
        return str(self.around.get("search", {}).get("of", ""))

    @property
    def derived(self) -> frozenset[str]:
        """Names of the derived values; for a duet, those of both sides."""
        return frozenset(name for side in self.sides.values() or [self] for name in side.derive)

    def side_of(self, values: Values) -> Experiment:
        return self.sides[str(values[SIDE])] if self.sides else self

    @property
    def other_names(self) -> dict[str, str]:
        """Role or group of a duet's first side -> its name on the second side, if different."""
        if not self.sides:
            return {}
        first, second = self.sides.values()
        mine, yours = (*first.roles, *first.groups), (*second.roles, *second.groups)
        return {a: b for a, b in zip(mine, yours, strict=True) if a != b}

    @property
    def ends(self) -> Ends:
        """The roles of the client and the servers.

        The first role in the file is the client. The last role is the server, or it is the group of
        servers. A duet has the roles of its first side here, and a mesh those of its first pair.
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
        """Return `ends`; in a mesh, return all senders and all receivers of its pairs."""
        if not self.mesh:
            return self.ends
        senders, receivers = (
            tuple(dict.fromkeys(end)) for end in zip(*self.mesh.pairs, strict=True)
        )
        return {"local": senders, "remote": receivers}
