"""Output that is not what a tool prints: decimal commas, NaN, noise, lines lost or cut off.

A tool that ended well is read; where its output is none that can be read, the error says what was
printed, and never that the network did it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pairs
from faults.attacks.base import Family, Held

from netlimits.errors import OutputError, ToolFailure
from netlimits.tools import tool

TOOLS = ("netperf", "iperf3", "nuttcp", "neper")
_FIGURE = re.compile(r"(?<=[=:])( ?)(-?[0-9]+)\.([0-9]+)")
_BLAMED = re.compile(r"firewall|data path|link down|does not get through")


def commas(text: str, chance: Random) -> str:
    """Every figure with a decimal comma."""
    return _FIGURE.sub(r"\1\2,\3", text)


def no_number(text: str, chance: Random) -> str:
    """One figure that is none."""
    figures = [*_FIGURE.finditer(text)]
    start, end = chance.choice(figures).span() if figures else (0, 0)
    word = chance.choice(["nan", "-nan", "inf", "NaN", "1_0.0", "0x1p3", "9.5 (approx.)", "", "--"])
    return text[:start] + word + text[end:]


def noise(text: str, chance: Random) -> str:
    """Lines of a wrapper's before and behind."""
    lines = [
        "Welcome to this host",
        "warning: x=1",
        "\x1b[1m",
        "[  5] local port 5001",
        "{",
        "A=B=C",
    ]
    before, behind = (chance.sample(lines, chance.randint(0, 3)) for _ in "12")
    return "".join(f"{line}\n" for line in before) + text + "".join(f"{line}\n" for line in behind)


def cut(text: str, chance: Random) -> str:
    """What came before a moment."""
    return text[: chance.randrange(len(text))]


def lost(text: str, chance: Random) -> str:
    """A line is missing."""
    lines = text.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return "".join(lines)


def twice(text: str, chance: Random) -> str:
    """A line is there twice, the second time with other digits."""
    lines = text.splitlines(keepends=True)
    place = chance.randrange(len(lines))
    other = re.sub("[0-9]", lambda match: str((int(match[0]) + 1) % 10), lines[place])
    return "".join([*lines[: place + 1], other, *lines[place + 1 :]])


DISTORTED: tuple[Callable[[str, Random], str], ...] = (commas, no_number, noise, cut, lost, twice)


def attack(held: Held) -> str | None:
    """A capture, distorted, and read."""
    name = held.chance.choice(TOOLS)
    captures = pairs.measurements(name)
    capture = held.chance.choice([*captures])
    distorted = held.chance.choice(DISTORTED)
    right = pairs.completed(name, capture)
    text = distorted(right.stdout, held.chance)
    held.says(f"{name}/{capture}: {distorted.__name__}: {text[-400:]!r}")
    options = captures[capture]
    try:
        figures = tool(name).read(replace(right, stdout=text), options)
    except OutputError as error:
        return f"it blames the network: {error}" if _BLAMED.search(str(error)) else None
    except ToolFailure as error:
        # such as a contradiction of the figures, which is one of the run, not of the path
        return f"it blames the network: {error}" if _BLAMED.search(str(error)) else None
    same = figures == tool(name).read(right, options)
    return None if same or distorted in (lost, twice, cut) else f"other figures: {figures}"


FAMILY = Family("printed", attack, weight=0.5)
