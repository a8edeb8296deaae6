"""What limited each point or bar of a chart: a letter beside it, and a key beneath.

The runs say it in a column, `limited_by` (`limits.limited_by` has its values): without it nothing
is drawn. Where all that is shown had one limit, the key says so alone.
"""

from __future__ import annotations

import string
import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netlimits.analysis import frames, wording
from netlimits.charts._colours import GREY, SeriesStyle

UNDETERMINED, UNKNOWN = "undetermined", "?"
"""The verdict that names no limit, and its letter."""

KEY_CHARACTERS = 15.0
"""How many characters of the key stand in an inch."""
NOTHING = "–"
"""Along a line, what stands where nothing is known."""

KEY_OF_LINES = " · from a letter to the next along its line"
"""What the key of `Marks.along` says behind the letters."""

Key = Sequence[Hashable]


@dataclass(frozen=True, slots=True)
class Marks:
    """The limits of each combination of some columns' values, and the letter of each limit."""

    limits: Mapping[tuple[str, ...], tuple[str, ...]]
    letters: Mapping[str, str]

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Sequence[str]) -> Marks:
        """Those of a frame's runs by these columns; none where it does not say what limited them.

        Where runs of several limits are one point, it has the letters of all.
        """
        if frames.LIMITED_BY not in frame.columns:
            return cls({}, {})
        told = frames.usable(frame)
        told = told[told[frames.LIMITED_BY].notna()]
        limits = {
            _texts(key): tuple(sorted(map(str, part[frames.LIMITED_BY].unique())))
            for key, part in frames.groups(told, list(columns))
        }
        names = sorted({name for each in limits.values() for name in each} - {UNDETERMINED})
        letters = dict(zip(names, string.ascii_letters, strict=False))
        if any(UNDETERMINED in each for each in limits.values()):
            letters[UNDETERMINED] = UNKNOWN
        return cls(limits, letters)

    def at(self, key: Key) -> str:
        """The letters of a combination; "" where nothing is known, or all have the same limit."""
        if len(self.letters) < 2:
            return ""
        return "".join(self.letters[name] for name in self.limits.get(_texts(key), ()))

    def behind(self, label: str, key: Key) -> str:
        """A label with the letters of its combination in brackets."""
        letters = self.at(key)
        return f"{label} ({letters})" if letters else label

    def named(self, look: SeriesStyle, key: Key) -> SeriesStyle:
        """The style of a series whose label says its limit too."""
        return replace(look, label=self.behind(look.label, key))

    def beside(
        self,
        axes: Axes,
        points: Iterable[tuple[Key, float, float]],
        *,
        color: str = "#222222",
        below: bool = False,
    ) -> None:
        """Write the letters above points, or below: (combination, x, y) of each."""
        for key, x, y in points:
            if letters := self.at(key):
                self._write(axes, letters, (x, y), color, below)

    @staticmethod
    def _write(
        axes: Axes, letters: str, point: tuple[float, float], color: str, below: bool
    ) -> None:
        axes.annotate(
            letters,
            point,
            xytext=(0, -5 if below else 5),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
            fontsize=8,
            color=color,
            annotation_clip=False,
        )

    def along(
        self, axes: Axes, line: Iterable[tuple[Key, float, float]], *, color: str, below: bool
    ) -> None:
        """As `beside`, of a line: a letter where its limit changes, which holds from there on.

        Lines that lie upon each other would print letters over letters. KEY_OF_LINES says it.
        """
        before = ""
        for key, x, y in line:
            letters = self.at(key) or NOTHING
            if letters != before and len(self.letters) > 1:
                self._write(axes, letters, (x, y), color, below)
            before = letters

    def within(self, axes: Axes, bars: Iterable[tuple[Key, float]]) -> None:
        """Write the letters at the foot of bars, where no line's label is: (combination, x)."""
        for key, x in bars:
            if letters := self.at(key):
                axes.annotate(
                    letters,
                    (x, 0),
                    xytext=(0, 5),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=8,
                    bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "linewidth": 0},
                )

    @property
    def words(self) -> str:
        """What each letter is, or the one limit that all have; "" where nothing is known."""
        if not self.letters:
            return ""
        words = " · ".join(f"{letter} {name}" for name, letter in self.letters.items())
        if len(self.letters) == 1:
            (words,) = self.letters
        return f"Limited by: {words}"

    def key(self, figure: Figure, note: str = "") -> None:
        """The key beneath a chart that has no legend there; `note` stands behind its letters."""
        if self.words:
            words = self.words + (note if len(self.letters) > 1 else "")
            width = round(figure.get_figwidth() * KEY_CHARACTERS)
            words = "\n".join(textwrap.wrap(words, width, break_on_hyphens=False))
            figure.supxlabel(words, x=0.01, ha="left", fontsize=8.5, color=GREY)


def _texts(key: Key) -> tuple[str, ...]:
    return tuple(wording.text(value) for value in key)
