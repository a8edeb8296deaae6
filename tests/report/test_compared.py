"""The page of a comparison in a real browser: as the report's, and nothing hostile gets through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import EXAMPLE, MARK, complete, hostile
from playwright.sync_api import Page
from report.test_browser import looked_at, opened

from netlimits.cli.compare import compare

pytestmark = pytest.mark.long

OFFLOADS = Path(__file__).parents[2] / "experiments" / "stateless-offloads.yaml"


def page_of(out: Path, *folders: Path) -> Path:
    words = [*map(str, folders), "--report", str(out)]
    outcome = CliRunner().invoke(compare, words)
    assert outcome.exit_code in (0, 4), outcome.output
    assert outcome.output.splitlines()[-1] == str(out)
    return out


def test_a_duet_is_a_page_that_reads_well(tmp_path: Path, tab: Page) -> None:
    change = (("measure.netperf.nodelay", "true"),)
    campaign = complete(tmp_path / "duet", OFFLOADS, 10, change, loss=0.1)
    file = page_of(tmp_path / "page.html", campaign.path)
    assert file.stat().st_size < 2_000_000
    looked_at(tab, file)
    with opened(tab, file) as page:
        assert page.locator(".answer").first.inner_text().startswith("Throughput")
        assert " is worse: ×0." in page.locator(".answer").first.inner_text()
        rows = page.locator("#tables tbody tr").count()
        assert rows == page.locator("#charts table tbody tr").count() > 6
        assert page.locator("#charts figure").count() >= 2


def test_two_campaigns_are_a_page_that_reads_well(tmp_path: Path, tab: Page) -> None:
    file = page_of(tmp_path / "page.html", EXAMPLE, EXAMPLE)
    looked_at(tab, file)
    with opened(tab, file) as page:
        assert "two sessions" in page.locator("#answer").inner_text()
        assert page.locator("#repeat pre").count() >= 3, "how to repeat both"


def test_nothing_that_hostile_folders_hold_runs_or_hides(tmp_path: Path, tab: Page) -> None:
    folder = hostile(tmp_path / "results").path
    file = page_of(tmp_path / "page.html", folder, folder)
    assert MARK not in file.read_text()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", file.read_text())
    looked_at(tab, file)
    with opened(tab, file) as page:
        assert page.evaluate("window.intruder") is None
        assert page.locator("main > section").count() == 8, "no text closed an element"
