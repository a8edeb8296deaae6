"""A host over SSH: paramiko's transport, OpenSSH's configuration, our sockets and deadlines.

The socket is ours, with TCP_NODELAY (without it a round trip costs 40 ms more) and with
keep-alives that notice a dead peer: paramiko's own ask for no answer, so TCP's user timeout ends a
connection whose bytes stay unacknowledged. Jump hosts are logins like any other, one inside the
other.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import paramiko

from netlimits.errors import ConnectError, ConnectionLost
from netlimits.hosts.hostkeys import KnownOnly, changed, load_known
from netlimits.hosts.keys import OurKeys
from netlimits.hosts.login import LoginHost
from netlimits.hosts.sshconfig import Endpoint, SshConfig
from netlimits.hosts.streams import CHUNK, Exchange
from netlimits.model import Machine

KEEP_ALIVE = 15
"""Seconds of silence after which a sign of life is sent."""

DEAD_AFTER = 30
"""Seconds without an acknowledgement after which the connection is given up."""

_FULL = 0.005
_JUMPS = 8

# Without a handler of any kind, Python prints paramiko's tracebacks of lost connections.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class _Bell:
    """What a channel's buffers ring when something comes: paramiko sets and clears it."""

    def __init__(self) -> None:
        self._rang = threading.Event()

    def set(self) -> None:
        self._rang.set()

    def clear(self) -> None:
        """Nothing: one buffer being empty says nothing of the other."""

    def wait(self, seconds: float) -> None:
        self._rang.wait(seconds)
        self._rang.clear()


class ChannelStream:
    """A program on an SSH channel; as `streams.Stream`."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._bell = _Bell()
        channel.setblocking(False)
        for buffer in (channel.in_buffer, channel.in_stderr_buffer):
            buffer.set_event(self._bell)  # type: ignore[arg-type]  # only set and clear are used

    def exchange(self, data: memoryview, wait: float) -> Exchange:
        """As `Stream.exchange`."""
        step = self._step(data)
        if step.sent or step.stdout or step.stderr or step.ended:
            return step
        # Room to send makes no sound, so it is looked for.
        self._bell.wait(min(wait, _FULL) if data else wait)
        return self._step(data)

    def _step(self, data: memoryview) -> Exchange:
        channel = self._channel
        # Before reading: what came before the end must not be taken for nothing.
        ended = channel.closed or bool(channel.eof_received)
        exited = ended or channel.exit_status_ready()
        sent = 0
        out = err = b""
        with contextlib.suppress(OSError, EOFError):
            if data and not ended and channel.send_ready():
                sent = channel.send(bytes(data[:CHUNK]))
        with contextlib.suppress(OSError):
            out = channel.recv(CHUNK) if channel.recv_ready() else b""
            err = channel.recv_stderr(CHUNK) if channel.recv_stderr_ready() else b""
        return Exchange(sent, out, err, exited, ended)

    def finish(self) -> None:
        """Close the program's standard input."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.shutdown_write()

    def close(self) -> None:
        """Close the channel."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()


class SshLogin:
    """A login over SSH, through as many hosts as the configuration says; as `streams.Login`."""

    def __init__(self, machine: Machine) -> None:
        """Log in. Raises ConnectError in one line that says what to do."""
        assert machine.ssh
        self._stack = ExitStack()
        self._role = machine.role
        self._closed = False
        try:
            config = SshConfig(machine.ssh_config)
            client = _client(config, machine.ssh, self._stack)
        except BaseException as error:
            self._stack.close()
            if isinstance(error, ConnectError):
                raise ConnectError(
                    str(error), host=machine.role, transient=error.transient
                ) from None
            raise
        transport = client.get_transport()
        assert transport
        self.transport = transport

    def open(self, program: str) -> ChannelStream:
        """Start a program in the remote login shell. Raises ConnectionLost."""
        try:
            channel = self.transport.open_session(timeout=DEAD_AFTER)
            try:
                channel.exec_command(program)
            except BaseException:
                channel.close()
                raise
        except (paramiko.SSHException, OSError, EOFError) as error:
            reason = self.lost() or f"no session for `{program}`: {error}"
            raise ConnectionLost(reason, host=self._role) from None
        return ChannelStream(channel)

    def lost(self) -> str:
        """Why the connection is gone; empty while it stands."""
        if self._closed:
            return "the host was closed"
        return "" if self.transport.is_active() else "the SSH connection is gone"

    def close(self) -> None:
        """Log out, here and on the hosts between."""
        self._closed = True
        with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
            self._stack.close()


def ssh_host(machine: Machine) -> LoginHost:
    """The machine as a host, over SSH. Raises ConnectError or HostError."""
    return LoginHost(machine.role, SshLogin(machine))


def _client(
    config: SshConfig, name: str, stack: ExitStack, jump: str | None = None, depth: int = 0
) -> paramiko.SSHClient:
    """A client logged in on `name`, through `jump` where given, else as configured."""
    endpoint = config.endpoint(name)
    if depth > _JUMPS:
        raise ConnectError(f"ProxyJump leads through more than {_JUMPS} hosts, or in a circle")
    before, _, last = (endpoint.jump if jump is None else jump).rpartition(",")
    sock: socket.socket | paramiko.Channel
    with _explained(endpoint):
        if last:
            # As in ssh(1): the last jump is reached through those before it, and only the
            # first of them through its own configuration's.
            gate = _client(config, last, stack, before or None, depth + 1).get_transport()
            assert gate
            sock = gate.open_channel(
                "direct-tcpip",
                (endpoint.hostname, endpoint.port),
                ("127.0.0.1", 0),
                timeout=endpoint.timeout,
            )
        elif endpoint.proxy and jump is None:
            sock = _proxied(endpoint.proxy, stack)
        else:
            sock = _connected(endpoint)
        stack.callback(sock.close)
        return _logged_in(endpoint, sock, stack)


def _connected(endpoint: Endpoint) -> socket.socket:
    """A TCP connection that neither waits to send nor waits for the dead."""
    sock = socket.create_connection((endpoint.hostname, endpoint.port), endpoint.timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", KEEP_ALIVE),
        ("TCP_KEEPINTVL", KEEP_ALIVE // 3),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", DEAD_AFTER * 1000),
    ):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return sock


def _proxied(command: str, stack: ExitStack) -> socket.socket:
    """A socket whose other end a ProxyCommand holds."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def see_off() -> None:
        ours.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(see_off)
    return ours


def _logged_in(
    endpoint: Endpoint, sock: socket.socket | paramiko.Channel, stack: ExitStack
) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    stack.callback(client.close)
    load_known(client, endpoint)
    client.set_missing_host_key_policy(KnownOnly(endpoint))
    ours = OurKeys(endpoint)
    try:
        client.connect(
            endpoint.key_alias or endpoint.hostname,
            port=22 if endpoint.key_alias else endpoint.port,  # an alias stands alone
            sock=sock,
            timeout=endpoint.timeout,
            banner_timeout=endpoint.timeout,
            auth_timeout=endpoint.timeout,
            channel_timeout=endpoint.timeout,
            auth_strategy=ours,
        )
    except paramiko.BadHostKeyException as error:
        raise changed(endpoint, error) from None
    except paramiko.AuthenticationException:
        raise ConnectError(ours.refused()) from None
    finally:
        ours.close()
    transport = client.get_transport()
    assert transport
    if not transport.is_authenticated():
        raise ConnectError(f"{endpoint.user}@{endpoint.where} asks for more than a key")
    transport.set_keepalive(KEEP_ALIVE)
    return client


@contextlib.contextmanager
def _explained(endpoint: Endpoint) -> Iterator[None]:
    """What goes wrong on the way to a login, each as one line."""
    where = endpoint.where
    started = time.monotonic()
    try:
        yield
    except socket.gaierror:
        raise ConnectError(
            f"the name {endpoint.hostname} leads nowhere; is {endpoint.name} in ~/.ssh/config?"
        ) from None
    except ConnectionRefusedError:
        raise ConnectError(
            f"{where} refuses connections; does sshd run there?", transient=True
        ) from None
    except paramiko.ChannelException as error:
        raise ConnectError(
            f"{where} cannot be reached from there: {error.text}", transient=True
        ) from None
    except (paramiko.SSHException, OSError, EOFError) as error:
        # paramiko has several words for a time that ran out, and none of them says so.
        if isinstance(error, TimeoutError) or time.monotonic() - started >= endpoint.timeout:
            raise ConnectError(
                f"{where} did not answer within {endpoint.timeout:g} s", transient=True
            ) from None
        words = getattr(error, "strerror", None) or str(error)
        reason = " ".join(str(words).split()) or type(error).__name__
        raise ConnectError(f"no SSH with {where}: {reason}", transient=True) from None
