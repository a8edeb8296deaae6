"""Packets that the hosts' kernels dropped in the ok runs, by reason."""

from __future__ import annotations

import re
from collections import Counter

import pandas as pd

from netlimits.analysis import frames
from netlimits.model.drop_reasons import ALL_NAMESPACES, cause


def dropped(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the packets that kernels dropped in ok runs, by end and reason; empty without any."""
    runs = frames.usable(frame)
    rows = []
    together = []
    for end, words in (("local", "sender"), ("remote", "receiver")):
        places = runs.get(f"{end}_dropped_where", pd.Series(dtype=object)).dropna()
        together += [words] * any(ALL_NAMESPACES in str(place) for place in places)
        for column in runs.columns:
            reason = str(column).removeprefix(f"{end}_dropped_")
            if reason == column or reason == "where":
                continue
            counts = pd.to_numeric(runs[column], errors="coerce").fillna(0)
            at = Counter(re.findall(rf"{reason.upper()} at (\S+):", "; ".join(places)))
            rows.append(
                {
                    "end": words,
                    "reason": reason.upper(),
                    "cause": cause(reason.upper()) or "the kernel gives none",
                    "place": ", ".join(name for name, _ in at.most_common(2)),
                    "runs": int((counts > 0).sum()),
                    "packets": int(counts.sum()),
                    "most in a run": int(counts.max()),
                }
            )
    table = pd.DataFrame(rows)
    if together:
        table.attrs["notes"] = (
            f"drops of the {' and the '.join(together)} may include those of other programs: they "
            f"are {ALL_NAMESPACES}",
        )
    return table
