"""Campaigns against a baseline: simulated ones, whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t, ttest_ind

from netlimits import tables
from netlimits.analysis.comparison import compare, duet
from netlimits.errors import DataError

CV, RUNS = 0.02, 10


def runs(
    chance: np.random.Generator, mbps: float, sizes: tuple[int, ...] = (1024,)
) -> pd.DataFrame:
    """Ten runs of each size, log-normal, of 2 %; service demand goes as the inverse."""
    rows = [
        {"config": str(size), "send_size": size, "status": "ok", "throughput_mbps": value,
         "local_sd_us_per_kib": 1000 / value}
        for size in sizes
        for value in mbps * np.exp(chance.normal(0, CV, RUNS))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def verdicts(loss: float) -> list[str]:
    chance = np.random.default_rng(11)
    return [
        compare(runs(chance, 900), runs(chance, 900 * (1 - loss)), "throughput")["verdict"].iloc[0]
        for _ in range(50)
    ]


@pytest.mark.long
def test_of_fifty_comparisons_of_the_same_at_most_three_say_that_something_changed():
    told = verdicts(0)
    assert sum(verdict == "differ" for verdict in told) <= 3
    assert told.count("same") >= 35, "ten runs of 2 % tell 3 % mostly"


@pytest.mark.long
def test_of_fifty_true_losses_of_5_percent_at_least_48_are_seen():
    assert verdicts(0.05).count("differ") >= 48


def test_better_is_the_metrics_own_direction():
    chance = np.random.default_rng(1)
    table = compare(
        runs(chance, 900), runs(chance, 1200), ["throughput", "local_sd"], sessions_differ_by=0.2
    )
    assert table["verdict"].tolist() == ["better", "better"]
    assert (table["ratio"] > 1).all()
    assert table["ratio"].iloc[0] == pytest.approx(4 / 3, rel=0.03)
    assert ((table["low"] < table["ratio"]) & (table["ratio"] < table["high"])).all()


def test_an_unclear_ratio_says_how_many_runs_would_tell():
    """The half width of n runs is s·sqrt(2/n)·t of 2(n - 1): as narrow as the threshold, just so."""
    chance = np.random.default_rng(3)
    before, after = runs(chance, 900), runs(chance, 900)
    (row,) = compare(before, after, "throughput", threshold=0.004).to_dict("records")
    assert row["verdict"] == "unclear"
    half = np.log(row["high"] / row["low"]) / 2
    spread = half / np.sqrt(2 / RUNS) / t.ppf(0.975, 2 * (RUNS - 1))
    widths = [
        spread * np.sqrt(2 / n) * t.ppf(0.975, 2 * (n - 1)) for n in (row["runs"], row["runs"] - 1)
    ]
    assert widths[0] <= np.log1p(0.004) < widths[1]


@pytest.mark.long
def test_two_blocks_do_not_overstate_what_it_takes():
    """Student's t of two is 12.7: by the width alone they would ask for fifty times the blocks."""
    chance = np.random.default_rng(5)
    told = []
    for _ in range(40):
        sides = [
            pd.DataFrame(
                {
                    "block": [1, 2],
                    "status": "ok",
                    "size": 1,
                    "throughput_mbps": 900 * (1 - loss) * np.exp(chance.normal(0, 0.04, 2)),
                }
            )
            for loss in (0.0, 0.05)
        ]
        (row,) = compare(*sides, "throughput", paired=True).to_dict("records")
        told.append(row["runs"])
    assert np.nanmedian(told) < 40


def test_configurations_are_matched_by_their_factors_and_the_rest_is_named():
    chance = np.random.default_rng(5)
    before, after = runs(chance, 900, (64, 1024)), runs(chance, 900, (1024, 8192))
    table = compare(before, after, "throughput")
    assert table["send_size"].tolist() == ["1024"] or table["send_size"].tolist() == [1024]
    assert "only before: send_size 64" in table.attrs["notes"]
    assert "only after: send_size 8192" in table.attrs["notes"]
    with pytest.raises(DataError, match="no configuration is on both sides: send_size 64 before"):
        compare(runs(chance, 900, (64,)), runs(chance, 900, (1024,)), "throughput")


def test_among_many_ratios_of_the_same_few_are_called_different():
    """Of 40 ratios at 95 % two are wrong by chance; at a false discovery rate hardly one."""
    chance, sizes = np.random.default_rng(7), tuple(range(40))
    table = compare(runs(chance, 900, sizes), runs(chance, 900, sizes), "throughput", 0.001)
    assert (table["p"] < 0.05).sum() >= 1
    assert (table["verdict"] == "unclear").all()


def test_runs_that_are_not_ok_do_not_count():
    chance = np.random.default_rng(9)
    after = runs(chance, 900)
    after.loc[0, ["status", "throughput_mbps"]] = "failed", 1.0
    (row,) = compare(runs(chance, 900), after, "throughput").to_dict("records")
    assert (row["n_before"], row["n_after"]) == (RUNS, RUNS - 1)
    assert row["after"] == pytest.approx(900, rel=0.03)


def few(values: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"size": 1, "throughput_mbps": values})


def test_fewer_than_six_runs_on_a_side_are_said():
    def told(before: list[float], after: list[float]) -> bool:
        notes = compare(few(before), few(after), "throughput").attrs["notes"]
        return any("fewer than 6 on a side" in note for note in notes)

    enough = [9.0, 10.0, 11.0, 10.5, 9.5, 10.2]
    assert told([9.0, 10.0], [9.5, 11.0])
    assert told(enough, enough[:3])
    assert not told(enough, enough)
    assert not told([9.0], [10.0]), "without an interval nothing is promised"


@pytest.mark.long
def test_with_a_fifth_slower_three_runs_are_called_different_as_often_as_is_said():
    """The note says up to 15 % of comparisons where 5 % are promised."""
    chance = np.random.default_rng(2)

    def side() -> pd.DataFrame:
        values = np.where(chance.random(54) < 0.2, 0.7, 1) * np.exp(0.02 * chance.normal(size=54))
        return pd.DataFrame({"size": np.repeat(range(18), 3), "throughput_mbps": 900 * values})

    calls = [compare(side(), side(), "throughput")["verdict"].eq("differ").any() for _ in range(30)]
    assert 1 <= sum(calls) <= 9


def test_runs_of_more_than_one_kind_are_named():
    alike = [1000.0, 1001, 999, 1002, 998, 1003, 997]
    table = compare(few(alike), few([*alike[:6], 500.0]), "throughput")
    assert "kinds" not in table
    notes = [note for note in table.attrs["notes"] if "mixed" in note]
    assert notes == ["Throughput after: fast and slow runs are mixed, so no run is near the mean"]


@pytest.mark.parametrize("name", ["statistic", "metric", "n", "value", "low", "runs", "verdict"])
def test_a_factor_may_be_called_as_a_column_of_ours(name):
    chance = np.random.default_rng(1)
    sides = [runs(chance, 900, (64, 1024)).rename(columns={"send_size": name}) for _ in range(2)]
    table = compare(*sides, "throughput")
    (heading,) = table.attrs["factors"]
    assert heading == (name if name in ("n", "value") else f"{name}_")
    assert table[heading].tolist() == ["64", "1024"]
    assert table["verdict"].isin(["same", "unclear"]).all()
    assert "64" in tables.render(table)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("side", [0, 1])
def test_an_infinite_figure_is_an_error_that_names_it(side):
    sides = [few([9.0, 10.0, 11.0]), few([9.0, 10.0, 11.0])]
    sides[side].loc[1, "throughput_mbps"] = np.inf
    with pytest.raises(DataError, match=f"infinite in a run {('before', 'after')[side]}"):
        compare(*sides, "throughput")


@pytest.mark.parametrize("threshold", [0, 1, 3, -0.1])
def test_a_threshold_is_a_share(threshold):
    chance = np.random.default_rng(0)
    with pytest.raises(DataError, match="between 0 and 1"):
        compare(runs(chance, 9), runs(chance, 9), "throughput", threshold)


def broken(frame: pd.DataFrame, size: int, status: str = "timeout") -> pd.DataFrame:
    """The runs, of which those of one size came to nothing."""
    lost = frame["send_size"] == size
    metrics = ["throughput_mbps", "local_sd_us_per_kib"]
    frame = frame.assign(reason=np.where(lost, "no answer", None), status=frame["status"])
    frame.loc[lost, metrics] = np.nan
    frame.loc[lost, "status"] = status
    return frame


def test_a_configuration_that_broke_is_failed_and_not_one_that_was_left_out():
    chance = np.random.default_rng(4)
    before, after = (runs(chance, 900, (64, 1024)) for _ in range(2))
    table = compare(before, broken(after, 64), ["throughput", "local_sd"])
    lost = table[table["send_size"] == "64"]
    assert lost["verdict"].tolist() == ["failed", "failed"]
    assert (
        lost[["n_before", "of_before", "n_after", "of_after"]].values.tolist()
        == [[RUNS, RUNS, 0, RUNS]] * 2
    )
    assert lost["before"].notna().all()
    assert lost[["after", "ratio", "low", "p", "runs"]].isna().all(axis=None)
    assert not any("only" in note for note in table.attrs["notes"])
    assert (
        "failed after: send_size 64: 0 of 10 runs ok (10 timeout; the first says: no answer); "
        "10 of 10 before"
    ) in table.attrs["notes"]
    back = compare(broken(before, 64), after, "throughput")
    assert back["verdict"].tolist()[0] == "recovered"
    assert any("failed before: send_size 64: 0 of 10" in note for note in back.attrs["notes"])


def test_a_configuration_that_failed_on_both_sides_is_told():
    chance = np.random.default_rng(4)
    before, after = (broken(runs(chance, 900, (64, 1024)), 64) for _ in range(2))
    table = compare(before, after, "throughput")
    assert table["send_size"].tolist() == ["1024"]
    notes = [note for note in table.attrs["notes"] if "failed" in note]
    assert [note.split(":")[0] for note in notes] == ["failed before", "failed after"]


def test_where_only_what_failed_is_on_both_sides_there_is_nothing_to_compare():
    chance = np.random.default_rng(4)
    before, after = (broken(runs(chance, 900, (64, size)), 64) for size in (1, 2))
    with pytest.raises(DataError, match="has a figure: send_size 64"):
        compare(before, after, "throughput")


def test_where_all_runs_of_a_side_failed_all_is_failed():
    chance = np.random.default_rng(4)
    before, after = runs(chance, 900), broken(runs(chance, 900), 1024, "failed")
    assert compare(before, after, "throughput")["verdict"].tolist() == ["failed"]
    assert compare(after, before, "throughput")["verdict"].tolist() == ["recovered"]
    with pytest.raises(DataError, match="none of the 10 runs is ok; the first says: no answer"):
        compare(after, after, "throughput")


def test_words_that_a_failed_run_did_not_live_to_measure_are_no_factor():
    chance = np.random.default_rng(4)
    before, after = (
        runs(chance, 900, (64, 1024)).assign(cipher="aes").drop(columns="config") for _ in range(2)
    )
    after = broken(after, 64)
    after.loc[after["status"] != "ok", "cipher"] = None
    table = compare(before, after, "throughput")
    assert table["verdict"].tolist()[0] == "failed"
    assert "cipher" not in table


# -- sessions -------------------------------------------------------------------------------


def in_sessions(chance: np.random.Generator, count: int, mbps: float = 900.0) -> pd.DataFrame:
    """Campaigns that differ by 3 % beyond their runs' spread."""
    parts = [
        runs(chance, mbps * np.exp(chance.normal(0, 0.03))).assign(campaign=f"of {mbps:g}, {n}")
        for n in range(count)
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.long
def test_two_sessions_that_differ_are_neither_better_nor_worse():
    chance = np.random.default_rng(31)
    tables = [
        compare(in_sessions(chance, 1), in_sessions(chance, 1), "throughput") for _ in range(40)
    ]
    told = [table["verdict"].iloc[0] for table in tables]
    assert not {*told} - {"differ", "same", "unclear"}
    assert told.count("differ") >= 10, "runs alone tell them apart often"
    assert any("better or worse from one session a side" in n for n in tables[0].attrs["notes"])


@pytest.mark.long
def test_a_bound_on_sessions_tells_what_lies_beyond_it():
    chance = np.random.default_rng(32)
    before, after = runs(chance, 900), runs(chance, 900 * 0.85)
    free, bounded, wide = (
        compare(before, after, "throughput", sessions_differ_by=bound).iloc[0]
        for bound in (None, 0.05, 0.3)
    )
    assert [row["verdict"] for row in (free, bounded, wide)] == ["differ", "worse", "unclear"]
    assert bounded["low"] == pytest.approx(free["low"] / 1.05)
    assert bounded["high"] == pytest.approx(free["high"] * 1.05)
    assert bounded["p"] > free["p"]
    assert np.isnan(wide["runs"]), "no number of runs decides it"
    told = [
        compare(
            in_sessions(chance, 1), in_sessions(chance, 1), "throughput", sessions_differ_by=0.085
        )["verdict"].iloc[0]
        for _ in range(40)
    ]
    assert sum(verdict in ("better", "worse") for verdict in told) <= 3
    with pytest.raises(DataError, match="sessions_differ_by: it must be between 0 and 1"):
        compare(before, after, "throughput", sessions_differ_by=0)


@pytest.mark.long
def test_several_sessions_are_the_unit():
    """Student's t of four against one of their means, and Welch's of four and three."""
    chance = np.random.default_rng(33)
    before, after = in_sessions(chance, 4), in_sessions(chance, 3, 700.0)
    (row,) = compare(before, after, "throughput").to_dict("records")
    assert row["verdict"] == "worse"
    means = [
        np.log(side["throughput_mbps"]).groupby(side["campaign"]).mean() for side in (before, after)
    ]
    welch = ttest_ind(means[1], means[0], equal_var=False)
    assert row["p"] == pytest.approx(welch.pvalue)
    assert row["low"] == pytest.approx(np.exp(welch.confidence_interval().low))
    (row,) = compare(before, runs(chance, 900), "throughput").to_dict("records")
    pooled = ttest_ind([np.log(row["after"])], means[0])
    assert row["p"] == pytest.approx(pooled.pvalue, rel=0.05)
    told = [
        compare(in_sessions(chance, 3), in_sessions(chance, 2), "throughput")["verdict"].iloc[0]
        for _ in range(40)
    ]
    assert sum(verdict in ("better", "worse") for verdict in told) <= 4
    with pytest.raises(DataError, match="4 and 1 sessions show"):
        compare(before, runs(chance, 900), "throughput", sessions_differ_by=0.1)


# -- survivors ------------------------------------------------------------------------------


@pytest.mark.long
def test_where_slow_runs_time_out_on_one_side_alone_nothing_is_better():
    chance = np.random.default_rng(34)

    def side(limit: float) -> pd.DataFrame:
        frame = runs(chance, 900)
        frame["throughput_mbps"] *= np.exp(chance.normal(0, 0.2, RUNS))
        lost = frame["throughput_mbps"] < limit
        frame.loc[lost, "status"] = "timeout"
        frame.loc[lost, ["throughput_mbps", "local_sd_us_per_kib"]] = np.nan
        return frame

    for limits, wrong in (((0.0, 850.0), "better"), ((850.0, 0.0), "worse")):
        told, notes = [], []
        for _ in range(30):
            sides = [side(limit) for limit in limits]
            table = compare(*sides, "throughput", sessions_differ_by=0.001)
            told.append(table["verdict"].iloc[0])
            notes.append(any("fewer runs ended ok" in n for n in table.attrs["notes"]))
            assert notes[-1] == any((each["status"] != "ok").any() for each in sides)
        assert told.count(wrong) <= 2
        assert {"fewer", "more"} & {*told} == {"fewer" if limits[1] else "more"}


def test_what_is_worse_than_a_side_with_lost_runs_holds_without_its_worst_ones():
    chance = np.random.default_rng(35)
    before, after = runs(chance, 900), runs(chance, 450)
    before.loc[:2, "status"] = "timeout"
    (row,) = compare(before, after, "throughput", sessions_differ_by=0.05).to_dict("records")
    assert row["verdict"] == "worse"
    after.loc[3:, "throughput_mbps"] *= 2  # only as many are slow as timed out before
    (row,) = compare(before, after, "throughput", sessions_differ_by=0.05).to_dict("records")
    assert row["verdict"] == "unclear"
    assert (row["ok_before"], row["of_before"], row["n_after"]) == (7, 10, 10)


def test_one_run_that_failed_is_no_finding_and_six_of_ten_are():
    chance = np.random.default_rng(36)
    before, after = runs(chance, 900), runs(chance, 900)
    after.loc[0, "status"] = "failed"
    (row,) = compare(before, after, "throughput").to_dict("records")
    assert row["verdict"] == "same"
    after.loc[:5, "status"] = "failed"
    table = compare(before, after, "throughput")
    assert table["verdict"].tolist() == ["fewer"]
    note = "figures after may be too good, because fewer runs ended ok: 4 of 10 runs ended ok after, 10 of 10 before"
    assert any(each.startswith(note) for each in table.attrs["notes"])


def test_a_duet_counts_the_blocks_in_which_one_side_failed():
    frame = blocks(np.random.default_rng(37), -0.2)
    lost = (frame["side"] == "after") & (frame["block"] > 4)
    assert duet(frame, "throughput")["verdict"].tolist() == ["better"]
    frame.loc[lost & (frame["block"] == 10), "status"] = "timeout"
    assert duet(frame, "throughput")["verdict"].tolist() == ["unclear"]
    frame.loc[lost, "status"] = "timeout"
    assert duet(frame, "throughput")["verdict"].tolist() == ["fewer"]
    turned = duet(frame, "throughput", called=("after", "before"))
    assert turned["verdict"].tolist() == ["more"]


# -- duets ----------------------------------------------------------------------------------


def blocks(
    chance: np.random.Generator, loss: float, drift: float = 0.0, sizes: tuple[int, ...] = (1024,)
) -> pd.DataFrame:
    """Ten blocks of both sides; what drifts makes the last block so much slower than the first."""
    rows = [
        {"config": f"{side}{size}", "side": side, "block": block, "send_size": size, "status": "ok",
         "throughput_mbps": 900 * (1 - loss * (side == "after")) * (1 - drift * block / RUNS)
         * np.exp(chance.normal(0, CV))}
        for block in range(1, RUNS + 1)
        for size in sizes
        for side in ("before", "after")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def verdicts_of_duets(loss: float, drift: float = 0.0) -> list[str]:
    chance = np.random.default_rng(12)
    return [duet(blocks(chance, loss, drift), "throughput")["verdict"].iloc[0] for _ in range(50)]


@pytest.mark.long
@pytest.mark.parametrize("drift", [0, 0.4])
def test_of_fifty_duets_of_the_same_at_most_three_say_that_something_changed(drift: float):
    told = verdicts_of_duets(0, drift)
    assert sum(verdict in ("better", "worse") for verdict in told) <= 3
    assert told.count("same") >= 20


@pytest.mark.long
@pytest.mark.parametrize("drift", [0, 0.4])
def test_of_fifty_duets_with_a_loss_of_5_percent_at_least_48_say_worse(drift: float):
    assert verdicts_of_duets(0.05, drift).count("worse") >= 48


def test_what_drifts_hides_a_loss_from_two_campaigns_and_not_from_a_duet():
    frame = blocks(np.random.default_rng(13), 0.05, drift=0.4)
    sides = [frame[frame["side"] == name].drop(columns="side") for name in ("before", "after")]
    assert compare(*sides, "throughput")["verdict"].tolist() == ["unclear"]
    table = duet(frame, "throughput")
    assert table["verdict"].tolist() == ["worse"]
    assert table["blocks"].tolist() == [RUNS]
    assert table["ratio"].iloc[0] == pytest.approx(0.95, rel=0.03)
    assert any("interleaved in the same blocks" in note for note in table.attrs["notes"])
    assert not any("two sessions" in note for note in table.attrs["notes"])


def test_a_block_that_lacks_a_side_does_not_count():
    frame = blocks(np.random.default_rng(14), 0.0)
    frame.loc[(frame["side"] == "after") & (frame["block"] > 7), "status"] = "failed"
    (row,) = duet(frame, "throughput").to_dict("records")
    assert (row["n_before"], row["n_after"], row["of_after"], row["blocks"]) == (RUNS, 7, RUNS, 7)
    frame.loc[(frame["side"] == "before") & (frame["block"] <= 7), "status"] = "failed"
    (row,) = duet(frame, "throughput").to_dict("records")
    assert row["blocks"] == 0
    assert np.isnan(row["low"])
    assert row["verdict"] == "unclear", "runs that share no block are no pairs"


def test_sides_have_names():
    frame = blocks(np.random.default_rng(15), 0.05).replace({"before": "old", "after": "new"})
    assert duet(frame, "throughput", called=("old", "new"))["verdict"].tolist() == ["worse"]
    assert duet(frame, "throughput", called=("new", "old"))["verdict"].tolist() == ["better"]
    with pytest.raises(DataError, match="not a duet of before and after: its sides are new, old"):
        duet(frame, "throughput")
    with pytest.raises(DataError, match="it has no side"):
        duet(frame.drop(columns="side"), "throughput")


def test_an_unclear_one_of_many_needs_the_blocks_that_wilcoxon_needs():
    """Six blocks tell p = 0.03 at best, which is no discovery among 40 ratios."""
    frame = blocks(np.random.default_rng(16), 0.0, sizes=tuple(range(40)))
    frame = frame[frame["block"] <= 6]
    frame.loc[(frame["side"] == "after") & (frame["send_size"] == 7), "throughput_mbps"] /= 2
    table = duet(frame, "throughput").set_index("send_size")
    row = table.loc["7"] if "7" in table.index else table.loc[7]
    assert row["verdict"] == "unclear"
    assert row["runs"] >= 11


def test_it_is_never_told_that_fewer_runs_than_there_are_would_tell():
    chance = np.random.default_rng(17)
    frame = few((9.0 * np.exp(0.001 * chance.normal(size=10))).tolist())
    after = frame.assign(throughput_mbps=frame["throughput_mbps"] * 1.0295)
    (row,) = compare(frame, after, "throughput").to_dict("records")
    assert row["verdict"] == "unclear"
    assert np.isnan(row["runs"]) or row["runs"] > 10


def test_a_side_whose_runs_all_failed_is_failed_and_zeros_have_no_interval():
    frame = blocks(np.random.default_rng(18), 0.0)
    frame.loc[frame["side"] == "after", "status"] = "failed"
    (row,) = duet(frame, "throughput").to_dict("records")
    assert (row["verdict"], row["of_after"], row["blocks"]) == ("failed", RUNS, 0)
    zeros = blocks(np.random.default_rng(19), 0.0)
    zeros.loc[zeros["block"] == 3, "throughput_mbps"] = 0.0
    (row,) = duet(zeros, "throughput").to_dict("records")
    assert np.isnan(row["low"])
    (row,) = duet(zeros[zeros["block"] == 1], "throughput").to_dict("records")
    assert (row["blocks"], row["verdict"]) == (1, "unclear")


def test_notes_call_the_sides_by_their_names():
    frame = blocks(np.random.default_rng(20), 0.0, sizes=(64, 1024))
    frame = frame.replace({"before": "old", "after": "new"})
    frame = frame[(frame["side"] == "old") | (frame["send_size"] == 1024)]
    frame.loc[frame["side"] == "new", "status"] = "failed"
    notes = duet(frame, "throughput", called=("old", "new")).attrs["notes"]
    assert "only old: send_size 64" in notes
    assert any(note.startswith("failed new: send_size 1024: 0 of 10 runs ok") for note in notes)
    assert not any(" before" in note or " after" in note for note in notes)


def test_with_the_runs_that_are_named_an_unclear_ratio_is_decided():
    """Losses of 5 % among 20 sizes in six blocks: then as many blocks as were named."""
    chance = np.random.default_rng(21)
    sizes = tuple(range(20))

    def duet_of(count: int) -> pd.DataFrame:
        parts = [blocks(chance, 0.05, sizes=sizes) for _ in range(-(-count // RUNS))]
        frame = pd.concat([p.assign(block=p["block"] + n * RUNS) for n, p in enumerate(parts)])
        frame.loc[(frame["side"] == "after") & (frame["send_size"] > 0), "throughput_mbps"] /= 0.95
        return duet(frame[frame["block"] <= count], "throughput")

    first = duet_of(6).iloc[0]
    assert first["verdict"] == "unclear"
    assert 9 < first["runs"] < 60
    told = [duet_of(int(first["runs"])).iloc[0]["verdict"] for _ in range(5)]
    assert told.count("worse") >= 3


def test_a_threshold_is_of_the_figure_whichever_way_its_ratio_is_turned() -> None:
    frame = pd.DataFrame({"status": "ok", "local_sd_us_per_kib": [10.0, 10.0, 10.0001]})
    for growth, verdict in ((1.0295, "same"), (1.031, "worse")):
        grown = frame.assign(local_sd_us_per_kib=frame["local_sd_us_per_kib"] * growth)
        (row,) = compare(frame, grown, "local_sd", sessions_differ_by=1e-6).to_dict("records")
        assert row["ratio"] == pytest.approx(1 / growth, rel=1e-4)
        assert row["verdict"] == verdict


def test_rows_that_are_means_of_several_runs_are_noted():
    side = pd.DataFrame({"throughput_mbps": [1.0, 1.1, 1.2], "aggregated_runs": 60})
    notes = compare(side, side, of="throughput").attrs["notes"]
    assert any("a row is the mean of 60 runs (aggregated_runs)" in note for note in notes)
