"""Run commands in a `sh` that stays open: a command takes one round trip, not a login of 90 ms.

Each command is one compound line with every word quoted. It runs under coreutils' `timeout` in its
own process group, so it ends at its deadline even when the controller is gone. Processes that it
leaves in the group are killed. Both outputs get a mark, which is a random word, before and after
the command's text. The shell's own messages ("Killed") go to /dev/null; descriptors 3 and 4 are
the standard output and standard error of the session.
"""

from __future__ import annotations

import base64
import re
import secrets
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from netlimits.errors import ConnectionLost, HostError, InputError, one_line
from netlimits.hosts.base import KILL_GRACE
from netlimits.hosts.patience import Patience
from netlimits.hosts.streams import (
    LAST,
    STALL,
    STRAYS,
    TICK,
    Broken,
    Ended,
    Garbled,
    Login,
    Stream,
    Talk,
)
from netlimits.model import Command, Completed

SUDO = ("sudo", "-n", "--")
"""Prefix of a command that needs root. Only the command follows, so sudoers can list it."""

ROOTS_PATH = ":/usr/local/sbin:/usr/sbin:/sbin"
"""Directories of ethtool, tc and netserver, which a user's PATH may lack."""

_NEEDED = ("timeout", "setsid", "base64", "flock")
# busybox's timeout, which has no --version, kills the command but not its children
_WHOLE_GROUP = "timeout --version || missing=$missing/timeout"

_SLOW = "; if it is only slow, give it longer: --patience"
_ENDLESS = "; does a start-up file there run a program without end?"

_BLINK = 0.005
_MARK = "printf '%s%s\\n' {nonce} {word} >&{fd}\n"


def mark(nonce: str, word: str, *fds: int) -> str:
    """Return shell lines that print a mark on descriptors `fds` (default: 3 and 4).

    The lines contain the nonce in two parts, so that a program that echoes them prints no mark.
    """
    parts = f"{nonce[:16]}''{nonce[16:]}"
    return "".join(_MARK.format(nonce=parts, word=word, fd=fd) for fd in fds or (3, 4))


def beginning(nonce: str) -> bytes:
    """Return shell lines that print a mark with the shell's process id on descriptors 3 and 4."""
    return b"read -r me _ </proc/self/stat\n" + mark(nonce, "$me").encode()


SURROUNDINGS = (
    f"exec 3>&1 4>&2 >/dev/null 2>&1\nLC_ALL=C PATH=$PATH{ROOTS_PATH}\nexport LC_ALL PATH\n"
)
"""First lines of every `sh`: outputs as descriptors 3 and 4, English messages, full PATH."""


def preamble(nonce: str) -> str:
    """Return the lines that prepare a `sh` and print its user, process id and missing programs."""
    missing = "; ".join(
        f"command -v {name} >/dev/null || missing=$missing/{name}" for name in _NEEDED
    )
    return f"{SURROUNDINGS}missing=; {missing}; {_WHOLE_GROUP}\n" + mark(
        nonce, '"$(id -u) $$ $missing"'
    )


def words(argv: tuple[str, ...]) -> bytes:
    """Quote an argument vector for `sh`. Raises InputError if it is empty or contains a NUL."""
    if not argv or not argv[0]:
        raise InputError("a command without a program")
    line = " ".join(map(shlex.quote, argv))
    if "\0" in line:
        raise InputError(f"`{brief(argv)}`: an argument holds a NUL character; no program takes it")
    return encoded(line)


def encoded(text: str) -> bytes:
    """Encode as UTF-8, with surrogate escapes as their original bytes. Raises InputError."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InputError(
            f"{text[:80]!r} holds half of a surrogate pair, which is no text"
        ) from None


def brief(argv: tuple[str, ...]) -> str:
    """Return the command line for a message, on one line of up to 120 characters."""
    line = one_line(shlex.join(argv))
    return line if len(line) <= 120 else line[:119] + "…"


def command_name(argv: tuple[str, ...]) -> str:
    """Return a command's name for messages: the quoted command line, or a script's name if any."""
    if argv[:2] != ("sh", "-c"):
        return f"`{brief(argv)}`"
    name = argv[3] if len(argv) > 3 else ""
    return f"the script `{name}`" if re.fullmatch(r"(?!sh$)[a-z]{2,20}", name) else "a script"


def script(command: Command, nonce: str, sudo: bool = False) -> bytes:
    """Return the compound line that runs a command, with sudo if `sudo`. Raises InputError."""
    refuse_endless(command)
    feed = b"</dev/null "
    text = b""
    source = b""
    if command.stdin:
        # base64 preserves NULs, and adds no newline at the end
        end = nonce[::-1].encode()
        text = base64.encodebytes(encoded(command.stdin)) + end + b"\n"
        source = b"base64 -d <<'%s' | " % end
        feed = b""
    run = b"timeout -k %g %.3f " % (KILL_GRACE, max(command.deadline, 0.001))
    argv = (*command.within, *(SUDO if sudo else ()), *command.argv)
    return b"".join(
        (
            b"{\n",
            source + b"{\n" + text + beginning(nonce),
            b"exec " + run + words(argv) + b" " + feed + b">&3 2>&4 3>&- 4>&-\n} &\n",
            b"wait $!\nstatus=$?\nkill -s KILL -- -$!\n",
            mark(nonce, "$status").encode(),
            b"}\n",
        )
    )


def refuse_endless(command: Command) -> None:
    if not 0 < command.deadline < 1e9:
        line, seconds = brief(command.argv), command.deadline
        raise InputError(f"`{line}`: the deadline of {seconds:g} s is not between 0 and 1e9 s")


class Greeting(NamedTuple):
    """The user and the process id that a `sh` reports."""

    uid: int
    pid: int


class Language(NamedTuple):
    """Functions that write the input of a `sh` or Perl process that stays open.

    `preamble` returns the first lines, which `sh` reads; `script` the request to run a command.
    """

    preamble: Callable[[str], str]
    script: Callable[[Command, str, bool], bytes]


SH = Language(preamble, script)


class Shell:
    """A `sh` or Perl process that stays open; `usable` if it can run the next command."""

    def __init__(
        self, login: Login, name: str, patience: Patience, language: Language = SH
    ) -> None:
        self.name = name
        self.language = language
        self.usable = False
        self._patience = patience
        self._running: Talk | None = None
        self._command = Command(("true",))
        self._login = login
        nonce = secrets.token_hex(16)
        began = time.monotonic()
        self._stream = login.open("exec sh", patience.seconds)
        try:
            self.uid, self.process = greeting(self._stream, nonce, name, patience, language)
            self.usable = True
        finally:
            if not self.usable:
                self._stream.close()
        # ending a command needs a second program, which starts about as slowly as this one
        self._relogin_s = 2 * (time.monotonic() - began)

    def run(self, command: Command) -> Completed:
        self.begin(command)
        return self.wait()

    def wait(self) -> Completed:
        try:
            while not self.reached_end(TICK):
                pass
        except HostError:
            raise
        except BaseException:
            self._interrupt()
            raise
        return self.completed()

    def begin(self, command: Command) -> None:
        """Start a command; then call `wait`, or `completed` once `reached_end` returns True."""
        command = self._patience.allow(command)
        nonce = secrets.token_hex(16)
        sudo = command.sudo and self.uid != 0
        talk = Talk(self._stream, nonce, self.language.script(command, nonce, sudo))
        self.usable = False
        self._running, self._command = talk, command
        late = self._patience.seconds
        talk.allow(command.deadline + KILL_GRACE + late, stretch=late)
        try:
            with suppress(Broken):  # `reached_end` raises the error again
                talk.step(0.0)
        except BaseException:
            self._interrupt()
            raise

    @property
    def began(self) -> bool:
        """True once the host has reported the process of the running command."""
        return self._running is not None and self._running.marks > 0

    @property
    def stderr(self) -> str:
        return self._running.err.text if self._running else ""

    def moved_since(self, began: float) -> bool:
        """Return True if the command has read or printed anything since `began`.

        `began` is a time on the clock time.monotonic.
        """
        return self._running is not None and self._running.moved_at >= began

    def reached_end(self, wait: float) -> bool:
        """Wait once; return True if the command is over by then. Raises ConnectionLost."""
        assert self._running
        try:
            return self._running.reached(LAST, wait)
        except Broken as error:
            raise self._lost(self._command, self._running, self._why(error)) from None

    def completed(self) -> Completed:
        """Return the result of the command that is over. Raises HostError if sudo refused it."""
        talk, command = self._running, self._command
        assert talk
        sudo = command.sudo and self.uid != 0
        status = exit_status(talk.out.marks[-1])
        if status is None:
            raise self._lost(command, talk, "ended without an exit status")
        self.usable = True
        if sudo:
            _raise_if_refused(command, talk.err.text, self.name)
        seconds = time.monotonic() - talk.sent_at
        return Completed(
            host=self.name,
            command=command,
            status=status,
            stdout=talk.out.text,
            stderr=talk.err.text,
            seconds=round(seconds, 6),
            # 0.9, since the host's clock measures the deadline and our clock measures `seconds`
            timed_out=status in (124, 137) and seconds >= 0.9 * command.deadline,
            truncated=talk.out.truncated or talk.err.truncated,
        )

    def end(self) -> None:
        """End the command that another thread is running here, so that its `run` returns."""
        if pid := self.pid():
            self._terminate(pid)

    def _terminate(self, pid: int) -> None:
        """Send SIGTERM by a second program. Wait for its end, to spare later commands."""
        killer = self._login.open(f"exec kill -TERM {pid}", STALL + self._relogin_s)
        try:
            until = time.monotonic() + KILL_GRACE + self._relogin_s
            while not killer.exchange(memoryview(b""), TICK).exited:
                if time.monotonic() > until:
                    break
        finally:
            killer.close()

    def pid(self) -> int | None:
        """Wait for the process id of the command that another thread is running, and return it.

        Return None if the command is over, or if its process id does not arrive in time.
        """
        until = time.monotonic() + STALL + self._relogin_s
        while (talk := self._running) is None or not talk.marks:
            if time.monotonic() > until:
                return None
            time.sleep(_BLINK)
        return _number(talk.out.marks[0]) if len(talk.out.marks) < LAST else None

    def close(self) -> None:
        self.usable = False
        self._stream.close()

    def _why(self, error: Broken) -> str:
        if isinstance(error, Ended):
            return f"was cut off: {self._login.lost() or 'the shell on the host ended'}"
        if isinstance(error, Garbled):
            return "is unreadable: a start-up file there prints without end; correct that file"
        return "did not end long after its deadline"

    def _lost(self, command: Command, talk: Talk, what: str) -> ConnectionLost:
        printed = one_line(talk.err.text.strip()[-200:])
        tail = f"; it had printed: {printed}" if printed and not self._login.lost() else ""
        return ConnectionLost(f"{command_name(command.argv)} {what}{tail}", host=self.name)

    def _interrupt(self) -> None:
        """End the running command with a second program; if that fails, its deadline ends it."""
        assert self._running
        talk = self._running
        try:
            talk.until(1, 1.0)
            pid = int(talk.out.marks[0])
            self._terminate(pid)
            talk.until(LAST, KILL_GRACE + STALL + self._relogin_s)
            self.usable = True
        except (Broken, HostError, ValueError):
            pass


def _raise_if_refused(command: Command, stderr: str, name: str) -> None:
    """Raise HostError if the output is sudo's refusal, or if there is no sudo."""
    message = one_line(stderr)
    missing = message.startswith("timeout: failed to run command") and "sudo" in message
    missing = missing or message.endswith(": sudo: not found")  # the message of `sh`
    if message.startswith("sudo: ") or "is not in the sudoers file" in message or missing:
        raise HostError(
            f"sudo -n refuses `{brief(command.argv)}`: {message[:200]}; "
            "allow it in sudoers (NOPASSWD) or log in as root",
            host=name,
        )


def greeting(
    stream: Stream, nonce: str, name: str, patience: Patience, language: Language = SH
) -> Greeting:
    """Prepare the `sh` or Perl process and return its first answer. Raises HostError."""
    talk = Talk(stream, nonce, language.preamble(nonce).encode())
    try:
        talk.until(1, patience.seconds)
    except Broken as error:
        printed = (talk.err.preamble or talk.out.preamble or "it printed nothing")[:200]
        what, advice = f"did not answer within {patience.seconds:g} s", _SLOW
        if isinstance(error, Ended):
            what, advice = "ended at once", ""
        elif isinstance(error, Garbled):
            what, advice = f"printed more than {STRAYS >> 20} MiB before it did", _ENDLESS
        raise HostError(
            f"the login shell cannot run sh: it {what}: {printed}{advice}", host=name
        ) from None
    match = re.fullmatch(r"(\d{1,10}) (\d{1,10}) ([a-z0-9/]*)", talk.out.marks[0], re.ASCII)
    if match is None:
        raise HostError(
            "the login shell cannot run sh: its answer cannot be read; try "
            "`ssh HOST sh -c true` by hand",
            host=name,
        )
    if match[3]:
        programs = ", ".join(dict.fromkeys(match[3].strip("/").split("/")))
        raise HostError(f"no {programs} there; install coreutils and util-linux", host=name)
    return Greeting(int(match[1]), int(match[2]))


def exit_status(word: str) -> int | None:
    number = _number(word)
    return number if number is not None and number < 256 else None


def _number(word: str) -> int | None:
    return int(word) if re.fullmatch(r"\d{1,10}", word, re.ASCII) else None
