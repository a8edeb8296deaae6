"""Factors in the names of files, by a pattern."""

from __future__ import annotations

import pytest

from netlimits.errors import InputError
from netlimits.importers.names import NamePattern, conflict

PATTERN = NamePattern("bbr_buf{buffer}/{delay}ms_P{streams}_{replicate}.json")


def test_a_pattern_reads_factors_from_the_end_of_a_path():
    assert PATTERN.values("/data/bbr_buf0.5/20ms_P4_3.json") == {
        "buffer": 0.5,
        "delay": 20,
        "streams": 4,
    }
    assert PATTERN.values("bbr_bufinf/20ms_P4_3.json.gz") == {
        "buffer": "inf",
        "delay": 20,
        "streams": 4,
    }
    assert PATTERN.values("cubic_buf1/20ms_P4_3.json") is None
    assert NamePattern("*_{size}.txt").values("x/run7_1024.txt") == {"size": 1024}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all.json", "write {FACTOR} where names differ"),
        ("{status}.json", "status is a column of every result"),
        ("{a}_{a}.json", "{a} occurs twice"),
        ("{a b}.json", "no name of a factor"),
        ("{a.json", "write {FACTOR}"),
    ],
)
def test_a_pattern_that_cannot_be_one_is_refused(text: str, message: str):
    with pytest.raises(InputError, match=message):
        NamePattern(text).check()


def test_a_name_that_contradicts_the_content_is_said():
    assert conflict({"streams": 4, "delay": 5}, {"streams": 4.0}) == ""
    problem = conflict({"streams": 4}, {"streams": 8})
    assert problem == "streams is 4 by its name and 8 by its content"
