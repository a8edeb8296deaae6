"""Notes on the categories of CPU time in which two sides of a comparison differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pandas as pd

from netlimits.analysis import frames, profile, wording
from netlimits.metrics import Direction
from netlimits.model.cpu_categories import CATEGORIES

AT_MOST = 3
"""Maximum number of categories that a note names."""


def notes(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[str]:
    """Yield a note for each configuration and end whose costs differ beyond their intervals."""
    keys = [key for key in before.attrs["factors"] if key in after.attrs["factors"]]
    direction = cast(Direction, before.attrs["direction"])
    for values, first in frames.groups(before, keys):
        second = after
        for key, value in zip(keys, values, strict=True):
            second = second[second[key].map(wording.text) == wording.text(value)]
        changes = profile.differences(first, second)
        clear = changes[(changes["low"] > 0) | (changes["high"] < 0)]
        where = ", ".join(wording.phrases(list(values), keys))
        for end, rows in clear.groupby("end", sort=False):
            each = [
                f"{CATEGORIES[str(row['category'])]} {row['change_us']:+.2g} "
                f"[{row['low']:+.2g}, {row['high']:+.2g}]"
                for _, row in rows.head(AT_MOST).iterrows()
            ]
            more = f" and {len(rows) - AT_MOST} more" if len(rows) > AT_MOST else ""
            party = profile.party(str(end), direction)
            yield (
                f"the {party}'s CPU time{' at ' + where if where else ''} differs in "
                f"{', '.join(each)}{more} (µs per {rows['per'].iloc[0]}, from profiles)"
            )
