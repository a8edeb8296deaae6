"""The cpufreq governor, by which the kernel chooses the frequency of each CPU, through /sys.

Most virtual machines have none: the hypervisor controls the frequency.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State, Traits
from netlimits.settings._values import NamedValues, Values

_READ = r"""cd /sys/devices/system/cpu || exit 0
grep -Hs . cpu[0-9]*/cpufreq/scaling_governor cpu[0-9]*/cpufreq/scaling_available_governors
exit 0"""

_LINE = re.compile(r"^(cpu[0-9]+)/cpufreq/scaling_governor:(\S+)$", re.MULTILINE)
_ALL = re.compile(r"^cpu[0-9]+/cpufreq/scaling_available_governors:(.+)$", re.MULTILINE)
_NAME = r"^[a-z][a-z_]{0,19}$(?!\n)"


class Governor(NamedValues):
    """`governor: performance`."""

    name = "governor"
    traits = Traits(tried=True)
    vanishing = True  # a CPU may go offline
    schema: Mapping[str, Any] = {
        "type": "string",
        "title": "Frequency governor of all CPUs",
        "description": "performance, powersave, schedutil or another governor of the host.",
        "pattern": _NAME,
    }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ, self.name))

    def state(self, completed: Completed) -> State:
        """Return {"available": "performance powersave", "cpu0": "powersave", …}."""
        cpus = dict(_LINE.findall(completed.stdout))
        if not cpus:
            raise self.error(
                "the host has no cpufreq governors (a guest mostly has none); leave `governor` out "
                "for it",
                completed,
            )
        sets = [set(names.split()) for names in _ALL.findall(completed.stdout)]
        return {"available": " ".join(sorted(set.intersection(*sets) if sets else ())), **cpus}

    def values(self, state: State) -> Values:
        return {name: value for name, value in state.items() if name != "available"}

    def wish(self, state: State, wanted: Any) -> Values:
        return dict.fromkeys(self.values(state), wanted)

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        if state and wanted not in state["available"].split():
            raise self.error(
                f"there is no governor {wanted}; there are {state['available'] or 'none'}"
            )
        return super().change(interface, state, wanted)

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        return tuple(
            Command(
                ("tee", f"/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"),
                sudo=True,
                stdin=f"{value}\n",
            )
            for cpu, value in values.items()
        )

    def legal(self, name: str, value: Any) -> bool:
        return bool(re.fullmatch("cpu[0-9]{1,4}", name) and re.search(_NAME, value))
