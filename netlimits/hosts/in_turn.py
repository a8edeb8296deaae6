"""Run several commands in one round trip: one script runs them in order and separates their output.

The commands must end at once and need no input. A round trip and a `timeout` for each of them would
cost more than the command itself. After each command, the script prints a mark with a random word
on both outputs. A command that is a `sh` script runs in a subshell, not in a new `sh`, unless its
text forbids that.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netlimits.model import Command, Completed

_NEXT = "\ns=$?; printf '\\n%s %s\\n' \"$0\" $s; printf '\\n%s %s\\n' \"$0\" $s >&2\n"


_NOT_IN_SUBSHELL = ("$$", "$0", "${0")
"""Expansions whose value differs in a subshell; scripts that use them get their own `sh`."""


@dataclass(frozen=True, slots=True)
class InTurn(Command):
    """A script that runs several commands. Perl runs `parts` instead, with `mark` after each."""

    parts: tuple[Command, ...] = ()
    mark: str = ""


def fits(commands: Sequence[Command], *, root: bool = False) -> bool:
    """Return True if the commands can share a round trip; `root` if the login is root."""
    separate = any(c.stdin or (c.sudo and not root) for c in commands)
    return len(commands) == 1 or bool(commands and not separate)


def batch(commands: Sequence[Command], nonce: str) -> InTurn:
    script = "".join(_line(command) + " </dev/null" + _NEXT for command in commands)
    deadline = sum(c.deadline for c in commands)
    return InTurn(("sh", "-c", script, nonce), deadline=deadline, parts=(*commands,), mark=nonce)


def _line(command: Command) -> str:
    words = (*command.within, *command.argv)
    if words[:2] == ("sh", "-c") and not any(word in words[2] for word in _NOT_IN_SUBSHELL):
        return f"(set -- {shlex.join(words[4:])}; eval {shlex.quote(words[2])})"
    return shlex.join(words)


def split(completed: Completed, commands: Sequence[Command], nonce: str) -> list[Completed]:
    """Split the script's result into one result per command.

    If the script timed out or was ended early, some commands did not end. They get the script's
    status (1 if it is 0), and the first of them gets the rest of the output.
    """
    end = re.compile(rf"\n{nonce} (\d{{1,3}})\n")
    out, err = end.split(completed.stdout), end.split(completed.stderr)
    ended = min(len(out), len(err)) // 2
    parts = []
    for n, command in enumerate(commands):
        part = replace(completed, command=command, stdout="", stderr="", timed_out=False)
        if n < ended:
            part = replace(part, status=int(out[2 * n + 1]), truncated=False)
        else:
            part = replace(part, status=completed.status or 1, timed_out=completed.timed_out)
        if n <= ended:
            part = replace(
                part,
                stdout=out[2 * n] if 2 * n < len(out) else "",
                stderr=err[2 * n] if 2 * n < len(err) else "",
            )
        parts.append(part)
    return parts
