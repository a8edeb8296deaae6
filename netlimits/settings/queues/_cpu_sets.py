"""A set of CPUs for each part of the data interface: for its interrupts, or for its queues.

The kernel may ignore a CPU, or not move an interrupt: the read-back finds that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import options
from netlimits.units.cpus import CPU_LIST, formatted, from_mask, mask, members

OFF, ONLINE, LOCAL, QUEUES = "off", "online", "local", "queues"
_ABOUT = re.compile(rf"^({ONLINE}|{LOCAL}) ([0-9][0-9,-]*)$", re.MULTILINE)
_EXTRAS = (ONLINE, LOCAL, QUEUES)
"""Keys of a state that are not parts."""

_MASK = r"^[0-9a-f]{1,8}(,[0-9a-f]{8}){0,312}\Z"

EACH: Mapping[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": 256,
    "items": {"anyOf": [CPU_LIST, {"enum": [OFF]}]},
    "description": 'The CPUs of each queue, from the first: ["0-1", off] uses only the first.',
}

CPUS_OR_OFF: Mapping[str, Any] = {"anyOf": [CPU_LIST, {"enum": [OFF]}]}
LOCAL_NODE = "local-node"
SPREAD: Mapping[str, Any] = {
    "anyOf": [{"enum": ["cpus", LOCAL_NODE]}, CPU_LIST],
    "description": "One CPU for each queue, from all online CPUs (cpus), from the NIC's NUMA node "
    "(local-node), or from a list such as 0-3. If there are more queues than CPUs, it starts "
    "again at the first CPU.",
}


@dataclass(slots=True)
class CpuSets(Setting):
    """A setting that assigns CPUs to parts of the interface: to its interrupts, or to its queues.

    `script` prints a line `online CPUS`, and a line with the name and the CPUs of each part. It may
    also print `local CPUS`, the CPUs of the NIC's NUMA node.

    Attributes:
        cpus: JSON Schema of the option `cpus`.
        line: Matches the line of a part; its groups are the part's name and its CPUs.
        part: Matches the name of a part.
        file: Path of the file that sets a part's CPUs, with {interface} and {part}.
        lacks: What the error message calls the parts if an interface has none.
        unmet_words: Message for unwanted CPUs of a part, with {part}, {now} and {wanted}.
        changed_words: Message for CPUs that are not restored, with {part}, {now} and {before}.
        masks: True if the kernel prints CPUs as masks, False if as lists.
        queues: Function that returns part -> queue number for a state. None if the setting has no
            options `spread` and `queues`.
        named: Matches (part, name of the part) in the output; `queues` finds the number in the
            name. None if the part itself contains the number.
    """

    name: str
    title: str
    cpus: Mapping[str, Any]
    script: str
    line: re.Pattern[str]
    part: re.Pattern[str]
    file: str
    lacks: str
    unmet_words: str
    changed_words: str
    masks: bool = True
    queues: Callable[[State], Mapping[str, int]] | None = None
    named: re.Pattern[str] | None = None
    traits: Traits = Setting.traits
    schema: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.schema = options(
            {
                "cpus": self.cpus,
                **({"spread": SPREAD, "queues": EACH} if self.queues else {}),
            },
            title=self.title,
            maxProperties=1,
        )

    def of_text(self, text: str) -> frozenset[int]:
        """Parse CPUs as the kernel writes them. Raises ValueError."""
        return from_mask(text) if self.masks else members(text)

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", self.script, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return {"online": CPUs, PART: CPUs, …}, and "local" and "queues" if they were printed."""
        state = dict(self.line.findall(completed.stdout))
        about = dict(_ABOUT.findall(completed.stdout))
        if not state or ONLINE not in about:
            interface = completed.command.argv[-1]
            printed = completed.stderr and f" ({completed.complaint})"
            raise self.error(
                f"{interface} has no {self.lacks}{printed}; leave `{self.name}` out for this host",
                completed,
            )
        for part, cpus in state.items():
            try:
                self.of_text(cpus)
            except ValueError as error:
                raise self.error(f"the CPUs of {part} cannot be read: {error}", completed) from None
        names = self.named.findall(completed.stdout) if self.named else ()
        if words := " ".join(f"{part}={name}" for part, name in names if part in state):
            about[QUEUES] = words
        return {**about, **state}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        try:
            cpus = _named_cpus(wanted)
            targets = self._targets(state, wanted)
            missing = cpus - members(state[ONLINE]) if ONLINE in state else ()
        except ValueError as error:
            raise self.error(str(error)) from None
        if missing:
            raise self.error(f"CPU {min(missing)} is not there; online are {state[ONLINE]}")
        text = mask if self.masks else formatted
        return self._write(
            interface, {part: text(targets[part]) for part in self._differing(state, targets)}
        )

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        targets = self._targets(state, wanted)
        return tuple(
            self.unmet_words.format(
                part=part, now=self._of(state[part]), wanted=_words(targets[part])
            )
            for part in self._differing(state, targets)
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
        """Compare the parts that still exist, since fewer channels have fewer parts."""
        return tuple(
            self.changed_words.format(part=part, now=self._of(state[part]), before=self._of(cpus))
            for part, cpus in _parts(original)
            if part in state and self._differ(state[part], cpus)
        )

    def faults(self, state: State) -> Iterator[str]:
        for name, cpus in state.items():
            is_extra = name in _EXTRAS
            pattern = _MASK if self.masks and not is_extra else CPU_LIST["pattern"]
            legal = name == QUEUES or re.search(pattern, cpus)  # QUEUES is never written
            if not legal or not (is_extra or self.part.fullmatch(name)):
                yield f"{name[:40]!r} cannot have the CPUs {cpus[:40]!r}"

    def _differing(self, state: State, targets: Mapping[str, frozenset[int]]) -> list[str]:
        return [
            part
            for part, now in _parts(state)
            if part in targets and self.of_text(now) != targets[part]
        ]

    def _targets(self, state: State, wanted: Any) -> dict[str, frozenset[int]]:
        """Return part -> its wanted CPUs.

        For `spread` and `queues`, parts that belong to no queue are left out.
        """
        if not state or "cpus" in wanted or self.queues is None:
            return {part: _named_cpus(wanted) for part, _ in _parts(state)}
        if "queues" in wanted:
            sets, of_part = wanted["queues"], self.queues(state)
            if (most := max(of_part.values(), default=-1) + 1) != len(sets):
                raise ValueError(f"there are {most} queues, and CPUs for {len(sets)}")
            return {part: _cpus(sets[queue]) for part, queue in of_part.items()}
        if wanted["spread"] == LOCAL_NODE and LOCAL not in state:
            raise ValueError("the NIC does not tell its NUMA node; name the CPUs: `spread: 0-3`")
        known = {"cpus": state[ONLINE], LOCAL_NODE: state.get(LOCAL, "")}
        cpus = sorted(members(known.get(wanted["spread"], wanted["spread"])))
        of_part = self.queues(state)
        order = {queue: at for at, queue in enumerate(sorted(set(of_part.values())))}
        return {
            part: frozenset([cpus[order[queue] % len(cpus)]]) for part, queue in of_part.items()
        }

    def _differ(self, now: str, before: str) -> bool:
        return self.of_text(now) != self.of_text(before)

    def _of(self, text: str) -> str:
        return _words(self.of_text(text))

    def _write(self, interface: str, values: Mapping[str, str]) -> tuple[Command, ...]:
        """Return one `tee` per part, so that sudoers can name the file as its argument."""
        return tuple(
            Command(
                ("tee", self.file.format(interface=interface, part=part)),
                sudo=True,
                stdin=f"{cpus}\n",
            )
            for part, cpus in values.items()
        )


def _named_cpus(wanted: Any) -> frozenset[int]:
    """Return all CPUs that the options name by number."""
    sets = wanted.get("queues", [wanted.get("cpus", wanted.get("spread"))])
    return frozenset[int]().union(*map(_cpus, sets))


def _cpus(text: Any) -> frozenset[int]:
    return frozenset() if text in (OFF, "cpus", LOCAL_NODE) else members(text)


def _parts(state: State) -> list[tuple[str, str]]:
    return [(part, cpus) for part, cpus in state.items() if part not in _EXTRAS]


def queue_numbers(state: State) -> dict[str, int]:
    """Return part -> the number in its name: {"tx-3": 3}."""
    return {part: int(part.rpartition("-")[2]) for part, _ in _parts(state)}


def _words(cpus: frozenset[int]) -> str:
    return f"CPUs {formatted(cpus)}" if cpus else "no CPUs"
