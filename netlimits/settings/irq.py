"""Which CPUs serve the data interface's interrupts, through /proc/irq.

The interrupts are those of the NIC's own PCI device (of the parent device for virtio), or where
that lists none, the lines of /proc/interrupts that name the interface. An interrupt that the
kernel manages itself refuses every write: the read-back finds that. A running irqbalance moves
interrupts by itself; the next run's read-back finds that too, and sets them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings._base import State
from netlimits.units.cpus import CPU_LIST, members

_READ = r"""d=/sys/class/net/$1/device
[ -e "$d" ] || exit 0
case $(readlink "$d/subsystem") in
*/virtio) m=$d/../msi_irqs ;;
*) m=$d/msi_irqs ;;
esac
if [ -d "$m" ]; then irqs=$(ls "$m" | sort -n)
else irqs=$(grep -wF -- "$1" /proc/interrupts | sed -n 's/^ *\([0-9][0-9]*\):.*/\1/p'); fi
echo "online $(cat /sys/devices/system/cpu/online)"
for n in $irqs; do
    f=/proc/irq/$n/smp_affinity_list
    [ ! -e "$f" ] || echo "$n $(cat "$f")"
done"""

_LINE = re.compile(r"^(?P<what>online|[0-9]+) (?P<cpus>[0-9][0-9,-]*)$", re.MULTILINE)


class Irq:
    """`irq: {cpus: "0-1"}`."""

    name = "irq"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "CPUs of the data interface's interrupts",
        "required": ["cpus"],
        "properties": {
            "cpus": {
                **CPU_LIST,
                "description": "The CPUs that may serve each of its interrupts: 0, 0-3 or 0,2. "
                "Stop irqbalance on the host first, which moves them.",
            }
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        """Each interrupt of the interface with its smp_affinity_list."""
        return Command(("sh", "-c", _READ, "sh", interface))

    def state(self, completed: Completed) -> State:
        """{"online": CPUs, interrupt: CPUs, …}, as the kernel lists them."""
        state = {match["what"]: match["cpus"] for match in _LINE.finditer(completed.stdout)}
        if len(state) < 2 or "online" not in state:
            interface = completed.command.argv[-1]
            printed = completed.stderr and completed.complaint
            raise SettingError(
                f"{interface} has no interrupts of its own" + (f" ({printed})" if printed else "")
                + " (a veth, bridge or other virtual interface has none); leave `irq` out for "
                "this host",
                setting=self.name,
                host=completed.host,
            )  # fmt: skip
        return state

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """One `tee` for each interrupt that is on other CPUs."""
        try:
            missing = members(wanted["cpus"]) - members(state.get("online", wanted["cpus"]))
        except ValueError as error:
            raise SettingError(str(error), setting=self.name) from None
        if missing:
            raise SettingError(
                f"CPU {min(missing)} is not there; online are {state['online']}",
                setting=self.name,
            )
        return _write({n: str(wanted["cpus"]) for n in _off(state, wanted)})

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Each interrupt that is on other CPUs."""
        return tuple(
            f"interrupt {n} stays on CPUs {state[n]}, not {wanted['cpus']} (one that the kernel "
            "manages itself cannot be moved)"
            for n in _off(state, wanted)
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """One `tee` for each interrupt that is not as it was found."""
        now = state or original
        return _write({n: c for n, c in _interrupts(original) if not state or now.get(n, c) != c})

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Each interrupt that is on other CPUs; one that is gone (fewer channels) is nowhere."""
        return tuple(
            f"interrupt {n} is on CPUs {state[n]}, was on {cpus}"
            for n, cpus in _interrupts(original)
            if state.get(n, cpus) != cpus
        )

    def faults(self, state: State) -> Iterator[str]:
        """Interrupts and CPUs that are none."""
        pattern = re.compile(CPU_LIST["pattern"])
        for name, cpus in state.items():
            if not re.fullmatch("online|[0-9]{1,9}", name) or not pattern.search(cpus):
                yield f"interrupt {name[:40]!r} cannot be on CPUs {cpus[:40]!r}"


def _interrupts(state: State) -> list[tuple[str, str]]:
    return [(n, cpus) for n, cpus in state.items() if n != "online"]


def _off(state: State, wanted: Any) -> list[str]:
    """The interrupts that are not on the CPUs wanted."""
    cpus = members(wanted["cpus"])
    return [n for n, now in _interrupts(state) if members(now) != cpus]


def _write(values: Mapping[str, str]) -> tuple[Command, ...]:
    """Through `tee`, whose argument sudoers can name."""
    return tuple(
        Command(("tee", f"/proc/irq/{n}/smp_affinity_list"), sudo=True, stdin=f"{cpus}\n")
        for n, cpus in values.items()
    )
