"""Receive packet steering (RPS): a hash of the flow chooses the CPU that takes a packet up."""

from __future__ import annotations

import re

from netlimits.settings.queues._cpu_sets import OFF, CpuSets
from netlimits.units.cpus import CPU_LIST, from_mask, mask

_READ = r"""echo "online $(cat /sys/devices/system/cpu/online)"
grep -Hs . "/sys/class/net/$1/queues/"rx-*/rps_cpus || exit 0"""

RPS = CpuSets(
    name="rps",
    title="CPUs that take received packets up (RPS)",
    cpus={
        "anyOf": [CPU_LIST, {"enum": [OFF]}],
        "description": "The CPUs among which each receive queue's flows are spread: 0, "
        "0-3 or 0,2; off for the one that served the interrupt.",
    },
    script=_READ,
    line=re.compile(
        r"^/sys/class/net/[^/]+/queues/(rx-[0-9]+)/rps_cpus:([0-9a-f,]+)$", re.MULTILINE
    ),
    part=re.compile("rx-[0-9]{1,5}"),
    of_text=from_mask,
    text=mask,
    legal=re.compile(r"^[0-9a-f]{1,8}(,[0-9a-f]{8}){0,312}\Z"),
    file="/sys/class/net/{interface}/queues/{part}/rps_cpus",
    lacks="receive queues that packets are steered from",
    unmet_words="{part} steers to {now}, not to {wanted}",
    changed_words="{part} steers to {now}, did to {before}",
    fault_words="cannot steer to",
)
"""`rps: {cpus: "0-1"}`, or `rps: {cpus: off}`."""
