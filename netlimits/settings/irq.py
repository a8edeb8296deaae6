"""Which CPUs serve the data interface's interrupts, through /proc/irq.

The interrupts are those of the NIC's own PCI device (of the parent device for virtio), or where
that lists none, the lines of /proc/interrupts that name the interface. An interrupt that the
kernel manages itself refuses every write: the read-back finds that. A running irqbalance moves
interrupts by itself; the next run's read-back finds that too, and sets them again.
"""

from __future__ import annotations

import re

from netlimits.settings._cpu_sets import CpuSets
from netlimits.units.cpus import CPU_LIST, formatted, members

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

IRQ = CpuSets(
    name="irq",
    title="CPUs of the data interface's interrupts",
    cpus={
        **CPU_LIST,
        "description": "The CPUs that may serve each of its interrupts: 0, 0-3 or 0,2. "
        "Stop irqbalance on the host first, which moves them.",
    },
    script=_READ,
    line=re.compile(r"^([0-9]+) ([0-9][0-9,-]*)$", re.MULTILINE),
    part=re.compile("[0-9]{1,9}"),
    of_text=members,
    text=formatted,
    legal=re.compile(CPU_LIST["pattern"]),
    file="/proc/irq/{part}/smp_affinity_list",
    lacks="interrupts of its own (a veth, bridge or other virtual interface has none)",
    unmet_words="interrupt {part} stays on {now}, not {wanted} (one that the kernel manages itself "
    "cannot be moved)",
    changed_words="interrupt {part} is on {now}, was on {before}",
    fault_words="cannot be on CPUs",
)
"""`irq: {cpus: "0-1"}`."""
