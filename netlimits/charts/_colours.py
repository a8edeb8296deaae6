"""Colour, line style and marker of each series.

The palette is that of Okabe and Ito (2008), which people with colour-vision deficiency can
distinguish. Line styles and markers differ too, so that a chart is also readable in grey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netlimits.analysis import wording
from netlimits.tools import TOOLS

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#666666"
NAMED: Mapping[str, str] = {
    "black": BLACK,
    "orange": ORANGE,
    "sky": SKY,
    "green": GREEN,
    "blue": BLUE,
    "vermilion": VERMILION,
    "purple": PURPLE,
}
"""Name of a colour, as `Tool.colour` -> the colour."""

PALETTE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, BLACK, SKY)
"""Okabe and Ito's colours without yellow, which is too pale for a line on white."""

KNOWN: Mapping[str, str] = {
    "udp": BLUE,
    "plain ethernet": BLUE,
    "tcp on": VERMILION,
    "tcp off": GREEN,
    "tcp": VERMILION,
    "on": VERMILION,
    "off": GREEN,
    "sender": BLUE,
    "receiver": ORANGE,
    **{tool.name: NAMED[tool.colour] for tool in TOOLS if tool.colour},
}
"""Factor value in lower case -> its colour in every chart."""

LINES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.3)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    label: str
    color: str
    line: Any
    marker: str

    @property
    def plot(self) -> dict[str, Any]:
        """Keyword arguments of `Axes.plot`."""
        return {"color": self.color, "linestyle": self.line, "marker": self.marker}


def series_styles(
    keys: Sequence[tuple[Any, ...]], factors: Sequence[str] = ()
) -> dict[tuple[Any, ...], SeriesStyle]:
    """Return a style for each series.

    A key in `keys` has a value for each name in `factors`. Texts in the key determine the colour.
    Numbers determine line style and marker. So "UDP, 1024" and "UDP, 8192" share a colour. If the
    series differ only in text or only in numbers, these values determine all three. Exception:
    series that differ only in numbers share the colour of their text if KNOWN has a colour for it.
    """
    of = list(factors) or [""] * (len(keys[0]) if keys else 0)
    without = wording.NULL if of else "all runs"
    labels = {key: ", ".join(wording.phrases(key, of)) or without for key in keys}
    names = {key: wording.label(v for v in key if not _number(v)) for key in keys}
    sizes = {key: wording.label(v for v in key if _number(v)) for key in keys}
    by_size = len(set(names.values())) == 1 < len(set(sizes.values()))
    if by_size and not set(map(str.lower, names.values())) & set(KNOWN):
        names = dict(sizes)
    elif len(set(sizes.values())) == 1:
        sizes = dict(names)
    colours = value_colours(list(dict.fromkeys(names.values())))
    order = sorted(set(sizes.values()), key=wording.rank)
    styles = {}
    for key in keys:
        place = order.index(sizes[key])
        styles[key] = SeriesStyle(
            labels[key],
            colours[names[key]],
            LINES[place % len(LINES)],
            MARKERS[place % len(MARKERS)],
        )
    return styles


def value_colours(names: Sequence[str]) -> dict[str, str]:
    """Return the colour of each name.

    Names in KNOWN have the colours that KNOWN assigns. Other names get the remaining colours of
    PALETTE in turn, first the colours that KNOWN does not contain.
    """
    fixed = {name: KNOWN[name.lower()] for name in names if name.lower() in KNOWN}
    free = [c for c in PALETTE if c not in fixed.values()] or list(PALETTE)
    free.sort(key=lambda colour: colour in KNOWN.values())
    others = [name for name in sorted(names, key=wording.rank) if name not in fixed]
    return fixed | {name: free[i % len(free)] for i, name in enumerate(others)}


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
