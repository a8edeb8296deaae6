"""Read classic pcap and pcapng (IETF drafts opsawg-pcap and opsawg-pcapng) as raw TCP packets.

Times are exact nanoseconds. Lengths come from the IP header, so a frame that was cut off after its
TCP header (`tcpdump -s 96`) is complete.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ipaddress import ip_address
from typing import NamedTuple

from netlimits.errors import DataError


class Packet(NamedTuple):
    """A TCP packet as on the wire, with absolute numbers; `time_ns` is since 1970."""

    time_ns: int
    source: str
    source_port: int
    destination: str
    destination_port: int
    flags: str
    seq: int
    ack: int | None
    length: int


MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""First bytes of a classic pcap -> byte order, and nanoseconds of a tick."""
PCAPNG = b"\x0a\x0d\x0d\x0a"

ETHERNET, SLL, SLL2, RAW, NULL, LOOP, IPV4, IPV6 = 1, 113, 276, 101, 0, 108, 228, 229
NETWORK_AT = {SLL: 16, SLL2: 20, RAW: 0, 12: 0, 14: 0, NULL: 4, LOOP: 4, IPV4: 0, IPV6: 0}
"""Link type -> offset of the IP header (without Ethernet, whose tags vary)."""
TAGS = (0x8100, 0x88A8, 0x9100)
EXTENSIONS = (0, 43, 60)  # hop-by-hop, routing, destination options
FLAGS = (
    (0x01, "F"),
    (0x02, "S"),
    (0x04, "R"),
    (0x08, "P"),
    (0x10, "."),
    (0x20, "U"),
    (0x40, "E"),
    (0x80, "W"),
)
"""Bit -> tcpdump's letter, in tcpdump's order."""


def is_capture(head: bytes) -> bool:
    """Return True if a file that begins with these bytes is a pcap or pcapng."""
    return head[:4] in MAGICS or head[:4] == PCAPNG


def packets(data: bytes, name: str = "capture") -> Iterator[Packet]:
    """Yield the TCP packets of a capture in order; only a packet's first IP fragment counts."""
    frames = _pcapng(data, name) if data[:4] == PCAPNG else _pcap(data, name)
    for number, (time_ns, link, frame) in enumerate(frames, 1):
        try:
            packet = _tcp(time_ns, link, frame)
        except (struct.error, IndexError):
            raise DataError(
                f"{name}: packet {number} was cut off inside its headers; capture with -s 128"
            ) from None
        except KeyError:
            raise DataError(
                f"{name}: packet {number} has link type {link}, which is not read; "
                "capture on an Ethernet interface, or convert with tcpdump -r FILE -n -tt"
            ) from None
        if packet:
            yield packet


def _pcap(data: bytes, name: str) -> Iterator[tuple[int, int, bytes]]:
    order, tick = MAGICS[data[:4]]
    if len(data) < 24:
        raise DataError(f"{name}: ends within its file header")
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    place, number = 24, 0
    while place < len(data):
        number += 1
        if place + 16 > len(data):
            raise DataError(f"{name}: ends within packet {number}")
        seconds, ticks, kept, _ = struct.unpack_from(order + "IIII", data, place)
        place += 16
        if place + kept > len(data):
            raise DataError(f"{name}: ends within packet {number}")
        yield seconds * 10**9 + ticks * tick, link, data[place : place + kept]
        place += kept


def _pcapng(data: bytes, name: str) -> Iterator[tuple[int, int, bytes]]:
    order, place, number = "<", 0, 0
    links: list[tuple[int, int, int]] = []  # link type, ticks a second, offset in ns
    while place < len(data):
        number += 1
        if data[place : place + 4] == PCAPNG:
            order = ">" if data[place + 8 : place + 12] == b"\x1a\x2b\x3c\x4d" else "<"
            links = []
        if place + 12 > len(data):
            raise DataError(f"{name}: ends within block {number}")
        kind, size = struct.unpack_from(order + "II", data, place)
        if size < 12 or size % 4 or place + size > len(data):
            raise DataError(f"{name}: ends within block {number}, or the block is damaged")
        body = data[place + 8 : place + size - 4]
        place += size
        if kind == 1:
            links.append(_interface(order, body))
        elif kind in (2, 6):
            if kind == 6:
                interface, high, low, kept = struct.unpack_from(order + "IIII", body)
            else:
                interface, _, high, low, kept = struct.unpack_from(order + "HHIII", body)
            if interface >= len(links) or 20 + kept > len(body):
                raise DataError(f"{name}: block {number} is damaged")
            link, rate, offset = links[interface]
            yield ((high << 32) + low) * 10**9 // rate + offset, link, body[20 : 20 + kept]
        elif kind == 3:
            raise DataError(f"{name}: block {number} is a packet without a time")


def _interface(order: str, body: bytes) -> tuple[int, int, int]:
    """Return an interface's link type, ticks a second (option 9) and offset in ns (option 14)."""
    link, rate, offset, place = struct.unpack_from(order + "H", body)[0], 10**6, 0, 8
    while place + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, place)
        value = body[place + 4 : place + 4 + size]
        if code == 0:
            break
        if code == 9:
            rate = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14:
            offset = struct.unpack(order + "q", value)[0] * 10**9
        place += 4 + size + -size % 4
    return link, rate, offset


def _tcp(time_ns: int, link: int, frame: bytes) -> Packet | None:
    """Return the frame's TCP packet, None for another protocol. Raises struct.error if cut off."""
    if link == ETHERNET:
        place, kind = 14, struct.unpack_from("!H", frame, 12)[0]
        while kind in TAGS:
            kind = struct.unpack_from("!H", frame, place + 2)[0]
            place += 4
        if kind not in (0x0800, 0x86DD):
            return None
    else:
        place = NETWORK_AT[link]
    version = frame[place] >> 4
    if version == 4:
        total, _, fragment = struct.unpack_from("!HHH", frame, place + 2)
        protocol, start = frame[place + 9], place + (frame[place] & 15) * 4
        ends = (frame[place + 12 : place + 16], frame[place + 16 : place + 20])
        end = place + total if total else len(frame)  # 0: larger than 64 KiB
        if fragment & 0x1FFF:
            return None
    elif version == 6:
        total, protocol = struct.unpack_from("!HB", frame, place + 4)
        ends = (frame[place + 8 : place + 24], frame[place + 24 : place + 40])
        start, end = place + 40, place + 40 + total
        while protocol in EXTENSIONS:
            protocol, start = frame[start], start + (frame[start + 1] + 1) * 8
    else:
        return None
    if protocol != 6:
        return None
    ports = struct.unpack_from("!HH", frame, start)
    seq, ack, head, bits, _ = struct.unpack_from("!IIBBH", frame, start + 4)
    flags = "".join(letter for bit, letter in FLAGS if bits & bit)
    source, destination = (str(ip_address(a)) for a in ends)
    length = end - start - (head >> 4) * 4
    answered = ack if bits & 0x10 else None
    return Packet(time_ns, source, ports[0], destination, ports[1], flags, seq, answered, length)
