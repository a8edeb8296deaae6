"""The socket under a login: bounded before it is done, free after, and cut from outside."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from waiting import LONG

from netlimits.hosts.ssh.wire import MOST, Abort, Wire

LATER = 3600.0


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


def wire(near: socket.socket, seconds: float = LATER) -> Wire:
    return Wire(near, time.monotonic() + seconds)


def test_what_is_sent_before_a_login_is_bounded(ends) -> None:
    near, far = ends
    login = wire(near)
    received = 0
    while not login.why:
        far.sendall(bytes(65536))
        received += len(login.recv(65536))
        assert received <= MOST
    assert login.why == "sent more than 256 KiB before the login was done"
    assert login.recv(1) == b"", "as if it had been closed"
    assert far.recv(1) == b"", "and the far end sees that"


def test_a_login_has_until_then_and_no_longer(ends) -> None:
    near, far = ends
    far.sendall(b"SSH-2.0-x\r\n")
    late = wire(near, seconds=-1)
    assert late.recv(100) == b""
    assert late.why == "did not complete the login in time"


def test_after_the_login_nothing_is_counted(ends) -> None:
    near, far = ends
    done = Wire(near, time.monotonic() - 1)
    done.login_done()
    sent = 0
    while sent <= 2 * MOST:
        far.sendall(bytes(65536))
        sent += len(done.recv(65536))
    assert done.why == ""


def test_the_first_reason_stays(ends) -> None:
    login = wire(ends[0])
    login.cut("was given up")
    login.cut("something else")
    assert login.why == "was given up"


def test_whoever_waits_is_let_go_when_logins_are_given_up(ends) -> None:
    near, _ = ends
    abort = Abort()
    login = abort.register(wire(near))
    answers: list[bytes] = []
    reader = threading.Thread(target=lambda: answers.append(login.recv(1)))
    reader.start()
    assert not abort.called
    abort()
    reader.join(LONG)
    assert answers == [b""]
    assert abort.called
    assert login.why == "was given up"


def test_a_login_that_begins_after_that_is_cut_at_once(ends) -> None:
    abort = Abort()
    abort()
    assert abort.register(wire(ends[0])).why == "was given up"


class Counted(socket.socket):
    """A socket that counts how often it is read."""

    reads = 0

    def recv(self, *of: int) -> bytes:  # type: ignore[override]
        self.reads += 1
        return super().recv(*of)


def test_packets_that_came_together_are_read_at_once_and_handed_over_in_pieces(ends) -> None:
    near, far = ends
    counted = Counted(fileno=near.detach())
    with counted:
        done = wire(counted)
        done.login_done()
        data = bytes(range(256)) * 8
        far.sendall(data)
        pieces = b"".join(done.recv(size) for size in (16, 240, 1, 1000, 791))
        assert pieces == data
        assert counted.reads == 1
        far.sendall(b"more")
        assert done.recv(100) == b"more"


def test_what_had_come_is_not_handed_over_once_it_is_cut(ends) -> None:
    near, far = ends
    login = wire(near)
    far.sendall(b"abcd")
    assert login.recv(1) == b"a"
    login.cut("was given up")
    assert login.recv(1) == b""


def test_who_reads_it_sees_at_once_that_it_was_closed(ends) -> None:
    near, _ = ends
    done = wire(near)
    done.login_done()
    near.settimeout(600)  # in vain: it is woken
    ended: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):
            ended.append(done.recv(1))
        ended.append(b"over")

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.1)
    done.close()
    reader.join(LONG)
    assert ended[-1:] == [b"over"]


def test_all_else_is_the_sockets_own(ends) -> None:
    near, far = ends
    login = wire(near)
    assert login.send(b"abc") == 3
    assert far.recv(3) == b"abc"
    assert login.fileno() == near.fileno()
