import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlimits.analysis import wording


def test_values_stand_in_the_order_of_the_reports() -> None:
    assert sorted(["TCP off", "UDP", "TCP on"], key=wording.rank) == ["UDP", "TCP on", "TCP off"]
    assert sorted(["n10", "n9", None, "8K"], key=wording.rank) == ["8K", "n9", "n10", None]
    assert sorted([8192, 1024.0, np.int64(1), True], key=wording.rank) == [1, True, 1024, 8192]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none())))
def test_any_values_can_be_sorted(values: list[object]) -> None:
    assert len(sorted(values, key=wording.rank)) == len(values)


def test_headings() -> None:
    assert wording.title("send_size") == "Send size (bytes)"
    assert wording.title("link_gbps") == "Link (Gbit/s)"
    assert wording.title("of_bound_pct") == "Of bound (%)"
    assert wording.title("s") == "S", "a name that is nothing but a unit's is a name"
    assert wording.title("local_sd_us_per_kib") == "Send service demand (µs CPU/KiB)"
    assert wording.name("transport_mss") == "transport MSS"
    assert wording.label([None, "udp", 1024.0, True]) == "udp 1024 true"


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_value_is_null_as_an_experiment_writes_it(value):
    assert wording.text(value) == "null"
    assert wording.label([value]) == "null"
    assert wording.label([value, "udp"]) == "udp"
    assert wording.label([]) == "all"
    assert wording.text([1, None]) == "[1, None]"


def test_one_byte_is_singular():
    assert wording.phrases([1, 10], ["send_size", "mss"]) == ["1 byte", "10 bytes"]
