"""The reports' charts, drawn as SVG from figures that ``evaluate`` gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from synth.evaluate.chart_data import Matrix
from synth.languages import _, numerals, translated
from synth.report.html import commas, percent
from synth.report.svg import Shape, dot, draw, label, line, rect, room, steps, wrapped
from synth.report.words import group

WIDE = 340  # units; a unit is a pixel on a narrow screen
BESIDE = 180  # room for labels beside the bars; longer ones stand above them
LINE = 13  # height of a line of a label


@dataclass(frozen=True)
class Rows:
    """Where bars with labels stand: their left end, the top of each, the height of all, and the labels."""

    left: float
    tops: list[float]
    tall: float
    labels: list[Shape]


def rows_of(labels: Sequence[str], pitch: float) -> Rows:
    """Labels beside the bars, or above them where one needs more room than there is; none is cut.

    ``pitch``: height of a bar with its gap.
    """
    left = room(labels) + 10
    if left <= BESIDE:
        tops = [4 + pitch * i for i in range(len(labels))]
        beside = [label(left - 6, y + 12.5, name) for y, name in zip(tops, labels, strict=True)]
        return Rows(left, tops, pitch * len(labels) + 8, beside)
    y, tops, above = 4.0, [], []
    for name in labels:
        for text in wrapped(name, WIDE - 8):
            y += LINE
            above.append(label(4, y - 2, text, anchor="start"))
        tops.append(y + 2)
        y += pitch + 4
    return Rows(4, tops, y + 4, above)


def paired_bars(labels: Sequence[str], real: np.ndarray, synthetic: np.ndarray, *, words: str) -> Markup:
    """Shares of categories in two tables, side by side."""
    labels = list(map(group, labels))
    top, rows = max(float(np.max([real, synthetic])), 1e-9), rows_of(labels, 22)
    scale, shapes = (WIDE - rows.left - 44) / top, list(rows.labels)
    for i, name in enumerate(labels):
        y = rows.tops[i]
        for k, (kind, share) in enumerate((("real", real[i]), ("synthetic", synthetic[i]))):
            title = f"{name}, {translated(kind)}: {percent(share, 2)}"
            shapes.append(rect(rows.left, y + 9 * k, share * scale, 8, kind, title=title))
        end = rows.left + max(real[i], synthetic[i]) * scale + 4
        shapes.append(label(end, y + 13, numerals(f"{real[i]:.1%}"), anchor="start", kind="dim"))
    return draw(shapes, wide=WIDE, tall=rows.tall, words=words)


def overlaid_bins(labels: Sequence[str], real: np.ndarray, synthetic: np.ndarray, *, words: str) -> Markup:
    """Shares of bins in two tables: filled for the real one, a line for the synthetic."""
    labels = list(map(group, labels))
    top, base, left = max(float(np.max([real, synthetic])), 1e-9), 150, 34
    step = (WIDE - left - 6) / len(labels)
    shapes = []
    for i, (r, s) in enumerate(zip(real, synthetic, strict=True)):
        title = _("{value}: real {real}, synthetic {synthetic}").format(
            value=labels[i], real=percent(r, 2), synthetic=percent(s, 2)
        )
        tall = r / top * 136
        shapes.append(rect(left + i * step, base - tall, step - 0.6, tall, "real", title=title))
    shapes.append(steps([(left + i * step, base - s / top * 136) for i, s in enumerate(synthetic)], step, "line"))
    shapes.append(line(left, WIDE - 6, base, base, "axis"))
    ends = [label(left, base + 15, labels[0], anchor="start", kind="dim")]
    lower = LINE if room((labels[0] + labels[-1],)) > WIDE - left - 20 else 0
    shapes += ends + ([label(WIDE - 6, base + 15 + lower, labels[-1], kind="dim")] if len(labels) > 1 else [])
    shapes.append(label(left - 4, base, "0", kind="dim"))
    shapes.append(label(left - 4, 20, numerals(f"{top:.0%}" if top > 0.1 else f"{top:.1%}"), kind="dim"))
    return draw(shapes, wide=WIDE, tall=base + 22 + lower, words=words)


def heat(
    matrix: Matrix,
    *,
    words: str,
    title: Callable[[int, int], str],
    root: bool = False,
    link: Callable[[int, int], str] = lambda _i, _j: "",
) -> Markup:
    """A matrix as shades: stronger is more, negative values in the cold colour, empty cells where not a number.

    ``root``: shades by square root, so that small shares can be seen. ``link``: where a cell leads to.
    """
    rows, columns = (list(map(group, names)) for names in (matrix.rows, matrix.columns))
    size = 22 if len(columns) <= 16 else 15 if len(columns) <= 30 else 11
    left, above = (14 + room(names) for names in (rows, columns))
    shapes = []
    for j, name in enumerate(columns):
        x = left + size * (j + 0.5) + 3
        turned = f"rotate(-60 {x:.1f} {above - 4:.1f})"
        shapes.append(label(x, above - 4, name, anchor="start", transform=turned))
    for i, name in enumerate(rows):
        shapes.append(label(left - 6, above + size * (i + 0.5) + 4, name))
        for j in range(len(columns)):
            place = (left + size * j, above + size * i)
            shade = min(abs(matrix.values[i, j]) / matrix.top, 1.0) ** (0.5 if root else 1)
            shapes.append(_cell(matrix.values[i, j], place, size - 1, shade, title(i, j), link(i, j)))
    wide, tall = left + size * len(columns) + above / 2, above + size * len(rows) + 4
    return draw(shapes, wide=wide, tall=tall, words=words, kind="map")


def _cell(value: float, place: tuple[float, float], size: float, shade: float, title: str, link: str) -> Shape:
    if np.isnan(value):
        return rect(*place, size, size, "cell", title=title)
    opacity = 0.06 + 0.94 * shade - (0.001 if shade < 1 else 0)
    return rect(*place, size, size, "heat" if value >= 0 else "cold", title=title, opacity=opacity, link=link)


def intervals(
    labels: Sequence[str], noisy: np.ndarray, half: np.ndarray, synthetic: np.ndarray, *, words: str, level: str
) -> Markup:
    """Released values as dots with their intervals, the synthetic table's as bars."""
    labels = list(map(group, labels))
    top, rows = max(float(np.max(noisy + half)), float(np.max(synthetic)), 1e-9), rows_of(labels, 19)
    left, scale, shapes = rows.left, (WIDE - rows.left - 12) / top, list(rows.labels)
    for i, name in enumerate(labels):
        y, low, high = rows.tops[i], max(noisy[i] - half[i], 0.0), max(noisy[i] + half[i], 0.0)
        numbers = {"released": commas(noisy[i]), "half": commas(half[i]), "synthetic": commas(synthetic[i])}
        said = _("{name}: released {released} ± {half} ({level}), synthetic {synthetic}")
        title = said.format(name=name, level=level, **numbers)
        shapes.append(rect(left, y, synthetic[i] * scale, 15, "synthetic", title=title, opacity=0.75))
        shapes.append(line(left + low * scale, left + high * scale, y + 7.5, y + 7.5, "whisker"))
        shapes.append(dot(left + max(noisy[i], 0) * scale, y + 7.5, title=title))
    return draw(shapes, wide=WIDE, tall=rows.tall, words=words)


def three(labels: Sequence[str], known: np.ndarray, released: np.ndarray, made: np.ndarray, *, words: str) -> Markup:
    """Shares before and after: what was known as grey bars, the noisy answer as dots, the synthetic table as bars."""
    labels = list(map(group, labels))
    top, rows = max(float(np.max([known, released, made])), 1e-9), rows_of(labels, 24)
    left, scale, shapes = rows.left, (WIDE - rows.left - 44) / top, list(rows.labels)
    for i, name in enumerate(labels):
        y = rows.tops[i]
        shares = {"prior": known[i], "released": released[i], "synthetic": made[i]}
        message = _("{name}: public data {prior}, released {released}, synthetic {synthetic}").format(
            name=name, **{n: percent(v) for n, v in shares.items()}
        )
        shapes.append(rect(left, y, known[i] * scale, 8, "real", title=message))
        shapes.append(rect(left, y + 10, made[i] * scale, 8, "synthetic", title=message))
        shapes.append(dot(left + max(released[i], 0) * scale, y + 9, title=message))
    return draw(shapes, wide=WIDE, tall=rows.tall, words=words)


def stacked(parts: tuple[float, float, float], *, top: float, words: str) -> Markup:
    """A distance as sampling, noise and bias, end to end."""
    kinds = (("real", _("sampling")), ("good", _("privacy noise")), ("heat", _("bias")))
    x, shapes = 0.0, []
    for (kind, name), share in zip(kinds, parts, strict=True):
        wide = WIDE * share / max(top, 1e-12)
        shapes.append(rect(x, 2, wide, 14, kind, title=f"{name}: {percent(share, 2)}"))
        x += wide
    return draw(shapes, wide=WIDE, tall=18, words=words)
