"""This machine as a host: the same shells and servers as over SSH, connected by pipes."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading

from netlimits.hosts.login import LoginHost
from netlimits.hosts.patience import Patience
from netlimits.hosts.streams import CHUNK, Exchange

_END = 1.0
"""Seconds that a program may take to end once its standard input is closed."""


_GONE = Exchange(0, b"", b"", True, True)
"""The result of every exchange with a closed stream."""


class LocalStream:
    """A child's pipes; implements `streams.Stream`.

    The child has a session of its own, so that Ctrl-C reaches only the controller. One thread may
    close the pipes while another waits for output.
    """

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._stdin = self._process.stdin
        self._outputs = {
            stream.fileno(): stream for stream in (self._process.stdout, self._process.stderr)
        }
        self._stdout = self._process.stdout.fileno()
        for fd in (self._stdin.fileno(), *self._outputs):
            os.set_blocking(fd, False)
        self._open = set(self._outputs)
        self._closed = False
        self._lock = threading.Lock()

    def exchange(self, data: memoryview, wait: float) -> Exchange:
        poll = select.poll()
        with self._lock:
            if self._closed:
                return _GONE
            for fd in self._open:
                poll.register(fd, select.POLLIN)
            if data and not self._stdin.closed:
                poll.register(self._stdin, select.POLLOUT)
        ready = {fd for fd, _ in poll.poll(wait * 1000)}
        with self._lock:
            return _GONE if self._closed else self._exchange(data, ready)

    def _exchange(self, data: memoryview, ready: set[int]) -> Exchange:
        output = {fd: self._read(fd) for fd in self._open & ready}
        sent = 0
        if data and not self._stdin.closed and self._stdin.fileno() in ready:
            with contextlib.suppress(BrokenPipeError, BlockingIOError):
                sent = os.write(self._stdin.fileno(), data[:CHUNK])
        out = output.pop(self._stdout, b"")
        err = b"".join(output.values())
        exited = self._process.poll() is not None
        return Exchange(sent, out, err, exited or not self._open, not self._open)

    def _read(self, fd: int) -> bytes:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._open.discard(fd)
        return data

    def finish(self) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._stdin.close()

    def close(self) -> None:
        """Close the pipes and wait for the child to end; kill it if it does not."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.finish()
        try:
            self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            for stream in self._outputs.values():
                stream.close()


class LocalLogin:
    """This machine, as the current user; implements `streams.Login`."""

    def __init__(self) -> None:
        self._closed = ""

    def open(self, program: str, seconds: float) -> LocalStream:
        return LocalStream(program)

    def lost(self) -> str:
        return self._closed

    def close(self) -> None:
        self._closed = "the host was closed"


def local_host(name: str = "local", patience: Patience | None = None) -> LoginHost:
    return LoginHost(name, LocalLogin(), patience)
