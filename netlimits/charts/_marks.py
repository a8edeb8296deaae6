"""Letters at points or bars that show what limited the runs (`limited_by`).

A key below the chart explains the letters.
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
"""Value of `limited_by` for runs whose limit could not be determined, and the sign for it."""

KEY_CHARACTERS = 15.0
"""Number of characters per inch of the chart's width, at which lines of the key are wrapped."""
NOTHING = "–"
"""Sign in place of a letter where the limit along a line becomes unknown."""

KEY_OF_LINES = " · from a letter to the next along its line"
"""Addition to the key of a chart with lines: a letter applies until the next letter."""

Key = Sequence[Hashable]


@dataclass(frozen=True, slots=True)
class Marks:
    """The limits of combinations of factor values, and a letter for each limit.

    `limits` maps the values of a combination, as texts, to the names of its limits.
    """

    limits: Mapping[tuple[str, ...], tuple[str, ...]]
    letters: Mapping[str, str]

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, columns: Sequence[str]) -> Marks:
        """Return the limits of the ok runs for each combination of values in `columns`.

        The result is empty if the frame has no column `limited_by`.
        """
        if frames.LIMITED_BY not in frame.columns:
            return cls({}, {})
        runs = frames.usable(frame)
        runs = runs[runs[frames.LIMITED_BY].notna()]
        limits = {
            _texts(key): tuple(sorted(map(str, part[frames.LIMITED_BY].unique())))
            for key, part in frames.groups(runs, list(columns))
        }
        names = sorted({name for each in limits.values() for name in each} - {UNDETERMINED})
        letters = dict(zip(names, string.ascii_letters, strict=False))
        if any(UNDETERMINED in each for each in limits.values()):
            letters[UNDETERMINED] = UNKNOWN
        return cls(limits, letters)

    def at(self, key: Key) -> str:
        """Return the letters of the limits of a combination.

        Return "" if no limit is recorded for it, or if there is only one limit in the whole chart.
        """
        if len(self.letters) < 2:
            return ""
        return "".join(self.letters[name] for name in self.limits.get(_texts(key), ()))

    def label(self, text: str, key: Key) -> str:
        """Return the label, followed by the combination's letters in brackets if it has any."""
        letters = self.at(key)
        return f"{text} ({letters})" if letters else text

    def in_style(self, style: SeriesStyle, key: Key) -> SeriesStyle:
        """Return the style with the combination's letters in its label."""
        return replace(style, label=self.label(style.label, key))

    def at_points(
        self,
        axes: Axes,
        points: Iterable[tuple[Key, float, float]],
        *,
        color: str = "#222222",
        below: bool = False,
    ) -> None:
        """Write the letters above or below points, given as (combination, x, y)."""
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

    def on_line(
        self, axes: Axes, line: Iterable[tuple[Key, float, float]], *, color: str, below: bool
    ) -> None:
        """Write a letter above or below a line where its limit changes."""
        before = ""
        for key, x, y in line:
            letters = self.at(key) or NOTHING
            if letters != before and len(self.letters) > 1:
                self._write(axes, letters, (x, y), color, below)
            before = letters

    def in_bars(self, axes: Axes, bars: Iterable[tuple[Key, float]]) -> None:
        """Write the letters at the foot of bars, given as (combination, x)."""
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
        """The text of the key, "" if no limit is recorded."""
        if not self.letters:
            return ""
        words = " · ".join(f"{letter} {name}" for name, letter in self.letters.items())
        if len(self.letters) == 1:
            (words,) = self.letters
        return f"Limited by: {words}"

    def key(self, figure: Figure, note: str = "") -> None:
        """Write the key below a chart that has no legend there.

        Append `note` to the key if the chart shows several limits.
        """
        if self.words:
            words = self.words + (note if len(self.letters) > 1 else "")
            width = round(figure.get_figwidth() * KEY_CHARACTERS)
            words = "\n".join(textwrap.wrap(words, width, break_on_hyphens=False))
            figure.supxlabel(words, x=0.01, ha="left", fontsize=8.5, color=GREY)


def _texts(key: Key) -> tuple[str, ...]:
    return tuple(wording.text(value) for value in key)
