"""Receive packet steering (RPS): a hash of the flow chooses the CPU that processes a packet."""

from __future__ import annotations

import re

from netlimits.settings._base import Traits
from netlimits.settings.queues._cpu_sets import CPUS_OR_OFF, CpuSets

_READ = r"""echo "online $(cat /sys/devices/system/cpu/online)"
grep -Hs . "/sys/class/net/$1/queues/"rx-*/rps_cpus || exit 0"""

RPS = CpuSets(
    name="rps",
    title="CPUs that process received packets (RPS)",
    cpus={
        **CPUS_OR_OFF,
        "description": "The CPUs that the flows of each receive queue are spread over: 0, 0-3 or "
        "0,2. off: the CPU that served the interrupt.",
    },
    script=_READ,
    line=re.compile(
        r"^/sys/class/net/[^/]+/queues/(rx-[0-9]+)/rps_cpus:([0-9a-f,]+)$", re.MULTILINE
    ),
    part=re.compile("rx-[0-9]{1,5}"),
    file="/sys/class/net/{interface}/queues/{part}/rps_cpus",
    lacks="receive queues that packets are steered from",
    unmet_words="{part} steers to {now}, not to {wanted}",
    changed_words="{part} steers to {now}, did to {before}",
    traits=Traits(leaves=("queue setting",), reset_by=("channels",)),
)
"""`rps: {cpus: "0-1"}`, or `rps: {cpus: off}`."""
