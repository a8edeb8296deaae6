"""Clauses on what the busiest CPU of each end did, from profiled runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netlimits.analysis import profile
from netlimits.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from netlimits.analysis.profile import Direction


def runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the ok runs with a profile; no rows if there are none."""
    try:
        return profile.profiled(frame)
    except DataError:
        return frame[:0]


def clauses(profiled: pd.DataFrame, direction: Direction) -> Iterator[str]:
    """Yield "receiver CPU 3: 54 % of it copying data" for each end of one configuration."""
    for end in profile.ENDS:
        name = f"{end}_profile_cpu"
        if name not in profiled.columns:
            continue
        known = profiled[profiled[name].notna()]
        named = known[f"{name}_category"].value_counts()
        if named.empty:
            continue
        category = str(named.index[0])
        own = known[known[f"{name}_category"] == category]
        share, cpu = own[f"{name}_pct"].mean(), own[name].iloc[0]
        what = profile.CATEGORIES.get(category, category)
        what = "other work" if category == "other" else what
        yield f"{profile.party(end, direction)} CPU {cpu:.0f}: {share:.0f} % of it {what}"
