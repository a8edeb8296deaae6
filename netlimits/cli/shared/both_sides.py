"""The two sides of a comparison: two campaigns or files, or the sides of a duet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlimits.cli import quoted
from netlimits.cli.shared.results import Results
from netlimits.errors import DataError
from netlimits.experiment import resolution
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

    def _profiles(self) -> Iterator[str]:
        from netlimits.analysis import profile
        from netlimits.analysis.comparisons import profiles

        campaigns = [side.campaign for side in (self.before, self.after) if side]
        if any(each is None or "profile" not in each.experiment.around for each in campaigns):
            return
        try:
            tables = [profile.profile(each) for each in campaigns if each]
        except DataError:
            return  # no profile is ok, which `explain` says
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
