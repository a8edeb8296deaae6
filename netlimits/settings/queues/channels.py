"""Numbers of the NIC's queues, through `ethtool -l` and `-L`.

A change creates the queues anew. This loses RPS and XPS in /sys, the CPUs of interrupts in
/proc/irq, and maybe the RSS table. So all of them are read and restored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netlimits.model import Command, Completed
from netlimits.settings._base import State, Traits
from netlimits.settings._quantities import Quantities
from netlimits.units.cpus import CPU_LIST

_READ_RSS = r"""ethtool -x "$1" 2>/dev/null | sed -n 's/^ *[0-9][0-9]*: *\([0-9 ]*\)$/rss \1/p'
"""

RSS_TABLE = re.compile(r"(\d{1,5}( \d{1,5}){0,4095})?", re.ASCII)

_RSS_ROW = re.compile(r"^rss (?P<queues>[0-9 ]+)$", re.MULTILINE)

_NUMBERS_OF_INTERRUPTS = r"""
numbers() {
    device=$(readlink -f "/sys/class/net/$1/device")
    device=${device##*/}
    names="$device-[^ ]*\\|[^ ]*@pci:$device\\|$1-[^ ]*\\|$1"
    sed -n "s/^ *\([0-9][0-9]*\):.*[[:space:]]\($names\)\$/\1 \2/p" \
        /proc/interrupts
}
"""

_READ = (
    'ethtool -l "$1" || exit\n'
    + _READ_RSS
    + _NUMBERS_OF_INTERRUPTS
    + r"""
(cd "/sys/class/net/$1/queues" && grep -s "" rx-*/rps_cpus rx-*/rps_flow_cnt tx-*/xps_cpus \
    tx-*/xps_rxqs) 2>/dev/null
numbers "$1" | while read -r number name; do
    echo "interrupt $name:$(cat "/proc/irq/$number/smp_affinity_list")"
done
exit 0"""
)

_WRITE = (
    _NUMBERS_OF_INTERRUPTS
    + r"""
root=; [ "$(id -u)" = 0 ] || root="sudo -n --"
interface=$1
shift
status=0
for pair; do
    name=${pair%%=*} value=${pair#*=}
    case $name in
    interrupt\ *)
        number=$(numbers "$interface" | sed -n "s|^\([0-9]*\) ${name#* }\$|\1|p")
        file=/proc/irq/$number/smp_affinity_list ;;
    *) file=/sys/class/net/$interface/queues/$name ;;
    esac
    [ "$(cat "$file" 2>/dev/null)" = "$value" ] ||
        printf '%s\n' "$value" | $root tee "$file" >/dev/null || status=1
done
exit $status"""
)

_QUEUE = r"rx-[0-9]{1,5}/(?:rps_cpus|rps_flow_cnt)|tx-[0-9]{1,5}/(?:xps_cpus|xps_rxqs)"
_INTERRUPT = r"interrupt [A-Za-z0-9_.@-]+"
_LINE = re.compile(
    rf"^(?P<name>{_QUEUE}|{_INTERRUPT}(?::[A-Za-z0-9_.@-]+)*):(?P<value>[0-9a-f,-]+)$", re.MULTILINE
)


@dataclass(slots=True)
class Channels(Quantities):
    """`channels: {combined: 4}`."""

    def read(self, interface: str, about: Any) -> Command:
        return Command(("sh", "-c", _READ, "sh", interface))

    def state(self, completed: Completed) -> State:
        """Return "most" and "now", "queues": {file or interrupt: value}, and the "rss" table."""
        show = Command(("ethtool", self.show, completed.command.argv[-1]))
        numbers = Quantities.state(self, replace(completed, command=show))
        queues = {match["name"]: match["value"] for match in _LINE.finditer(completed.stdout)}
        return {**numbers, "queues": queues, "rss": _rss_table(completed.stdout)}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        """Return the commands. Raises SettingError for an RSS table that could not be restored."""
        commands = Quantities.change(self, interface, state, wanted)
        if commands and state and state["rss"] and not rss_words(state["rss"]):
            raise self.error(
                f"{interface} has an RSS table that `ethtool -X` cannot make again once a change "
                f"of channels has replaced it; run `ethtool -X {interface} default` first, or "
                "leave `channels` out"
            )
        return commands

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        numbers = Quantities.undo(self, interface, original, state)
        words, queues = rss_words(original["rss"]), original["queues"]
        rings = sum(original["now"].get(name, 0) for name in ("rx", "combined"))
        is_default = words == ("equal", str(rings))  # drivers create this table by themselves
        differs = not numbers and original["rss"] != state["rss"] if state else not is_default
        if words and differs:
            numbers = (*numbers, Command(("ethtool", "-X", interface, *words), sudo=True))
        if not queues or (not numbers and queues == state.get("queues")):
            return numbers
        pairs = (f"{name}={value}" for name, value in queues.items())
        script = ("sh", "-c", _WRITE, "restore queues", interface, *pairs)
        return (*numbers, Command(script, by_hand=(*_by_hand(interface, queues, state),)))

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        numbers = Quantities.differences(self, original, state)
        if original["rss"] != state["rss"]:
            what = [" ".join(rss_words(each["rss"])) for each in (state, original)]
            numbers = (*numbers, f"RSS table is {what[0]}, was {what[1]}")
        before, now = original["queues"], state["queues"]
        return numbers or tuple(
            f"{name} is {now[name]}, was {value}"
            for name, value in before.items()
            if now.get(name, value) != value
        )

    def faults(self, state: State) -> Iterator[str]:
        yield from Quantities.faults(self, state)
        if not RSS_TABLE.fullmatch(state["rss"]):
            yield f"{state['rss'][:40]!r} is no RSS table"
        queues: Mapping[str, str] = state["queues"]
        cpus = re.compile(CPU_LIST["pattern"])
        for name, value in queues.items():
            good = cpus.search(value) if " " in name else re.fullmatch("[0-9a-f,]+", value)
            if not re.fullmatch(rf"{_QUEUE}|{_INTERRUPT}(:[A-Za-z0-9_.@-]+)*", name) or not good:
                yield f"{name[:40]!r} cannot be {value[:40]!r}"


def _by_hand(interface: str, queues: Mapping[str, str], state: State) -> Iterator[Command]:
    """Yield commands for the queues' files that differ; numbers of interrupts are not stable."""
    now = state.get("queues", {})
    for name, value in queues.items():
        if " " not in name and now.get(name) != value:
            path = f"/sys/class/net/{interface}/queues/{name}"
            yield Command(("tee", path), sudo=True, stdin=value)


def _rss_table(printed: str) -> str:
    """Return the queue of each entry of the RSS table, blank-separated; "" without a table."""
    return " ".join(" ".join(match["queues"] for match in _RSS_ROW.finditer(printed)).split())


def rss_words(table: str) -> tuple[str, ...]:
    """Return the words of `ethtool -X` that create this table; () if no words can."""
    queues = [int(queue) for queue in table.split()]
    if not queues:
        return ()
    if _in_turn(queues):
        first = min(queues)
        start = ("start", str(first)) if first else ()
        return ("equal", str(max(queues) - first + 1), *start)
    if queues == sorted(queues):
        count = Counter(queues)
        return ("weight", *(str(count[queue]) for queue in range(max(queues) + 1)))
    return ()


def _in_turn(queues: list[int]) -> bool:
    first, last = min(queues), max(queues)
    return all(queue == first + at % (last - first + 1) for at, queue in enumerate(queues))


CHANNELS = Channels(
    name="channels",
    show="-l",
    writes="-L",
    names={"rx": "RX", "tx": "TX", "other": "Other", "combined": "Combined"},
    title="Numbers of queues of the data interface",
    least=0,
    traits=Traits(
        separate=True,
        tried=True,
        places_interrupts=True,
        watched="partly",
        restarts=True,
        drops_carrier=True,
    ),
)
