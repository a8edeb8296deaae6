"""A real browser: the distribution's Chromium, told where it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", headless=True, args=list(ARGUMENTS)
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def only_tab(browser: Browser) -> Page:
    """The one that shows every page: a new one costs more than a page."""
    return browser.new_page()


@pytest.fixture
def tab(only_tab: Page) -> Page:
    """A tab as wide as a screen, which shows nothing yet and is as if new."""
    only_tab.goto("about:blank")
    only_tab.set_viewport_size({"width": 1400, "height": 900})
    only_tab.emulate_media(media="screen", color_scheme="light")
    return only_tab
