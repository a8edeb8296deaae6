"""The data that `netlimits status` shows about a host's claims and guard."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from netlimits.model import decoding
from netlimits.restore.guard.claim import printable
from netlimits.restore.guard.commands import HostStatus

WIDTH = 160
"""Maximum characters shown of a command, since the restore of an MTU sets 100 IPv6 sysctls."""

_DAMAGED = "damaged note"


def report(now: HostStatus) -> dict[str, Any]:
    """Return a host's claims, the state of its guard, the guard's commands, and the notes."""
    left = None if now.deadline is None else now.deadline - now.uptime
    return {
        "claims": [
            {**asdict(claim.holder), "seconds_left": round(claim.left), "held": claim.held}
            for _, _, claim in now.claimed()
            if claim
        ],
        "guard": _doing(now),
        "pid": now.pid or None,
        "seconds_left": left,
        "puts_back": now.would,
        "log": now.log,
        "changed": [note for text in now.notes if (note := _note(text, now))],
    }


def lines(role: str, answer: dict[str, Any]) -> list[str]:
    """Format a report as lines for people; the log omits the output of successful commands."""
    shown = []
    for claim in answer["claims"]:
        since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(claim["since"]))
        who = "of {user} at {controller} (process {pid})".format(**claim)
        what = f"campaign {claim['campaign']}" if claim["campaign"] else "`netlimits restore`"
        held = "its connection is open" if claim["held"] else "its connection is gone"
        left = _time(claim["seconds_left"])
        shown.append(f"claimed by {what} {who} since {since}, {held}, {left}")
    if not answer["claims"]:
        shown.append("no campaign uses it")
    guard = {
        "waiting": "guard waits",
        "fired": "guard has restored",
        "trying again": "guard has restored, and will try again what failed",
        "dead": "guard is dead",
    }
    if answer["guard"] != "none":
        what = guard.get(answer["guard"], "guard is restoring")
        pid = f" (process {answer['pid']})" if answer["pid"] else ""
        shown.append(f"{what}{pid}, {_time(answer['seconds_left'])}")
    done = has_restored(answer)
    changed = "restored, its note is left" if done else "changed"
    for note in answer["changed"]:
        place = "{role}: {interface}: {setting}, by {campaign}".format(**note)
        shown.append(_DAMAGED if set(note.values()) == {_DAMAGED} else f"{changed}: {place}")
    shown += [f"would run: {_cut(command)}" for command in answer["puts_back"] if not done]
    shown += [f"log: {_cut(line)}" for line in _shortened(answer["log"])]
    return [f"{role}: {line}" for line in shown]


def has_restored(answer: Mapping[str, Any]) -> bool:
    """Return True if a host's guard is done, and all its commands succeeded in the last try."""
    times = [n for n, line in enumerate(answer["log"]) if line.startswith("restoring at ")]
    last = answer["log"][times[-1] :] if times else []
    failed = [line for line in last if line.startswith("  exit status ") and line[-2:] != " 0"]
    return answer["guard"] == "fired" and "done" in last and not failed


def _doing(now: HostStatus) -> str:
    if now.pid is None:
        return "none"
    if now.doing == "now":
        return "restoring"
    if now.doing == "watch":
        return "trying again" if now.fired else "waiting"
    return "fired" if now.fired else "dead"


def _shortened(log: list[str]) -> Iterator[str]:
    command: list[str] = []
    for line in log:
        command.append(line)
        if line.startswith("restoring at "):
            yield command.pop()
        elif line.startswith("  exit status "):
            yield from command[:1] if line.endswith(" 0") else command
            command = []
    yield from command


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} … (whole with --json)"


def _time(seconds: int | None) -> str:
    if seconds is None:
        return "no deadline"
    return f"{seconds} s left" if seconds >= 0 else f"overdue by {-seconds} s"


def _note(text: str, now: HostStatus) -> dict[str, str] | None:
    """Return a note's role, interface, setting and campaign; None for another host's note."""
    try:
        note = decoding.parsed(text)
        if note["link_address"] not in now.links:
            return None
        names = ("role", "interface", "setting", "campaign")
        return {name: printable(str(note[name]))[:200] for name in names}
    except (ValueError, KeyError, TypeError):
        return dict.fromkeys(("role", "interface", "setting", "campaign"), _DAMAGED)
