"""The socket under an SSH login: bounded until we are let in, and cut from outside at any time.

Whoever is at the other end may send for ever, lines or none, before there is any SSH: paramiko
reads on. So what a login may take is counted here, in bytes and in seconds; an end that is
reached looks to paramiko like a connection that was closed.

paramiko reads each packet in two pieces and wakes ten times a second to see whether it was closed;
of forty hosts that is most of what an idle controller does. Here what has come is taken at once,
and after the login, of which the bounds are kept by waking, it is woken when it is closed.
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
"""Bytes until we are let in: keys and greetings take a few thousand."""

CHUNK = 2**15
"""Bytes taken from the socket at once."""

IDLE = 1.0
"""Seconds after which paramiko sees whether a sign of life is due, once we are let in."""


class Wire:
    """A socket for paramiko. `why` says why it was cut; empty while it was not."""

    def __init__(self, sock: socket.socket | paramiko.Channel, until: float) -> None:
        """`until` is when a login has to be done, by the monotonic clock."""
        self._sock = sock
        self._until: float | None = until
        self._left = MOST
        self._kept = b""
        self.why = ""

    def recv(self, size: int) -> bytes:
        """The next bytes; none once it is cut."""
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
        """As the socket's."""
        return self._sock.send(data)

    def let_in(self) -> None:
        """The login is done: from here on the bounds are those of commands."""
        self._until = None
        self._sock.settimeout(IDLE)

    def cut(self, why: str) -> None:
        """End it, whoever is waiting for it."""
        self.why = self.why or why
        self._wake()

    def close(self) -> None:
        """As the socket's; whoever is waiting for it sees its end at once."""
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
            self.cut(f"sent more than {MOST >> 10} KiB and no login")
        elif time.monotonic() > self._until:
            self.cut("was not done with the login in time")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class Abort:
    """Cuts the logins that are under way in other threads, and those that begin afterwards."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wires: list[Wire] = []
        self._called = False

    def __call__(self) -> None:
        """Cut all logins that are under way."""
        with self._lock:
            self._called = True
            wires, self._wires = self._wires, []
        for wire in wires:
            wire.cut("was given up")

    @property
    def called(self) -> bool:
        """Whether the logins were cut."""
        return self._called

    def cuts(self, wire: Wire) -> Wire:
        """The same wire; a call of this object cuts it too."""
        with self._lock:
            self._wires.append(wire)
        if self._called:
            self()
        return wire
