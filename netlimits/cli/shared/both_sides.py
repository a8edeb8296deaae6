"""Both sides of a comparison: two campaigns or files, or those of a duet (`run --against`)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlimits.cli.shared.output import quoted
from netlimits.cli.shared.results import Results
from netlimits.errors import DataError
from netlimits.experiment import resolution
from netlimits.metrics import metric
from netlimits.model import SIDE

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BothSides:
    """Two campaigns; if `after` is None, the two sides of the duet `before`."""

    before: Results
    after: Results | None = None
    sessions_differ_by: float | None = None

    @property
    def sides(self) -> tuple[str, str]:
        if self.after:
            return called(self.before), called(self.after)
        assert self.before.campaign
        first, second = self.before.campaign.experiment.sides
        return first, second

    @property
    def title(self) -> str:
        duet = "" if self.after else f"{self.before.path}: "
        return f"{duet}{self.sides[1]} against {self.sides[0]}"

    def table(self, of: Sequence[str], threshold: float) -> pd.DataFrame:
        from netlimits.analysis import comparison

        if self.after:
            table = comparison.compare(
                self.before.having(of),
                self.after.having(of),
                of,
                threshold,
                among=_factors(self.before, self.after),
                sessions_differ_by=self.sessions_differ_by,
            )
        else:
            assert self.before.campaign
            experiment = self.before.campaign.experiment
            derived = experiment.derived
            among = [name for name in _factors(self.before) or () if name not in derived]
            table = comparison.duet(
                self.before.having(of), of, threshold, among=among, called=self.sides
            )
        table.attrs["notes"] = (*self._unfinished(), *self._profiles(), *table.attrs["notes"])
        return table

    def shown(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table for people: rounded numbers, titles, and verdicts in words."""
        return _shown(table, ("before", "after") if self.after else self.sides)

    def _profiles(self) -> Iterator[str]:
        from netlimits.analysis import profile
        from netlimits.analysis.comparisons import profiles

        campaigns = [side.campaign for side in (self.before, self.after) if side]
        if any(each is None or "profile" not in each.experiment.around for each in campaigns):
            return
        try:
            tables = [profile.profile(each) for each in campaigns if each]
        except DataError:
            return  # no profiled run is ok, which `explain` reports
        if not self.after:
            (table,) = tables
            factors = {k: v for k, v in table.attrs["factors"].items() if k != SIDE}
            tables = [table[table[SIDE] == side].drop(columns=SIDE) for side in self.sides]
            for each in tables:
                each.attrs = {**table.attrs, "factors": factors}
        yield from profiles.notes(*tables)

    def _unfinished(self) -> Iterator[str]:
        for results in each_part(self.before, self.after):
            if results.campaign:
                left, planned = results.campaign.left(results.frame)
                if left:
                    yield (
                        f"{results.path}: {left} of {planned} runs are pending; finish them with: "
                        f"netlimits resume {quoted(results.path)}"
                    )


def each_part(*sides: Results | None) -> Iterator[Results]:
    for side in sides:
        if side:
            yield from [part for _, part in side.parts] or [side]


def called(side: Results) -> str:
    return " and ".join(str(results.path) for results in each_part(side))


def _factors(*sides: Results) -> list[str] | None:
    """Return the factors and derived values of all campaigns, or None for files."""
    names: list[str] = []
    for side in each_part(*sides):
        if side.campaign is None or side.campaign.imported:
            return None
        names += resolution.names(side.campaign.experiment)
    return list(dict.fromkeys(names))


def _shown(table: pd.DataFrame, sides: Sequence[str]) -> pd.DataFrame:
    texts: pd.DataFrame = table[table.attrs["factors"]].copy()
    rows = table.to_dict("records")
    texts["metric"] = [metric(row["metric"]).label for row in rows]
    for side, name in zip(("before", "after"), sides, strict=True):
        texts[_free(name, texts)] = [_figure(row[side], ".4g") for row in rows]
    texts["ratio"] = [_ratio(row) for row in rows]
    texts["runs"] = [f"{_count(row, 'before')} and {_count(row, 'after')}" for row in rows]
    if "blocks" in table:
        texts["blocks"] = [f"{row['blocks']}" for row in rows]
    texts["verdict"] = [f"{_verdict(row)}{_needed(row)}{_side(row, sides)}" for row in rows]
    texts.attrs["notes"] = table.attrs["notes"]
    return texts


def _verdict(row: dict[Hashable, Any]) -> str:
    names = {"differ": "these two sessions differ", "fewer": "fewer runs", "more": "more runs"}
    return names.get(row["verdict"], str(row["verdict"]))


def _ratio(row: dict[Hashable, Any]) -> str:
    interval = "" if math.isnan(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{_figure(row['ratio'], '.3f')}{interval}"


def _figure(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


def _count(row: dict[Hashable, Any], side: str) -> str:
    """Return the number of ok runs behind a figure, as "0 of 3" if some runs are not ok."""
    ok, tried = row[f"n_{side}"], row[f"of_{side}"]
    return f"{ok}" if ok == tried else f"{ok} of {tried}"


def _side(row: dict[Hashable, Any], sides: Sequence[str]) -> str:
    """Return how many runs are ok on the side with fewer, such as ": 0 of 3 runs ok after".

    Return "" if the verdict is not about the number of ok runs.
    """
    called = dict(zip(("before", "after"), sides, strict=True))
    about = {"failed": "after", "fewer": "after", "recovered": "before", "more": "before"}
    if (side := about.get(row["verdict"])) is None:
        return ""
    return f": {row[f'ok_{side}']} of {row[f'of_{side}']} runs ok {called[side]}"


def _needed(row: dict[Hashable, Any]) -> str:
    if math.isnan(row["runs"]):
        return ""
    what = "blocks" if "blocks" in row else "runs a side"
    return f": {row['runs']:.0f} {what} would decide"


def _free(name: str, table: pd.DataFrame) -> str:
    """Return an unused column name for a side: its name, with `_` appended while it is taken."""
    while name in table:
        name += "_"
    return name
