"""The socket under a login: bounded before it is done, free after, and cut from outside."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from netlimits.hosts.wire import MOST, Abort, Wire

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
    assert login.why == "sent more than 256 KiB and no login"
    assert login.recv(1) == b"", "as if it had been closed"
    assert far.recv(1) == b"", "and the far end sees that"


def test_a_login_has_until_then_and_no_longer(ends) -> None:
    near, far = ends
    far.sendall(b"SSH-2.0-x\r\n")
    late = wire(near, seconds=-1)
    assert late.recv(100) == b""
    assert late.why == "was not done with the login in time"


def test_after_the_login_nothing_is_counted(ends) -> None:
    near, far = ends
    done = Wire(near, time.monotonic() - 1)
    done.let_in()
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
    login = abort.cuts(wire(near))
    answers: list[bytes] = []
    reader = threading.Thread(target=lambda: answers.append(login.recv(1)))
    reader.start()
    assert not abort.called
    abort()
    reader.join(60)
    assert answers == [b""]
    assert abort.called
    assert login.why == "was given up"


def test_a_login_that_begins_after_that_is_cut_at_once(ends) -> None:
    abort = Abort()
    abort()
    assert abort.cuts(wire(ends[0])).why == "was given up"


def test_all_else_is_the_sockets_own(ends) -> None:
    near, far = ends
    login = wire(near)
    assert login.send(b"abc") == 3
    assert far.recv(3) == b"abc"
    assert login.fileno() == near.fileno()
