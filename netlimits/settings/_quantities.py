"""Settings that `ethtool` shows as maximums and current values: rings and channels.

The text is parsed, since `ethtool --json` supports `-g` and `-l` only from version 6.2 on. If the
driver lacks a number, ethtool prints `n/a` for it. An ethtool that uses ioctl instead of netlink
prints 0 as its value and as its maximum.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import integer, options
from netlimits.settings._values import NamedValues, Values

_LINE = re.compile(r"^(?P<name>[A-Za-z][A-Za-z ]*):\s*(?P<value>[0-9]+|n/a)\s*$")
_MAXIMUMS, _CURRENT = "Pre-set maximums:", "Current hardware settings:"


@dataclass(slots=True)
class Quantities(NamedValues):
    """A setting of numbers, which `ethtool` prints with option `show` and sets with `writes`.

    `names` maps the names that experiments and `writes` use to the labels that `show` prints.
    """

    name: str
    show: str
    writes: str
    names: Mapping[str, str]
    title: str
    least: int
    traits: Traits = Setting.traits
    schema: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        number = integer(self.least, 2**31 - 1)
        self.schema = options(
            dict.fromkeys(self.names, number),
            title=self.title,
            description=f"As in ethtool {self.writes}; `ethtool` with the lower-case option "
            f"prints the maximums.",
        )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", self.show, interface))

    def state(self, completed: Completed) -> State:
        """Return {"most": {name: n}, "now": {name: n}} for the numbers that the driver has."""
        sections: dict[str, dict[str, int]] = {_MAXIMUMS: {}, _CURRENT: {}}
        section: dict[str, int] | None = None
        for line in completed.stdout.splitlines():
            if line.strip() in sections:
                section = sections[line.strip()]
            match = _LINE.match(line)
            if match and section is not None and match["value"] != "n/a":
                section[match["name"]] = int(match["value"])
        if completed.status != 0 or not sections[_CURRENT]:
            raise self.shows_none(completed)
        most = {n: sections[_MAXIMUMS].get(word, 0) for n, word in self.names.items()}
        return {
            "most": {n: m for n, m in most.items() if m},
            "now": {n: sections[_CURRENT].get(self.names[n], 0) for n, m in most.items() if m},
        }

    def values(self, state: State) -> Values:
        return state["now"] if state else {}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        commands = NamedValues.change(self, interface, state, wanted)
        for name, value in wanted.items() if state else ():
            if value > (most := state["most"][name]):
                raise self.error(
                    f"{interface} has {name} of at most {most}, not {value}; ask for {most} or less"
                )
        return commands

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        words = [word for name, value in values.items() for word in (name, str(value))]
        return (Command(("ethtool", self.writes, interface, *words), sudo=True),) if words else ()
