"""The allowances of a cloud instance: AWS's ENA driver counts the packets beyond each of them."""

from __future__ import annotations

from netlimits.limits.base import Premise, Sign
from netlimits.limits.figures import RunFigures

SHARE = 0.001
"""Minimum share of packets beyond the allowance for the allowance to limit the run."""


def sign(run: RunFigures, kind: str, what: str) -> Sign | None:
    """Return a sign from the packets beyond an allowance, at the end that has more of them.

    `kind` names the allowance as in the driver's counter (`pps`, `bw`), and `what` in words. Return
    None without these counters.
    """
    ends = {"sender": run.sender, "receiver": run.receiver}
    shares = {}
    for whose, end in ends.items():
        beyond = run.figure(f"{end}_nic_{kind}_allowance_exceeded")
        packets = run.figure(f"{run.sender}_tx_packets")
        if beyond is not None and packets:
            shares[whose] = (beyond / packets, beyond, packets)
    if not shares:
        return None
    whose = max(shares, key=lambda at: shares[at][0])
    share, beyond, packets = shares[whose]
    text = (
        f"the {whose}'s cloud queued or dropped {beyond:,.0f} of {packets:,.0f} packets beyond "
        f"the machine's allowance of {what}"
    )
    return Sign(
        (Premise.reached(share, SHARE, text),),
        f"An allowance: {text}.",
        {f"{ends[whose]}_nic_{kind}_allowance_exceeded": beyond, "tx_packets": packets},
    )
