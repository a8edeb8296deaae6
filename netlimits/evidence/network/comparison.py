"""Compare two readings of a host's network state."""

from __future__ import annotations

from dataclasses import dataclass

from netlimits.evidence.network.script import MOST_INTERFACES
from netlimits.evidence.network.state import INTERFACE, Leaf, NetworkState

_SECTIONS = {
    "links": "interfaces and addresses",
    "ethtool": "features, rings, coalescing, channels, pause and RSS",
    "tc": "qdiscs, classes and filters",
    "sysctl": "sysctls and queues",
    "ipv4": "IPv4 rules, neighbours and routes of other interfaces",
    "ipv6": "IPv6 rules, neighbours and routes of other interfaces",
}


_WITH_A_MODULE = ("gre0", "gretap0", "erspan0", "ip6gre0")
"""Interfaces that the kernel creates and keeps when a tunnel loads the GRE module."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A leaf whose value differs between two readings; a value is None if the leaf is missing."""

    leaf: Leaf
    before: str | None
    after: str | None

    def __str__(self) -> str:
        kind, interface, name = self.leaf
        what = " ".join(filter(None, (interface and f"{interface}:", kind, name)))
        if self.after is None:
            return f"{what} is gone"
        if self.before is None:
            return f"{what} was not there"
        return f"{what} is {self.after or 'empty'}, was {self.before or 'empty'}"


def uncompared(before: NetworkState, after: NetworkState) -> tuple[str, ...]:
    """Describe the parts that one of the readings lacks; empty if both are complete."""
    both = before.sections.keys() & after.sections.keys()
    left = [words for name, words in _SECTIONS.items() if name not in both]
    most = max(before.interfaces, after.interfaces)
    if most > MOST_INTERFACES:
        left.append(f"features and sysctls of other interfaces (there are {most})")
    return tuple(left)


def differences(before: NetworkState, after: NetworkState) -> tuple[Difference, ...]:
    """Return each leaf that differs. A new or removed interface is a single difference.

    New interfaces of the GRE module are ignored.
    """
    different: dict[Leaf, Difference] = {}
    for name in before.sections.keys() & after.sections.keys():
        was, now = before.sections[name], after.sections[name]
        for leaf in dict.fromkeys((*was, *now)):
            if was.get(leaf) == now.get(leaf):
                continue
            if leaf.kind == "sysctl" and not (leaf in was and leaf in now):
                continue  # an interface or a module was added or removed
            different[leaf] = Difference(leaf, was.get(leaf), now.get(leaf))
    appeared_or_gone = {leaf.interface for leaf in different if leaf.kind == INTERFACE}
    for name in _WITH_A_MODULE:
        leaf = Leaf(INTERFACE, name, "")
        if leaf in different and different[leaf].before is None:
            del different[leaf]
    return tuple(
        difference
        for leaf, difference in sorted(different.items())
        if leaf.kind == INTERFACE or leaf.interface not in appeared_or_gone
    )
