"""Who is at work on a host: one campaign at a time, and the second hears who is there.

A claim is a symbolic link whose target is the text, so that it is made at once and whole, or not
at all, and any login may read it. It lies where every login may write: /run/lock where that is
so, else /tmp; both are looked at. Its name holds the boot and the network namespace: that is what
one host is, also where home folders are shared or one machine plays several. A claim carries the
time (of /proc/uptime) until when it holds unless it is renewed, so a dead campaign's runs out.

Beside it lies a file, KEY.alive, which a process of the campaign's own connection keeps locked. So
the host itself knows at once whether that connection is open: who restores a host may take over a
claim that nobody holds. A new campaign waits for its time to be over, or for the put-back.
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
"""Where claims may lie; the first that the login may write to is taken."""

LONGEST = 200
"""Characters of each text in a claim: a link's target has 4095 bytes at most."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A campaign that claims hosts. `id` is its own for good, `since` epoch seconds.

    Who only restores hosts, from their notes, has no `campaign`.
    """

    campaign: str
    id: str
    controller: str
    user: str
    pid: int
    since: float

    @property
    def text(self) -> str:
        """The claim as JSON, without the time until which it holds."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as it is on a host; `left` are the seconds that it still holds, below 0 when over.

    `held` says that its campaign's connection to the host stands.
    """

    holder: Holder
    left: float
    held: bool = False

    @property
    def stale(self) -> bool:
        """Whether its time is over: its campaign died, or lost the host."""
        return self.left < 0

    @property
    def alive(self) -> bool:
        """Whether its campaign is at work now, as far as the host can know."""
        return self.held and not self.stale

    def __str__(self) -> str:
        owner = self.holder
        since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(owner.since))
        what = f"campaign {owner.campaign}" if owner.campaign else "`netlimits restore`"
        return f"{what} of {owner.user} at {owner.controller} (process {owner.pid}) since {since}"


def holder(campaign: str, identity: str) -> Holder:
    """This process, for a campaign of that name and identity."""
    return Holder(
        campaign=printable(campaign)[:LONGEST],
        id=identity[:LONGEST],
        controller=printable(socket.gethostname())[:LONGEST],
        user=printable(_user())[:LONGEST],
        pid=os.getpid(),
        since=round(time.time(), 3),
    )


def parse(text: str, uptime: float) -> Claim | None:
    """The claim in a link's target; None if the text is no claim. Anybody may have written it."""
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
    """The text with every control code and line break as `?`: it goes to terminals and comments."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a name
        return str(os.getuid())
