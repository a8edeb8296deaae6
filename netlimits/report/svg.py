"""A figure as SVG that stands within a page: small, without a second figure's ids, and inert.

matplotlib's SVG is a file of its own: it has a doctype, a style sheet that would reach the whole
page, and ids that the next figure has again. What is drawn stays; coordinates keep a hundredth of
a point.
"""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from netlimits.charts import _style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
WIDER = 1.25
"""Of a chart as wide as the page: its letters are then about as large as the page's."""
PNG = "data:image/png;base64,"
"""What stands before an image that a chart holds: the cells of a heat map."""

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_WITHIN = re.compile(r"url\(#([^)]*)\)")
_COORDINATES = ("d", "x", "y", "width", "height", "points")


def inline(figure: Figure, name: str, alternative: str) -> Markup:
    """The figure's `svg` element; `name` is in front of its ids, `alternative` says what it shows.

    `name` is ours, a letter first; `alternative` may be anybody's text.
    """
    width, height = figure.get_size_inches()
    figure.set_size_inches(WIDER * width, WIDER * height)
    for axes in figure.axes:  # the page has the title above it
        axes.set_title("", loc="left")
    if figure.get_suptitle():
        figure.suptitle("")
    with warnings.catch_warnings():
        # a character that the font lacks, a label longer than its chart: the table has them whole
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
    # Markup: an XML writer escaped all there is
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704


def _references(root: ET.Element) -> Iterator[str]:
    """The ids that something refers to."""
    for element in root.iter():
        for value in element.attrib.values():
            yield from _WITHIN.findall(value)
        yield element.get(f"{XLINK}href", "").removeprefix("#")


def _tidy(element: ET.Element, name: str, used: set[str]) -> None:
    """One element as HTML has it: without namespaces, its id apart from other figures'."""
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
