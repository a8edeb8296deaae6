"""A claim of a report, held against runs: the block is the unit, and its interval decides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from netlimits.reproduce.claims import (
    Assertion,
    Judgement,
    between,
    full_link,
    gain,
    needs,
    of_blocks,
    ratio,
)


def runs(gains: dict[str, float], blocks: int = 6, noise: float = 0.02) -> pd.DataFrame:
    """Runs of two sizes with TSO on and off: on is so many times off, by size."""
    chance = np.random.default_rng(1)
    rows = [
        {
            "block": block, "run": 0, "status": "ok", "size": size, "tso": tso,
            "throughput_mbps": 100 * (gains[size] if tso == "on" else 1) * (1 + block / 10)
            * np.exp(noise * chance.standard_normal()),
        }
        for block in range(blocks)
        for size in gains
        for tso in ("on", "off")
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(run=range(1, len(rows) + 1))


ON = ratio("throughput", "tso", "on", "off", "", ("size",))


def test_the_unit_is_a_block_not_a_pair() -> None:
    judgement = Assertion("", "", ON, low=1).judge(runs({"a": 1.5, "b": 1.5, "c": 1.5}, blocks=3))
    assert (judgement.units, judgement.runs, judgement.verdict) == (3, 18, "too few blocks")
    judgement = Assertion("", "", ON, low=1).judge(runs({"a": 1.2, "b": 1.8}))
    assert (judgement.units, judgement.runs) == (6, 24)
    assert judgement.value == pytest.approx((1.2 * 1.8) ** 0.5, rel=0.02)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1, 9, "holds"), (0, 1, "does not hold"), (1.5, 9, "undecided"), (0, 1.5, "undecided")],
)
def test_the_interval_and_the_range_of_the_words_decide(
    low: float, high: float, verdict: str
) -> None:
    assert Assertion("", "", ON, low, high).judge(runs({"a": 1.5})).verdict == verdict


def test_a_gain_among_some_runs_over_that_among_others() -> None:
    measure = gain("throughput", "tso", "on", "off", ("size",), "size == 'b'", "size == 'a'")
    judgement = Assertion("", "", measure, low=1).judge(runs({"a": 1.2, "b": 2.4}))
    assert judgement.value == pytest.approx(2, rel=0.03)
    assert judgement.verdict == "holds"
    level = between("throughput", "tso == 'on'", "tso == 'off'", ("size",))
    assert Assertion("", "", level).judge(runs({"a": 1.5})).value == pytest.approx(1.5, rel=0.02)


def test_what_was_not_measured_cannot_show_it() -> None:
    judgement = Assertion("", "", ON).judge(runs({"a": 1.5}).query("tso == 'on'"))
    assert str(judgement) == "cannot show it: tso was never off"


def test_a_claim_about_a_full_link_is_judged_only_where_every_configuration_fills_it() -> None:
    needy = Assertion("", "", needs(full_link(("size", "tso")), ON), 0.9, 1.1)
    slow = needy.judge(runs({"a": 1.5}))
    assert slow.verdict == "cannot show it"
    assert slow.unfit.startswith("needs a full link, and the slowest configuration carried 6")
    full = needy.judge(runs({"a": 1.02}))
    assert full.verdict == "holds", "the data show it, so it is judged"
    some = full_link(("size", "tso"), "tso == 'on'")
    assert Assertion("", "", needs(some, ON), 0.9, 1.1).judge(runs({"a": 1.5})).verdict == (
        "does not hold"
    )


def test_a_figure_of_each_block_is_held_against_a_constant_or_another() -> None:
    def mean(frame: pd.DataFrame) -> float:
        return float(frame["throughput_mbps"].mean())

    frame = runs({"a": 1.5}, noise=0)
    constant = Assertion("", "", of_blocks(mean, 100, "tso == 'off'")).judge(frame)
    assert (constant.units, constant.runs) == (6, 6)
    assert constant.value == pytest.approx(1.25, rel=0.03)  # blocks drift from 1.0 to 1.5
    other = of_blocks(lambda f: 2 * mean(f), mean, "tso == 'off'")
    assert Assertion("", "", other).judge(frame).value == pytest.approx(2)


def test_runs_without_blocks_are_two_samples() -> None:
    loose = runs({"a": 1.5}, blocks=8, noise=0.05).drop(columns="block")
    judgement = Assertion("", "", ratio("throughput", "tso", "on", "off"), low=3).judge(loose)
    assert judgement.basis == "16 runs, no blocks"
    assert judgement.verdict == "does not hold"
    few = Assertion("", "", ratio("throughput", "tso", "on", "off")).judge(loose.head(10))
    assert few.verdict == "too few blocks"


def test_figures_and_basis_are_in_words() -> None:
    judgement = Judgement(Assertion("", "", ON, low=1), 1.118, 1.02, 1.22, 6, 96)
    assert str(judgement) == "holds: 1.12 [1.02, 1.22] over 96 runs, 6 blocks"
