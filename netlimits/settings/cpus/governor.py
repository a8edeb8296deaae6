"""How the kernel chooses the frequency of the host's CPUs: the cpufreq governor, through /sys.

A guest mostly has none: its CPUs' frequency is the host's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings import _values
from netlimits.settings._base import State

_READ = r"""cd /sys/devices/system/cpu || exit 0
grep -Hs . cpu[0-9]*/cpufreq/scaling_governor cpu[0-9]*/cpufreq/scaling_available_governors
exit 0"""

_LINE = re.compile(r"^(cpu[0-9]+)/cpufreq/scaling_governor:(\S+)$", re.MULTILINE)
_ALL = re.compile(r"^cpu[0-9]+/cpufreq/scaling_available_governors:(.+)$", re.MULTILINE)
_NAME = r"^[a-z][a-z_]{0,19}$(?!\n)"


class Governor:
    """`governor: performance`."""

    name = "governor"
    schema: Mapping[str, Any] = {
        "type": "string",
        "title": "Frequency governor of all CPUs",
        "description": "performance, powersave, schedutil or another that the host has.",
        "pattern": _NAME,
    }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ, self.name))

    def state(self, completed: Completed) -> State:
        """Return {"available": "performance powersave", "cpu0": "powersave", …}."""
        cpus = dict(_LINE.findall(completed.stdout))
        if not cpus:
            raise SettingError(
                "the host has no cpufreq governors (a guest mostly has none); leave `governor` out "
                "for it",
                setting=self.name,
                host=completed.host,
            )
        sets = [set(names.split()) for names in _ALL.findall(completed.stdout)]
        return {"available": " ".join(sorted(set.intersection(*sets) if sets else ())), **cpus}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return one `tee` for each CPU that has another governor."""
        if state and wanted not in state["available"].split():
            raise SettingError(
                f"there is no governor {wanted}; there are {state['available'] or 'none'}",
                setting=self.name,
            )
        return _write(_values.differing(dict.fromkeys(_cpus(state), wanted), state))

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        return _values.unmet(dict.fromkeys(_cpus(state), wanted), state)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        present = {
            cpu: value for cpu, value in _cpus(original).items() if not state or cpu in state
        }
        return _write(_values.differing(present, state))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Return what differs; a CPU that is offline does not count."""
        return _values.differences({c: v for c, v in _cpus(original).items() if c in state}, state)

    def faults(self, state: State) -> Iterator[str]:
        for cpu, value in _cpus(state).items():
            if not re.fullmatch("cpu[0-9]{1,4}", cpu) or not re.search(_NAME, value):
                yield f"{cpu[:40]} cannot be {str(value)[:40]!r}"


def _cpus(state: State) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != "available"}


def _write(values: Mapping[str, str]) -> tuple[Command, ...]:
    return tuple(
        Command(
            ("tee", f"/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"),
            sudo=True,
            stdin=f"{value}\n",
        )
        for cpu, value in values.items()
    )
