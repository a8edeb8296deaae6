"""A Perl kept open on a host that has one, in place of a `sh`: readings need no process.

It does what the lines of shell.py do with `sh` and `timeout`, and marks outputs in the same way, so
`Shell` speaks with both. A command's own Perl (`Command.perl`) is evaluated in it, where it reads
files and clocks without a process. A command without Perl runs as a program.

Such Perl is the body of a sub: it gets its arguments, prints, and returns its exit status. It may
call:

- `Kept::ran`: the exit status of a program, or of a sub in a process of its own;
- `Kept::output`: the status and the output of a program; the command's deadline ends both;
- `Kept::answer`: the line that a program answers to a line; the program stays open for the next;
- `Kept::known`: the sub of a text, compiled once;
- `Kept::driver`: a request to a NIC's driver, as ethtool makes it;
- `Kept::strings`: the names of a driver's set of counters or switches.

A request is a line (the nonce in two parts, the size, the deadline, the grace) and then so many
bytes, each word after its length: the mark between commands, and for each command the number of
words that follow, its Perl (which may be empty), and its words.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Sequence
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
"""Number of words before the arguments of a script: `sh -c SCRIPT NAME`."""


_PROGRAM = resources.files(__package__).joinpath("perl.pl").read_text(encoding="utf-8")


def preamble(nonce: str) -> str:
    """Return the lines with which `sh` starts Perl; `sh` ends when Perl does.

    `sh` does not exec: sshd does not report that a program was killed while another one that it
    started holds its outputs.
    """
    perl = shlex.join(("perl", "-e", _PROGRAM, nonce[:16], nonce[16:]))
    return f"{SURROUNDINGS}{perl} $$ >&3 2>&4 3>&- 4>&-; exit\n"


def script(command: Command, nonce: str, sudo: bool = False) -> bytes:
    """Return the request for one command, or several in turn. Raises InputError."""
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
    """Return a command's Perl and its arguments; without Perl, the program and its arguments."""
    argv = (*command.within, *(SUDO if sudo else ()), *command.argv)
    if command.perl and argv[:2] == ("sh", "-c"):
        return command.perl, *argv[_ARGUMENTS:]
    if command.perl and argv == command.argv:
        return command.perl, *argv[1:]
    return "", *argv


def takes(commands: Sequence[Command]) -> bool:
    """Return True if a Perl can run the commands: it passes no standard input."""
    return not any(command.stdin for command in commands)


PERL = Language(preamble, script)
