"""How much of a link's bit rate can carry data: the bound that headers set.

MaxDataTransferRate <= DataPerPacket / (DataPerPacket + HeaderPerPacket) × PhysicalBitRate
("Headers and Data and Bitrates!"). Headers on an Ethernet include preamble, start of frame
delimiter, frame check sequence and inter-packet gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netlimits.analysis.headers import BYTES, MINIMUM_FRAME, Layer, layer
from netlimits.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MTU_RANGE = (68, 65535)


@dataclass(frozen=True, slots=True)
class Header:
    """A header of a packet, and whether it counts within the MTU."""

    name: str
    bytes: int
    inside_mtu: bool


@dataclass(frozen=True, slots=True)
class Bound:
    """The user data that a link can carry in packets of one size.

    Attributes:
        mtu: The MTU of the link or the guest, as given, in bytes.
        inner_mtu: The MTU of the sender's own IP packets.
        data_bytes: User data in a packet.
        headers: All headers, from the wire inward.
        link_bps: The link's bit rate in bit/s.
    """

    mtu: int
    inner_mtu: int
    data_bytes: int
    headers: tuple[Header, ...]
    link_bps: float

    @property
    def header_bytes(self) -> int:
        """Bytes of a packet on the wire that are not data, including gap and preamble."""
        return sum(header.bytes for header in self.headers)

    @property
    def wire_bytes(self) -> int:
        """Bytes that a packet occupies on the wire, including gap and preamble."""
        return self.data_bytes + self.header_bytes

    @property
    def ratio(self) -> float:
        """Data / (Data + Headers)."""
        return self.data_bytes / self.wire_bytes

    @property
    def goodput_bps(self) -> float:
        """Bound on the rate of user data, bit/s."""
        return self.ratio * self.link_bps

    @property
    def packets_per_s(self) -> float:
        """Packets of this size that the link carries in a second."""
        return self.link_bps / (8 * self.wire_bytes)

    def frame(self) -> pd.DataFrame:
        """Return the headers and the data as a frame.

        Returns:
            A row for each header from the wire inward, then one for the data: `header`, `bytes` and
            `counts` (inside MTU, outside MTU or data).
        """
        import pandas as pd

        rows = [
            (h.name, h.bytes, "inside MTU" if h.inside_mtu else "outside MTU") for h in self.headers
        ]
        rows.append(("data", self.data_bytes, "data"))
        return pd.DataFrame(rows, columns=["header", "bytes", "counts"])


class NoRoom(DataError):
    """The headers fill the MTU."""


def bound(
    mtu: int = 1500,
    link: str | float = "1G",
    stack: Sequence[str] = (),
    *,
    transport: Literal["tcp", "udp"] = "tcp",
    timestamps: bool = False,
    ipv6: bool = False,
    outer_ipv6: bool = False,
    mtu_of: Literal["link", "guest"] = "link",
    data: int | None = None,
) -> Bound:
    """Compute the bound on goodput for full packets, or for packets of `data` bytes.

        bound(mtu=1500, link="100G", timestamps=True).goodput_bps

    Args:
        mtu: In bytes.
        link: Bit rate, as "2.5G", "100M", or in bit/s.
        stack: Layers around the sender's own packet, from the wire inward, such as `vlan` or
            `vxlan`.
        transport: Protocol of the data.
        timestamps: True if TCP timestamps are on.
        ipv6: True if the sender's own IP is IPv6.
        outer_ipv6: True if the tunnels' IP is IPv6.
        mtu_of: "link" if `mtu` is the MTU of the physical link, into which tunnels must fit;
            "guest" if it is the sender's own MTU, to which the headers of tunnels are added.
        data: Bytes of data in a packet, by default as many as fit.

    Returns:
        The bytes of data and headers in a packet, and the rates that follow from them.

    Raises:
        NoRoom: The headers leave no room for data. It is a DataError.
        DataError: The data does not fit, or an argument is invalid.
    """
    if not MTU_RANGE[0] <= mtu <= MTU_RANGE[1]:
        raise DataError(f"mtu: it must be {MTU_RANGE[0]} to {MTU_RANGE[1]} bytes, not {mtu}")
    if mtu_of not in ("link", "guest"):
        raise DataError(f"mtu_of: it must be link or guest, not {mtu_of!r}")
    layers = [layer(name) for name in stack]
    outer = "IPv6" if outer_ipv6 else "IPv4"
    tunnels = [x for x in layers if x.place == "tunnel"]
    own = _own(transport, timestamps, ipv6, [x for x in layers if x.place == "inner"])
    inner_mtu = mtu
    interfaces = []  # each tunnel's own MTU, from the wire inward
    if mtu_of == "link":
        for tunnel in tunnels:
            inner_mtu = tunnel.room(inner_mtu, outer)
            interfaces.append(inner_mtu)
    else:
        full = mtu
        for tunnel in reversed(tunnels):
            interfaces.insert(0, full)
            full = tunnel.size(full, outer, full)
    room = inner_mtu
    for part in own:
        room = part.room(room, outer)
    if room < 1:
        under = ", ".join(stack) or f"{transport.upper()} and IP"
        raise NoRoom(f"an MTU of {mtu} leaves no room for data under {under}")
    size = room if data is None else data
    if not 1 <= size <= room:
        raise DataError(f"data: {data} bytes do not fit; at most {room} do at MTU {mtu}")
    tags = [x for x in layers if x.place == "tag"]
    around = list(zip(tunnels, interfaces, strict=True))
    headers = _wrap(size, tags, around, own, outer, mtu_of == "link")
    return Bound(mtu, inner_mtu, size, headers, bits_per_second(link))


def _own(transport: str, timestamps: bool, ipv6: bool, inner: list[Layer]) -> list[Layer]:
    """Return the layers of the sender's own packet, from its IP header inward."""
    if transport not in ("tcp", "udp"):
        raise DataError(f"transport: it must be tcp or udp, not {transport!r}")
    if timestamps and transport != "tcp":
        raise DataError("timestamps are an option of TCP; leave them out for UDP")
    last = ("UDP",) if transport == "udp" else ("TCP", "TCP timestamps") if timestamps else ("TCP",)
    network = Layer("ip", "inner", ("IPv6" if ipv6 else "IPv4",))
    return [network, *inner, Layer(transport, "inner", last)]


def _wrap(
    data: int,
    tags: list[Layer],
    tunnels: list[tuple[Layer, int]],
    own: list[Layer],
    outer: str,
    tunnels_inside: bool,
) -> tuple[Header, ...]:
    """Return the headers of the layers around the data, from the wire inward."""
    headers: list[Header] = []
    size = data
    around: list[tuple[Layer, int | None, bool]] = [(part, None, True) for part in reversed(own)]
    around += [(part, mtu, tunnels_inside) for part, mtu in reversed(tunnels)]
    for part, mtu, inside in around:
        headers = [*_headers(part, size, outer, inside, mtu), *headers]
        size = part.size(size, outer, mtu)
    for part in reversed(tags):
        headers = [*_headers(part, size, outer, False), *headers]
        size = part.size(size, outer)
    frame = size + BYTES["Ethernet"][0] + BYTES["frame check sequence"][0]
    padding = max(0, MINIMUM_FRAME - frame)
    first = ("inter-packet gap", "preamble", "start of frame delimiter", "Ethernet")
    headers = [*(Header(name, BYTES[name][0], False) for name in first), *headers]
    if padding:
        headers.append(Header("Ethernet padding", padding, False))
    return (*headers, Header("frame check sequence", BYTES["frame check sequence"][0], False))


def _headers(
    part: Layer, inside: int, outer: str, inside_mtu: bool, mtu: int | None = None
) -> list[Header]:
    """Return the headers of one layer around `inside` bytes; trailer and padding are one header."""
    names = [outer if name == "IP" else name for name in part.headers]
    around = {"Ethernet": "inner Ethernet"} | {n: f"outer {n}" for n in ("IPv4", "IPv6", "UDP")}
    called = around if part.place == "tunnel" else {}
    headers = [Header(called.get(name, name), BYTES[name][0], inside_mtu) for name in names]
    if part.extra:
        headers.append(Header(f"{part.name}: further bytes", part.extra, inside_mtu))
    if part.trailer:
        tail = BYTES[part.trailer][0] + part.padding(inside, mtu)
        headers.append(Header(f"{part.trailer}, padding", tail, inside_mtu))
    elif padding := part.padding(inside, mtu):
        headers.append(Header(f"{part.name}: padding", padding, inside_mtu))
    return headers


def curve(
    mtus: Iterable[int],
    stacks: Sequence[Sequence[str]] = ((),),
    link: str | float = "1G",
    **options: object,
) -> pd.DataFrame:
    """Compute the bound at each MTU under each stack.

    Args:
        mtus: MTUs in bytes; one that is too small for a stack's headers is left out.
        stacks: Stacks of layers, as in `bound`.
        link: Bit rate, as in `bound`.
        options: Other arguments of `bound`.

    Returns:
        `stack` (its names with commas, "plain Ethernet" for none), `mtu`, `data_bytes`,
        `header_bytes`, `ratio` and `goodput_mbps`.

    Raises:
        DataError: Every MTU is too small, or `bound` raises it.
    """
    import pandas as pd

    rows = []
    for stack in stacks:
        name = ", ".join(stack) or "plain Ethernet"
        for mtu in mtus:
            try:
                at = bound(int(mtu), link, stack, **options)  # type: ignore[arg-type]  # bound's own
            except NoRoom:
                continue
            rows.append(
                (name, at.mtu, at.data_bytes, at.header_bytes, at.ratio, at.goodput_bps / 1e6)
            )
    columns = ["stack", "mtu", "data_bytes", "header_bytes", "ratio", "goodput_mbps"]
    if not rows:
        raise DataError("none of the MTUs has room for data under these headers; give larger ones")
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit that binds an aggregate: link or egress cap. Rates are of user data, in bit/s."""

    binds: Literal["link", "egress cap"]
    rate_bps: float
    cap_bps: float


def limit(bound: Bound, egress_cap: str | float) -> Limit:
    """Return the lower of an egress cap and a link's bound.

    The cap is a rate of user data: headers do not count. The reports measured this: 50 Gbit/s of
    data passed at an MTU of 1500, where the link had room for the headers. See "Headers and Data
    and Bitrates!" and "But What About Clouds?".

    Args:
        bound: The link's bound.
        egress_cap: Bit rate, as in `bound`.

    Returns:
        What binds, with the lower rate and the cap in bit/s of user data.

    Raises:
        DataError: The cap is not a bit rate above zero.
    """
    cap = bits_per_second(egress_cap)
    binds: Literal["link", "egress cap"] = "egress cap" if cap < bound.goodput_bps else "link"
    return Limit(binds, min(cap, bound.goodput_bps), cap)


def bits_per_second(rate: str | float) -> float:
    """Parse a bit rate.

    Args:
        rate: A number in bit/s, or a text such as "2.5G", "100M" or "2.5 Gbit/s", in powers of
            1000.

    Returns:
        bit/s.

    Raises:
        DataError: The text is not a bit rate, or the rate is not above zero.
    """
    if isinstance(rate, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?)(?:bit/s|bps|b/s)?\s*", rate)
        if not match:
            raise DataError(f"{rate!r} is not a bit rate; write 2.5G, 100M or bit/s as a number")
        powers = {"": 0, "K": 3, "M": 6, "G": 9, "T": 12}
        rate = float(f"{match[1]}e{powers[match[2].upper()]}")
    if not 0 < rate < float("inf"):
        raise DataError(f"a bit rate must be above zero, not {rate:g}")
    return float(rate)
