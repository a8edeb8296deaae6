"""Hosts that record everything that an attempt does on them, so that raw output is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from netlimits.archive.raw import RawEntry
from netlimits.errors import ConnectionLost, HostError
from netlimits.hosts.base import Host, Server
from netlimits.hosts.patience import Patience
from netlimits.model import Command, Completed


class Recorder:
    """A host that records an attempt's commands, and the reason if its connection is lost."""

    def __init__(self, host: Host) -> None:
        self.name = host.name
        self.step = ""
        self.lost = ""
        self._host = host
        self._entries: list[RawEntry] | None = None

    @property
    def patience(self) -> Patience:
        return self._host.patience

    @property
    def is_recording(self) -> bool:
        return self._entries is not None

    def replace(self, host: Host) -> Sequence[int]:
        """Switch to a new connection to the same machine. Return the PIDs of the old shells."""
        shells = self._host.shells()
        self._host.close()
        self._host, self.lost = host, ""
        return shells

    def shells(self) -> Sequence[int]:
        return self._host.shells()

    def is_lost(self) -> bool:
        """Return True if the connection is lost. If that is unknown, run a command to find out."""
        if not self.lost:
            try:
                self.run(Command(("true",), deadline=10))
            except HostError as error:  # also without ConnectionLost: the login shell exits at once
                self.lost = self.lost or str(error)
        return bool(self.lost)

    def run(self, command: Command) -> Completed:
        self._refuse_lost()
        with self._noticing():
            completed = self._host.run(command)
        self.keep(completed, self.step)
        return completed

    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        return self.begin_in_turn(commands)()

    def begin_in_turn(
        self, commands: Sequence[Command], steps: Sequence[str] = ()
    ) -> Callable[[], list[Completed]]:
        """Begin commands in order. The returned function waits for them and records their output.

        `steps` has the step of each command; by default all belong to the current step.
        """
        self._refuse_lost()
        with self._noticing():
            wait = self._host.begin_in_turn(commands)

        def kept() -> list[Completed]:
            with self._noticing():
                answers = wait()
            for step, completed in zip(steps or [self.step] * len(answers), answers, strict=True):
                self.keep(completed, step)
            return answers

        return kept

    def begins(self, commands: Sequence[Command]) -> bool:
        return self._host.begins(commands)

    def keep(self, completed: Completed, step: str) -> None:
        """Record a completed command as part of a step, if an attempt is being recorded."""
        if self._entries is not None:
            self._entries.append(RawEntry(step, completed))

    def serve(self, command: Command) -> Server:
        self._refuse_lost()
        with self._noticing():
            return self._host.serve(command)

    def background(self, command: Command) -> Server:
        """Start a background command on the host; `keep_background` records its output."""
        self._refuse_lost()
        with self._noticing():
            return self._host.background(command)

    def keep_background(self, look: Server, step: str) -> None:
        """End a background command and record its output."""
        with self._noticing():
            completed = look.stop()
        self.keep(completed, step)

    def cut_short(self) -> None:
        self._host.cut_short()

    def abandon(self) -> None:
        self._host.abandon()

    def close(self) -> None:
        self._host.close()

    def _refuse_lost(self) -> None:
        if self.lost:
            raise ConnectionLost(self.lost.removeprefix(f"{self.name}: "), host=self.name)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except ConnectionLost as error:
            self.lost = self.lost or str(error)
            self._host.abandon()
            raise


@contextmanager
def recording(hosts: Iterable[Recorder]) -> Iterator[list[RawEntry]]:
    """Record the commands of these hosts in one list, in the order in which the commands end."""
    entries: list[RawEntry] = []
    hosts = [*hosts]
    for host in hosts:
        host._entries = entries
    try:
        yield entries
    finally:
        for host in hosts:
            host._entries = None
