"""Shapes of a picture, and the picture with its text alternative. Colours come from the page's style."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synth.report import html

LETTER = 6.8  # units that a letter takes, in a wide typeface


@dataclass(frozen=True, kw_only=True)
class Shape:
    """An SVG element. ``places``: attributes of geometry; ``title`` is told on hovering, ``link`` names an anchor."""

    tag: str
    places: tuple[tuple[str, str], ...]
    kind: str = ""
    text: str = ""
    title: str = ""
    link: str = ""


def draw(shapes: Iterable[Shape], *, wide: float, tall: float, words: str, kind: str = "") -> Markup:
    """The picture. ``words``: what it shows, for whoever cannot see it; ``kind``: a class of the style."""
    return html.render("chart.svg", shapes=list(shapes), wide=wide, tall=tall, words=words, kind=kind)


def room(labels: Iterable[str]) -> float:
    """The width that the longest of some labels takes, in units: what a wide typeface needs, so that none is cut."""
    return LETTER * max(map(len, labels), default=0)


def wrapped(words: str, wide: float) -> list[str]:
    """A text in lines that fit into this width; no letter is lost.

    >>> wrapped("a very long label indeed", 70)
    ['a very', 'long label', 'indeed']
    """
    return textwrap.wrap(words, max(int(wide / LETTER), 1), drop_whitespace=True) or [""]


def label(x: float, y: float, words: str, *, anchor: str = "end", kind: str = "", transform: str = "") -> Shape:
    """Text that begins, ends or is centred at x."""
    places = (("x", f"{x:.1f}"), ("y", f"{y:.1f}"), ("text-anchor", anchor))
    turned = (("transform", transform),) if transform else ()
    return Shape(tag="text", places=places + turned, kind=kind, text=words)


def rect(
    x: float, y: float, wide: float, tall: float, kind: str, *, title: str = "", opacity: float = 1.0, link: str = ""
) -> Shape:
    """A filled box; a negative width or height is drawn as none."""
    places = (("x", f"{x:.1f}"), ("y", f"{y:.1f}"), ("width", f"{max(wide, 0):.2f}"), ("height", f"{max(tall, 0):.2f}"))
    shade = () if opacity >= 1 else (("fill-opacity", f"{max(opacity, 0):.3f}"),)
    return Shape(tag="rect", places=places + shade, kind=kind, title=title, link=link)


def line(x1: float, x2: float, y1: float, y2: float, kind: str, *, title: str = "") -> Shape:
    """A straight line."""
    places = (("x1", f"{x1:.1f}"), ("x2", f"{x2:.1f}"), ("y1", f"{y1:.1f}"), ("y2", f"{y2:.1f}"))
    return Shape(tag="line", places=places, kind=kind, title=title)


def curve(points: Sequence[tuple[float, float]], kind: str) -> Shape:
    """Straight lines from point to point, at least one; nothing is filled."""
    path = "".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
    return Shape(tag="path", places=(("d", path), ("style", "fill:none")), kind=kind)


def steps(points: Sequence[tuple[float, float]], wide: float, kind: str) -> Shape:
    """A step of this width to the right of every point."""
    path = "".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}h{wide:.2f}" for i, (x, y) in enumerate(points))
    return Shape(tag="path", places=(("d", path),), kind=kind)


def dot(x: float, y: float, *, title: str) -> Shape:
    """A small disc."""
    return Shape(tag="circle", places=(("cx", f"{x:.1f}"), ("cy", f"{y:.1f}"), ("r", "2.6")), kind="dot", title=title)
