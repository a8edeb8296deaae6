"""A Host made of a Login: shells kept open for commands, sessions for servers.

Commands take an idle shell, so that a second thread may look at a host while a measurement runs
there; mostly there is just one. Commands one after the other get the same one: what a Perl keeps
open between two readings (evidence.watch) is in it, whatever has run beside them. Once there are
commands with Perl of their own, they and all that runs in turn take a Perl instead, where the host
has one.
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
    """As `hosts.base.Host`. Owns its Login from the start, also when opening it fails."""

    def __init__(self, name: str, login: Login, patience: Patience | None = None) -> None:
        """Open the first shell. Raises HostError when it cannot be had."""
        self.name = name
        self.login = login
        self.patience = patience or Patience()
        self._lock = threading.Lock()
        self._idle: list[Shell] = []
        self._all: list[Shell] = []
        self._servers: list[SessionServer] = []
        self._broken: list[int] = []
        self._perl: bool | None = None  # whether the host has one, once it was asked for it
        try:
            self._idle.append(self._shell())
            self._root = self._idle[0].uid == 0
        except BaseException:
            login.close()
            raise

    def run(self, command: Command) -> Completed:
        """Run `command` to its end or its deadline; as `Host.run`."""
        return self._in(self._shell(), command)

    def run_in_turn(self, commands: Sequence[Command]) -> list[Completed]:
        """Run commands one after the other; as `Host.run_in_turn`."""
        return self.begin_in_turn(commands)()

    def begin_in_turn(self, commands: Sequence[Command]) -> Callable[[], list[Completed]]:
        """Have commands begin; as `Host.begin_in_turn`."""
        shell = self._quickest(commands)
        if not in_turn.fits(commands, root=shell.uid == 0):
            self._give_back(shell)
            return lambda: [self.run(command) for command in commands]
        nonce = secrets.token_hex(16)
        together = in_turn.together(commands, nonce) if len(commands) > 1 else commands[0]
        try:
            shell.begin(together)
        except BaseException:
            self._give_back(shell)
            raise

        def wait() -> list[Completed]:
            try:
                whole = shell.wait()
            finally:
                self._give_back(shell)
            return in_turn.apart(whole, commands, nonce) if len(commands) > 1 else [whole]

        return wait

    def begins(self, commands: Sequence[Command]) -> bool:
        """Whether they go in one round trip; as `Host.begins`."""
        return in_turn.fits(commands, root=self._root)

    def background(self, command: Command) -> BackgroundCommand:
        """Run `command` beside others; as `Host.background`."""
        shell = self._quickest([command])
        try:
            self._keep_one_idle()
        except BaseException:
            self._give_back(shell)
            raise
        return BackgroundCommand(shell, command, self._give_back_aside, self._end)

    def _keep_one_idle(self) -> None:
        """Have a shell at hand that ends what runs beside others: sshd may refuse one later."""
        with self._lock:
            if self._idle:
                return
        self._give_back(self._shell())

    def _end(self, shell: Shell) -> None:
        """End the command in a shell, from an idle shell if there is one, which saves a login."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        if idle is None:
            shell.end()
            return
        words = ("sh", "-c", 'kill -s TERM "$1"', "sh", str(shell.pid() or ""))
        try:
            idle.run(Command(words, deadline=STALL))
        finally:
            self._give_back_aside(idle)

    def _in(self, shell: Shell, command: Command) -> Completed:
        """Run a command in a shell, which is then given back."""
        try:
            return shell.run(command)
        finally:
            self._give_back(shell)

    def _give_back_aside(self, shell: Shell) -> None:
        """Keep a shell as idle, behind those that the next command is to get."""
        self._give_back(shell, len(self._idle))

    def _give_back(self, shell: Shell, place: int = 0) -> None:
        """Keep a shell as idle, or close it if something failed in it."""
        with self._lock:
            if shell.usable and shell in self._all:
                self._idle.insert(place, shell)
            elif shell in self._all:
                self._all.remove(shell)
                self._broken.append(shell.process)
        if not shell.usable:
            shell.close()

    def serve(self, command: Command) -> SessionServer:
        """Start `command` in the background, tied to our connection; as `Host.serve`."""
        self._check()
        server = SessionServer(self.login, self.name, command, self.patience)
        with self._lock:
            over = [s for s in self._servers if not s.alive()]
            self._servers = [s for s in self._servers if s not in over] + [server]
        for ended in over:
            ended.stop()
        return server

    def shells(self) -> list[int]:
        """Return the processes of shells and servers' shells; as `Host.shells`."""
        with self._lock:
            shells = [shell.process for shell in self._all]
            return [*shells, *(server.process for server in self._servers), *self._broken]

    def cut_short(self) -> None:
        """End what other threads run here; as `Host.cut_short`."""
        with self._lock:
            busy = [shell for shell in self._all if shell not in self._idle]
        for shell in busy:
            self._end(shell)

    def abandon(self) -> None:
        """Log out before anything is ended there; as `Host.abandon`."""
        self.login.close()

    def close(self) -> None:
        """End every server, every shell and the connection. Closing twice is harmless."""
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
        """A Perl, if the commands have Perl of their own or there is one already; or a shell."""
        wanted = self._perl if self._perl is not None else any(c.perl for c in commands)
        if wanted and takes(commands):
            try:
                shell = self._shell(PERL)
                self._perl = True
                return shell
            except HostError:  # none there, or no session for it: from now on without
                self._perl = False
                self._let_go()
        return self._shell()

    def _let_go(self) -> None:
        """Close every Perl that is idle, so that its session is there for others."""
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
