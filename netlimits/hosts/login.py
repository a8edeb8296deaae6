"""Make a Host from a Login: commands run in shells that stay open, each server in its own session.

Consecutive commands use the same shell, so that a Perl process can keep files open from one reading
to the next. `begin_in_turn` and `background` use Perl as soon as a command brings Perl code. They
use `sh` if the host has no Perl, or if a command needs standard input.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence

from netlimits.errors import ConnectionLost, HostError
from netlimits.hosts import in_turn
from netlimits.hosts.background import BackgroundCommand
from netlimits.hosts.patience import Patience
from netlimits.hosts.perl import PERL, takes
from netlimits.hosts.server import SessionServer
from netlimits.hosts.shell import SH, Language, Shell
from netlimits.hosts.streams import STALL, Login
from netlimits.model import Command, Completed


class LoginHost:
    """A host that runs commands over a Login; implements `base.Host`.

    `close` closes the Login too, and so does an error while the first shell is opened.
    """

    def __init__(self, name: str, login: Login, patience: Patience | None = None) -> None:
        self.name = name
        self.login = login
        self.patience = patience or Patience()
        self._lock = threading.Lock()
        self._idle: list[Shell] = []
        self._all: list[Shell] = []
        self._servers: list[SessionServer] = []
        self._broken: list[int] = []
        self._perl: bool | None = None  # None: no Perl was needed yet
        try:
            self._idle.append(self._shell())
            self._root = self._idle[0].uid == 0
        except BaseException:
            login.close()
            raise

    def run(self, command: Command) -> Completed:
        shell = self._shell()
        try:
            return shell.run(command)
        finally:
            self._give_back(shell)

    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        return self.begin_in_turn(commands)()

    def begin_in_turn(self, commands: Sequence[Command]) -> Callable[[], list[Completed]]:
        shell = self._quickest(commands)
        if not in_turn.fits(commands, root=shell.uid == 0):
            self._give_back(shell)
            return lambda: [self.run(command) for command in commands]
        nonce = secrets.token_hex(16)
        batch = in_turn.batch(commands, nonce) if len(commands) > 1 else commands[0]
        try:
            shell.begin(batch)
        except BaseException:
            self._give_back(shell)
            raise

        def wait() -> list[Completed]:
            try:
                completed = shell.wait()
            finally:
                self._give_back(shell)
            if len(commands) == 1:
                return [completed]
            return in_turn.split(completed, commands, nonce)

        return wait

    def begins(self, commands: Sequence[Command]) -> bool:
        return in_turn.fits(commands, root=self._root)

    def background(self, command: Command) -> BackgroundCommand:
        shell = self._quickest([command])
        try:
            self._keep_one_idle()
        except BaseException:
            self._give_back(shell)
            raise
        return BackgroundCommand(shell, command, self._give_back_last, self._end)

    def _keep_one_idle(self) -> None:
        """Keep a shell ready to end background commands, since sshd may refuse a new one later."""
        with self._lock:
            if self._idle:
                return
        self._give_back(self._shell())

    def _end(self, shell: Shell) -> None:
        """End the command in `shell`, using an idle shell, or a new session if none is idle."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        if idle is None:
            shell.end()
            return
        words = ("sh", "-c", 'kill -s TERM "$1"', "sh", str(shell.pid() or ""))
        try:
            idle.run(Command(words, deadline=STALL))
        finally:
            self._give_back_last(idle)

    def _give_back_last(self, shell: Shell) -> None:
        self._give_back(shell, len(self._idle))

    def _give_back(self, shell: Shell, place: int = 0) -> None:
        """Insert a shell into the idle shells at `place`, or close it if it is unusable."""
        with self._lock:
            if shell.usable and shell in self._all:
                self._idle.insert(place, shell)
            elif shell in self._all:
                self._all.remove(shell)
                self._broken.append(shell.process)
        if not shell.usable:
            shell.close()

    def serve(self, command: Command) -> SessionServer:
        self._check()
        server = SessionServer(self.login, self.name, command, self.patience)
        with self._lock:
            ended = [s for s in self._servers if not s.alive()]
            self._servers = [s for s in self._servers if s not in ended] + [server]
        for other in ended:
            other.stop()
        return server

    def shells(self) -> list[int]:
        with self._lock:
            shells = [shell.process for shell in self._all]
            return [*shells, *(server.process for server in self._servers), *self._broken]

    def cut_short(self) -> None:
        with self._lock:
            busy = [shell for shell in self._all if shell not in self._idle]
        for shell in busy:
            self._end(shell)

    def abandon(self) -> None:
        self.login.close()

    def close(self) -> None:
        with self._lock:
            servers, self._servers = self._servers, []
            shells, self._all = self._all, []
            self._idle = []
        try:
            for server in servers:
                server.stop()
            for shell in shells:
                shell.close()
        finally:
            self.login.close()

    def _check(self) -> None:
        if lost := self.login.lost():
            raise ConnectionLost(lost, host=self.name)

    def _quickest(self, commands: Sequence[Command]) -> Shell:
        """Return a Perl process if commands so far have Perl code and Perl works, else a `sh`."""
        wanted = self._perl if self._perl is not None else any(c.perl for c in commands)
        if wanted and takes(commands):
            try:
                shell = self._shell(PERL)
                self._perl = True
                return shell
            except HostError:  # the host has no Perl, or no session for it: use `sh` from now on
                self._perl = False
                self._close_idle_perls()
        return self._shell()

    def _close_idle_perls(self) -> None:
        """Close every idle Perl process, to free its session."""
        with self._lock:
            idle = [shell for shell in self._idle if shell.language is PERL]
            self._idle = [shell for shell in self._idle if shell not in idle]
            self._all = [shell for shell in self._all if shell not in idle]
        for shell in idle:
            shell.close()

    def _shell(self, language: Language = SH) -> Shell:
        self._check()
        with self._lock:
            for shell in self._idle:
                if shell.language is language:
                    self._idle.remove(shell)
                    return shell
        shell = Shell(self.login, self.name, self.patience, language)
        with self._lock:
            self._all.append(shell)
        return shell
