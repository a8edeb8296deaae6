"""The text of a claim: who is using a host. One campaign at a time; others are told who it is.

A claim is a symbolic link whose target is the text: it is created completely or not at all, and any
login may read it. Its name holds the boot and the network namespace, which identify a host. It has
an end (of /proc/uptime) unless it is renewed. Beside it is KEY.alive, which a process of the
campaign's own connection keeps locked: a restore may take over a claim that nobody holds.
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
    """A campaign that claims hosts, since epoch seconds; a restore from notes has no `campaign`."""

    campaign: str
    id: str
    controller: str
    user: str
    pid: int
    since: float

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with `left` seconds; `held`: its campaign's connection to the host is open."""

    holder: Holder
    left: float
    held: bool = False

    @property
    def stale(self) -> bool:
        """True if its time is over: its campaign died, or lost the host."""
        return self.left < 0

    def __str__(self) -> str:
        owner = self.holder
        since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(owner.since))
        what = f"campaign {owner.campaign}" if owner.campaign else "`netlimits restore`"
        return f"{what} of {owner.user} at {owner.controller} (process {owner.pid}) since {since}"


def holder(campaign: str, identity: str) -> Holder:
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
