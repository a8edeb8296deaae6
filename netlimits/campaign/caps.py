"""Upper bounds of a run's data rate that follow from its link and its qdiscs."""

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
"""Maximum number of packets in the queue of an htb class: the usual `txqueuelen`."""

CHILD = 10240
"""Maximum number of packets that wait in the child of a shaper: fq_codel's default."""

SEGMENTS = 65536
"""Maximum number of bytes that TCP passes to a qdisc as one packet."""

ON_A_LINK, ON_A_QDISC = 38, 14
"""Bytes that a frame adds to its IP packet: on a link (with gap and preamble), and in a qdisc."""


@dataclass(frozen=True, slots=True)
class Cap:
    """An upper bound of a data rate; `what` names the link or qdisc that sets it.

    `bps` is the rate of frames in bit/s. The link or qdisc counts `overhead` bytes in addition to
    each IP packet. A burst may exceed the rate by `beyond` bytes. Up to `queue` bytes and `packets`
    packets may wait in a queue, and arrive after the sender has ended. The qdisc adds `once` bytes
    to each packet that it receives. Such a packet may hold many segments of TCP, even without
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
        """Return the minimum bytes that the link or qdisc counts in addition to each IP packet."""
        return self.overhead + (min(0, self.once) if transport == "tcp" else self.once)


def speed(of: Mapping[str, Any]) -> float | None:
    """Return the bit rate of a host's data link from its facts, or None if the rate is unknown.

    Virtual links and NICs of guests report a speed that does not limit them (veth: 10000 Mb/s), so
    None is returned for them. It is also returned for a virtual function (VF), whose traffic need
    not leave the card.
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
    """Return the caps that an experiment's own htb, netem or cake qdiscs set, by role."""
    by_role: dict[str, Cap] = {}
    for use in settings:
        options = use.options if use.name == "qdisc" else {}
        if not isinstance(options, Mapping):
            continue
        kind = options.get("kind")
        option = {"netem": "rate", "cake": "bandwidth"}.get(str(kind), "")
        if options.get("cell_overhead", 0) < 0:  # a negative overhead gives no bound
            continue
        if options.get(option, "unlimited") != "unlimited":
            by_role |= dict.fromkeys(use.roles, _of_options(str(kind), option, options))
        if kind == "htb":
            given = {name: options[name] for name in KINDS["htb"].units if name in options}
            try:
                wish = KINDS["htb"].wish(given)
            except ValueError:  # the setting itself reports this error
                continue
            what = f"htb of {wish['ceil'] / 1e6:g} Mbit/s"
            burst = float(wish["cburst"]) + SEGMENTS  # htb sends a whole packet if it has one token
            cap = Cap(what, wish["ceil"], ON_A_QDISC, burst, packets=_waiting(options))
            by_role |= dict.fromkeys(use.roles, cap)
    return by_role


def _waiting(htb: Mapping[str, Any]) -> int:
    leaves = htb.get("classes") or [htb]
    return sum(CHILD if "child" in leaf else QUEUE for leaf in leaves)


def _of_options(kind: str, option: str, options: Mapping[str, Any]) -> Cap:
    """Return the cap of a netem or cake qdisc; cake's `overhead` replaces the Ethernet header."""
    bps = float(tc.rate(options[option]))
    what = f"{kind} of {bps / 1e6:g} Mbit/s"
    if kind == "netem":
        more = int(options.get("packet_overhead", 0))
        return Cap(what, bps, ON_A_QDISC, packets=int(options.get("limit", 1000)), once=more)
    overhead = int(options.get("overhead", ON_A_QDISC))
    return Cap(what, bps, overhead, queue=float(tc.size(options.get("memory_limit", 32 << 20))))


def shaper(qdiscs: Sequence[Mapping[str, Any]], role: str) -> Cap | None:
    """Return the cap of the tbf at an interface's root, or None; `qdiscs` come from `tc -j`."""
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
