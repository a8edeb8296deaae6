"""Transmit packet steering (XPS): the CPUs that send through each transmit queue."""

from __future__ import annotations

import re

from netlimits.settings._base import Traits
from netlimits.settings.queues._cpu_sets import CPUS_OR_OFF, CpuSets, queue_numbers

_READ = r"""echo "online $(cat /sys/devices/system/cpu/online)"
d=/sys/class/net/$1/device
for l in "$d/local_cpulist" "$d/../local_cpulist"; do
    [ ! -e "$l" ] || { echo "local $(cat "$l")"; break; }
done
grep -Hs . "/sys/class/net/$1/queues/"tx-*/xps_cpus || exit 0"""

XPS = CpuSets(
    name="xps",
    title="CPUs that send through each transmit queue (XPS)",
    cpus={
        **CPUS_OR_OFF,
        "description": "The CPUs that may use each transmit queue: 0, 0-3 or 0,2. off: a hash of "
        "the flow chooses the queue.",
    },
    script=_READ,
    line=re.compile(
        r"^/sys/class/net/[^/]+/queues/(tx-[0-9]+)/xps_cpus:([0-9a-f,]+)$", re.MULTILINE
    ),
    part=re.compile("tx-[0-9]{1,5}"),
    file="/sys/class/net/{interface}/queues/{part}/xps_cpus",
    lacks="transmit queues to choose from (XPS needs two or more)",
    unmet_words="{part} is used by {now}, not by {wanted}",
    changed_words="{part} is used by {now}, was by {before}",
    queues=queue_numbers,
    traits=Traits(tried=True, leaves=("queue setting",), reset_by=("channels",)),
)
"""`xps: {spread: cpus}`, `xps: {cpus: off}`, or `xps: {queues: ["0-1", off]}`."""
