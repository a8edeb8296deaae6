"""A server tied to the connection: it ends when it is stopped, or when the controller is gone.

One `sh` starts the server and waits for its end. A second `sh` reads standard input, which comes
from the controller. When standard input closes for any reason, the second `sh` ends the server's
process group.
"""

from __future__ import annotations

import secrets
import threading
import time

from netlimits.errors import ConnectionLost
from netlimits.hosts.base import KILL_GRACE
from netlimits.hosts.patience import Patience
from netlimits.hosts.shell import SUDO, beginning, command_name, exit_status, greeting, mark, words
from netlimits.hosts.streams import LAST, STALL, TICK, Broken, Login, Talk
from netlimits.hosts.threads import DRAIN, LATER, SOON
from netlimits.model import Command, Completed

GONE = 255
"""Status of a server if the host did not report its end. ssh(1) uses 255 for lost connections."""


def script(command: Command, nonce: str, *, sudo: bool = False) -> bytes:
    """Return the `sh` lines that start a server, and end it when standard input closes."""
    argv = (*SUDO, *command.argv) if sudo else command.argv
    start = b"exec setsid " + words(argv) + b" </dev/null >&3 2>&4 3>&- 4>&- 5>&-\n} &\n"
    watch = (
        "server=$!\n( while read -r _; do :; done <&5\n"
        "kill -s TERM -- -$server || kill -s TERM $server\n"
        f"sleep {KILL_GRACE:g}; kill -s KILL -- -$server ) 3>&- 4>&- &\n"
        "watch=$!\nwait $server\nstatus=$?\nkill -s KILL -- -$server\nkill -s KILL $watch\n"
        + mark(nonce, "$status")
        + "exit\n}\n"
    )
    return b"{\nexec 5<&0\n{\n" + beginning(nonce) + start + watch.encode()


class SessionServer:
    """A running server; implements `base.Server`."""

    def __init__(self, login: Login, name: str, command: Command, patience: Patience) -> None:
        """Start the server. Raises HostError, or InputError for an invalid command."""
        self._name = name
        self._command = command
        self._login = login
        self._completed: Completed | None = None
        self._started = time.monotonic()
        nonce = secrets.token_hex(16)
        self._stream = login.open("exec sh", patience.seconds)
        try:
            uid, self.process = greeting(self._stream, nonce, name, patience)
            request = script(command, nonce, sudo=command.sudo and uid != 0)
            self._talk = Talk(self._stream, nonce, request)
            self._talk.until(1, patience.seconds)
        except BaseException as error:
            self._stream.close()
            if isinstance(error, Broken):
                reason = login.lost() or "no answer"
                raise ConnectionLost(
                    f"{command_name(command.argv)} could not be started: {reason}", host=name
                ) from None
            raise
        self._opening = time.monotonic() - self._started
        self._turn = threading.Lock()
        self._gone = False
        DRAIN.add(self._poll)

    def _poll(self) -> float | None:
        """Read the available output, unless another thread is reading it.

        Returns:
            Seconds until the next poll, or None if the server is gone.
        """
        printed = False
        if self._turn.acquire(blocking=False):
            try:
                printed = self._step(0)
            finally:
                self._turn.release()
        return None if self._gone else SOON if printed else LATER

    def _step(self, wait: float) -> bool:
        """Read until no output arrives for `wait` seconds; return True if some output arrived."""
        moved, any_moved = True, False
        try:
            while moved and not self._gone:
                _, moved = self._talk.step(wait)
                any_moved = any_moved or moved
                self._gone = self._talk.marks >= LAST
        except (Broken, OSError):
            self._gone = True
        return any_moved

    @property
    def stderr(self) -> str:
        self._poll()
        return self._talk.err.text

    def alive(self) -> bool:
        return self._poll() is not None

    def stop(self) -> Completed:
        """End the process group and return its output; the status is 255 if it is unknown."""
        if self._completed is None:
            self._stream.finish()
            until = time.monotonic() + 2 * KILL_GRACE + STALL + self._opening
            with self._turn:
                while not self._gone and time.monotonic() < until:
                    self._step(TICK)
                self._gone = True
            self._stream.close()
            talk = self._talk
            status = exit_status(talk.out.marks[-1]) if len(talk.out.marks) >= LAST else None
            reason = self._login.lost() or "the host did not report how it ended"
            note = f"\n{reason}" if status is None else ""
            self._completed = Completed(
                host=self._name,
                command=self._command,
                status=GONE if status is None else status,
                stdout=talk.out.text,
                stderr=talk.err.text + note,
                seconds=round(time.monotonic() - self._started, 6),
                truncated=talk.out.truncated or talk.err.truncated,
            )
        return self._completed
