"""Convert figures to inline SVG for a page, and build the tables of charts.

matplotlib writes SVG for a separate file. It has a doctype, a style sheet that would apply to the
whole page, and ids that other figures also have. This module removes the doctype, the style sheet
and unused ids, and makes other ids unique. It also rounds coordinates to a hundredth of a point.
"""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from netlimits import tables
from netlimits.charts import KINDS, _style
from netlimits.report.page import Exhibit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
WIDER = 1.25
"""Factor by which charts are enlarged, so that their text is about as large as the page's."""
PNG = "data:image/png;base64,"
"""Start of the `data:` URL of an image within a chart's SVG, such as the cells of a heat map."""

ROWS = 60
"""Maximum number of rows that a page shows of a chart's table."""

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_WITHIN = re.compile(r"url\(#([^)]*)\)")
_COORDINATES = ("d", "x", "y", "width", "height", "points")


def inline(figure: Figure, name: str, alternative: str) -> Markup:
    """Return the `svg` element of a figure. The figure is enlarged and loses its titles.

    `name` is the prefix of the ids and must be trusted. `alternative` is the text for readers who
    cannot see the figure.
    """
    width, height = figure.get_size_inches()
    figure.set_size_inches(WIDER * width, WIDER * height)
    for axes in figure.axes:  # the page shows the title above the figure
        axes.set_title("", loc="left")
    if figure.get_suptitle():
        figure.suptitle("")
    with warnings.catch_warnings():
        # matplotlib warns of characters that its font lacks, and of labels too long for the layout.
        # Ignore these warnings, since the table below the chart has all texts.
        warnings.simplefilter("ignore", UserWarning)
        root = ET.fromstring(_style.svg(figure))  # noqa: S314  matplotlib wrote it
    for child in list(root):
        if child.tag == f"{SVG}metadata" or child.find(f"{SVG}style") is not None:
            root.remove(child)
    used = set(_references(root))
    for element in root.iter():
        _tidy(element, name, used)
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib |= {"width": width, "height": height, "role": "img", "aria-labelledby": name}
    title = ET.Element("title", {"id": name})
    title.text = alternative
    root.insert(0, title)
    # safe as Markup, since the XML writer has escaped all texts
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704


def _references(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        for value in element.attrib.values():
            yield from _WITHIN.findall(value)
        yield element.get(f"{XLINK}href", "").removeprefix("#")


def _tidy(element: ET.Element, name: str, used: set[str]) -> None:
    """Convert an SVG element to HTML: remove namespaces and unused ids, make other ids unique."""
    element.tag = element.tag.removeprefix(SVG)
    element.text = (element.text or "").strip() or None
    element.tail = None
    attributes = {}
    for key, value in element.attrib.items():
        if key == "id":
            if value not in used:
                continue
            value = f"{name}-{value}"
        elif key == f"{XLINK}href" and value.startswith(PNG):
            key = "href"
        elif key == f"{XLINK}href":
            key, value = "href", f"#{name}-{value.removeprefix('#')}"
        elif key in _COORDINATES:
            value = _NUMBER.sub(lambda n: f"{float(n[0]):.2f}", " ".join(value.split()))
        attributes[key] = _WITHIN.sub(lambda at: f"url(#{name}-{at[1]})", value)
    element.attrib.clear()
    element.attrib |= attributes


def exhibit(title: str, table: pd.DataFrame, figure: Markup | None = None) -> Exhibit:
    """Return a figure with its table, or a table alone, as HTML for the page.

    The notes of the table follow it. The values of a summary have confidence intervals.
    """
    # safe as Markup, since `render` escapes all cells
    html = Markup(tables.render(table, "html", "statistic" in table))  # noqa: S704
    return Exhibit(title, html, figure)


def alternative(kind: str, data: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the first ROWS rows of the table for a chart; a note says if there are more."""
    table = KINDS[kind].alternative(data, options)
    notes = list(table.attrs.get("notes", ()))
    if len(table) > ROWS:
        notes.append(f"the first {ROWS} of {len(table)} rows")
    copy = pd.DataFrame(table.head(ROWS))
    copy.attrs = {"notes": tuple(notes)}  # other attrs are dropped: they may contain frames
    return copy
