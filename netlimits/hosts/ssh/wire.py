"""The socket of an SSH connection, with limits for the login; other threads can cut it.

Before SSH begins, the other end may send endlessly, so `Wire` limits the bytes and seconds of a
login. At a limit, the socket looks closed to paramiko. By itself, paramiko reads each packet in two
pieces and wakes up ten times a second. `Wire` reads all available bytes at once, and wakes paramiko
up once a second.
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
"""Maximum bytes received during a login: keys and greetings take a few thousand."""

CHUNK = 2**15
"""Bytes to read from the socket at once."""

IDLE = 1.0
"""Seconds after which paramiko checks whether a keep-alive is due, once the login is done."""


class Wire:
    """A socket for paramiko. `why` is the reason that it was cut, or "" if it was not."""

    def __init__(self, sock: socket.socket | paramiko.Channel, until: float) -> None:
        """Wrap `sock`; `until` is the deadline of the login, on the clock time.monotonic."""
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
        """Close the socket; a thread that is reading from the socket sees the end at once."""
        self._wake()
        self._sock.close()

    def _wake(self) -> None:
        # a channel needs nothing: it ends when its connection's socket is cut
        if isinstance(self._sock, socket.socket):
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
    """Cut all registered sockets when called, and then every socket that is registered later."""

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

    def register(self, wire: Wire) -> Wire:
        """Register `wire`, cut it at once if the abort was called already, and return it."""
        with self._lock:
            self._wires.append(wire)
        if self._called:
            self()
        return wire
