"""`figures` and `table` of charts that are drawn from more than the runs' figures."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from limits.test_sequel import FULL, campaign
from recorded import edited, recorded

from netlimits.cli.figures import figures
from netlimits.cli.shared import drawing
from netlimits.cli.shared.results import opened
from netlimits.cli.table import table
from netlimits.errors import DataError, InputError


def names(*words: object) -> list[str]:
    """The files that `figures` names, less their folder."""
    argv = [str(word) for word in (*words, "--format", "svg")]
    outcome = CliRunner().invoke(figures, argv)
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    assert outcome.exit_code == 0, outcome.output
    assert all(Path(line).stat().st_size > 1000 for line in outcome.output.splitlines())
    return [Path(line).name for line in outcome.output.splitlines()]


def about(folder: Path, entry: dict[str, object]) -> dict[str, str]:
    """Each figure's name -> all that is written on it."""
    failed: list[DataError] = []
    named_figures = drawing.figures_of(opened(folder), entry, failed, print)
    captions = {
        name: "\n".join(text.get_text() for axes in figure.axes for text in axes.texts)
        for name, figure in named_figures
    }
    for why in failed:
        raise why
    return captions


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bursts", "burst_histogram", "aggregate"])
def test_a_chart_of_one_run_is_drawn_of_the_first_that_is_ok_of_each_configuration(kind, tmp_path):
    folder = recorded(tmp_path / "out", failed=[1]).path
    assert names(folder, "--chart", kind) == [f"{kind}-mtu-8896.svg", f"{kind}-mtu-1500.svg"]
    captions = about(folder, {"chart": kind})
    assert "run 2, MTU 8896 bytes" in captions[f"{kind}-mtu-8896"]
    assert "run 3, MTU 1500 bytes" in captions[f"{kind}-mtu-1500"]
    assert names(folder, "--chart", kind, "--run", 4) == [f"{kind}.svg"]
    assert "run 4, MTU 8896 bytes" in about(folder, {"chart": kind, "run": 4})[kind]


def test_a_run_that_is_not_there_or_not_ok_is_named(tmp_path):
    folder = recorded(tmp_path / "out", failed=[1]).path
    with pytest.raises(InputError, match="has no run 9"):
        names(folder, "--chart", "bursts", "--run", 9)
    with pytest.raises(DataError, match="run 1 does not exist, or has no data of this kind"):
        names(folder, "--chart", "aggregate", "--run", 1)


@pytest.mark.long
def test_a_chart_of_all_runs_is_one_figure(tmp_path):
    folder = recorded(tmp_path / "out").path
    assert names(folder, "--chart", "first_bursts", "--series", "mtu") == ["first_bursts.svg"]
    words = ("--chart", "highest_average", "--window", 2)
    assert names(folder, *words) == ["highest_average.svg"]
    assert (
        "any 2 s" in about(folder, {"chart": "highest_average", "window_s": 2})["highest_average"]
    )
    whole = about(folder, {"chart": "highest_average"})["highest_average"]
    assert "over all the time that all streams" in whole
    with pytest.raises(DataError, match="run 1: no window of 120 s"):
        names(folder, *words, "--window", 120)


def test_options_that_a_chart_has_not_are_refused(tmp_path):
    folder = recorded(tmp_path / "out").path
    words = ("--chart", "spread", "--of", "throughput")
    with pytest.raises(
        DataError,
        match="--run: spread has no such option; use aggregate, timeline, bursts, burst_histogram",
    ):
        names(folder, *words, "--run", 1)
    with pytest.raises(
        DataError, match="--window: spread has no such option; use highest_average, aggregate"
    ):
        names(folder, *words, "--window", 1)


def test_the_sensitivities_of_a_file_of_runs_are_drawn(tmp_path):
    path = tmp_path / "runs.csv"
    runs = campaign(FULL, sender_cpu={"local_cpu_peak_pct": 100.0})
    runs.to_csv(path, index=False)
    assert names(path, "--chart", "sensitivities") == ["sensitivities.svg"]
    assert "ruled out" in about(path, {"chart": "sensitivities"})["sensitivities"]
    runs.loc[runs["intervention"] == "none"].to_csv(path, index=False)
    with pytest.raises(DataError, match="no resource was changed"):
        names(path, "--chart", "sensitivities")


@pytest.mark.parametrize(
    ("kind", "what"),
    [("aggregate", "interim results"), ("highest_average", "interim"), ("bursts", "packet traces")],
)
def test_a_file_of_runs_has_only_runs(kind, what, tmp_path):
    path = tmp_path / "runs.csv"
    pd.DataFrame({"mtu": [1500], "throughput_mbps": [1.0]}).to_csv(path, index=False)
    with pytest.raises(DataError, match=rf"runs.csv: chart {kind} is drawn from {what}.*folder"):
        names(path, "--chart", kind)
    result = CliRunner().invoke(
        table, [str(path), "--of", "highest_average", "--rows", "mtu", "--window", "2"]
    )
    assert "only a campaign's folder holds interim results" in str(result.exception)


def test_of_several_traces_the_report_chooses_one(tmp_path):
    folder = recorded(tmp_path / "out", traced=("sinks-1", "sinks-2")).path
    caption = about(folder, {"chart": "bursts", "run": 1, "role": "sinks-2"})["bursts"]
    assert "port 32971" not in caption
    assert "run 1" in caption
    with pytest.raises(InputError, match="name one"):
        about(folder, {"chart": "bursts", "run": 1})


@pytest.mark.parametrize("kind", ["aggregate", "bursts", "highest_average", "first_bursts"])
def test_a_campaign_without_a_run_that_is_ok_says_why(kind, tmp_path):
    folder = recorded(tmp_path / "out", failed=[1, 2, 3, 4]).path
    with pytest.raises(DataError, match="none of the 4 runs is ok; the first says: it failed"):
        names(folder, "--chart", kind)


def test_the_highest_average_is_a_metric_of_tables(tmp_path):
    rates = {1: [100.0, 300.0, 300.0, 100.0]}
    folder = recorded(tmp_path / "out", rates=rates).path
    words = ["--of", "highest_average", "--rows", "run", "--format", "csv"]
    two = CliRunner().invoke(table, [str(folder), *words, "--window", "2"])
    assert two.exit_code == 0, two.exception
    assert "1,599.0000" in two.output, "300 of each stream, but for the skew"
    whole = CliRunner().invoke(table, [str(folder), *words])
    assert "mean,1,400.501" in whole.output, "without a window that of all the run"
    long = CliRunner().invoke(table, [str(folder), *words, "--of", "throughput", "--window", "120"])
    assert long.exit_code == 0, "one that cannot be had does not take the rest along"
    assert "throughput_mbps" in long.output
    words[-1] = "text"
    long = CliRunner().invoke(table, [str(folder), *words, "--of", "throughput", "--window", "120"])
    assert "left out: highest_average: run 1: no window of 120 s" in long.output


def test_what_a_chart_s_points_differ_in_cannot_be_pooled(tmp_path):
    """It was answered with "send_size is named twice"."""
    pd.DataFrame({"size": [1, 2], "throughput_mbps": [9.0, 8.0]}).to_csv(tmp_path / "runs.csv")
    failed: list[DataError] = []
    entry = {"chart": "spread", "of": "throughput", "by": "size", "pool": ["size"]}
    assert not [*drawing.figures_of(opened(tmp_path / "runs.csv"), entry, failed, print)]
    assert "chart spread: its points differ in size, which `pool` names" in str(failed[0])


def test_the_highest_average_is_a_metric_of_charts_of_runs(tmp_path):
    rates = {run: [100.0, 300.0, 300.0, 100.0] for run in (1, 2, 3, 4)}
    results = opened(recorded(tmp_path / "out", rates=rates).path)
    factors = [name for name in ("send_size", "mtu") if name in results.frame.columns]
    entry = {"chart": "percentiles", "of": "highest_average", "pool": factors}
    ((_, figure),) = drawing.figures_of(results, entry, [], print)
    assert "Highest average throughput" in figure.axes[0].get_xlabel() + figure.axes[0].get_ylabel()
    cut = results.with_highest_averages(None)
    cut.attrs["partial"] = {"highest_average_mbps": "1 of 4 runs have none"}
    cut.loc[0, "highest_average_mbps"] = float("nan")
    notes: list[str] = []
    assert len(drawing._complete(cut, notes.append)) == len(cut) - 1
    assert notes == ["highest_average_mbps: 1 of 4 runs have none"]


def test_two_campaigns_are_a_series_each_in_one_chart(tmp_path):
    small = recorded(tmp_path / "n2-standard-32").path
    large = recorded(tmp_path / "n2-standard-80", failed=[1]).path
    assert names(small, large, "--chart", "highest_average", "--window", 2) == [
        "highest_average.svg"
    ]
    together = opened(small, large)
    assert together.frame["run"].is_unique
    assert set(together.frame["campaign"]) == {"n2-standard-32", "n2-standard-80"}
    rows = together.intervals()
    assert rows.groupby("run")["campaign"].nunique().max() == 1
    apart = [opened(campaign).intervals() for campaign in (small, large)]
    assert len(rows) == sum(map(len, apart))
    entry = {"chart": "highest_average", "window_s": 2, "series": ["campaign"]}
    ((_, figure),) = drawing.figures_of(together, entry, [], print)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["n2-standard-32", "n2-standard-80"]


def test_each_campaign_keeps_the_limits_that_it_named(tmp_path):
    entry = {"chart": "highest_average", "series": "mtu", "link": "100G", "window_s": 2}
    for name, cap in (("a", "50G"), ("b", "100G")):
        folder = recorded(tmp_path / name).path
        text = (folder / "experiment.yaml").read_text()
        report = json.dumps([{**entry, "cap": cap}, {"chart": "bursts"}])
        edited(folder, "experiment.yaml", f"{text}report: {report}\n")
    together = opened(tmp_path / "a", tmp_path / "b")
    (laid,) = together.report
    assert laid == {**entry, "series": ["campaign", "mtu"], "cap": "campaign_cap"}
    rows = together.intervals()
    assert dict(zip(rows["campaign"], rows["campaign_cap"], strict=True)) == {
        "a": "50G",
        "b": "100G",
    }


def test_only_campaigns_of_one_experiment_are_drawn_together(tmp_path):
    folder = recorded(tmp_path / "out").path
    runs = tmp_path / "runs.csv"
    opened(folder).frame.to_csv(runs)
    with pytest.raises(DataError, match=r"runs\.csv: only campaigns' folders"):
        opened(folder, runs)
    with pytest.raises(DataError, match="two folders are called out"):
        opened(folder, folder)
    with pytest.raises(DataError, match="only one campaign's folder holds"):
        names(folder, recorded(tmp_path / "other").path, "--chart", "bursts")


def test_a_chart_leaves_out_the_configurations_without_its_metric_and_says_how_many(tmp_path):
    file = tmp_path / "mixed.csv"
    file.write_text(
        "run,block,config,attempt,status,workload,throughput_mbps,transaction_rate_tps\n"
        "1,1,a,1,ok,tcp,900.5,\n2,1,b,1,ok,rr,,21000\n3,2,a,1,ok,tcp,910.5,\n4,2,b,1,ok,rr,,21100\n"
    )
    words = [str(file), "--out", str(tmp_path), "--format", "svg"]
    drawn = CliRunner().invoke(figures, words)
    assert drawn.exit_code == 0, drawn.output
    for metric in ("throughput", "transaction_rate"):
        assert f"{metric}: 1 of 2 configurations have none, and are left out" in drawn.output
        assert (tmp_path / f"percentiles-{metric}.svg").exists()
