"""The one seam: a Host runs commands. Everything else in netlimits is pure.

`Host.run` waits for a command and keeps both of its streams; `Host.serve` starts a process that
lives until it is stopped or until our connection to the host goes away, whichever comes first,
so that a killed controller leaves no server behind. Implementations: ssh, local, scripted.
Deadlines are kept on the host (`timeout`), so a hung command dies even when we are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from netlimits.errors import CommandFailed, one_line
from netlimits.hosts.patience import Patience
from netlimits.model import Command, Completed

OUTPUT_LIMIT = 16 * 2**20
"""Bytes kept of each stream of one command; the rest is drained and dropped (`truncated`)."""

KILL_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for a command that outlived its deadline."""


class Server(Protocol):
    """A process started with `Host.serve`."""

    @property
    def stderr(self) -> str:
        """What it has printed to standard error so far."""

    def alive(self) -> bool:
        """Whether the process still runs."""

    def stop(self) -> Completed:
        """End the process group and hand over what it printed. Stopping twice is harmless."""


class Host(Protocol):
    """A machine that commands run on. `name` is its role, `patience` how long it may take."""

    name: str

    @property
    def patience(self) -> Patience:
        """What its steps and answers may take."""

    def run(self, command: Command) -> Completed:
        """Run `command` to its end or its deadline.

        An exit status other than 0 is an answer, not an error. Raises ConnectionLost when the
        host goes away meanwhile. Any exception that interrupts the wait (a KeyboardInterrupt)
        ends the command on the host before it is passed on.
        """

    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        """Run commands that end at once, one after the other, in one round trip where that goes.

        As `run` for each; their outputs and exit statuses are their own.
        """

    def begin_in_turn(self, commands: Sequence[Command]) -> Callable[[], list[Completed]]:
        """Have the same begin, without waiting; what is returned waits, and hands over what came.

        So that several hosts do theirs at the same time. It has to be called, unless the host is
        closed; there, where that does not go, the commands are run.
        """

    def begins(self, commands: Sequence[Command]) -> bool:
        """Whether `begin_in_turn` has these begin without waiting for any."""

    def serve(self, command: Command) -> Server:
        """Start `command` in the background, tied to our connection, as the login itself.

        Its deadline is not used: it lives until it is stopped.
        """

    def background(self, command: Command) -> Server:
        """Run `command` beside others, to its end or its deadline, for what ends by itself.

        Cheaper to start than `serve`, but only the deadline ends it when our connection is gone.
        `stop` ends it if need be, and hands over what came of it; ConnectionLost as `run`.
        """

    def shells(self) -> Sequence[int]:
        """Return the ids of the host's processes that are parents of this connection's commands."""

    def cut_short(self) -> None:
        """End the commands that other threads run here, whose `run` returns then."""

    def abandon(self) -> None:
        """Give up a lost connection: calls that wait for it return at once."""

    def close(self) -> None:
        """End the connection and every server. Closing twice is harmless."""


def must(completed: Completed) -> Completed:
    """`completed` itself, if it exited 0 within its deadline. Raises CommandFailed otherwise."""
    if completed.status == 0 and not completed.timed_out:
        return completed
    printed = (completed.stderr.strip() or completed.stdout.strip() or "it printed nothing")[:300]
    what = (
        f"did not end within {completed.command.deadline:g} s"
        if completed.timed_out
        else f"exited {completed.status}"
    )
    command = " ".join(completed.command.argv)
    raise CommandFailed(f"`{command}` {what}: {one_line(printed)}", completed=completed)
