"""The CPUs that serve the data interface's interrupts, through /proc/irq.

The interface's interrupts are the MSI interrupts of its PCI device. If it has none, they are the
lines of /proc/interrupts that contain the interface's name. Drivers name an interrupt after its
queue (`virtio1-input.0`, `eth0-TxRx-3`, `mlx5_comp2@pci:…`). `spread` does not change interrupts
with other names, unless no interrupt has such a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from netlimits.settings._base import State, Traits
from netlimits.settings.queues._cpu_sets import LOCAL, ONLINE, QUEUES, CpuSets
from netlimits.units.cpus import CPU_LIST

_READ = r"""d=/sys/class/net/$1/device
[ -e "$d" ] || exit 0
case $(readlink "$d/subsystem") in
*/virtio) m=$d/../msi_irqs ;;
*) m=$d/msi_irqs ;;
esac
if [ -d "$m" ]; then irqs=$(ls "$m" | sort -n)
else irqs=$(grep -wF -- "$1" /proc/interrupts | sed -n 's/^ *\([0-9][0-9]*\):.*/\1/p'); fi
echo "online $(cat /sys/devices/system/cpu/online)"
case $(readlink "$d/subsystem") in
*/virtio) l=$d/../local_cpulist ;;
*) l=$d/local_cpulist ;;
esac
[ ! -e "$l" ] || echo "local $(cat "$l")"
sed -n 's/^ *\([0-9][0-9]*\):.* \([^ ]*\)$/name \1 \2/p' /proc/interrupts
for n in $irqs; do
    f=/proc/irq/$n/smp_affinity_list
    [ ! -e "$f" ] || echo "$n $(cat "$f")"
done"""

_QUEUE = re.compile(r"^[^@]*[-._][A-Za-z_]*([0-9]+)(?:@|$)")


def _queues(state: State) -> Mapping[str, int]:
    """Return interrupt -> queue: the number in its name, or its position if names have none."""
    pairs = dict(pair.split("=", 1) for pair in state.get(QUEUES, "").split())
    numbered = {part: match for part, name in pairs.items() if (match := _QUEUE.match(name))}
    if numbered:
        return {part: int(match[1]) for part, match in numbered.items()}
    parts = [part for part in state if part not in (ONLINE, LOCAL, QUEUES)]
    return {part: at for at, part in enumerate(parts)}


IRQ = CpuSets(
    name="irq",
    title="CPUs that serve the interrupts of the data interface",
    cpus={
        **CPU_LIST,
        "description": "The CPUs that may serve each interrupt: 0, 0-3 or 0,2. Stop irqbalance on "
        "the host first, because it moves interrupts.",
    },
    script=_READ,
    line=re.compile(r"^([0-9]+) ([0-9][0-9,-]*)$", re.MULTILINE),
    part=re.compile("[0-9]{1,9}"),
    file="/proc/irq/{part}/smp_affinity_list",
    lacks="interrupts of its own (a veth, bridge or other virtual interface has none)",
    unmet_words="interrupt {part} stays on {now}, not {wanted} (one that the kernel manages itself "
    "cannot be moved)",
    changed_words="interrupt {part} is on {now}, was on {before}",
    masks=False,
    queues=_queues,
    named=re.compile(r"^name ([0-9]+) ([^ =]+)$", re.MULTILINE),
    traits=Traits(tried=True, places_interrupts=True, reset_by=("channels",)),
)
"""`irq: {cpus: "0-1"}`, or `irq: {spread: local-node}`."""
