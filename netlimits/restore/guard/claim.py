"""The text of a claim, which says which campaign is using a host.

A claim is a symbolic link whose target is the text. So it is created completely or not at all, and
any login may read it. The link's name contains the ids of the boot and of the network namespace,
which identify a host. Unless a claim is renewed, it expires at a time of /proc/uptime. Next to the
link is a file with the suffix `.alive`. A process of the campaign's connection keeps this file
locked: it *holds* the claim. A restore may take over a claim that nobody holds.
"""

from __future__ import annotations

import getpass
import json
import math
import os
import socket
import time
from dataclasses import asdict, dataclass

from netlimits.model import decoding

PLACES = "/run/lock /tmp"
"""Folders for claims; a claim is created in the first folder that accepts it."""

LONGEST = 200
"""Maximum length of each text in a claim, since a link's target has at most 4095 bytes."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The owner of a claim.

    `campaign` is "" for a restore from notes. `since` is in epoch seconds.
    """

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
    """A claim that lasts `left` more seconds; `held` if its campaign's connection is open."""

    holder: Holder
    left: float
    held: bool = False

    @property
    def stale(self) -> bool:
        """True if the claim has expired, since its campaign died or cannot reach the host."""
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
    """Parse the target of a claim's link, or return None if it is not the text of a claim.

    Any user of the host may have written it.
    """
    try:
        fields = decoding.parsed(text)
        since, until = float(fields["since"]), float(fields["until"])
        if not (math.isfinite(since) and math.isfinite(until)):
            return None
        return Claim(
            Holder(
                campaign=printable(str(fields["campaign"]))[:LONGEST],
                id=str(fields["id"])[:LONGEST],
                controller=printable(str(fields["controller"]))[:LONGEST],
                user=printable(str(fields["user"]))[:LONGEST],
                pid=int(fields["pid"]),
                since=min(max(since, 0.0), 1e11),
            ),
            left=until - uptime,
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def printable(text: str) -> str:
    """Replace unprintable characters and line breaks by `?`, for terminals and shell comments."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user id has no name
        return str(os.getuid())
