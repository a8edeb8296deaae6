"""The socket under an SSH login: bounded until the login is done, and cut from outside at any time.

The other end may send without end before there is any SSH, so the bytes and seconds of a login are
counted here; at a limit the socket looks closed to paramiko. paramiko reads each packet in two
pieces and wakes ten times a second: here all available bytes are taken at once, and it wakes once a
second.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import paramiko

MOST = 2**18
"""Bytes until the login is done: keys and greetings take a few thousand."""

CHUNK = 2**15
"""Bytes taken from the socket at once."""

IDLE = 1.0
"""Seconds after which paramiko checks that a keep-alive is due, once the login is done."""


class Wire:
    """A socket for paramiko. `why` has the reason it was cut, "" while it was not."""

    def __init__(self, sock: socket.socket | paramiko.Channel, until: float) -> None:
        """Wrap `sock`; `until` is when the login has to be done, by the monotonic clock."""
        self._sock = sock
        self._until: float | None = until
        self._left = MOST
        self._kept = b""
        self.why = ""

    def recv(self, size: int) -> bytes:
        self._check()
        if not self._kept and not self.why:
            self._kept = self._sock.recv(max(size, CHUNK))
            self._left -= len(self._kept)
            self._check()
        if self.why:
            return b""
        data, self._kept = self._kept[:size], self._kept[size:]
        return data

    def send(self, data: bytes) -> int:
        return self._sock.send(data)

    def login_done(self) -> None:
        self._until = None
        self._sock.settimeout(IDLE)

    def cut(self, why: str) -> None:
        self.why = self.why or why
        self._wake()

    def close(self) -> None:
        """Close the socket; a waiting thread sees its end at once."""
        self._wake()
        self._sock.close()

    def _wake(self) -> None:
        if isinstance(self._sock, socket.socket):  # a channel ends with the socket below it
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)

    def _check(self) -> None:
        if self._until is None or self.why:
            return
        if self._left < 0:
            self.cut(f"sent more than {MOST >> 10} KiB before the login was done")
        elif time.monotonic() > self._until:
            self.cut("did not complete the login in time")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class Abort:
    """Cuts the logins in progress in other threads, and those that begin afterwards."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wires: list[Wire] = []
        self._called = False

    def __call__(self) -> None:
        with self._lock:
            self._called = True
            wires, self._wires = self._wires, []
        for wire in wires:
            wire.cut("was given up")

    @property
    def called(self) -> bool:
        return self._called

    def cuts(self, wire: Wire) -> Wire:
        with self._lock:
            self._wires.append(wire)
        if self._called:
            self()
        return wire
