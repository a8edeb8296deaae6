"""Messages of rtnetlink(7), which `watch.pl` prints in hexadecimal."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

Order = Literal["little", "big"]

_LINK, _ADDRESS, _ROUTE = (16, 17), (20, 21), (24, 25)
_RULE = (32, 33)
_DELETED = (17, 21, 25, 33, 37, 41, 45)
_TABLES = {253: "default", 254: "main", 255: "local"}
_QUEUES = {36: "qdisc", 37: "qdisc", 40: "class", 41: "class", 44: "filter", 45: "filter"}

_UP, _CARRIER = 0x1, 0x10000

_PROPERTIES = {
    4: "MTU",
    10: "master",
    13: "transmit queue length",
    31: "number of transmit queues",
    32: "number of receive queues",
    40: "largest number of GSO segments",
    41: "largest GSO packet",
    58: "largest GRO packet",
    63: "largest GSO packet of IPv4",
    64: "largest GRO packet of IPv4",
}
_CARRIER_LOSSES, _EVENT, _XDP, _NAME = 48, 44, 43, 3
_FEATURES, _FAILOVER = 2, 3

_METRICS = {
    2: "mtu", 3: "window", 4: "rtt", 5: "rttvar", 6: "ssthresh", 7: "cwnd", 8: "advmss",
    9: "reordering", 10: "hoplimit", 11: "initcwnd", 12: "features", 13: "rto_min",
    14: "initrwnd", 15: "quickack", 17: "fastopen_no_cookie",
}  # fmt: skip

_WORDS = re.compile(r"[0-9]{1,3} ([0-9a-f]{2}){1,20}( [0-9]{1,3}=([0-9a-f]{2})*)*")


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its type `kind`, its fixed part `head`, and number -> attribute."""

    kind: int
    head: bytes
    attributes: Mapping[int, bytes]
    order: Order

    @property
    def link(self) -> bool:
        return self.kind in _LINK

    @property
    def deleted(self) -> bool:
        return self.kind in _DELETED

    @property
    def index(self) -> int:
        """The index of the interface. Only messages about links, addresses and queues have it."""
        return self._number(self.head[4:8])

    @property
    def name(self) -> str:
        return self._text(_NAME) if self.link else ""

    @property
    def features(self) -> bool:
        return self.link and self._attribute(_EVENT) == _FEATURES

    @property
    def failed_over(self) -> bool:
        return self.link and self._attribute(_EVENT) == _FAILOVER

    @property
    def queue(self) -> str:
        """Describe a change of a qdisc, class or filter; return "" for any other message."""
        if self.kind not in _QUEUES:
            return ""
        handle = self._number(self.head[8:12])
        minor = f"{handle & 0xFFFF:x}" if handle & 0xFFFF else ""
        verb = "was removed" if self.deleted else "was made or changed"
        return f"{_QUEUES[self.kind]} {self._text(1)} {handle >> 16:x}:{minor} {verb}"

    @property
    def address(self) -> str:
        if self.kind not in _ADDRESS:
            return ""
        return _address(self.attributes.get(2) or self.attributes.get(1, b""))

    def properties(self) -> dict[str, str]:
        flags = self._number(self.head[8:12])
        named = {"name": self.name, "state": "up" if flags & _UP else "down"}
        named |= {
            w: str(self._attribute(n)) for n, w in _PROPERTIES.items() if n in self.attributes
        }
        named.setdefault("master", "none")
        named["XDP program"] = "another" if self.attributes.get(_XDP, b"")[4:5] > b"\0" else "none"
        if _CARRIER_LOSSES in self.attributes:
            named["carrier losses"] = str(self._attribute(_CARRIER_LOSSES))
        elif flags & _UP:
            named["carrier"] = "there" if flags & _CARRIER else "lost"
        return named

    # -- routes ------------------------------------------------------------------------------

    @property
    def path(self) -> tuple[object, ...]:
        """The properties that decide where a route sends packets, to compare two routes."""
        _, length, _, tos, _, _, _, kind = self.head[:8]
        known = {n: value for n, value in self.attributes.items() if n not in (7, 15, 20)}
        return length, tos, kind, tuple(sorted(known.items()))

    @property
    def shown(self) -> str:
        """The route in words, similar to the output of `ip route`."""
        length = self.head[1]
        words = [f"{_address(self.attributes[1])}/{length}" if 1 in self.attributes else "default"]
        if via := self.attributes.get(5):
            words.append(f"via {_address(via)}")
        if 4 in self.attributes:
            words.append(f"over interface {self._attribute(4)}")
        elif 9 in self.attributes:
            words.append("over several interfaces")
        if 6 in self.attributes:
            words.append(f"metric {self._attribute(6)}")
        if source := self.attributes.get(7):
            words.append(f"src {_address(source)}")
        return " ".join((*words, *self._metrics()))

    def _metrics(self) -> list[str]:
        nested, words = self.attributes.get(8, b""), []
        while len(nested) >= 4:
            size = max(4, self._number(nested[:2]))
            if name := _METRICS.get(self._number(nested[2:4])):
                words.append(f"{name} {self._number(nested[4:8])}")
            nested = nested[size + 3 & ~3 :]
        return words

    def moves(self, peer: str, route: Message) -> bool:
        """Return True if this message reports that the route to a peer changed for a while.

        `route` is the route to the peer before and after the run.
        """
        if self.kind not in _ROUTE or self.head[0] != route.head[0]:
            return False
        length = self.head[1]
        if length < route.head[1] or not _within(peer, self.attributes.get(1, b""), length):
            return False
        metric, taken = self._attribute(6), route._attribute(6)
        if length == route.head[1] and metric > taken:
            return False
        if self._is_over_another(route):
            same_table = self.attributes.get(15) == route.attributes.get(15)
            return same_table and (length > route.head[1] or metric < taken)
        return self.deleted or self.path != route.path

    def _is_over_another(self, route: Message) -> bool:
        out, of_route = self.attributes.get(4), route.attributes.get(4)
        return out is not None and of_route is not None and out != of_route

    # -- rules -------------------------------------------------------------------------------

    def selects(self, interface: str, own: Collection[str], peers: Collection[str]) -> bool:
        """Return True for a message about a rule that may apply to traffic with the peers."""
        if self.kind not in _RULE:
            return False
        if self._text(3) not in ("", "lo", interface) or self._text(17) not in ("", interface):
            return False
        version = {2: 4, 10: 6}.get(self.head[0])
        peers = [peer for peer in peers if ipaddress.ip_address(peer).version == version]
        own = [address for address in own if ipaddress.ip_address(address).version == version]
        ends = ((1, self.head[1]), (2, self.head[2]))
        ways = [(peers, own or peers), (own or peers, peers)]
        return any(
            all(
                any(_within(address, self.attributes.get(number, b""), length) for address in some)
                for (number, length), some in zip(ends, way, strict=True)
            )
            for way in ways
        )

    @property
    def rule(self) -> str:
        """Describe a change of a policy rule, in the notation of `ip rule`."""
        words = [f"{self._attribute(6)}:"]
        for word, number, length in (("from", 2, self.head[2]), ("to", 1, self.head[1])):
            if length:
                words.append(f"{word} {_address(self.attributes.get(number, b''))}/{length}")
        if table := self._attribute(15) or self.head[4]:
            words.append(f"lookup {_TABLES.get(table, table)}")
        return f"the rule {' '.join(words)} was {'removed' if self.deleted else 'added'}"

    # -- values ------------------------------------------------------------------------------

    def _attribute(self, number: int) -> int:
        return self._number(self.attributes.get(number, b""))

    def _number(self, data: bytes) -> int:
        return int.from_bytes(data, self.order)

    def _text(self, number: int) -> str:
        text = self.attributes.get(number, b"").rstrip(b"\0").decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "?" for c in text)


def parsed(text: str, order: Order) -> Message | None:
    """Parse a line of `watch.pl`; return None if it is not a whole message."""
    if not _WORDS.fullmatch(text):
        return None
    kind, head, *attributes = text.split()
    pairs = (attribute.partition("=") for attribute in attributes)
    values = {int(number): bytes.fromhex(value) for number, _, value in pairs}
    message = Message(int(kind), bytes.fromhex(head), values, order)
    least = 8 if message.kind in _ADDRESS else 12
    return message if len(message.head) >= least else None


def _address(data: bytes) -> str:
    return str(ipaddress.ip_address(data)) if len(data) in (4, 16) else ""


def _within(peer: str, network: bytes, length: int) -> bool:
    """Return True if a peer is in a network. If `length` is 0, `network` may be empty."""
    address = ipaddress.ip_address(peer)
    if length > address.max_prefixlen:
        return False
    base = _address(network.ljust(address.max_prefixlen // 8, b"\0"))
    return bool(base) and address in ipaddress.ip_network(f"{base}/{length}", strict=False)
