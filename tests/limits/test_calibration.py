"""How often the classes are right that an undetermined verdict names, and where they are named."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from limits.test_verdicts import BY_CLASS, TCP

from netlimits.limits import calibration
from netlimits.limits.calibration import Bin, Likelihood, likelihoods
from netlimits.limits.classes import CLASSES
from netlimits.limits.figures import RunFigures
from netlimits.limits.verdicts import UNDETERMINED, of_configuration, of_run

NEAR = TCP | {"local_rwnd_limited_pct": 45.0, "local_sndbuf_limited_pct": 12.0}


def test_an_undetermined_verdict_names_its_two_likeliest_classes_with_the_labelled_runs(
    monkeypatch,
):
    bins = (Bin(1, 0.9, 27, 31), Bin(1, 0.0, 5, 20), Bin(2, 0.0, 3, 40))
    monkeypatch.setattr(calibration, "bins", lambda: bins)
    verdict = of_run(RunFigures(NEAR))
    assert verdict.limit == UNDETERMINED
    first, second = likelihoods(verdict)
    assert (first.name, first.right, first.labelled) == ("receive-window", 27, 31)
    assert (second.right, second.labelled) == (3, 40)
    assert first.score == pytest.approx(0.9)
    assert first.score >= second.score
    assert str(first) == (
        "receive-window (score 0.90; right for 27 of 31 labelled runs with such a score)"
    )


def test_a_verdict_that_is_a_class_names_no_others():
    figures, _ = BY_CLASS["receive-window"]
    assert list(likelihoods(of_run(RunFigures(figures)))) == []


def test_the_score_of_a_configuration_is_the_mean_of_its_runs():
    far = TCP | {"local_rwnd_limited_pct": 25.0}
    verdict = of_configuration([of_run(RunFigures(each)) for each in (NEAR, far)])
    assert verdict.scores["receive-window"] == pytest.approx((0.9 + 0.5) / 2)


def test_the_counts_that_are_kept_have_a_source_and_cover_every_score():
    kept = json.loads(calibration.FILE.read_text("utf-8"))
    assert {"benchmarks", "date", "runs"} <= kept["source"].keys()
    bins = calibration.bins()
    assert [asdict(each) for each in bins] == kept["bins"]
    assert all(0 <= each.right <= each.labelled for each in bins)
    for place in (1, 2):
        edges = [each.least for each in bins if each.place == place]
        assert edges == sorted(edges, reverse=True)
        assert edges[-1] == 0.0
    assert str(Likelihood(CLASSES[0].name, 0.5, 0, 0)) == f"{CLASSES[0].name} (score 0.50)"
