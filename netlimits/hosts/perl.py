"""Run commands in a Perl process that stays open on the host, to read files without new processes.

The Perl process replaces the `sh` of shell.py: it enforces deadlines and marks outputs in the same
way, so `Shell` works with both. It evaluates a command's Perl code (`Command.perl`) itself, and
runs a command without Perl code as a program.

A command's Perl code is the body of a sub. The sub gets the command's arguments, prints the output,
and returns the exit status. It may call:

- `Kept::ran`: run a program, or a sub in its own process, and return the exit status;
- `Kept::output`: run a program, and return its status and output; the command's deadline ends it;
- `Kept::answer`: send a line to a program, return the line it prints, and keep the program open;
- `Kept::known`: compile a text to a sub, or return the sub if the text was compiled before;
- `Kept::driver`: return a sub that sends a request to a NIC's driver, as ethtool does;
- `Kept::strings`: return the names of a driver's set of counters or switches.

A request starts with a line: the nonce in two parts, the size of the rest in bytes, the deadline
and the grace period. The rest is a list of words, each after its length. The first word is the mark
between commands. Then come, for each command: the number of its words, its Perl code (which may be
empty), and its arguments.
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

    `sh` starts Perl as a child, without `exec`. With `exec`, sshd would not report the end of a
    killed Perl while a program that Perl started still holds the outputs.
    """
    perl = shlex.join(("perl", "-e", _PROGRAM, nonce[:16], nonce[16:]))
    return f"{SURROUNDINGS}{perl} $$ >&3 2>&4 3>&- 4>&-; exit\n"


def script(command: Command, nonce: str, sudo: bool = False) -> bytes:
    """Return the request that runs a command, or the parts of an InTurn. Raises InputError."""
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
    """Return (Perl code, arguments…), or ("", program, arguments…) for a command without Perl."""
    argv = (*command.within, *(SUDO if sudo else ()), *command.argv)
    if command.perl and argv[:2] == ("sh", "-c"):
        return command.perl, *argv[_ARGUMENTS:]
    if command.perl and argv == command.argv:
        return command.perl, *argv[1:]
    return "", *argv


def takes(commands: Sequence[Command]) -> bool:
    """Return True if no command has standard input, which the Perl process cannot pass on."""
    return not any(command.stdin for command in commands)


PERL = Language(preamble, script)
