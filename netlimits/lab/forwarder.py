"""A link: a program that carries frames between two taps, with a rate, a delay and a loss.

It is run by its path, in a lab's switch, and imports nothing of ours. The kernel hands a tap no
segments larger than frames, since nobody said that this program takes them: so each frame on the
wire is counted, delayed and lost for itself. Either direction is a queue, a transmitter and a wire:

- the queue holds what the transmitter sends in QUEUE seconds, and drops what comes beyond that;
- the transmitter takes the frame's bytes at the rate, its Ethernet header among them, as tc does,
  and no more frames a second than it may;
- the wire takes the delay, and loses a frame by chance, or for its length.
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
"""Seconds: what a switch's port may hold back at its rate."""

_LEAST_QUEUE = 16
"""Frames that a queue holds at any rate."""

_TUNSETIFF = 0x400454CA
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000  # IFF_TAP, IFF_NO_PI
_LENGTH = 65535 + 18
_HEADER, _TAG = 14, 4
_TAGGED = (b"\x81\x00", b"\x88\xa8")
_TURNS = 64
"""Frames that are read of one side before the other has its turn."""


class Direction:
    """Frames from one tap to the other. `rate` in bytes a second, `packets` in frames a second.

    `delay` in seconds. What is 0 does not hold a frame back.
    """

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
        self.limit = max(QUEUE, _LEAST_QUEUE * self.duration((mtu or 9000) + _HEADER))
        self.free = 0.0
        self.flight: deque[tuple[float, bytes]] = deque()

    def duration(self, length: int) -> float:
        """Seconds that the transmitter needs for a frame of so many bytes."""
        return max(length * self.per_byte, self.per_frame)

    def take(self, frame: bytes, now: float) -> None:
        """A frame arrives: queue and send it, or drop it."""
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
        """The frames that have arrived at the far end by now."""
        arrived = []
        while self.flight and self.flight[0][0] <= now:
            arrived.append(self.flight.popleft()[1])
        return arrived


def carry(directions: tuple[Direction, ...]) -> None:
    """Carry frames for ever."""
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
    """A frame that the far side does not take, being down, is lost."""
    try:
        os.write(target, frame)
    except OSError:
        return


def _tap(name: str) -> int:
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    request = struct.pack("16sH22x", name.encode(), _TAP_WITHOUT_HEADER)
    fcntl.ioctl(descriptor, _TUNSETIFF, request)
    return descriptor


def main() -> None:
    """Open the taps, go on in the background, say so by the file of the process id."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("taps", nargs=2)
    parser.add_argument("--pid-file", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=0.0, help="Bytes a second.")
    parser.add_argument("--delay", type=float, default=0.0, help="Seconds.")
    parser.add_argument("--loss", type=float, default=0.0, help="From 0 to 1.")
    parser.add_argument("--mtu", type=int, default=0)
    parser.add_argument("--packets", type=int, default=0, help="Frames a second.")
    given = parser.parse_args()
    os.closerange(3, 4096)  # the lab's lock among them
    near, far = map(_tap, given.taps)
    if os.fork():
        os._exit(0)  # the process id's file is the child's
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
