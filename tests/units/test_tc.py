"""tc's units: what the schema lets through is what the functions read, and to which number."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.units import tc

READERS = {"rate": (tc.RATE, tc.rate), "size": (tc.SIZE, tc.size), "time": (tc.TIME, tc.time)}
UNITS = [
    "",
    "b",
    "bit",
    "kbit",
    "Mbit",
    "GIbit",
    "bps",
    "kbps",
    "k",
    "kb",
    "MB",
    "g",
    "us",
    "ms",
    "s",
]
WRITTEN = st.integers(1, 10**15) | st.builds(
    lambda number, unit: f"{number}{unit}",
    st.from_regex(r"\A[0-9]{1,4}(\.[0-9]{1,3})?\Z"),
    st.sampled_from([*UNITS, "x", "kibps", " k", "k\n"]),
)


@pytest.mark.long
@pytest.mark.parametrize("kind", READERS)
@given(written=WRITTEN)
def test_schema_and_reader_take_the_same(kind: str, written: int | str) -> None:
    schema, reader = READERS[kind]
    if jsonschema.Draft202012Validator(schema).is_valid(written):
        assert reader(written) >= 0
    else:
        with pytest.raises(ValueError, match="is not a number with one of the units"):
            reader(written)


@pytest.mark.parametrize(
    ("kind", "written", "number"),
    [
        ("rate", "1gbit", 10**9),
        ("rate", "1Gibit", 2**30),
        ("rate", "125mbps", 10**9),
        ("rate", 1003, 1000),  # whole bytes, as the kernel keeps it
        ("size", "128kb", 128 * 1024),
        ("size", "1.5k", 1536),
        ("time", "50ms", 50_000),
        ("time", 7, 7),
        ("time", "1.5s", 1_500_000),
    ],
)
def test_each_unit_is_tcs(kind: str, written: int | str, number: int) -> None:
    assert READERS[kind][1](written) == number


@given(st.integers(1, 10**12))
def test_a_rate_is_the_whole_bytes_below_it(bits: int) -> None:
    assert 0 <= bits - tc.rate(bits) < 8
    assert tc.rate(bits) % 8 == 0
