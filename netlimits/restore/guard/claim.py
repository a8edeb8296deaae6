"""The text of a claim: who is using a host. One campaign at a time; others are told who it is.

A claim is a symbolic link whose target is the text, so that it is created completely or not at all,
and any login may read it. It is where every login may write: in /run/lock, or else in /tmp; both
are read. Its name holds the boot and the network namespace, which identify a host even if home
folders are shared or one machine plays several hosts. A claim has an end (of /proc/uptime) unless
it is renewed, so a dead campaign's claim runs out.

Beside it is a file, KEY.alive, which a process of the campaign's own connection keeps locked. So
the host itself knows at once whether that connection is open: a restore may take over a claim that
nobody holds. A new campaign waits for its time to be over, or for the restore.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from dataclasses import asdict, dataclass

from netlimits.model import decoding

PLACES = "/run/lock /tmp"
"""Where claims may be; the first that the login may write to is used."""

LONGEST = 200
"""Maximum length of each text in a claim: a link's target has at most 4095 bytes."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A campaign that claims hosts. `id` is its permanent identity, `since` is in epoch seconds.

    A restore from notes has no `campaign`.
    """

    campaign: str
    id: str
    controller: str
    user: str
    pid: int
    since: float

    @property
    def text(self) -> str:
        """The claim as JSON, without its end."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on a host; `left` is its remaining seconds, negative when over.

    `held`: its campaign's connection to the host is open.
    """

    holder: Holder
    left: float
    held: bool = False

    @property
    def stale(self) -> bool:
        """True if its time is over: its campaign died, or lost the host."""
        return self.left < 0

    @property
    def alive(self) -> bool:
        """True if its campaign is running, as far as the host can know."""
        return self.held and not self.stale

    def __str__(self) -> str:
        owner = self.holder
        since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(owner.since))
        what = f"campaign {owner.campaign}" if owner.campaign else "`netlimits restore`"
        return f"{what} of {owner.user} at {owner.controller} (process {owner.pid}) since {since}"


def holder(campaign: str, identity: str) -> Holder:
    """Return this process as the holder for a campaign of that name and identity."""
    return Holder(
        campaign=printable(campaign)[:LONGEST],
        id=identity[:LONGEST],
        controller=printable(socket.gethostname())[:LONGEST],
        user=printable(_user())[:LONGEST],
        pid=os.getpid(),
        since=round(time.time(), 3),
    )


def parse(text: str, uptime: float) -> Claim | None:
    """Parse a link's target; None if it is no claim. Anybody may have written it."""
    try:
        fields = decoding.parsed(text)
        return Claim(
            Holder(
                campaign=printable(str(fields["campaign"]))[:LONGEST],
                id=str(fields["id"])[:LONGEST],
                controller=printable(str(fields["controller"]))[:LONGEST],
                user=printable(str(fields["user"]))[:LONGEST],
                pid=int(fields["pid"]),
                since=min(max(float(fields["since"]), 0.0), 1e11),
            ),
            left=float(fields["until"]) - uptime,
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def printable(text: str) -> str:
    """Replace control codes and line breaks by `?`: the text goes to terminals and comments."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a name
        return str(os.getuid())
