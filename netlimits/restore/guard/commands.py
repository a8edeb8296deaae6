"""The commands by which a controller makes, holds, renews, reads and removes claims and guards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from netlimits.errors import HostError
from netlimits.model import Command, Completed
from netlimits.restore.guard import in_perl, scripts
from netlimits.restore.guard.claim import Claim, Holder, parse, printable
from netlimits.restore.notes import NoteFile

SETTLES = scripts.LOCK_WAIT + 15.0
"""Seconds that a command here may take: one that holds the lock is waited for."""


@dataclass(slots=True)
class Seen:
    """A host as `look` shows it; times in seconds of its /proc/uptime.

    `key` is what a guard's files are called after, `claims` are (path, text), `held` the paths of
    those whose campaign's connection is open, `pid` is the guard's process (0: there is a guard's
    file and no process; None: there is no guard), `doing` is `watch` or `now`, `deadline` when it
    fires, `would` the commands it would run, `log` what it logged once it `fired`, `notes` the
    notes in the folder, `links` link addresses.
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
        """Path, text and what the text says of each claim."""
        for path, text in self.claims:
            claim = parse(text, self.uptime)
            yield path, text, claim and replace(claim, held=path in self.held)


def look() -> Command:
    """The command that shows who claims a host and what guards it; it changes nothing."""
    return Command(("sh", "-c", scripts.LOOK, "look"), deadline=10)


def seen(completed: Completed) -> Seen:
    """The host as `look` printed it. Raises HostError for any other output."""
    snapshot = Seen()
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


def _take_in(snapshot: Seen, word: str, rest: str) -> None:
    """Add one line of `look`'s output to the snapshot. Raises ValueError."""
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
    """The command that claims a host for so long; it prints the claim's path.

    `old` is the (path, text) of the claim that it replaces; only that very one is replaced, and
    where it has to be `dead`, only if its campaign's connection is gone. Exit status 3: it is not
    so any more.
    """
    path, text = old or ("", "")
    words = (holder.text, str(_whole(seconds)), text, path, "dead" if dead else "any")
    return _command(scripts.TAKE, "take", *words)


def hold(holder: Holder, claim: str) -> Command:
    """The command that holds our claim while it lives, for `Host.serve`."""
    return _command(scripts.HOLD, "hold", holder.text, claim)


def await_hold(holder: Holder, claim: str) -> Command:
    """The command that waits until `hold` holds it; see `answered`."""
    return _command(scripts.AWAIT, "await", holder.text, claim)


def within(holder: Holder, claim: str, command: Command) -> Command:
    """The same command, which the host runs only while the claim is ours; see `answered`."""
    words = ("sh", "-c", scripts.WITHIN, "claimed", holder.text, claim)
    deadline = command.deadline + scripts.LOCK_WAIT
    return replace(command, within=words, deadline=deadline, perl=in_perl.WITHIN)


def renew(holder: Holder, claim: str, seconds: float, guard: float | None) -> Command:
    """The command that moves the claim's time on, and the guard's if told; see `answered`."""
    words = (str(_whole(seconds)), "" if guard is None else str(_whole(guard)))
    return _command(scripts.RENEW, "renew", holder.text, claim, *words)


def postpone(holder: Holder, claim: str, seconds: float) -> Command:
    """The command that moves on the guard's time alone; see `answered`."""
    return _command(scripts.POSTPONE, "postpone", holder.text, claim, str(_whole(seconds)))


def arm(
    holder: Holder, claim: str, seconds: float, script: str, note: NoteFile | None = None
) -> Command:
    """The command that puts a guard's script in place and sees that its process runs.

    A `note` is left on the host before that.
    """
    words = (holder.text, claim, str(_whole(seconds)), note.name if note else "")
    return _command(scripts.ARM, "arm", *words, stdin=(note.text if note else "") + script)


def fired(holder: Holder, claim: str) -> Command:
    """The command that prints `fired` when the guard restored something since it was armed.

    It prints `dead` when no guard is there, its process is gone, or somebody stopped it.
    """
    return replace(_command(scripts.FIRED, "fired", holder.text, claim), perl=in_perl.FIRED)


def release(holder: Holder, claim: str, leads: bool) -> Command:
    """The command that ends the login's guard; where it `leads`, it takes our claim away too."""
    words = (holder.text, claim, "all" if leads else "")
    return _command(scripts.RELEASE, "release", *words)


def answered(completed: Completed) -> tuple[bool, str | None]:
    """Whether the guard had fired, and the text of the claim in the place of ours (None: ours).

    A command `within` the claim that says so was not run.
    """
    if completed.command.within and completed.status != scripts.LOST:
        return False, None
    for line in completed.stdout.splitlines():
        if line == "lost" or line.startswith("lost "):
            return False, line[5:]
    return "fired" in completed.stdout.splitlines(), None


def dead(completed: Completed) -> bool:
    """Return True if `fired` found no working guard."""
    return "dead" in completed.stdout.splitlines()


def unarmed(completed: Completed) -> bool:
    """Return True if `renew` or `postpone` found no guard's script."""
    return "unarmed" in completed.stdout.splitlines()


def _command(script: str, name: str, *arguments: str, stdin: str = "") -> Command:
    return Command(("sh", "-c", script, name, *arguments), stdin=stdin, deadline=SETTLES)


def _whole(seconds: float) -> int:
    return max(1, round(seconds + 0.5))
