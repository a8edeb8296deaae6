"""Draw the flame graph of a profile as SVG without scripts.

Each box is a function. Its width is proportional to the function's number of samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from netlimits.charts.kinds.profile import COLOURS, DARK
from netlimits.evidence.profiles.stacks import Function, Profile, of_stack
from netlimits.model.cpu_categories import IDLE

WIDTH, HEIGHT = 960.0, 15.0
"""Width of the graph and height of a box, in pixels."""

NARROWEST = 0.6
"""Minimum width of a box to draw, in pixels."""

DEPTH = 60
"""Maximum number of functions to draw of a stack."""

_LETTER = 6.1
"""Width of a letter, in pixels."""

_USER = "#F7E3C1"


@dataclass
class _Box:
    name: str
    category: str = ""
    count: int = 0
    inner: dict[str, _Box] = field(default_factory=dict)


def flame_graph(profile: Profile) -> str:
    """Return the `svg` element of a profile's flame graph, without idle CPUs."""
    root = _Box("all busy samples")
    for stack in profile.stacks:
        if profile.category(stack) == IDLE:
            continue
        root.count += stack.count
        box = root
        names = (Function(stack.process), *stack.frames[:DEPTH])
        for depth, function in enumerate(names):
            box = box.inner.setdefault(function.function, _Box(function.function))
            box.count += stack.count
            if function.kernel and not box.category:
                box.category = of_stack(names[1 : depth + 1]) or "other"
    scale = WIDTH / max(1, root.count)
    height = HEIGHT * (1 + _depth(root, scale))
    boxes = "".join(_drawn(root, 0.0, height - HEIGHT, scale, root.count))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" '
        f'width="{WIDTH:g}" height="{height:g}" role="img" font-family="monospace" '
        f'font-size="10">{boxes}</svg>'
    )


def _depth(box: _Box, scale: float) -> int:
    wide = [inner for inner in box.inner.values() if inner.count * scale >= NARROWEST]
    return 1 + max((_depth(inner, scale) for inner in wide), default=0)


def _drawn(box: _Box, x: float, y: float, scale: float, total: int) -> Iterator[str]:
    width = box.count * scale
    if width < NARROWEST:
        return
    about = f"{box.name}: {box.count} samples, {100 * box.count / max(1, total):.1f} %"
    colour = COLOURS.get(box.category, _USER)
    yield (
        f'<g><title>{escape(about)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{HEIGHT - 1:g}" fill="{colour}" stroke="#fff" stroke-width="0.3"/>'
    )
    letters = int((width - 4) / _LETTER)
    if letters >= 3:
        text = box.name if len(box.name) <= letters else f"{box.name[: letters - 1]}…"
        ink = "#fff" if box.category in DARK else "#000"
        yield f'<text x="{x + 2:.1f}" y="{y + 11:.1f}" fill="{ink}">{escape(text)}</text>'
    yield "</g>"
    for inner in sorted(box.inner.values(), key=lambda each: each.name):
        yield from _drawn(inner, x, y - HEIGHT, scale, total)
        x += inner.count * scale
