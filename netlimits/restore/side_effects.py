"""Decide which differences in a host's network state a campaign's settings can have caused.

The *stack* is the data interface, every interface stacked on it, and its ports if it is a bond.

- A setting that restarts an interface can affect the leaves that a restart removes from the stack.
  It can also affect every route to the same destination as a route of the stack, since IPv6 moves
  such routes. A restart does not remove IPv4 addresses, names or an administrator's qdiscs. Two
  settings affect more: `switch` may create new interfaces, and `channels` creates new queues.
- Any other setting affects only the leaves that it sets, on the stack. `sysctl` also affects the
  sysctls of the same name on other interfaces.
- The campaign can have caused a new leaf only if the kernel creates such leaves by itself.

Other users caused all other differences. They are reported, and not restored.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from netlimits.evidence.network.comparison import Difference
from netlimits.evidence.network.state import INTERFACE, Leaf, NetworkState
from netlimits.settings import SETTINGS

OF_DRIVERS = {
    s.name
    for s in SETTINGS
    if s.traits.restarts or {"coalesce", "pause", "RSS table and key"} & {*s.traits.leaves}
}
"""Settings that may change the driver's rings, coalescing, channels, pause frames or RSS."""

_OF_OFFLOADS = re.compile(r"(gso|gro|tso)_\w+")
"""Attributes of a link that change with its offloads."""

_OF_RESTARTS = re.compile(r"flags|(min_|max_)?mtu|num_[rt]x_queues|linkinfo\..*\.cost")
"""Attributes of a link that its driver or its bridge may reset after a restart."""

_KERNELS = re.compile(r"(multicast )?(fe80::/64|ff00::/8)$")
"""Routes that IPv6 creates on each interface."""

_DEVICES = re.compile(r" dev (\S+)")
_END = re.compile(r"_(ms|bytes|secs|jiffies)$")


class SideEffects:
    """The possible side effects of one role's settings, `sets` (see `comparison.Sets`)."""

    def __init__(
        self,
        interface: str,
        sets: Mapping[str, Collection[str]],
        before: NetworkState,
        now: NetworkState,
    ) -> None:
        self._sets = sets
        self._before, self._now = before.leaves, now.leaves
        leaves = {**self._before, **self._now}
        lies_on: dict[str, set[str]] = {}
        ports: set[str] = set()
        destinations: dict[str, set[str]] = {}
        for leaf, value in leaves.items():
            if leaf.kind == "link" and leaf.name == "master":
                lies_on.setdefault(leaf.interface, set()).add(value)
                if value == interface:
                    ports.add(leaf.interface)
            elif leaf.kind == "link" and leaf.name == "link":
                peer = leaves.get(leaf._replace(name="linkinfo.info_kind")) == "veth"
                if not peer:
                    lies_on.setdefault(value, set()).add(leaf.interface)
            elif leaf.kind.endswith(" route"):
                for device in _DEVICES.findall(f" {leaf.name}"):
                    destinations.setdefault(device, set()).add(_destination(leaf))
        self.stack = {*_closure(interface, lies_on)} | ports
        self._destinations = {d for device in self.stack for d in destinations.get(device, ())}
        traits = [s.traits for s in SETTINGS if s.name in sets]
        self._restarts = any(each.restarts for each in traits)
        self._kinds = {kind for each in traits for kind in each.leaves}
        self._stems = {_stem(name) for name in sets.get("sysctl", ())}
        self._moved = {
            _destination(leaf)
            for leaf in self._before.keys() - self._now.keys()
            if leaf.kind.endswith(" route")
        }
        self._with_qdisc = {
            leaf.interface
            for leaf in self._now.keys() - self._before.keys()
            if leaf.kind == "qdisc" and not _is_default(leaf)
        }

    def includes(self, difference: Difference) -> bool:
        """Return True if the settings can have caused the difference."""
        leaf = difference.leaf
        if leaf.kind == INTERFACE:
            return "switch" in self._sets and leaf.interface in self.stack
        if leaf.kind == "sysctl" and _stem(leaf.name) in self._stems:
            return True
        if leaf.kind.endswith(" rule") or (difference.before is None and self._is_added(leaf)):
            return False
        of_route = leaf.kind.endswith((" route", " nexthop"))
        if of_route and (self._restarts or any(k.endswith(" route") for k in self._kinds)):
            if difference.after is None and self._went_with_address(leaf):
                return False
            devices = {leaf.interface, *_DEVICES.findall(leaf.name)}
            return bool(devices & self.stack) or _destination(leaf) in self._destinations
        if leaf.interface not in self.stack:
            return False
        if self._restarts and self._follows_restart(difference):
            return True
        if leaf.kind == "link" and not _OF_OFFLOADS.fullmatch(leaf.name):
            return False
        return leaf.kind in self._kinds

    def _follows_restart(self, difference: Difference) -> bool:
        """Return True if a restart of an interface of the stack can cause the difference."""
        leaf = difference.leaf
        if leaf.kind == "qdisc" and _is_default(leaf) and difference.after is None:
            # an added qdisc may have replaced the default qdisc
            return leaf.interface not in self._with_qdisc
        if "switch" in self._sets:
            return True
        if leaf.kind == "sysctl":
            return "mtu" in self._sets and leaf.name.startswith("net.ipv6.")
        if leaf.kind == "link":
            return bool(_OF_RESTARTS.fullmatch(leaf.name) or _OF_OFFLOADS.fullmatch(leaf.name))
        if leaf.kind == "address":
            return ":" in leaf.name
        if leaf.kind in ("qdisc", "class", "filter", "queue setting"):
            is_kernels = leaf.kind == "qdisc" and _is_default(leaf)
            return is_kernels or "/xps_" in leaf.name or "channels" in self._sets
        return True

    def _is_added(self, leaf: Leaf) -> bool:
        """Return True if somebody added the new leaf: the kernel does not create such leaves."""
        if leaf.kind.endswith(" route"):
            return _destination(leaf) not in self._moved and not self._is_kernels(leaf)
        if leaf.kind == "address":
            return not leaf.name.startswith("fe80:")
        if leaf.kind in ("qdisc", "class", "filter"):
            if "qdisc" in self._kinds:
                return False
            return not (leaf.kind == "qdisc" and _is_default(leaf))
        if leaf.kind in ("link", "token"):
            return "switch" not in self._sets
        return leaf.kind.endswith((" neighbour", " nexthop"))

    def _went_with_address(self, leaf: Leaf) -> bool:
        """Return True for an IPv4 route that went when another user removed its address.

        Return False if the campaign has the setting `switch`, which removes addresses itself.
        """
        if leaf.kind != "IPv4 route" or "switch" in self._sets:
            return False
        had, has = (
            {old.name for old in leaves if old[:2] == ("address", leaf.interface) and "." in old[2]}
            for leaves in (self._before, self._now)
        )
        gone = [ipaddress.ip_interface(name) for name in had - has]
        source = re.search(r" src (\S+)", leaf.name)
        return bool(gone) and (not has or any(source and source[1] == str(a.ip) for a in gone))

    def _is_kernels(self, leaf: Leaf) -> bool:
        """Return True for a route that the kernel creates for an address of the earlier reading."""
        if " proto kernel" not in leaf.name:
            return False
        if _KERNELS.match(leaf.name.partition(" dev ")[0]):
            return True
        with suppress(ValueError):
            network = ipaddress.ip_network(leaf.name.split()[0])
            return any(
                old.kind == "address"
                and old.interface == leaf.interface
                and ipaddress.ip_interface(old.name).network == network
                for old in self._before
            )
        return False


def _closure(interface: str, lies_on: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield an interface and all interfaces that are stacked on it, directly or indirectly."""
    seen, new = {interface}, [interface]
    while new:
        base = new.pop()
        yield base
        above = {*lies_on.get(base, ())} - seen
        seen |= above
        new += above


def _destination(leaf: Leaf) -> str:
    words = leaf.name.split()
    table = re.search(r" table (\S+)", leaf.name)
    first = (
        words[:2] if re.fullmatch("[a-z]{5,}", words[0]) and words[0] != "default" else words[:1]
    )
    return " ".join((leaf.kind, *first, table[1] if table else ""))


def _is_default(leaf: Leaf) -> bool:
    """Return True for a qdisc that the kernel created, which has the handle `0:`."""
    return leaf.name.split()[1:2] == ["0:"]


def _stem(name: str) -> str:
    """Return a sysctl's name without its interface and unit, which related sysctls share."""
    name = re.sub(r"^(net\.\w+\.(?:conf|neigh))\..*\.(\w+)$", r"\1.\2", name)
    return _END.sub("", name).replace("tcp_allowed_congestion", "tcp_congestion")
