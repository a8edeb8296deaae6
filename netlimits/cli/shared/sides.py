"""The experiment that `run`, `plan` and `check` are given; with `--against` it is a duet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from netlimits.cli.shared.options import options_of, pairs
from netlimits.errors import InputError
from netlimits.experiment import duet, hosts_file
from netlimits.experiment.load import load, sides
from netlimits.model import SIDES, Experiment, Machine

Binding = Callable[[Sequence[str]], Mapping[str, Machine]]


LARGE = 10_000
"""Plans of more configurations than this are only counted and streamed, without findings."""


@dataclass(frozen=True, slots=True)
class Against:
    """The second side of a duet: files and overrides as written, hosts, and names of both sides."""

    written: tuple[str, ...] = ()
    hosts: Path | None = None
    names: str = ""

    def __bool__(self) -> bool:
        return bool(self.written or self.hosts)


against_options = options_of(
    "against",
    Against,
    click.option(
        "--against",
        "written",
        multiple=True,
        metavar="EXPERIMENT|KEY=VALUE",
        help="A second side, interleaved with the first in the same blocks: another experiment, "
        "or a value to change in this one. Repeatable.",
    ),
    click.option(
        "--against-hosts",
        "hosts",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Hosts file of the second side.",
    ),
    click.option(
        "--sides",
        "names",
        default="",
        metavar="NAMES",
        help="Names of the two sides; default: before,after.",
    ),
)
"""Decorator that passes the options of a second side to the command as one argument, `against`."""


def experiment_of(
    file: Path, overrides: Sequence[str], against: Against, bind: Binding | None = None
) -> tuple[Experiment, Mapping[str, Machine]]:
    """Return the experiment or duet, and the machine of each role."""
    changes = pairs(overrides)
    if not against:
        if against.names:
            raise InputError("--sides needs --against, whose sides it names")
        experiment = load(file, changes)
        return experiment, bind(experiment.roles) if bind else {}
    called = duet.names(against.names) if against.names else SIDES
    other, own = _split(against.written)
    for key, _ in own:
        if key.split(".")[0] == "repeat":
            raise InputError(
                f"--against {key}: both sides run equally often, in one order; use --set"
            )
    before, after = sides(file, changes, other, own)
    if against.hosts is None:
        both = duet.duet(before, after, called)
        return both, bind(both.roles) if bind else {}
    if bind is None:
        raise InputError("--against-hosts needs --hosts too, for the hosts of the first side")
    duet.duet(before, after, called)  # raises errors before hosts are looked up
    machines = bind(before.roles)
    roles, others = _other_machines(before, machines, against.hosts, called[1])
    return duet.duet(before, after, called, roles), {**machines, **others}


def _other_machines(
    before: Experiment, machines: Mapping[str, Machine], file: Path, side: str
) -> tuple[dict[str, str], dict[str, Machine]]:
    others = hosts_file.machines(file, before.roles)
    roles = duet.other_roles(before, machines, others, side)
    if not roles:
        raise InputError(f"{file}: has the machines of the first side, role by role")
    return roles, {
        roles[role]: replace(machine, role=roles[role])
        for role, machine in others.items()
        if role in roles
    }


def _split(written: Sequence[str]) -> tuple[Path | None, list[tuple[str, str]]]:
    changes = [text for text in written if _is_change(text)]
    files = [text for text in written if text not in changes]
    if len(files) > 1:
        raise InputError(
            f"--against {files[1]}: a duet has two sides; {files[0]} is the second already"
        )
    return (Path(files[0]) if files else None), pairs(changes, "--against")


def _is_change(text: str) -> bool:
    """Return True for KEY=VALUE rather than a file name, which may contain a `=` too."""
    key, sign, _ = text.partition("=")
    return bool(sign) and "/" not in key and not Path(text).is_file()


def pairs_at_once(experiment: Experiment, at_once: int | None) -> int:
    if at_once and not experiment.mesh:
        raise InputError("--at-once is for a mesh, and the experiment has one pair; leave it out")
    return at_once or 0
