"""A host over SSH: `reach` logs in, and programs run on paramiko's channels."""

from __future__ import annotations

import contextlib
import logging
import threading
from contextlib import ExitStack

import paramiko

from netlimits.errors import ConnectError, ConnectionLost, SessionRefused
from netlimits.hosts.login import LoginHost
from netlimits.hosts.patience import Patience
from netlimits.hosts.ssh.reach import Reach
from netlimits.hosts.ssh.sshconfig import SshConfig
from netlimits.hosts.ssh.wire import Abort
from netlimits.hosts.streams import CHUNK, Exchange
from netlimits.model import Machine

_FULL = 0.005

NO_MORE = (
    "sshd there lets this connection run no more programs at once: raise MaxSessions in its "
    "sshd_config; sshd's own default, 10, is enough"
)

# Without a handler of any kind, Python prints paramiko's tracebacks of lost connections.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class _Bell:
    """An event for a channel's buffers, which paramiko sets when data arrives.

    A bare lock implements it: `set` releases the lock, and `wait` acquires it. Ctrl-C inside a
    `threading.Event` may leave the event's lock taken. Then paramiko's thread, which calls `set`,
    would wait forever.
    """

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def set(self) -> None:
        with contextlib.suppress(RuntimeError):  # the event is set already
            self._silent.release()

    def clear(self) -> None:
        """Do nothing: when one buffer is empty, the other may still hold data."""

    def wait(self, seconds: float) -> None:
        self._silent.acquire(timeout=max(0.0, seconds))


class ChannelStream:
    """A program on an SSH channel; implements `streams.Stream`."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._bell = _Bell()
        channel.setblocking(False)
        for buffer in (channel.in_buffer, channel.in_stderr_buffer):
            buffer.set_event(self._bell)  # type: ignore[arg-type]  # only set and clear are used

    def exchange(self, data: memoryview, wait: float) -> Exchange:
        step = self._step(data)
        if step.sent or step.stdout or step.stderr or step.ended:
            return step
        # paramiko does not signal when it can send again, so poll for that
        self._bell.wait(min(wait, _FULL) if data else wait)
        return self._step(data)

    def _step(self, data: memoryview) -> Exchange:
        channel = self._channel
        # check for the end before reading, so that output from before the end is not lost
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
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.shutdown_write()

    def close(self) -> None:
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()


def _close(channel: paramiko.Channel) -> None:
    """Close a channel, even on a lost connection, so that a wait for its answer ends."""
    with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
        channel.close()


class SshLogin:
    """A login over SSH, through jump hosts if configured; implements `streams.Login`."""

    def __init__(
        self, machine: Machine, patience: Patience | None = None, abort: Abort | None = None
    ) -> None:
        assert machine.ssh
        self._stack = ExitStack()
        self._role = machine.role
        self._closed = False
        try:
            config = SshConfig(machine.ssh_config)
            reach = Reach(config, self._stack, patience or Patience(), abort or Abort())
            client = reach.client(machine.ssh)
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

    def open(self, program: str, seconds: float) -> ChannelStream:
        try:
            channel = self.transport.open_session(timeout=seconds)
            # paramiko waits for the answer without a limit; closing the channel ends the wait
            limit = threading.Timer(seconds, _close, (channel,))
            limit.daemon = True
            limit.start()
            try:
                channel.exec_command(program)
            except BaseException:
                channel.close()
                raise
            finally:
                limit.cancel()
        except paramiko.ChannelException:
            raise SessionRefused(NO_MORE, host=self._role) from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            reason = self.lost() or f"no session for `{program}`: {error}"
            raise ConnectionLost(reason, host=self._role) from None
        return ChannelStream(channel)

    def lost(self) -> str:
        if self._closed:
            return "the host was closed"
        return "" if self.transport.is_active() else "the SSH connection is gone"

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
            self._stack.close()


def ssh_host(
    machine: Machine, patience: Patience | None = None, abort: Abort | None = None
) -> LoginHost:
    return LoginHost(machine.role, SshLogin(machine, patience, abort), patience)
