"""The commands to create, hold, renew, read and remove claims and guards on hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from netlimits.errors import HostError
from netlimits.model import Command, Completed
from netlimits.restore.guard import scripts
from netlimits.restore.guard.claim import Claim, Holder, parse, printable
from netlimits.restore.notes import NoteFile

DEADLINE = scripts.LOCK_WAIT + 15.0
"""Deadline in seconds of the commands of this module, which may wait for the lock."""


@dataclass(slots=True)
class HostStatus:
    """The claims, guard and notes of a host. Times are seconds of its /proc/uptime.

    Attributes:
        key: The host's identity, which is also part of the names of a guard's files.
        uid: The login's user id.
        claims: (path, text) of each claim.
        held: Paths of the claims whose campaign's connection is open.
        links: Link addresses of all interfaces.
        notes: The text of each note in the login's folder.
        pid: The guard's process id; 0 if it is not running, None if there is no guard.
        doing: What the guard does: `watch` (waits), `now` (restores) or `dead`.
        deadline: The time at which the guard fires.
        would: The commands that the guard would run.
        log: The guard's log, once it `fired`.
    """

    key: str = ""
    uid: str = ""
    uptime: int = 0
    claims: list[tuple[str, str]] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pid: int | None = None
    doing: str = ""
    deadline: int | None = None
    would: list[str] = field(default_factory=list)
    fired: bool = False
    log: list[str] = field(default_factory=list)

    def claimed(self) -> Iterator[tuple[str, str, Claim | None]]:
        for path, text in self.claims:
            claim = parse(text, self.uptime)
            yield path, text, claim and replace(claim, held=path in self.held)


def look() -> Command:
    return Command(("sh", "-c", scripts.LOOK, "look"), deadline=10)


def parsed(completed: Completed) -> HostStatus:
    snapshot = HostStatus()
    try:
        for line in completed.stdout.splitlines():
            word, _, rest = line.partition(" ")
            _take_in(snapshot, word, rest)
        if not snapshot.key:
            raise ValueError("no key")
    except ValueError:
        printed = completed.complaint
        raise HostError(
            f"it does not report who is using it: {printable(printed) or 'it printed nothing'}",
            host=completed.host,
        ) from None
    return snapshot


def _take_in(snapshot: HostStatus, word: str, rest: str) -> None:
    first, _, second = rest.partition(" ")
    match word:
        case "key":
            snapshot.key, snapshot.uid = first, second
        case "uptime":
            snapshot.uptime = int(rest)
        case "claim":
            snapshot.claims.append((first, second))
        case "held":
            snapshot.held.append(rest)
        case "link" if rest:
            snapshot.links.append(rest)
        case "note":
            snapshot.notes.append(rest)
        case "guard":
            snapshot.pid, snapshot.doing = int(first), second
        case "deadline":
            snapshot.deadline = int(rest)
        case "would":
            snapshot.would.append(printable(rest))
        case "fired":
            snapshot.fired = True
        case "said":
            snapshot.log.append(printable(rest))


def take(holder: Holder, seconds: float, old: tuple[str, str] | None, dead: bool) -> Command:
    """Return the command that claims a host, and replaces the claim `old` (path, text) if given.

    If `dead`, the command fails if the old claim is held.
    """
    path, text = old or ("", "")
    words = (holder.text, str(_whole_seconds(seconds)), text, path, "dead" if dead else "any")
    return _command(scripts.TAKE, "take", *words)


def hold(holder: Holder, claim: str) -> Command:
    return _command(scripts.HOLD, "hold", holder.text, claim)


def await_hold(holder: Holder, claim: str) -> Command:
    return _command(scripts.AWAIT, "await", holder.text, claim)


def within(holder: Holder, claim: str, command: Command, guarded: bool = False) -> Command:
    """Return a command that runs `command` only if the claim is ours.

    If `guarded`, a guard must be running too.
    """
    how = "guarded" if guarded else "any"
    words = ("sh", "-c", scripts.WITHIN, "claimed", holder.text, claim, how)
    deadline = command.deadline + scripts.LOCK_WAIT
    return replace(command, within=words, deadline=deadline, perl="")


def renew(holder: Holder, claim: str, seconds: float, guard: float | None) -> Command:
    """Return the command that extends the claim to `seconds` and the guard to `guard` seconds.

    If `guard` is None, the guard's deadline stays.
    """
    words = (str(_whole_seconds(seconds)), "" if guard is None else str(_whole_seconds(guard)))
    return _command(scripts.RENEW, "renew", holder.text, claim, *words)


def postpone(holder: Holder, claim: str, seconds: float) -> Command:
    return _command(scripts.POSTPONE, "postpone", holder.text, claim, str(_whole_seconds(seconds)))


def arm(
    holder: Holder, claim: str, seconds: float, script: str, note: NoteFile | None = None
) -> Command:
    """Return the command that writes a note, and installs and starts a guard's script."""
    words = (holder.text, claim, str(_whole_seconds(seconds)), note.name if note else "")
    return _command(scripts.ARM, "arm", *words, stdin=(note.text if note else "") + script)


def fired(holder: Holder, claim: str) -> Command:
    """Return the command that prints `fired` if the guard has fired, `dead` if none is running."""
    return replace(_command(scripts.FIRED, "fired", holder.text, claim), perl=scripts.FIRED_IN_PERL)


def release(holder: Holder, claim: str, leads: bool) -> Command:
    words = (holder.text, claim, "all" if leads else "")
    return _command(scripts.RELEASE, "release", *words)


def answered(completed: Completed) -> tuple[bool, str | None]:
    """Return (True if the guard has fired, None or the text of the claim that replaced ours).

    The text is "" if our claim is gone, but was not replaced.
    """
    if completed.command.within and completed.status != scripts.LOST:
        return False, None
    for line in completed.stdout.splitlines():
        if line == "lost" or line.startswith("lost "):
            return False, line[5:]
    return "fired" in completed.stdout.splitlines(), None


def unguarded(completed: Completed) -> bool:
    """Return True if a command of `within` did not run because no guard was running."""
    return bool(completed.command.within) and completed.status == scripts.UNGUARDED


def dead(completed: Completed) -> bool:
    return "dead" in completed.stdout.splitlines()


def unarmed(completed: Completed) -> bool:
    return "unarmed" in completed.stdout.splitlines()


def _command(script: str, name: str, *arguments: str, stdin: str = "") -> Command:
    return Command(("sh", "-c", script, name, *arguments), stdin=stdin, deadline=DEADLINE)


def _whole_seconds(seconds: float) -> int:
    return max(1, round(seconds + 0.5))
