"""A set of CPUs for each part of the data interface: its interrupts, or its receive queues.

The kernel may refuse a CPU, or keep one for itself: the read-back finds that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings._base import State
from netlimits.units.cpus import CPU_LIST, formatted, members

OFF, ONLINE = "off", "online"
_ONLINE = re.compile(rf"^{ONLINE} ([0-9][0-9,-]*)$", re.MULTILINE)


@dataclass(slots=True)
class CpuSets:
    """A setting of CPUs: `script` prints `online CPUS`, and a line for each part and its CPUs.

    Attributes:
        cpus: JSON Schema of the option `cpus`.
        line: Matches the line of a part; its groups are the part's name and its CPUs.
        part: Matches the name of a part.
        of_text: Parses CPUs from the kernel's text.
        text: Formats CPUs for the kernel.
        legal: Matches the CPUs of a part in a recorded state.
        file: The file that sets a part's CPUs, with {interface} and {part}.
        lacks: What an interface without parts lacks, for the error.
        unmet_words: A sentence with {part}, {now} and {wanted}.
        changed_words: A sentence with {part}, {now} and {before}.
        fault_words: Joins a part's name and its wrong CPUs.
    """

    name: str
    title: str
    cpus: Mapping[str, Any]
    script: str
    line: re.Pattern[str]
    part: re.Pattern[str]
    of_text: Callable[[str], frozenset[int]]
    text: Callable[[frozenset[int]], str]
    legal: re.Pattern[str]
    file: str
    lacks: str
    unmet_words: str
    changed_words: str
    fault_words: str
    schema: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.schema = {
            "type": "object",
            "title": self.title,
            "required": ["cpus"],
            "properties": {"cpus": self.cpus},
            "additionalProperties": False,
        }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", self.script, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return {"online": CPUs, part: CPUs, …}, as the kernel writes them."""
        state = dict(self.line.findall(completed.stdout))
        online = _ONLINE.search(completed.stdout)
        if not state or not online:
            interface = completed.command.argv[-1]
            printed = completed.stderr and f" ({completed.complaint})"
            raise SettingError(
                f"{interface} has no {self.lacks}{printed}; leave `{self.name}` out for this host",
                setting=self.name,
                host=completed.host,
            )
        for part, cpus in state.items():
            try:
                self.of_text(cpus)
            except ValueError as error:
                raise SettingError(
                    f"the CPUs of {part} cannot be read: {error}",
                    setting=self.name,
                    host=completed.host,
                ) from None
        return {ONLINE: online[1], **state}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return one `tee` for each part that has other CPUs."""
        try:
            cpus = _wanted(wanted)
        except ValueError as error:
            raise SettingError(str(error), setting=self.name) from None
        missing = cpus - members(state[ONLINE]) if ONLINE in state else ()
        if missing:
            raise SettingError(
                f"CPU {min(missing)} is not there; online are {state[ONLINE]}", setting=self.name
            )
        return self._write(interface, dict.fromkeys(self._off(state, wanted), self.text(cpus)))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        words = _words(_wanted(wanted))
        return tuple(
            self.unmet_words.format(part=part, now=self._of(state[part]), wanted=words)
            for part in self._off(state, wanted)
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        return self._write(
            interface,
            {
                part: cpus
                for part, cpus in _parts(original)
                if not state or self._differ(state.get(part, cpus), cpus)
            },
        )

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return each part that has other CPUs; a missing part (fewer channels) does not count."""
        return tuple(
            self.changed_words.format(part=part, now=self._of(state[part]), before=self._of(cpus))
            for part, cpus in _parts(original)
            if part in state and self._differ(state[part], cpus)
        )

    def faults(self, state: State) -> Iterator[str]:
        online = re.compile(CPU_LIST["pattern"])
        for name, cpus in state.items():
            good = online.search(cpus) if name == ONLINE else self.legal.search(cpus)
            if not good or not (name == ONLINE or self.part.fullmatch(name)):
                yield f"{name[:40]!r} {self.fault_words} {cpus[:40]!r}"

    def _off(self, state: State, wanted: Any) -> list[str]:
        """Return the parts that do not have the wanted CPUs."""
        cpus = _wanted(wanted)
        return [part for part, now in _parts(state) if self.of_text(now) != cpus]

    def _differ(self, now: str, before: str) -> bool:
        return self.of_text(now) != self.of_text(before)

    def _of(self, text: str) -> str:
        return _words(self.of_text(text))

    def _write(self, interface: str, values: Mapping[str, str]) -> tuple[Command, ...]:
        """Return one `tee` for each part, whose argument sudoers can name."""
        return tuple(
            Command(
                ("tee", self.file.format(interface=interface, part=part)),
                sudo=True,
                stdin=f"{cpus}\n",
            )
            for part, cpus in values.items()
        )


def _wanted(wanted: Any) -> frozenset[int]:
    return frozenset() if wanted["cpus"] == OFF else members(wanted["cpus"])


def _parts(state: State) -> list[tuple[str, str]]:
    return [(part, cpus) for part, cpus in state.items() if part != ONLINE]


def _words(cpus: frozenset[int]) -> str:
    return f"CPUs {formatted(cpus)}" if cpus else "no CPUs"
