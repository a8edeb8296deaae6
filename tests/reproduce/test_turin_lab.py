"""The lab's runs that ship in the package: those of the gallery's campaigns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import netlimits as nl
from netlimits.analysis import frames
from netlimits.reproduce import published, turin, turin_lab

KEPT = Path(__file__).parents[2] / "experiments" / "gallery"


@pytest.mark.parametrize("name", turin_lab.EXPERIMENTS)
def test_the_runs_are_the_gallery_s(name: str) -> None:
    kept = frames.usable(nl.open(KEPT / name).frame())
    shipped = turin_lab.runs(name)
    assert len(shipped) == len(kept)
    for column in shipped.columns:
        ours, theirs = shipped[column].tolist(), kept[column].tolist()
        if isinstance(theirs[0], float):
            assert ours == pytest.approx(theirs, rel=1e-4, nan_ok=True)
        else:
            assert [str(value) for value in ours] == [str(value) for value in theirs]


def test_every_statement_without_data_is_held_against_the_lab_s_runs() -> None:
    stated = set(published.statements().index)
    assert set(turin_lab.judgements()) == set(turin.REPORT.no_data)
    assert set(turin_lab.judgements()) <= stated


def test_what_the_report_says_of_its_link_is_judged_by_runs_that_fill_such_a_link() -> None:
    for statement, words in (
        ("turin-saturation-length", "needs the report's link of 2.5 Gbit/s; the fastest runs"),
        ("turin-jumbo-saturation", "needs a full link, and the slowest configuration carried"),
    ):
        judgement = turin_lab.judgements()[statement]
        assert judgement.unfit.startswith(words)
        claim, runs = judgement.claim, turin_lab.runs(judgement.claim.experiment)
        assert claim.judge(filling(runs)).verdict == "holds", "such runs must decide it"
    assert turin_lab.judgements()["turin-peak-iperf3"].runs == 6, "its runs fill the lab's link"


def filling(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs as on the report's link: full from 750 bytes on, with jumbo frames from 100 on."""
    from_size = 1000.0
    if "mtu" in runs:
        from_size = np.where(runs["mtu"] == 9000, 100, 1000)
    bound = 2340 * (1.05 if "mtu" in runs else 1.0)
    return runs.assign(throughput_mbps=bound * np.minimum(1, runs["send_size"] / from_size))


@pytest.mark.parametrize(
    ("rates", "size"),
    [([1, 50, 96, 100], 1000), ([1, 97, 90, 100], 10000), ([100, 100, 100, 100], 10)],
)
def test_goodput_is_saturated_where_all_greater_lengths_stay_at_the_peak(
    rates: list[float], size: int
) -> None:
    frame = pd.DataFrame({"send_size": [10, 100, 1000, 10000], "throughput_mbps": rates})
    assert turin_lab.saturation(frame) == size


def test_the_last_slowed_and_the_busiest_length() -> None:
    frame = pd.DataFrame(
        {
            "send_size": [10, 10, 1000, 1000, 9000, 9000],
            "workers_per_cpu": [0, 2] * 3,
            "throughput_mbps": [10, 3, 100, 90, 100, 99],
            "local_process_cpu_pct": [40, 50, 60, 80, 20, 30],
        }
    )
    assert turin_lab.slowed(frame) == 1000
    assert turin_lab.busiest(frame) == 1000


def test_a_tool_that_varies_more_in_each_block() -> None:
    rows = [
        (block, tool, 100 + far * (-1) ** block)
        for block in range(6)
        for tool, far in (("iperf3", 2), ("nttcp", 6))
    ]
    frame = pd.DataFrame(rows, columns=["block", "tool", "throughput_mbps"])
    sample = turin_lab.spread(frame.assign(send_size=1000, status="ok"))
    assert np.exp(sample.logs) == pytest.approx(np.full(6, 3.0))
    assert sample.runs == 12


def test_the_file_is_small() -> None:
    file = Path(turin_lab.__file__).with_name(turin_lab.FILE)
    assert file.stat().st_size < 128 * 1024
