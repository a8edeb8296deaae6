"""Log in directly, through jump hosts or through a ProxyCommand, within a time limit.

This module creates the socket, with TCP_NODELAY: without it a round trip takes 40 ms longer.
paramiko's keep-alives expect no answer, so TCP_USER_TIMEOUT ends a connection when the host stops
acknowledging data.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import paramiko

from netlimits.errors import ConnectError, one_line
from netlimits.hosts.patience import Patience
from netlimits.hosts.ssh.hostkeys import KnownOnly, changed, load_known
from netlimits.hosts.ssh.keys import OurKeys
from netlimits.hosts.ssh.sshconfig import Endpoint, SshConfig
from netlimits.hosts.ssh.wire import Abort, Wire

KEEP_ALIVE = 15
"""Seconds of silence after which a keep-alive is sent."""

DEAD_AFTER = 30
"""Seconds without an acknowledgement after which the connection counts as lost."""

_JUMPS = 8
_LONGER = "; if it is only slow, give it longer: --patience"


def _transport(sock: Any, **options: Any) -> paramiko.Transport:
    """Return a transport that prefers AES-GCM, since paramiko computes MACs in Python."""
    transport = paramiko.Transport(sock, **options)
    security = transport.get_security_options()
    security.ciphers = sorted(security.ciphers, key=lambda name: "-gcm@" not in name)
    return transport


@dataclass(frozen=True, slots=True)
class Reach:
    """Log in to hosts as `config` says; `stack` closes the connections, `abort` cuts them."""

    config: SshConfig
    stack: ExitStack
    patience: Patience
    abort: Abort

    def client(self, name: str, jump: str | None = None, depth: int = 0) -> paramiko.SSHClient:
        """Log in to `name`, through `jump` if given, else as configured. Raises ConnectError."""
        endpoint = self.config.endpoint(name)
        if depth > _JUMPS:
            raise ConnectError(
                f"ProxyJump leads through more than {_JUMPS} hosts, or in a loop; correct it in "
                f"{self.config.source}"
            )
        before, _, last = (endpoint.jump if jump is None else jump).rpartition(",")
        seconds = self.patience.connecting(endpoint.timeout)
        until = time.monotonic() + seconds + self.patience.seconds  # connect, then log in
        with _explained(endpoint, seconds, self.config.source):
            if last:
                # As in ssh(1), each jump host is reached through the jump host before it. Only the
                # first jump host is reached through the jumps of its own configuration.
                gate = self.client(last, before or None, depth + 1).get_transport()
                assert gate
                destination = (endpoint.hostname, endpoint.port)
                channel = gate.open_channel(
                    "direct-tcpip", destination, ("127.0.0.1", 0), timeout=seconds
                )
                until = time.monotonic() + seconds + self.patience.seconds
                wire = self._wire(channel, until)
            elif endpoint.proxy and jump is None:
                wire = self._proxied(endpoint.proxy, until)
            else:
                wire = self._connected(endpoint, seconds, until)
            return self._logged_in(endpoint, wire, seconds)

    def _wire(self, sock: socket.socket | paramiko.Channel, until: float) -> Wire:
        self.stack.callback(sock.close)
        return self.abort.register(Wire(sock, until))

    def _connected(self, endpoint: Endpoint, seconds: float, until: float) -> Wire:
        """Open a TCP connection to one of the name's addresses; all tries share `seconds`."""
        limit = time.monotonic() + seconds
        places = socket.getaddrinfo(endpoint.hostname, endpoint.port, type=socket.SOCK_STREAM)
        for left, (family, kind, number, _, address) in zip(
            range(len(places), 0, -1), places, strict=True
        ):
            sock = socket.socket(family, kind, number)
            wire = self._wire(sock, until)
            sock.settimeout(max(0.1, (limit - time.monotonic()) / left))
            try:
                sock.connect(address)
            except OSError:
                sock.close()
                if left == 1 or wire.why:
                    raise
                continue
            _prepare(sock)
            return wire
        raise OSError("the name has no address")

    def _proxied(self, command: str, until: float) -> Wire:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                ["sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

        def end_proxy() -> None:
            ours.close()
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

        self.stack.callback(end_proxy)
        return self._wire(ours, until)

    def _logged_in(self, endpoint: Endpoint, wire: Wire, seconds: float) -> paramiko.SSHClient:
        client = paramiko.SSHClient()
        self.stack.callback(client.close)
        load_known(client, endpoint)
        client.set_missing_host_key_policy(KnownOnly(endpoint))
        ours = OurKeys(endpoint, self.patience.seconds)
        try:
            client.connect(
                endpoint.key_alias or endpoint.hostname,
                # known_hosts has HostKeyAlias without a port
                port=22 if endpoint.key_alias else endpoint.port,
                sock=wire,  # type: ignore[arg-type]  # what paramiko uses of a socket
                timeout=seconds,
                banner_timeout=seconds,
                auth_timeout=self.patience.seconds,
                channel_timeout=self.patience.seconds,
                auth_strategy=ours,
                transport_factory=_transport,
            )
        except paramiko.BadHostKeyException as error:
            raise changed(endpoint, error) from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            if wire.why:
                raise ConnectError(f"{endpoint.where} {wire.why}", transient=True) from None
            if not isinstance(error, paramiko.AuthenticationException):
                raise
            if ours.unanswered(error):
                raise ConnectError(
                    f"{endpoint.where} did not accept or refuse our key within "
                    f"{self.patience.seconds:g} s{_LONGER}",
                    transient=True,
                ) from None
            raise ConnectError(ours.refused()) from None
        finally:
            ours.close()
        transport = client.get_transport()
        assert transport
        if not transport.is_authenticated():
            raise ConnectError(
                f"{endpoint.user}@{endpoint.where} asks for more than a key; netlimits types no "
                "password: allow this key alone in its sshd_config"
            )
        wire.login_done()
        transport.set_keepalive(KEEP_ALIVE)
        return client


def _prepare(sock: socket.socket) -> None:
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


@contextlib.contextmanager
def _explained(endpoint: Endpoint, seconds: float, source: str) -> Iterator[None]:
    """Turn login errors into a ConnectError of one line; `source` names the ssh config file."""
    where = endpoint.where
    started = time.monotonic()
    try:
        yield
    except (socket.gaierror, UnicodeError):  # UnicodeError: the name is no valid host name
        about = f"; correct it, or add `Host {endpoint.name}` to {source}"
        if endpoint.hostname != endpoint.name:
            about = f", the HostName of {endpoint.name} in {source}; correct it there"
        raise ConnectError(f"cannot resolve the name {endpoint.hostname}{about}") from None
    except ConnectionRefusedError:
        raise ConnectError(
            f"{where} refuses connections; does sshd run there?", transient=True
        ) from None
    except paramiko.ChannelException as error:
        raise ConnectError(
            f"{where} cannot be reached from the jump host: {error.text}", transient=True
        ) from None
    except (paramiko.SSHException, OSError, EOFError) as error:
        # paramiko's messages for a timeout do not mention the timeout
        if isinstance(error, TimeoutError) or time.monotonic() - started >= seconds:
            raise ConnectError(
                f"{where} did not answer within {seconds:g} s{_LONGER}", transient=True
            ) from None
        if "SSH protocol banner" in str(error):
            raise ConnectError(
                f"no SSH with {where}: it closed the connection before it sent its version, as "
                "sshd does while too many logins are in progress (MaxStartups); try again, then "
                f"`{endpoint.login}` by hand",
                transient=True,
            ) from None
        reason = "connection closed" if isinstance(error, EOFError) else one_line(error)[:200]
        raise ConnectError(
            f"no SSH with {where}: {reason}; try `{endpoint.login}` by hand", transient=True
        ) from None
