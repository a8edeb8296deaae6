"""Factors in the names of files: given as a pattern, or guessed."""

from __future__ import annotations

import pytest

from netlimits.errors import InputError
from netlimits.importers.names import NamePattern, conflict, guess

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
        ("{a b}.json", "is not a factor name"),
        ("{a.json", "write {FACTOR}"),
    ],
)
def test_a_pattern_that_cannot_be_one_is_refused(text: str, message: str):
    with pytest.raises(InputError, match=message):
        NamePattern(text).check()


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (
            [f"d/bbr_buf{b}/{d}ms_P{p}_{r}.json" for b in (1, 2) for d in (5, 40) for p in (1, 4)
             for r in (1, 2)],
            "bbr_buf{buf}/{ms}ms_P{P}_{replicate}.json",
        ),
        ([f"/x/{c}-{r}.txt" for c in ("cubic", "bbr") for r in (0, 1)], "{factor}-{replicate}.txt"),
        (["a/1500.json", "a/9000.json"], "{factor}.json"),
        (["before/x.json", "after/x.json"], "{factor}/x.json"),
    ],
)  # fmt: skip
def test_a_pattern_is_guessed_and_matches_its_own_names(paths: list[str], pattern: str):
    guessed = guess(paths)
    assert guessed is not None
    assert guessed.text == pattern
    guessed.check()
    assert all(guessed.values(path) is not None for path in paths)


@pytest.mark.parametrize(
    "paths", [["a.json"], ["run_1.json", "run_2.json", "run_3.json"], ["a_b.json", "a-b-c.json"]]
)
def test_nothing_is_guessed_of_repetitions_or_names_without_a_common_form(paths: list[str]):
    assert guess(paths) is None


def test_a_name_that_contradicts_the_content_is_said():
    assert conflict({"streams": 4, "delay": 5}, {"streams": 4.0}) == ""
    problem = conflict({"streams": 4}, {"streams": 8})
    assert problem == "streams is 4 by its name and 8 by its content"
