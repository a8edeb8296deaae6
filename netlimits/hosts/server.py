"""A server tied to our connection: it ends when we say so, and when we are gone.

The `sh` that starts the server then waits for it, while a second one reads our end of the
connection. That end closes when the server is to stop, when the connection breaks, and when this
process dies, however it dies; the reader then ends the server's process group. What the server
prints is read meanwhile (`drain`), so that a talkative one never waits for us.
"""

from __future__ import annotations

import secrets
import threading
import time

from netlimits.errors import ConnectionLost
from netlimits.hosts.base import KILL_GRACE
from netlimits.hosts.drain import DRAIN, LATER, SOON
from netlimits.hosts.patience import Patience
from netlimits.hosts.shell import SUDO, beginning, called, exit_status, greeting, mark, words
from netlimits.hosts.streams import LAST, STALL, TICK, Broken, Login, Talk
from netlimits.model import Command, Completed

GONE = 255
"""A server's status when the connection broke before it ended: what `ssh` says in that case."""


def script(command: Command, nonce: str, *, sudo: bool = False) -> bytes:
    """The compound line that starts a server and waits for it, or for our end to close.

    Through sudo, root's process is not ours to end: such a command must end by itself.
    """
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
    """A running server; as `hosts.base.Server`."""

    def __init__(self, login: Login, name: str, command: Command, patience: Patience) -> None:
        """Start it. Raises HostError when the host does not let us, InputError for bad words."""
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
                raise ConnectionLost(
                    f"{called(command.argv)} could not be started: {login.lost() or 'no answer'}",
                    host=name,
                ) from None
            raise
        self._opening = time.monotonic() - self._started
        self._turn = threading.Lock()
        self._gone = False
        DRAIN.add(self._look)

    def _look(self) -> float | None:
        """Read what is there, unless somebody is at it; when to look again."""
        printed = False
        if self._turn.acquire(blocking=False):
            try:
                printed = self._step(0)
            finally:
                self._turn.release()
        return None if self._gone else SOON if printed else LATER

    def _step(self, wait: float) -> bool:
        """Read all that comes until there is nothing for so long; whether anything came."""
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
        """What it has printed to standard error so far."""
        self._look()
        return self._talk.err.text

    def alive(self) -> bool:
        """Whether the process still runs, as far as the connection tells."""
        return self._look() is not None

    def stop(self) -> Completed:
        """End the process group and hand over what it printed; status 255 if it cannot be known."""
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
            ended = status is not None
            note = "" if ended else f"\n{self._login.lost() or 'the host did not say how it ended'}"
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
