"""The interface of every host. All commands, local or remote, run through a Host.

`Host.run` waits for a command and keeps its output. `Host.serve` starts a process that lives until
it is stopped or the connection to the host ends, so that a killed controller leaves no server
behind. Implementations: `ssh`, `local`, `scripted`. The host itself enforces the deadlines
(`timeout`), so a command that hangs ends even when the controller is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from netlimits.errors import CommandFailed, one_line
from netlimits.hosts.patience import Patience
from netlimits.model import Command, Completed

OUTPUT_LIMIT = 16 * 2**20
"""Bytes kept of each stream of one command; the rest is dropped (`Completed.truncated`)."""

KILL_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for a command that exceeded its deadline."""


class Server(Protocol):
    """A process started with `Host.serve` or `Host.background`."""

    @property
    def stderr(self) -> str:
        """Standard error so far."""

    def alive(self) -> bool:
        """Check the process.

        Returns:
            True while the process runs.
        """

    def stop(self) -> Completed:
        """End the process group and return its output. Stopping twice is harmless.

        Returns:
            The output and exit status, the same again if the process was already stopped.

        Raises:
            ConnectionLost: If the command runs in the background and its host is unreachable.
        """


class Host(Protocol):
    """A machine on which commands run.

    A new kind of host implements every method; `ScriptedHost` is the shortest example.

    Attributes:
        name: The host's role in the experiment, such as `sender`. Errors name it.

    Example:
        host = connect(Machine(role="sender", ssh="vm1"))
        completed = must(host.run(Command(("uname", "-r"), deadline=10)))
        print(completed.stdout)
        host.close()
    """

    name: str

    @property
    def patience(self) -> Patience:
        """The time limits for reaching the host."""

    def run(self, command: Command) -> Completed:
        """Run `command` until it ends or its deadline passes.

        Any exception that interrupts the wait, such as KeyboardInterrupt, ends the command on the
        host before it propagates.

        Args:
            command: The argument vector, its standard input and its deadline in seconds.

        Returns:
            Output and exit status. A status other than 0 is a result, not an error; see `must`.

        Raises:
            ConnectionLost: If the host becomes unreachable.
            HostError: If sudo refuses the command.
            InputError: If the command is invalid, for example if it has no deadline.
        """

    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        """Run short commands one after the other, in one round trip if possible.

        Args:
            commands: Commands that end at once and need no input.

        Returns:
            One result per command, in their order.

        Raises:
            ConnectionLost: If the host becomes unreachable.
        """

    def begin_in_turn(self, commands: Sequence[Command]) -> Callable[[], list[Completed]]:
        """Start the commands of `run_in_turn` without waiting, so that hosts work concurrently.

        Args:
            commands: Commands that end at once and need no input.

        Returns:
            A function that waits for the results and returns them. Call it unless the host is
            closed. If `begins(commands)` is False, the commands run only when it is called.
        """

    def begins(self, commands: Sequence[Command]) -> bool:
        """Return True if `begin_in_turn` starts these commands without waiting for them.

        Args:
            commands: Commands that end at once and need no input.

        Returns:
            False if the commands would run only when their results are requested.
        """

    def serve(self, command: Command) -> Server:
        """Start `command` in the background, tied to the connection.

        The command's deadline is ignored: the process runs until `Server.stop` or until the
        connection ends.

        Args:
            command: The argument vector. If `command.sudo` is set, a login other than root runs it
                with sudo.

        Returns:
            The running process.

        Raises:
            ConnectionLost: If the host becomes unreachable before the process has started.
            HostError: If the host cannot start it.
        """

    def background(self, command: Command) -> Server:
        """Run `command` in the background until it ends or its deadline passes.

        For commands that end by themselves, this costs less than `serve`. If the connection is
        lost, only the deadline ends the command. `Server.stop` ends it early and returns its
        output.

        Args:
            command: The argument vector, its standard input and its deadline in seconds.

        Returns:
            The running command.

        Raises:
            ConnectionLost: If the host becomes unreachable before the command has started.
        """

    def shells(self) -> Sequence[int]:
        """Return the processes on the host that are parents of this connection's commands.

        Returns:
            Process ids.
        """

    def cut_short(self) -> None:
        """End the commands that other threads are running on the host, so that `run` returns."""

    def abandon(self) -> None:
        """Give up a lost connection, so that calls that wait for it return at once."""

    def close(self) -> None:
        """End the connection and every server. Closing twice is harmless."""


def must(completed: Completed) -> Completed:
    """Return `completed` if it exited 0 within its deadline.

    Args:
        completed: The result of a command.

    Returns:
        The same result.

    Raises:
        CommandFailed: If the command exited otherwise or timed out. The message has the command
            and the start of its output.
    """
    if completed.status == 0 and not completed.timed_out:
        return completed
    printed = (completed.stderr.strip() or completed.stdout.strip() or "it printed nothing")[:300]
    reason = (
        f"did not end within {completed.command.deadline:g} s"
        if completed.timed_out
        else f"exited {completed.status}"
    )
    command = " ".join(completed.command.argv)
    raise CommandFailed(f"`{command}` {reason}: {one_line(printed)}", completed=completed)
