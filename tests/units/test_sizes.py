"""Sizes and rates with K, M and G: powers of 1024, powers of 1000, and netperf's own difference."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.units import sizes

POWERS = {"": 0, "k": 1, "m": 2, "g": 3}


@given(st.integers(1, 10**6), st.sampled_from([*POWERS, "K", "M", "G"]))
def test_the_same_number_is_the_same_however_it_is_written(number: int, suffix: str) -> None:
    written, power = f"{number}{suffix}", POWERS[suffix.lower()]
    jsonschema.validate(written, sizes.SIZE)
    jsonschema.validate(written, sizes.RATE)
    assert sizes.binary_bytes(written) == number * 1024**power
    assert sizes.decimal_bits(written) == number * 1000**power
    assert sizes.netperf_bytes(written) == number * (1000 if suffix.islower() else 1024) ** power
    assert sizes.binary_bytes(number) == sizes.netperf_bytes(number) == number


def test_a_rate_may_have_a_fraction_and_a_size_may_not() -> None:
    assert sizes.decimal_bits("2.5G") == 2.5e9
    jsonschema.validate("2.5G", sizes.RATE)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate("2.5G", sizes.SIZE)
