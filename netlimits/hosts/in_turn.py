"""Several commands in one round trip: a script that runs one after the other and keeps them apart.

For what ends at once and needs no input, as readings of evidence do: a round trip and a `timeout`
for each of them cost more than the commands themselves. Both outputs are marked after each command
with a word that no command can know; so each has its own output and status. What is itself a script
for `sh` is run by a copy of this very shell, which costs no program to load. A kept Perl does it
without a script.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netlimits.model import Command, Completed

_NEXT = "\ns=$?; printf '\\n%s %s\\n' \"$0\" $s; printf '\\n%s %s\\n' \"$0\" $s >&2\n"


_OWN = ("$$", "$0", "${0")
"""What a script may say of itself, which would be another in a copy of our shell."""


@dataclass(frozen=True, slots=True)
class InTurn(Command):
    """A script that runs commands; and these, and the mark, for who needs no script."""

    parts: tuple[Command, ...] = ()
    mark: str = ""


def fits(commands: Sequence[Command], *, root: bool = False) -> bool:
    """Whether the commands go in one round trip; those for root, where the login is `root`."""
    alone = any(c.stdin or (c.sudo and not root) for c in commands)
    return len(commands) == 1 or bool(commands and not alone)


def together(commands: Sequence[Command], nonce: str) -> InTurn:
    """One command that runs them in their order; it has the time that all of them have."""
    script = "".join(_line(command) + " </dev/null" + _NEXT for command in commands)
    deadline = sum(c.deadline for c in commands)
    return InTurn(("sh", "-c", script, nonce), deadline=deadline, parts=(*commands,), mark=nonce)


def _line(command: Command) -> str:
    words = (*command.within, *command.argv)
    if words[:2] == ("sh", "-c") and not any(own in words[2] for own in _OWN):
        return f"(set -- {shlex.join(words[4:])}; eval {shlex.quote(words[2])})"
    return shlex.join(words)


def apart(whole: Completed, commands: Sequence[Command], nonce: str) -> list[Completed]:
    """What came of each; `seconds` are those of all of them.

    The first one that did not end has what is left of the output, those after it have none; both
    have the script's own end: at its deadline, cut short, or killed.
    """
    end = re.compile(rf"\n{nonce} (\d{{1,3}})\n")
    out, err = end.split(whole.stdout), end.split(whole.stderr)
    ended = min(len(out), len(err)) // 2
    parts = []
    for n, command in enumerate(commands):
        part = replace(whole, command=command, stdout="", stderr="", timed_out=False)
        if n < ended:
            part = replace(part, status=int(out[2 * n + 1]), truncated=False)
        else:
            part = replace(part, status=whole.status or 1, timed_out=whole.timed_out)
        if n <= ended:
            part = replace(
                part,
                stdout=out[2 * n] if 2 * n < len(out) else "",
                stderr=err[2 * n] if 2 * n < len(err) else "",
            )
        parts.append(part)
    return parts
