"""Numbers of an interface that `ethtool` shows under their maximums: rings and channels.

The text is parsed, since `ethtool --json` supports `-g` and `-l` only from 6.2 on. A number that
the driver lacks is `n/a`, or 0 with a maximum of 0 if ethtool still uses ioctl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import _values
from netlimits.settings._base import State
from netlimits.settings._values import is_number

_LINE = re.compile(r"^(?P<name>[A-Za-z][A-Za-z ]*):\s*(?P<value>[0-9]+|n/a)\s*$")
_MAXIMUMS, _CURRENT = "Pre-set maximums:", "Current hardware settings:"


@dataclass(slots=True)
class Quantities:
    """A setting of numbers: `ethtool SHOW` reads it, `ethtool WRITE` changes it.

    `names` maps the names of experiments and `ethtool WRITE` to those of `ethtool SHOW`.
    """

    name: str
    show: str
    write: str
    names: Mapping[str, str]
    title: str
    least: int
    schema: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        number = {"type": "integer", "minimum": self.least, "maximum": 2**31 - 1}
        self.schema = {
            "type": "object",
            "title": self.title,
            "description": f"As in ethtool {self.write}; the driver has its maximums.",
            "minProperties": 1,
            "properties": dict.fromkeys(self.names, number),
            "additionalProperties": False,
        }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", self.show, interface))

    def state(self, completed: Completed) -> State:
        """Return {"most": {name: n}, "now": {name: n}} of the numbers that the driver has."""
        sections: dict[str, dict[str, int]] = {_MAXIMUMS: {}, _CURRENT: {}}
        section: dict[str, int] | None = None
        for line in completed.stdout.splitlines():
            if line.strip() in sections:
                section = sections[line.strip()]
            match = _LINE.match(line)
            if match and section is not None and match["value"] != "n/a":
                section[match["name"]] = int(match["value"])
        if completed.status != 0 or not sections[_CURRENT]:
            raise shows_none(completed, self.name)
        most = {n: sections[_MAXIMUMS].get(word, 0) for n, word in self.names.items()}
        return {
            "most": {n: m for n, m in most.items() if m},
            "now": {n: sections[_CURRENT].get(self.names[n], 0) for n, m in most.items() if m},
        }

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return one command with every number that differs."""
        if not state:
            return self._write(interface, wanted)
        for name, value in wanted.items():
            most = state["most"].get(name)
            if most is None:
                raise SettingError(
                    f"{interface} has no {name}; it has {', '.join(state['now']) or 'none'}",
                    setting=self.name,
                )
            if value > most:
                raise SettingError(
                    f"{interface} has {name} of at most {most}, not {value}; ask for {most} or "
                    "less",
                    setting=self.name,
                )
        return self._write(interface, _values.differing(wanted, state["now"]))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Return each other number: drivers round them silently."""
        return _values.unmet(wanted, state["now"])

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        now = state["now"] if state else {}
        return self._write(interface, _values.differing(original["now"], now))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        return _values.differences(original["now"], state["now"])

    def faults(self, state: State) -> Iterator[str]:
        for part, value in {**state["most"], **state["now"]}.items():
            if part not in self.names or not is_number(value, 2**31):
                yield f"{part[:40]} cannot be {str(value)[:40]!r}"

    def _write(self, interface: str, numbers: Mapping[str, int]) -> tuple[Command, ...]:
        words = [word for name, value in numbers.items() for word in (name, str(value))]
        return (Command(("ethtool", self.write, interface, *words), sudo=True),) if words else ()


def shows_none(completed: Completed, name: str) -> SettingError:
    """Return the error for a setting that the interface lacks, with ethtool's last line."""
    lines = (completed.stderr.strip() or completed.stdout.strip()).splitlines()
    return SettingError(
        f"`{' '.join(completed.command.argv)}` shows none: "
        f"{lines[-1] if lines else f'exit status {completed.status}'}; leave "
        f"`{name}` out for this host's interface",
        setting=name,
        host=completed.host,
    )
