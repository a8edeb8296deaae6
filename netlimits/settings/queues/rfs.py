"""Receive flow steering (RFS): packets go to the CPU on which the program of their flow runs.

By default, each queue's table gets an equal share of the entries of the host's table, as the
kernel's scaling.rst recommends. The kernel rounds the sizes of all tables up to powers of two. A
network namespace has no table of the host, only those of its queues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State, Traits
from netlimits.settings._schema import integer, options
from netlimits.settings._values import NamedValues, Values, is_number

_READ = r"""f=/proc/sys/net/core/rps_sock_flow_entries
[ ! -e "$f" ] || echo "entries $(cat "$f")"
grep -Hs . "/sys/class/net/$1/queues/"rx-*/rps_flow_cnt || exit 0"""

_ENTRIES = re.compile(r"^entries ([0-9]+)$", re.MULTILINE)
_QUEUE = re.compile(
    r"^/sys/class/net/[^/]+/queues/(rx-[0-9]+)/rps_flow_cnt:([0-9]+)$", re.MULTILINE
)
_NUMBER = integer(0, 2**29)


class Rfs(NamedValues):
    """`rfs: {entries: 32768}`."""

    name = "rfs"
    traits = Traits(leaves=("queue setting", "sysctl"), reset_by=("channels",))
    vanishing = True
    schema: Mapping[str, Any] = options(
        {
            "entries": {
                **_NUMBER,
                "description": "Size of the host's flow table: about the number of concurrent "
                "flows.",
            },
            "per_queue": {
                **_NUMBER,
                "description": "Flows of each receive queue; default: entries / number of queues.",
            },
        },
        title="Flows that are steered to their program's CPU (RFS)",
        description="entries: 0 switches it off. It steers packets that RPS distributes, or that "
        "an interrupt received.",
    )

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return {"entries": n, "rx-0": n, …}; a network namespace has no "entries"."""
        queues = {name: int(count) for name, count in _QUEUE.findall(completed.stdout)}
        if not queues:
            raise self.error(
                f"{completed.command.argv[-1]} has no receive queues that flows are steered from; "
                "leave `rfs` out for this host",
                completed,
            )
        entries = _ENTRIES.search(completed.stdout)
        return {**({"entries": int(entries[1])} if entries else {}), **queues}

    def wish(self, state: State, wanted: Any) -> Values:
        """Return the wanted table sizes, rounded up as the kernel does."""
        queues = [name for name in state if name != "entries"]
        entries, each = wanted.get("entries"), wanted.get("per_queue")
        if each is None and entries is not None:
            each = entries // max(1, len(queues))
        wish = {} if entries is None else {"entries": _rounded(entries)}
        return {**wish, **dict.fromkeys(queues, _rounded(each or 0))}

    def lacks(self, interface: str, state: State, name: str) -> str:
        return (
            "a network namespace has no net.core.rps_sock_flow_entries; give `per_queue` "
            "alone, or use a host of its own"
        )

    def write(self, interface: str, values: Values) -> tuple[Command, ...]:
        commands = []
        for name, value in values.items():
            if name == "entries":
                pair = f"net.core.rps_sock_flow_entries={value}"
                commands.append(Command(("sysctl", "-w", pair), sudo=True))
            else:
                path = f"/sys/class/net/{interface}/queues/{name}/rps_flow_cnt"
                commands.append(Command(("tee", path), sudo=True, stdin=f"{value}\n"))
        return tuple(commands)

    def legal(self, name: str, value: Any) -> bool:
        return bool(re.fullmatch("entries|rx-[0-9]{1,5}", name)) and is_number(value)


def _rounded(number: int) -> int:
    return 1 << (number - 1).bit_length() if number else 0
