"""A program that forwards frames between two taps, with a rate, delay, loss, MTU and packets/s.

It is run by its path in the namespace of a lab's switch, and imports no module of ours. It enables
no offloads on its taps, so each frame is delayed, lost and counted individually. In each direction,
a frame passes a queue of QUEUE seconds or more, a transmitter and a wire. The transmitter limits
the rate (with Ethernet headers, as tc counts) and the packets/s. The wire adds delay and loss.
Frames above the MTU are dropped.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import select
import struct
import time
from collections import deque
from pathlib import Path

QUEUE = 0.05
"""Seconds of traffic that a queue holds, similar to the queue of a switch's port."""

_LEAST_QUEUE = 16
"""Minimum size of a queue, in frames of the maximum size, even at a low rate."""

_LEAST_OF_PACKETS = 100
"""Minimum size of a queue, in frames, if packets/s are limited, even with a low limit."""

_TUNSETIFF = 0x400454CA
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000  # IFF_TAP, IFF_NO_PI
_LENGTH = 65535 + 18
_HEADER, _TAG = 14, 4
_TAGGED = (b"\x81\x00", b"\x88\xa8")
_TURNS = 64
"""Maximum number of frames to read from one side before the other side is served."""


class Direction:
    """The path from one tap to the other: `rate` is in bytes/s, `delay` in s; 0 means no limit."""

    def __init__(
        self,
        source: int,
        target: int,
        rate: float = 0.0,
        delay: float = 0.0,
        loss: float = 0.0,
        mtu: int = 0,
        packets: int = 0,
    ) -> None:
        self.source, self.target = source, target
        self.delay, self.loss, self.mtu = delay, loss, mtu
        self.per_byte = 1 / rate if rate else 0.0
        self.per_frame = 1 / packets if packets else 0.0
        least = _LEAST_QUEUE * self.duration((mtu or 9000) + _HEADER)
        self.limit = max(QUEUE, least, _LEAST_OF_PACKETS * self.per_frame)
        self.free = 0.0
        self.flight: deque[tuple[float, bytes]] = deque()

    def duration(self, length: int) -> float:
        return max(length * self.per_byte, self.per_frame)

    def take(self, frame: bytes, now: float) -> None:
        """Schedule the arrival of a frame at the far end, or drop it."""
        if self.mtu:
            header = _HEADER + (_TAG if frame[12:14] in _TAGGED else 0)
            if len(frame) - header > self.mtu:
                return
        sent = now
        if duration := self.duration(len(frame)):
            begin = max(now, self.free)
            if begin + duration - now > self.limit:
                return
            self.free = sent = begin + duration
        if self.loss and random.random() < self.loss:  # noqa: S311 no secret
            return
        self.flight.append((sent + self.delay, frame))

    def due(self, now: float) -> list[bytes]:
        """Remove and return the frames that have reached the far end."""
        arrived = []
        while self.flight and self.flight[0][0] <= now:
            arrived.append(self.flight.popleft()[1])
        return arrived


def carry(directions: tuple[Direction, ...]) -> None:
    sources = [direction.source for direction in directions]
    while True:
        times = [direction.flight[0][0] for direction in directions if direction.flight]
        wait = max(0.0, min(times) - time.monotonic()) if times else None
        ready, _, _ = select.select(sources, (), (), wait)
        for direction in directions:
            if direction.source in ready:
                _read(direction)
            for frame in direction.due(time.monotonic()):
                _write(direction.target, frame)


def _read(direction: Direction) -> None:
    now = time.monotonic()
    for _ in range(_TURNS):
        try:
            frame = os.read(direction.source, _LENGTH)
        except BlockingIOError:
            return
        direction.take(frame, now)


def _write(target: int, frame: bytes) -> None:
    try:
        os.write(target, frame)
    except OSError:
        return  # the far side is down: the frame is lost


def _tap(name: str) -> int:
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    request = struct.pack("16sH22x", name.encode(), _TAP_WITHOUT_HEADER)
    fcntl.ioctl(descriptor, _TUNSETIFF, request)
    return descriptor


def main() -> None:
    """Open the taps, continue in the background, and write the process id to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("taps", nargs=2)
    parser.add_argument("--pid-file", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=0.0, help="Bytes a second.")
    parser.add_argument("--delay", type=float, default=0.0, help="Seconds.")
    parser.add_argument("--loss", type=float, default=0.0, help="From 0 to 1.")
    parser.add_argument("--mtu", type=int, default=0)
    parser.add_argument("--packets", type=int, default=0, help="Frames a second.")
    given = parser.parse_args()
    os.closerange(3, 4096)  # close inherited files, including the lab's lock
    near, far = map(_tap, given.taps)
    if os.fork():
        os._exit(0)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    given.pid_file.write_text(f"{os.getpid()}\n")
    shape = (given.rate, given.delay, given.loss, given.mtu, given.packets)
    carry((Direction(near, far, *shape), Direction(far, near, *shape)))


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        raise SystemExit(str(error)) from None
