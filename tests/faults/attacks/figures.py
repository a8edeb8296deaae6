"""Figures and labels changed by whoever can count and sum as netlimits does: no traceback."""

from __future__ import annotations

import json
from typing import Any

from faults.attacks.base import Family, Held
from recorded import rewritten

import netlimits
from netlimits.errors import NetlimitsError
from netlimits.model.folder import Folder

VALUES: tuple[Any, ...] = (
    None, True, "", "x", "\ud800", "\x1b[2J", [], {}, [[]], 0, -1, 10**29, -(10**400), 1e308,
    float("nan"), float("inf"), "9" * 5000, {"a": {"b": []}},
)  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a JSON value."""
    ways = [at] if at else []
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in inner:
        ways += places(part, (*at, key))
    return ways


def changed(held: Held, value: Any) -> Any:
    """A JSON value with one thing in it gone, replaced or moved."""
    way = held.chance.choice(places(value))
    holder = value
    for key in way[:-1]:
        holder = holder[key]
    if held.chance.random() < 0.3:
        held.says(f"{way} is gone")
        del holder[way[-1]]
    else:
        holder[way[-1]] = new = held.chance.choice(VALUES)
        held.says(f"{way} is {str(new)[:40]}")
    return value


def attack(held: Held) -> str | None:
    out = held.campaign()
    name = held.chance.choice(("journal.jsonl", "journal.jsonl", "campaign.json", "raw", "hosts"))
    held.says(name)
    if name == "journal.jsonl":
        chosen, seen = held.chance.randrange(9), []

        def change(body: bytes) -> bytes:
            seen.append(body)
            if len(seen) != chosen + 1:
                return body
            return json.dumps(changed(held, json.loads(body))).encode()

        rewritten(out, change)
    else:
        path = {"raw": "raw/000001-1.jsonl", "hosts": "hosts/source.json"}.get(name, name)
        (out / "campaign.json.old").write_bytes((out / "campaign.json").read_bytes())
        old = netlimits.open(out).archive._created
        text = (
            (out / path).read_text("utf-8").splitlines()
            if name == "raw"
            else [(out / path).read_text()]
        )
        at = held.chance.randrange(len(text))
        first = json.loads(text[at]) or {
            "kernel": {"value": "x"},
            "link": {"value": {"address": ""}},
        }
        text[at] = json.dumps(changed(held, first))
        (out / path).write_text("\n".join(text) + "\n")
        if path in old:  # with the checksum of what it is now
            new = Folder(out).digest(path)
            rewritten(out, lambda body: body.replace(old[path].encode(), new.encode()))
    for command in ("status", "table", "parse", "figures"):
        options = ("--of", "throughput", *(("--rows", "mtu") if command == "table" else ()))
        held.call(
            command,
            out,
            *(options if command in ("table", "figures") else ()),
            *(("--format", "svg") if command == "figures" else ()),
        )
    try:
        campaign = netlimits.open(out)
        for role in ("source", "sinks-1"):
            campaign.archive.facts(role)
        campaign.intervals()
        campaign.packets(1)
    except NetlimitsError:
        pass
    return None


FAMILY = Family("figures", attack, weight=4)
