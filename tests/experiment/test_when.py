"""Settings under a condition: set where it is true, and as found in every other configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.errors import DocumentError
from netlimits.experiment import load, plan, resolution

TEXT = """\
experiment: conditional
factors: {queue: [fifo, shaped], mtu: [1500, 9000]}
derive: {small: mtu < 2000}
settings:
- roles: [sender]
  when: queue == "shaped" and small
  qdisc: {kind: tbf, rate: 20mbit, burst: 32kb, limit: 64kb}
- roles: [receiver]
  mtu: "${mtu}"
measure: {netperf: {seconds: 1}}
"""


def loaded(folder: Path, text: str = TEXT) -> plan.Plan:
    path = folder / "conditional.yaml"
    path.write_text(text)
    return plan.Plan(plan.seeded(load.load(path)))


def test_a_setting_is_set_only_where_its_condition_is_true(tmp_path: Path) -> None:
    planned = loaded(tmp_path)
    assert planned.seconds() > 0
    for run in planned.runs():
        names = [use.name for use in planned.setup(run.values).settings]
        wanted = run.values["queue"] == "shaped" and run.values["mtu"] == 1500
        assert names == (["qdisc", "mtu"] if wanted else ["mtu"])
    assert resolution.looked_up(planned.experiment) >= {"queue", "small", "mtu"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('queue == "shaped" and small', 'queue == "sharped"', r'6: settings\.0\.when: .*holds for no conf'),
        ('queue == "shaped" and small', 'queu == "shaped"', "no factor is called queu; did you mean queue"),
        ('queue == "shaped" and small', "mtu", "not true or false"),
        ('queue == "shaped" and small', "mtu ==", "when: "),
        ("  qdisc: {kind: tbf, rate: 20mbit, burst: 32kb, limit: 64kb}\n", "", "sets nothing on its roles"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_is_told_at_its_line(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    with pytest.raises(DocumentError, match=problem):
        loaded(tmp_path, TEXT.replace(old, new)).seconds()


def test_a_factor_that_only_a_condition_uses_has_an_effect(tmp_path: Path) -> None:
    text = TEXT.replace('  mtu: "${mtu}"', "  mtu: 1500")
    assert len(loaded(tmp_path, text)) == 4
