"""The table of headers: how many bytes each protocol adds to a packet, and where they count.

A tag stands outside the MTU of a link. A tunnel's headers count inside the MTU of the physical link
and outside that of the guest whose packets it carries. An inner layer stands between the sender's
own IP header and its TCP or UDP header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from netlimits.errors import DataError

BYTES: Mapping[str, tuple[int, str]] = {
    "preamble": (7, "IEEE 802.3"),
    "start of frame delimiter": (1, "IEEE 802.3"),
    "Ethernet": (14, "IEEE 802.3"),
    "frame check sequence": (4, "IEEE 802.3"),
    "inter-packet gap": (12, "IEEE 802.3"),
    "VLAN tag": (4, "IEEE 802.1Q"),
    "service VLAN tag": (4, "IEEE 802.1ad"),
    "MACsec tag and ICV": (32, "IEEE 802.1AE, SecTAG with SCI 16, ICV 16"),
    "MPLS label": (4, "RFC 3032"),
    "PPPoE and PPP": (8, "RFC 2516"),
    "IPv4": (20, "RFC 791, without options"),
    "IPv6": (40, "RFC 8200, without extension headers"),
    "TCP": (20, "RFC 9293, without options"),
    "TCP timestamps": (12, "RFC 7323, 10 and two NOPs"),
    "UDP": (8, "RFC 768"),
    "ESP": (8, "RFC 4303, SPI and sequence number"),
    "ESP initialization vector": (8, "RFC 4106, AES-GCM"),
    "ESP integrity check value": (16, "RFC 4106, AES-GCM"),
    "ESP pad length and next header": (2, "RFC 4303"),
    "AH": (24, "RFC 4302, with a 96-bit ICV"),
    "VXLAN": (8, "RFC 7348"),
    "GENEVE": (8, "RFC 8926, without options"),
    "GRE": (4, "RFC 2784"),
    "GRE key": (4, "RFC 2890"),
    "WireGuard": (16, "type, receiver and counter"),
    "WireGuard tag": (16, "Poly1305"),
}
"""Header -> bytes, and source."""

MINIMUM_FRAME = 64
"""Bytes of the shortest Ethernet frame, with header and frame check sequence (IEEE 802.3)."""

Place = Literal["tag", "tunnel", "inner"]


@dataclass(frozen=True, slots=True)
class Layer:
    """A protocol layer of a stack, which encloses the layers inside it.

    `headers` are from the wire inward; `IP` stands for IPv4 or IPv6. `extra` are bytes of options.
    `align`: The enclosed bytes and the trailer together are padded to a multiple of this number.
    `pads`: The enclosed bytes alone are padded to a multiple of this number, or to the MTU of the
    layer's interface if that is less.
    """

    name: str
    place: Place
    headers: tuple[str, ...]
    trailer: str = ""
    align: int = 1
    extra: int = 0
    pads: int = 1

    def fixed(self, ip: str) -> int:
        """Return the bytes of the headers, without trailer and padding."""
        return sum(BYTES[ip if h == "IP" else h][0] for h in self.headers) + self.extra

    def room(self, outside: int, ip: str) -> int:
        """Return the most bytes that the layer can enclose if its own size is at most `outside`."""
        tail = BYTES[self.trailer][0] if self.trailer else 0
        return (outside - self.fixed(ip)) // self.align * self.align - tail

    def padding(self, inside: int, mtu: int | None = None) -> int:
        """Return the bytes of padding for `inside` bytes; `mtu` is the MTU of the layer itself."""
        tail = BYTES[self.trailer][0] if self.trailer else 0
        filled = -inside % self.pads
        if mtu is not None:
            filled = max(0, min(filled, mtu - inside))
        return filled + -(inside + tail) % self.align

    def size(self, inside: int, ip: str, mtu: int | None = None) -> int:
        """Return the size of the layer with `inside` bytes enclosed."""
        tail = BYTES[self.trailer][0] if self.trailer else 0
        return self.fixed(ip) + inside + tail + self.padding(inside, mtu)


_ESP = ("ESP", "ESP initialization vector", "ESP integrity check value")
_TAIL = "ESP pad length and next header"

LAYERS: tuple[Layer, ...] = (
    Layer("vlan", "tag", ("VLAN tag",)),
    Layer("qinq", "tag", ("service VLAN tag", "VLAN tag")),
    Layer("macsec", "tag", ("MACsec tag and ICV",)),
    Layer("mpls", "tag", ("MPLS label",)),
    Layer("pppoe", "tunnel", ("PPPoE and PPP",)),
    Layer("ipip", "tunnel", ("IP",)),
    Layer("gre", "tunnel", ("IP", "GRE")),
    Layer("gretap", "tunnel", ("IP", "GRE", "Ethernet")),
    Layer("nvgre", "tunnel", ("IP", "GRE", "GRE key", "Ethernet")),
    Layer("vxlan", "tunnel", ("IP", "UDP", "VXLAN", "Ethernet")),
    Layer("geneve", "tunnel", ("IP", "UDP", "GENEVE", "Ethernet")),
    Layer("wireguard", "tunnel", ("IP", "UDP", "WireGuard", "WireGuard tag"), pads=16),
    Layer("esp-tunnel", "tunnel", ("IP", *_ESP), _TAIL, 4),
    Layer("esp-udp", "tunnel", ("IP", "UDP", *_ESP), _TAIL, 4),
    Layer("ah-tunnel", "tunnel", ("IP", "AH")),
    Layer("esp", "inner", _ESP, _TAIL, 4),
    Layer("ah", "inner", ("AH",)),
    Layer("other", "tunnel", ()),
)
"""All layers. `NAME+BYTES` adds options, as in `geneve+8`; `other+24` is any header.

MPLS and MACsec count as tags, since links that carry them allow longer frames. ESP uses AES-GCM
(`esp` is transport mode, `esp-udp` tunnel mode through NAT). WireGuard pads each packet to 16
bytes, but not above the MTU of its interface, so a full packet has no padding.
"""


def layer(written: str) -> Layer:
    """Return the layer that a stack's entry names. Raises DataError with the existing names."""
    name, plus, more = written.strip().lower().partition("+")
    for candidate in LAYERS:
        if candidate.name == name and (not plus or re.fullmatch(r"\d{1,4}", more)):
            extra = int(more) if plus else 0
            if candidate.name == "other" and not extra:
                break
            return replace(candidate, extra=extra)
    names = ", ".join(candidate.name for candidate in LAYERS)
    raise DataError(f"unknown layer {written!r}; there are {names}, and NAME+BYTES")
