from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.analysis import wording
from netlimits.analysis.statistics import cells

LABELS = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["", "0", "tcp", "udp"]))
RUNS = st.lists(st.tuples(LABELS, st.integers(-2, 40_000), st.floats(0, 2)), min_size=1)


@pytest.mark.long
@given(RUNS, st.booleans())
def test_a_cell_has_the_rows_that_have_its_values(runs, coded):
    frame = pd.DataFrame(runs, columns=["label", "number", "share"])
    frame["label"] = pd.Series([label for label, *_ in runs], dtype=object)
    if coded:
        frame["label"] = frame["label"].map(str, na_action="ignore").astype("category")
    for keys in (["label"], ["number", "label"], ["share", "label", "number"]):
        expected: dict[cells.Key, list[int]] = {}
        for number, row in enumerate(frame[keys].itertuples(index=False)):
            expected.setdefault(wording.hashed(tuple(row)), []).append(number)
        places = cells._places(frame, keys)
        assert {key: rows.tolist() for key, (_, rows) in places.items()} == expected


def test_more_cells_than_fit_sixteen_bits_are_told_apart():
    frame = pd.DataFrame({"a": range(40_000), "b": [n % 3 for n in range(40_000)]})
    for keys in (["a"], ["a", "b"], ["b", "a"]):
        places = cells._places(frame, keys)
        assert all(rows.tolist() == [key[keys.index("a")]] for key, rows in places.values())
        assert len(places) == len(frame)
