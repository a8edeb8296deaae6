"""The report in a real browser: nothing overflows, runs, is fetched, or leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import EXAMPLE, HOSTILE, MARK, complete, hostile
from playwright.sync_api import Page

from netlimits.cli.report import report

pytestmark = pytest.mark.long

EXPERIMENTS = [
    Path(__file__).parents[2] / "experiments" / f"{name}.yaml"
    for name in (
        "ack-overhead", "constant-bitrate", "latency-under-load", "mesh", "mtu-aggregate",
        "packets-per-second", "rr-bursts", "tool-comparison",
    )
]  # fmt: skip
"""Every kind of table and chart is in one of them."""
WHOLE = ("constant-bitrate", "mtu-aggregate")
"""Those whose runs are all needed; of the others two replicates make as many rows and words."""
A4 = 718
"""Pixels across a sheet within margins of a centimetre."""

SIZES = """() => [document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth]"""
OUTSIDE = """scrolled => [...document.body.querySelectorAll(':not(svg *)')].filter(e =>
    e.getBoundingClientRect().right > document.documentElement.clientWidth + 1
    && e.getBoundingClientRect().width > 0
    && !(scrolled && e.closest('.scroll') && !e.matches('.scroll')))
    .map(e => e.outerHTML.slice(0, 120))"""
DEAD = """() => [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))
    .filter(href => !href.startsWith('#') || !document.getElementById(href.slice(1)))"""
TWICE = """() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
    return ids.filter((id, at) => ids.indexOf(id) !== at) }"""
LOST = """() => [...document.querySelectorAll('svg use, svg [clip-path]')]
    .map(e => (e.getAttribute('href') || e.getAttribute('clip-path')).replace(/^(url\\()?#|\\)$/g, ''))
    .filter(id => !document.getElementById(id))"""
BARE = """() => [...document.querySelectorAll('figure')].filter(f => !f.querySelector('table')
    || !f.querySelector('svg[role=img] > title').textContent).length"""


def page_of(folder: Path, out: Path) -> Path:
    outcome = CliRunner().invoke(report, [str(folder), "--out", str(out)])
    if outcome.exception:
        raise outcome.exception
    assert outcome.output == f"{out}\n"
    return out


@contextmanager
def opened(tab: Page, file: Path) -> Iterator[Page]:
    """The file in the tab, which must fetch nothing else, and log and raise nothing."""
    fetched: list[str] = []
    wrong: list[str] = []
    listeners = {
        "request": lambda request: fetched.append(request.url),
        "console": lambda message: wrong.append(message.text),
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: wrong.append(dialog.message),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)  # type: ignore[call-overload]
    try:
        tab.goto(file.as_uri())
        yield tab
        assert fetched == [file.as_uri()]
        assert not wrong
    finally:
        for event, listener in listeners.items():
            tab.remove_listener(event, listener)


def looked_at(tab: Page, file: Path) -> None:
    """Narrow, wide and on paper, as it opens and with all details open."""
    looks = [(400, "screen"), (1400, "screen"), (A4, "print")]
    with opened(tab, file) as page:
        for details in ("closed", "open"):
            for width, media in looks:
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(media=media)  # type: ignore[arg-type]
                assert page.evaluate(SIZES) == [width, width], (file.name, width, media, details)
                assert page.evaluate(OUTSIDE, media == "screen") == []
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            looks.reverse()  # the last is laid out already
        assert page.evaluate(DEAD) == []
        assert page.evaluate(TWICE) == []
        assert page.evaluate(LOST) == []
        assert page.evaluate(BARE) == 0
        assert page.locator("script, link, img, iframe, object, embed, form").count() == 0


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_campaign_of_each_shipped_experiment_is_a_page_that_reads_well(
    experiment: Path, tmp_path: Path, tab: Page
) -> None:
    replicates = None if experiment.stem in WHOLE else 2
    campaign = complete(tmp_path / "results", experiment, replicates)
    file = page_of(campaign.path, tmp_path / "report.html")
    assert file.stat().st_size < 2_000_000
    text = file.read_text()
    kinds = [entry["chart"] for entry in campaign.experiment.report if "chart" in entry]
    timelines = kinds.count("timeline")  # invented runs have no samples over time
    assert ('class="warning"' in text) == bool(timelines), "every other table and chart is there"
    assert text.count("<figure>") >= len(kinds) - timelines
    looked_at(tab, file)


def test_nothing_that_a_hostile_folder_holds_runs_or_hides(tmp_path: Path, tab: Page) -> None:
    file = page_of(hostile(tmp_path / "results").path, tmp_path / "report.html")
    assert MARK not in file.read_text()
    looked_at(tab, file)
    with opened(tab, file) as page:
        assert page.evaluate("window.intruder") is None
        assert page.locator("h1").inner_text() == "hostile"
        shown = page.locator(".question").inner_text()
        assert shown == HOSTILE.replace("\0", "").replace("\x1b", "\\u001b").replace(
            "\u202e", "\\u202e"
        ).replace("\x07", "\\u0007")
        assert page.locator("main > section").count() == 8, "no text closed an element"


def test_dark_and_light_differ_and_paper_is_white(tmp_path: Path, tab: Page) -> None:
    file = page_of(EXAMPLE, tmp_path / "report.html")
    colours = {}
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        with opened(tab, file) as page:
            for media in ("screen", "print"):
                page.emulate_media(media=media)  # type: ignore[arg-type]
                colours[scheme, media] = page.evaluate(
                    "(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))"
                )
    assert colours["light", "screen"] != colours["dark", "screen"]
    assert (
        colours["dark", "print"]
        == colours["light", "print"]
        == [
            "rgb(255, 255, 255)",
            "rgb(0, 0, 0)",
        ]
    )
