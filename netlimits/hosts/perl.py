"""A Perl kept open on a host that has one, in place of a `sh`: what is read costs no process.

It does what the lines of shell.py do with `sh` and `timeout`, and marks outputs alike, so that one
class speaks with both (`Shell`). A command's own Perl (`Command.perl`) is evaluated right in it,
which reads files and looks at clocks without a process; whatever has none is a program there too.

Such Perl is the body of a sub: it gets its arguments, prints, and gives its exit status. It may
call `Kept::ran` for the status of a program (or of a sub in a process of its own), and
`Kept::output` for the status and what a program printed; both end with the command's deadline.
`Kept::answer` is the line that a program answers to one, kept open for the next, and
`Kept::known` the sub of a text, which is compiled once. `Kept::driver` asks a NIC's driver as
ethtool does, and `Kept::strings` for the names of a set of its numbers or switches.

A command is told as a line (the nonce in two parts, the size, the deadline, the grace) and then so
many bytes, each word after its length: the mark between commands, and of each command how many
words follow, its Perl (which may be empty), and its words.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Sequence
from functools import cache
from importlib import resources

from netlimits.hosts.base import KILL_GRACE
from netlimits.hosts.in_turn import InTurn
from netlimits.hosts.shell import (
    SUDO,
    SURROUNDINGS,
    Language,
    encoded,
    refuse_endless,
    words,
)
from netlimits.model import Command

_ARGUMENTS = 4
"""Words before the arguments of a script: `sh -c SCRIPT NAME`."""


@cache
def _program() -> str:
    return resources.files(__package__).joinpath("perl.pl").read_text(encoding="utf-8")


def preamble(nonce: str) -> str:
    """How `sh` becomes Perl; it ends where there is none, and when Perl does.

    `sh` waits for it: sshd keeps silent about a program that was killed, as long as another one
    that it began holds its outputs.
    """
    perl = shlex.join(("perl", "-e", _program(), nonce[:16], nonce[16:]))
    return f"{SURROUNDINGS}{perl} $$ >&3 2>&4 3>&- 4>&-; exit\n"


def script(command: Command, nonce: str, sudo: bool = False) -> bytes:
    """The request for one command, or for each of several in turn; through sudo if asked.

    Raises InputError for one that cannot be run.
    """
    refuse_endless(command)
    words(command.argv)
    steps = command.parts if isinstance(command, InTurn) else (command,)
    fields = [command.mark if isinstance(command, InTurn) else ""]
    for step in steps:
        own = _fields(step, sudo)
        fields += [str(len(own)), *own]
    request = b"".join(struct.pack("!I", len(f)) + f for f in map(encoded, fields))
    deadline = max(command.deadline, 0.001)
    head = f"{nonce[:16]} {nonce[16:]} {len(request)} {deadline:.3f} {KILL_GRACE:g}\n"
    return head.encode() + request


def _fields(command: Command, sudo: bool) -> tuple[str, ...]:
    """A command's Perl and its arguments; without Perl, the program and its arguments."""
    argv = (*command.within, *(SUDO if sudo else ()), *command.argv)
    if command.perl and argv[:2] == ("sh", "-c"):
        return command.perl, *argv[_ARGUMENTS:]
    if command.perl and argv == command.argv:
        return command.perl, *argv[1:]
    return "", *argv


def takes(commands: Sequence[Command]) -> bool:
    """Whether it can run them: it feeds none."""
    return not any(command.stdin for command in commands)


PERL = Language(preamble, script)
