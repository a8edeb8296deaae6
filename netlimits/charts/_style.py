"""The style of all charts, and the output of figures.

Nothing here uses pyplot, which has global state.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from netlimits.charts._formats import check_format
from netlimits.errors import InputError

STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # the value of a factor may contain a $
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "netlimits",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}

NO_DATE: Mapping[str, Mapping[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Format -> metadata to leave out, so that equal figures give equal files."""


_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)


class Chart(Figure):
    """A matplotlib Figure that a notebook displays without pyplot."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure.

        To save a figure, matplotlib calls this method once for the layout before it writes the
        file. That call only computes the layout, which saves time.

        Args:
            renderer: Renderer of matplotlib.
        """
        engine = self.get_layout_engine()
        if isinstance(engine, ConstrainedLayoutEngine) and self.canvas.is_saving():
            engine.execute(self)
        else:
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


@contextmanager
def style() -> Iterator[None]:
    """Apply STYLE within the `with` block, and restore the caller's rcParams afterwards."""
    with mpl.rc_context(STYLE):
        yield


def blank(
    width: float = 6.8, height: float = 4.0, rows: int = 1, columns: int = 1
) -> tuple[Chart, list[Axes]]:
    """Return an empty chart and its panels. Call this function within `style()`.

    Args:
        width: Width in inches.
        height: Height in inches.
        rows: Number of rows of panels. Panels of a column share the x-axis.
        columns: Number of columns of panels.

    Returns:
        The chart, and its panels row by row.
    """
    figure = Chart(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex="col" if rows > 1 else False)
    return figure, list(panels.flat)


def svg(figure: Figure) -> str:
    """Return the figure as SVG without comments.

    The comments would contain the texts of the figure unescaped.

    Args:
        figure: Figure to write.

    Returns:
        Text of an SVG file. Equal figures give equal texts.
    """
    buffer = io.StringIO()
    with style():
        figure.savefig(buffer, format="svg", metadata=dict(NO_DATE["svg"]))
    return _COMMENT.sub("", buffer.getvalue())


def save(figure: Figure, path: Path | str) -> Path:
    """Write a figure as PNG (200 dpi), SVG or PDF, chosen by the suffix of `path`.

    Equal figures give equal files.

    Args:
        figure: Figure to write.
        path: File to write or overwrite.

    Returns:
        `path` as a Path.

    Raises:
        DataError: The suffix is not one of FORMATS.
        InputError: The file cannot be written.
    """
    path = Path(path)
    kind = check_format(path)
    try:
        if kind == "svg":
            path.write_text(svg(figure), encoding="utf-8")
        else:
            with style():
                figure.savefig(path, format=kind, metadata=dict(NO_DATE[kind]))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path
