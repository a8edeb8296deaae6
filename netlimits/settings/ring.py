"""Sizes of the NIC's rings, through `ethtool -g` and `-G`."""

from __future__ import annotations

from netlimits.settings._base import Traits
from netlimits.settings._quantities import Quantities

RING = Quantities(
    name="ring",
    show="-g",
    writes="-G",
    names={"rx": "RX", "rx-mini": "RX Mini", "rx-jumbo": "RX Jumbo", "tx": "TX"},
    title="Ring sizes of the data interface",
    least=1,
    traits=Traits(
        separate=True,
        tried=True,
        watched="partly",
        restarts=True,
        drops_carrier=True,
        reset_by=("channels",),
    ),
)
