"""A host for tests, which answers from a script; an unknown command raises AssertionError."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from netlimits.errors import ConnectionLost
from netlimits.hosts.patience import Patience
from netlimits.model import Command, Completed

Answer = Completed | str | BaseException
"""A Completed, the output of a successful command, or an exception to raise."""

Script = Callable[[Command], Answer | None] | Mapping[str, Answer | Sequence[Answer]]
"""A function that returns the answer to a command (None: no answer), or a table of answers.

The function may keep state. A table's key is the argument vector quoted for a shell: `ethtool -k
eth0`. A list has the answers to the first call, the second call and so on; later calls have none.
"""


def answer(
    command: Command, stdout: str = "", stderr: str = "", status: int = 0, host: str = "scripted"
) -> Completed:
    return Completed(host, command, status, stdout, stderr, seconds=0.001)


class ScriptedServer:
    """Implements `base.Server`; lives until it is stopped."""

    def __init__(self, completed: Completed) -> None:
        self._completed = completed
        self.stopped = False

    @property
    def stderr(self) -> str:
        return self._completed.stderr

    def alive(self) -> bool:
        return not self.stopped

    def stop(self) -> Completed:
        self.stopped = True
        return self._completed


class ScriptedHost:
    """Implements `base.Host`. `ran` and `served` list the commands it was given, in order."""

    def __init__(self, script: Script, name: str = "scripted") -> None:
        self.name = name
        self.ran: list[Command] = []
        self.served: list[Command] = []
        self.servers: list[ScriptedServer] = []
        self.closed = False
        self.patience = Patience()
        self._script = script
        self._times: dict[str, int] = {}

    def run(self, command: Command) -> Completed:
        self.ran.append(command)
        return self._answer(command)

    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        return [self.run(command) for command in commands]

    def begin_in_turn(self, commands: Sequence[Command]) -> Callable[[], list[Completed]]:
        return lambda: self.run_in_turn(commands)

    def begins(self, commands: Sequence[Command]) -> bool:
        return True

    def serve(self, command: Command) -> ScriptedServer:
        """Return a server whose `stop` returns the script's answer."""
        self.served.append(command)
        server = ScriptedServer(self._answer(command))
        self.servers.append(server)
        return server

    def background(self, command: Command) -> ScriptedServer:
        return self.serve(command)

    def shells(self) -> Sequence[int]:
        return ()

    def cut_short(self) -> None:
        """Do nothing, since every command is over at once."""

    def abandon(self) -> None:
        """Do nothing, since no call waits."""

    def close(self) -> None:
        """Stop the servers and refuse every later command."""
        self.closed = True
        for server in self.servers:
            server.stop()

    @property
    def lines(self) -> list[str]:
        return [shlex.join(command.argv) for command in self.ran]

    def _answer(self, command: Command) -> Completed:
        if self.closed:
            raise ConnectionLost("the host was closed", host=self.name)
        line = shlex.join(command.argv)
        reply = self._script(command) if callable(self._script) else self._script.get(line)
        if isinstance(reply, Sequence) and not isinstance(reply, str):
            time = self._times[line] = self._times.get(line, 0) + 1
            reply = reply[time - 1] if time <= len(reply) else None
        if reply is None:
            raise AssertionError(f"{self.name}: the script has no answer to `{line}`")
        if isinstance(reply, BaseException):
            raise reply
        return answer(command, reply, host=self.name) if isinstance(reply, str) else reply
