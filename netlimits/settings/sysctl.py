"""Network sysctls, through `sysctl`.

A sysctl belongs to the machine or to its network namespace, not to the data interface. Only names
under `net.` can be set, and of those not the few that change addresses or other sysctls on their
way, since that is more than could be put back. The kernel rounds and refuses values in silence:
so what was written is read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings._base import State

_LINE = re.compile(r"^(?P<name>net\.[^\s=]+) = ?(?P<value>.*)$")

NAME = re.compile(r"^net(\.[A-Za-z0-9_-]+)+$(?!\n)")
"""Also what is put back, from a journal or a note, stays under net."""

MOVES_MORE = re.compile(
    r"\.(disable_ipv6|forwarding|mc_forwarding|ip_forward|addr_gen_mode|stable_secret|flush|mtu)$"
)
"""Names whose writing changes addresses, routes or other sysctls; `mtu` is a setting of its own."""


_VALUE: list[Mapping[str, Any]] = [
    {"type": "integer"},
    {
        "type": "string",
        "pattern": r"^[A-Za-z0-9_.,:/-]+"
        r"([ \t]+(-?[0-9]+|[A-Za-z0-9_.,:/][A-Za-z0-9_.,:/-]*))*$(?!\n)",
    },
]


class Sysctl:
    """`sysctl: {net.ipv4.tcp_congestion_control: cubic, net.core.rmem_max: 8388608}`."""

    name = "sysctl"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Network sysctls of the host",
        "description": "Name under net. to its value, as sysctl shows it; written in this order. "
        "They hold for the whole host (or its network namespace), not for one interface.",
        "minProperties": 1,
        "propertyNames": {
            "pattern": NAME.pattern,
            "description": "only network sysctls are set, such as net.core.rmem_max",
        },
        "additionalProperties": {
            "anyOf": [
                *_VALUE,
                {
                    "type": "object",
                    "required": ["want"],
                    "properties": {
                        "want": {"anyOf": _VALUE},
                        "if_fixed": {
                            "enum": ["error", "accept"],
                            "default": "error",
                            "description": "What to do where there is no such sysctl or it cannot "
                            "be written, as in a network namespace.",
                        },
                    },
                    "additionalProperties": False,
                },
            ]
        },
    }

    def read(self, interface: str, about: Any) -> Command:
        """`sysctl NAME …` of the names that are wanted or to be put back.

        `-e` where one of them may be missing.
        """
        values = about.values() if isinstance(about, Mapping) else ()
        may_miss = any(value is None or _accepts(value) for value in values)
        return Command(("sysctl", *(("-e",) if may_miss else ()), *about))

    def state(self, completed: Completed) -> State:
        """{name: value}, to the letter, of every name asked for; None for one that may miss."""
        values = {
            match["name"]: match["value"]
            for match in map(_LINE.match, completed.stdout.splitlines())
            if match
        }
        arguments = completed.command.argv[1:]
        missing = [name for name in arguments if name not in values and name != "-e"]
        if missing and arguments[0] == "-e" and completed.status not in (126, 127):
            return {name: values.get(name) for name in arguments[1:]}
        if missing:
            printed = completed.stderr and completed.complaint
            if completed.status in (126, 127):
                raise SettingError(printed, setting=self.name, host=completed.host)
            raise SettingError(
                f"there is no {', '.join(missing)} (no such sysctl in this kernel, its module is "
                "not loaded, or not in this network namespace), or it cannot be read; see "
                f"`sysctl {missing[0]}` there" + (f" ({printed[:200]})" if printed else ""),
                setting=self.name,
                host=completed.host,
            )
        return values

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """One `sysctl -w` with every name that is not as wanted; of missing ones none."""
        if state and (gone := [n for n in wanted if state[n] is None and not _accepts(wanted[n])]):
            raise SettingError(f"there is no {', '.join(gone)} in this kernel", setting=self.name)
        for name in wanted:
            if MOVES_MORE.search(name):
                raise SettingError(
                    f"{name} changes more than itself (addresses, routes, other sysctls), which "
                    "could not be put back; set it on the host before the campaign",
                    setting=self.name,
                )
        values = {n: v for n, v in _wanted(wanted).items() if not state or state[n] is not None}
        return _write({n: v for n, v in values.items() if not _same(state.get(n), v)})

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Each name that has another value, those aside that may stay as they are."""
        return tuple(
            f"{name} is {_shown(state[name])}, not {_shown(value)}"
            for name, value in _wanted(wanted).items()
            if not _same(state[name], value) and not _accepts(wanted[name])
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """One `sysctl -w` with the values that were found, the last written first."""
        values = {n: v for n, v in reversed([*original.items()]) if v is not None}
        return _write({n: v for n, v in values.items() if state.get(n) != v})

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Each name whose value is not as it was."""
        return tuple(
            f"{name} is {_shown(state.get(name, 'gone'))}, was {_shown(value)}"
            for name, value in original.items()
            if state.get(name) != value
        )

    def faults(self, state: State) -> Iterator[str]:
        """Names that may not be set, and values that no sysctl takes."""
        pattern = re.compile(self.schema["additionalProperties"]["anyOf"][1]["pattern"])
        for name, value in state.items():
            if not NAME.match(name):
                yield f"{name!r} is no sysctl under net."
            elif MOVES_MORE.search(name):
                yield f"{name} changes more than itself"
            elif value != "" and not pattern.search(value):
                yield f"{name} cannot be {value[:80]!r}"


def _accepts(value: Any) -> bool:
    """Whether an experiment takes a host on which it is missing or cannot be written."""
    return isinstance(value, Mapping) and value.get("if_fixed") == "accept"


def _wanted(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> the value alone."""
    return {n: v["want"] if isinstance(v, Mapping) else v for n, v in wanted.items()}


def _same(shown: str | None, wanted: Any) -> bool:
    """Whether two values are the same; the kernel separates several numbers by tabs."""
    return shown is not None and shown.split() == str(wanted).split()


def _write(values: Mapping[str, Any]) -> tuple[Command, ...]:
    if strange := [name for name in values if not NAME.match(name)]:
        raise SettingError(f"{strange[0]!r} is no sysctl under net.", setting="sysctl")
    pairs = (f"{name}={value}" for name, value in values.items())
    return (Command(("sysctl", "-w", *pairs), sudo=True),) if values else ()


def _shown(value: Any) -> str:
    return " ".join(str(value).split())
