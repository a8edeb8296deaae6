"""Numbers of the NIC's queues, through `ethtool -l` and `-L`.

A driver has `combined` ones or `rx` and `tx`. Changing them builds the queues anew: the link may
go down and qdiscs that an mq root holds for them come and go.
"""

from __future__ import annotations

from netlimits.settings._quantities import Quantities

CHANNELS = Quantities(
    name="channels",
    show="-l",
    write="-L",
    names={"rx": "RX", "tx": "TX", "other": "Other", "combined": "Combined"},
    title="Numbers of queues of the data interface",
    least=0,
)
"""`channels: {combined: 4}`."""
