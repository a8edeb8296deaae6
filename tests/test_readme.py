"""README: it stays short, its experiment and its links are real."""

from __future__ import annotations

import re
from pathlib import Path

from netlimits.experiment import load, plan

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text("utf-8")


def test_readme_has_at_most_a_thousand_words_and_the_two_commands():
    assert len(README.split()) <= 1000
    for command in ("scripts/demo", "scripts/test"):
        assert re.search(rf"^(sudo )?{command}\b", README, re.MULTILINE)


def test_the_experiment_takes_two_or_three_minutes(tmp_path: Path):
    (block,) = re.findall(r"^   ```yaml\n(   # first\.yaml\n.*?)^   ```$", README, re.M | re.S)
    path = tmp_path / "first.yaml"
    path.write_text(re.sub(r"^   ", "", block, flags=re.MULTILINE))
    runs = list(plan.Plan(plan.seeded(load.load(path))).runs())
    assert 120 <= len(runs) * 4 <= 180


def test_every_link_leads_to_a_file():
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    assert len(links) > 15
    assert not [link for link in links if not (TOP / link).exists()]
