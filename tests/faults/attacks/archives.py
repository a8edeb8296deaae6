"""Bits, digits, lines and tails of a campaign's files: told, or of no account; no other table."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from faults.attacks.base import Family, Held, flipped, same

import netlimits
from netlimits.errors import NetlimitsError

FILES = (
    *("journal.jsonl",) * 5, *("results.parquet",) * 3, "results.json", "campaign.json",
    "experiment.yaml", "plan.csv", "results.csv",
)  # fmt: skip
OF_NO_ACCOUNT = {"results.csv"}
"""Files that are written for others and never read again."""


def a_bit(data: bytes, chance: Random) -> bytes:
    return flipped(data, chance)


def a_digit(data: bytes, chance: Random) -> bytes:
    digits = [m.start() for m in re.finditer(rb"\d", data)]
    if not digits:
        return flipped(data, chance)
    at = chance.choice(digits)
    other = chance.choice([d for d in b"0123456789" if d != data[at]])
    return data[:at] + bytes([other]) + data[at + 1 :]


def a_line_lost(data: bytes, chance: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def a_line_twice(data: bytes, chance: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], lines[at], *lines[at:]])


def two_lines_swapped(data: bytes, chance: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return flipped(data, chance)
    a, b = chance.sample(range(len(lines)), 2)
    lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def the_tail_lost(data: bytes, chance: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: chance.randrange(len(lines))])


def cut_anywhere(data: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(len(data))]


def a_part_of_zeros(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :]


def a_value_for_another(data: bytes, chance: Random) -> bytes:
    words = sorted(set(re.findall(rb"[A-Za-z0-9_.]{2,}", data)))
    if len(words) < 2:
        return flipped(data, chance)
    old, new = chance.sample(words, 2)
    return data.replace(old, new, 1)


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    a_bit, a_bit, a_bit, a_digit, a_digit, a_line_lost, a_line_twice, two_lines_swapped,
    the_tail_lost, cut_anywhere, a_part_of_zeros, a_value_for_another,
)  # fmt: skip


def attack(held: Held) -> str | None:
    out = held.campaign()
    if held.chance.random() < 0.4:
        held.says("without results")
        for name in ("results.json", "results.parquet", "results.csv"):
            (out / name).unlink()
    names = [name for name in FILES if (out / name).exists()]
    name, change = held.chance.choice(names), held.chance.choice(CHANGES)
    before = (out / name).read_bytes()
    after = change(before, held.chance)
    held.says(f"{change.__name__} in {name}")
    (out / name).write_bytes(after)
    return _judged(held, out, name, before == after)


TABLE = ("--of", "throughput", "--rows", "mtu")


def _judged(held: Held, out: Path, name: str, equal: bool) -> str | None:
    try:
        campaign = netlimits.open(out)
        whole, left = same(campaign), campaign.state()["left"]
    except NetlimitsError as error:
        if equal or name in OF_NO_ACCOUNT:
            return f"refused for nothing: {error}"
        return None if name.split(".")[0] in str(error) else f"not named: {error}"
    if not whole:  # a torn last line is what a kill leaves: told, and no more than that
        told, _ = held.call("table", out, *TABLE)
        if not left or f"{left} of 4 runs have no outcome" not in told:
            return f"another table:\n{campaign.frame().iloc[:, :8]}"
    for command in ("status", "parse"):
        held.call(command, out)
    return None


FAMILY = Family("archives", attack, weight=10)
