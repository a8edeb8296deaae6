"""Upper bounds of a run's data rate that are known beforehand: its link and its qdiscs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlimits.evidence import facts
from netlimits.model import SettingUse
from netlimits.settings.qdisc.kinds import KINDS
from netlimits.units import tc

QUEUE = 1000
"""Packets that wait behind htb: the usual `txqueuelen`."""

CHILD = 10240
"""Maximum number of packets that wait in the child of a shaper: fq_codel's default."""

SEGMENTS = 65536
"""Maximum number of bytes that TCP passes to a qdisc as one packet."""

ON_A_LINK, ON_A_QDISC = 38, 14
"""Bytes of a frame beyond its IP packet: on a link (gap, preamble, checksum), and in a qdisc."""


@dataclass(frozen=True, slots=True)
class Cap:
    """An upper bound of a data rate: frames in bit/s, what sets it, and what may exceed it.

    `overhead` are the bytes of a frame beyond its IP packet that count, `beyond` the bytes of a
    burst. `queue` bytes and `packets` may wait and arrive after the sender's time. `once` are bytes
    that the qdisc counts once for many segments, which TCP passes to it together whatever its
    offloads.
    """

    what: str
    bps: float
    overhead: int
    beyond: float = 0.0
    queue: float = 0.0
    packets: int = 0
    once: int = 0

    def each(self, transport: str) -> int:
        """Return the least number of bytes that count for a frame beyond its IP packet."""
        return self.overhead + (min(0, self.once) if transport == "tcp" else self.once)


def speed(of: Mapping[str, Any]) -> float | None:
    """Return the bit rate of a host's data link, from its facts; None where it is not known.

    The speed that a virtual link or a guest's NIC reports (veth: 10000 Mb/s) does not limit its
    rate. A virtual function's traffic need not leave the card.
    """
    driver = facts.value(of, "driver") or {}
    cpu = str(of.get("cpu", {}).get("printed", ""))
    match = re.fullmatch(
        r"([0-9]{1,7})Mb/s", (facts.value(of, "link_settings") or {}).get("Speed", "")
    )
    if not match or not driver.get("bus-info") or re.search(r"^flags.*\bhypervisor\b", cpu, re.M):
        return None
    return None if driver.get("driver", "").endswith("vf") else float(match[1]) * 1e6


def caps(settings: Iterable[SettingUse]) -> dict[str, Cap]:
    """Return the rate that an experiment's own htb, netem or cake gives each role."""
    by_role: dict[str, Cap] = {}
    for use in settings:
        options = use.options if use.name == "qdisc" else {}
        if not isinstance(options, Mapping):
            continue
        kind = options.get("kind")
        option = {"netem": "rate", "cake": "bandwidth"}.get(str(kind), "")
        if options.get("cell_overhead", 0) < 0:  # there is no bound for cells that count as smaller
            continue
        if options.get(option, "unlimited") != "unlimited":
            by_role |= dict.fromkeys(use.roles, _of_options(str(kind), option, options))
        if kind == "htb":
            given = {name: options[name] for name in KINDS["htb"].units if name in options}
            try:
                wish = KINDS["htb"].wish(given)
            except ValueError:  # the setting itself refuses it, with the reason
                continue
            what = f"htb of {wish['ceil'] / 1e6:g} Mbit/s"
            burst = float(wish["cburst"]) + SEGMENTS  # with a token left a whole packet may go
            cap = Cap(what, wish["ceil"], ON_A_QDISC, burst, packets=_waiting(options))
            by_role |= dict.fromkeys(use.roles, cap)
    return by_role


def _waiting(htb: Mapping[str, Any]) -> int:
    leaves = htb.get("classes") or [htb]
    return sum(CHILD if "child" in leaf else QUEUE for leaf in leaves)


def _of_options(kind: str, option: str, options: Mapping[str, Any]) -> Cap:
    """Return the cap of a netem or cake (cake's `overhead` replaces Ethernet's header)."""
    bps = float(tc.rate(options[option]))
    what = f"{kind} of {bps / 1e6:g} Mbit/s"
    if kind == "netem":
        more = int(options.get("packet_overhead", 0))
        return Cap(what, bps, ON_A_QDISC, packets=int(options.get("limit", 1000)), once=more)
    overhead = int(options.get("overhead", ON_A_QDISC))
    return Cap(what, bps, overhead, queue=float(tc.size(options.get("memory_limit", 32 << 20))))


def shaper(qdiscs: Sequence[Mapping[str, Any]], role: str) -> Cap | None:
    """Return the cap of a tbf at an interface's root, as `tc -j` prints it, or None without one."""
    for qdisc in qdiscs:
        options = qdisc.get("options") or {}
        rate = options.get("rate")
        if qdisc.get("root") and qdisc.get("kind") == "tbf" and isinstance(rate, (int, float)):
            burst = float(options.get("burst") or 0)
            queue = float(options.get("limit") or 0) or rate * float(options.get("lat") or 0) / 1e6
            overhead = ON_A_QDISC + int(options.get("overhead") or 0)
            what = f"{role}'s tbf of {rate * 8 / 1e6:g} Mbit/s"
            waiting = CHILD if any(each.get("parent") for each in qdiscs) else 0
            return Cap(what, rate * 8, overhead, burst, queue=queue, packets=waiting)
    return None
