"""Lists of CPUs."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.units.cpus import CPU_LIST, members


@pytest.mark.parametrize(
    ("text", "numbers"), [(0, {0}), ("3", {3}), ("0-2", {0, 1, 2}), ("0,2-3,7", {0, 2, 3, 7})]
)
def test_what_a_list_holds(text, numbers):
    jsonschema.validate(text, CPU_LIST)
    assert members(text) == numbers


def test_a_range_that_runs_backward():
    with pytest.raises(ValueError, match="3-1 is a descending range"):
        members("0,3-1")


@pytest.mark.parametrize("wrong", ["", "0,", "a", "-1", "0-", "0 1", "0;id", "0\n", -1, "12345"])
def test_what_is_no_list(wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, CPU_LIST)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), min_size=1, max_size=9))
def test_every_list_written_is_read(parts):
    text = ",".join(f"{first}-{first + more}" if more else str(first) for first, more in parts)
    jsonschema.validate(text, CPU_LIST)
    assert members(text) == {n for first, more in parts for n in range(first, first + more + 1)}
