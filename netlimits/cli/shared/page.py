"""The file of a campaign's HTML page."""

from __future__ import annotations

from pathlib import Path

from netlimits.cli.shared import entries
from netlimits.cli.shared.options import writing
from netlimits.cli.shared.results import opened
from netlimits.model.folder import Folder


def write(results: Path, out: Path | None = None) -> Path:
    """Write the page of a campaign to `out`, by default to its folder; return the file."""
    campaign = opened(results, needed=entries.needed_by_page)
    # imports matplotlib, but not before the results are known to be readable
    from netlimits.cli.shared.page_contents import page
    from netlimits.report.page import render

    text = render(page(campaign))
    file = out or results / "report.html"
    with writing(file):
        if out is None:  # readable by its owner only, like all files of a campaign
            Folder(results).write(file.name, text)
        else:
            file.write_text(text, encoding="utf-8")
    return file
