"""Which CPUs take the data interface's received packets up: receive packet steering (RPS).

Without it the CPU that served a queue's interrupt does all of a packet's work in softirq; with it a
hash of the flow chooses one of the CPUs, which is how a NIC of one queue, or a veth, uses several.
One flow stays on one CPU. The kernel keeps a mask for each receive queue, and leaves out CPUs that
it keeps for itself: the read-back finds that (Documentation/networking/scaling.rst).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from netlimits.errors import SettingError
from netlimits.model import Command, Completed
from netlimits.settings._base import State
from netlimits.units.cpus import CPU_LIST, mask, members, of_mask, written

OFF = "off"

_READ = r"""echo "online $(cat /sys/devices/system/cpu/online)"
grep -Hs . "/sys/class/net/$1/queues/"rx-*/rps_cpus || exit 0"""

_ONLINE = re.compile(r"^online ([0-9][0-9,-]*)$", re.MULTILINE)
_QUEUE = re.compile(
    r"^/sys/class/net/[^/]+/queues/(rx-[0-9]+)/rps_cpus:([0-9a-f,]+)$", re.MULTILINE
)
_MASK = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8}){0,312}")


class Rps:
    """`rps: {cpus: "0-1"}`, or `rps: {cpus: off}`."""

    name = "rps"
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "CPUs that take received packets up (RPS)",
        "required": ["cpus"],
        "properties": {
            "cpus": {
                "anyOf": [CPU_LIST, {"enum": [OFF]}],
                "description": "The CPUs among which each receive queue's flows are spread: 0, "
                "0-3 or 0,2; off for the one that served the interrupt.",
            }
        },
        "additionalProperties": False,
    }

    def read(self, interface: str, about: Any) -> Command:
        """Each receive queue with its mask."""
        return Command(("sh", "-c", _READ, "sh", interface))

    def state(self, completed: Completed) -> State:
        """{"online": CPUs, queue: mask, …}, as the kernel writes them."""
        state = dict(_QUEUE.findall(completed.stdout))
        if online := _ONLINE.search(completed.stdout):
            state["online"] = online[1]
        if len(state) < 2 or "online" not in state:
            interface = completed.command.argv[-1]
            printed = completed.stderr and f" ({completed.complaint})"
            raise SettingError(
                f"{interface} has no receive queues that packets are steered from{printed}; "
                "leave `rps` out for this host",
                setting=self.name,
                host=completed.host,
            )
        return state

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """One `tee` for each queue that steers to other CPUs."""
        try:
            cpus = _cpus(wanted)
            missing = cpus - members(state.get("online", wanted["cpus"])) if cpus else frozenset()
        except ValueError as error:
            raise SettingError(str(error), setting=self.name) from None
        if missing:
            raise SettingError(
                f"CPU {min(missing)} is not there; online are {state['online']}",
                setting=self.name,
            )
        return _write(interface, {queue: mask(cpus) for queue in _off(state, wanted)})

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        """Each queue that steers to other CPUs."""
        return tuple(
            f"{queue} steers to {_words(state[queue])}, not to {_words(mask(_cpus(wanted)))}"
            for queue in _off(state, wanted)
        )

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        """One `tee` for each queue that does not steer as it was found to."""
        now = state or original
        differing = {q: m for q, m in _queues(original) if of_mask(now.get(q, m)) != of_mask(m)}
        return _write(interface, differing if state else dict(_queues(original)))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        """Each queue that steers to other CPUs; one that is gone (fewer channels) to none."""
        return tuple(
            f"{queue} steers to {_words(state[queue])}, did to {_words(before)}"
            for queue, before in _queues(original)
            if queue in state and of_mask(state[queue]) != of_mask(before)
        )

    def faults(self, state: State) -> Iterator[str]:
        """Queues and CPUs that are none."""
        online = re.compile(CPU_LIST["pattern"])
        for name, value in state.items():
            good = online.search(value) if name == "online" else _MASK.fullmatch(value)
            if not re.fullmatch("online|rx-[0-9]{1,5}", name) or not good:
                yield f"{name[:40]!r} cannot steer to {value[:40]!r}"


def _cpus(wanted: Any) -> frozenset[int]:
    return frozenset() if wanted["cpus"] == OFF else members(wanted["cpus"])


def _words(bits: str) -> str:
    cpus = of_mask(bits)
    return f"CPUs {written(cpus)}" if cpus else "no CPUs"


def _queues(state: State) -> list[tuple[str, str]]:
    return [(queue, bits) for queue, bits in state.items() if queue != "online"]


def _off(state: State, wanted: Any) -> list[str]:
    """The queues that do not steer to the CPUs wanted."""
    cpus = _cpus(wanted)
    return [queue for queue, bits in _queues(state) if of_mask(bits) != cpus]


def _write(interface: str, masks: Mapping[str, str]) -> tuple[Command, ...]:
    """Through `tee`, whose argument sudoers can name."""
    place = f"/sys/class/net/{interface}/queues"
    return tuple(
        Command(("tee", f"{place}/{queue}/rps_cpus"), sudo=True, stdin=f"{bits}\n")
        for queue, bits in masks.items()
    )
