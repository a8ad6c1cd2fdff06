"""Areas by level in a report: how far each level's counts are off, and a picture of the tree without any map."""

from collections.abc import Mapping, Sequence
from math import pi, sqrt
from typing import Any

import numpy as np
from markupsafe import Markup

from synth.evaluate.area_levels import AreaLevel, named, stack
from synth.generators.core.oneways import AREAS
from synth.languages import _
from synth.questions import CountsRelease
from synth.report.html import commas, percent
from synth.report.svg import Shape, draw, label, rect, room
from synth.schema.areas import trees
from synth.schema.column import Column

WIDE, TALL, GAP = 640.0, 34.0, 2.0  # of the picture, of a level in it, between tiles
FAR = 0.25  # part of a count by which an area is off, from which on its tile is as dark as tiles get
DARKEST = 0.6  # of a tile, on which its name is read still


def of_releases(
    releases: Sequence[Any], synthetic: Mapping[str, np.ndarray], columns: Mapping[str, Column], rows: float | None
) -> dict[str, tuple[AreaLevel, ...]]:
    """By lowest column the levels from the top, as released: every answer about areas, the surer weighing more.

    ``synthetic``: positions by column; ``rows``: of the source. **Guarantee**: that of the release.

    Privacy: released answers only.
    """
    out = {}
    for name in trees(columns):
        answers = [
            (m.bins[0].groups[np.searchsorted(m.bins[0].starts, np.arange(m.bins[0].cells), side="right") - 1], v, m)
            for r in releases
            if isinstance(r, CountsRelease) and (r.question.purpose == AREAS or r.question.purpose.startswith("one"))
            for m, v in zip(r.question.marginals, r.values, strict=True)
            if m.columns == (name,)
        ]
        if not answers or name not in synthetic:
            continue
        made = []
        for column, of, up in stack(columns, name):
            size = columns[column].cells
            known, noise = _pooled(answers, of, size)
            counts = np.bincount(of[synthetic[name]], minlength=size).astype(float)
            scale = (rows or float(known.sum())) / max(float(counts.sum()), 1.0)
            counted: dict[str, Any] = {"known": known, "synthetic": counts * scale, "noise": noise}
            made.append(AreaLevel(column=column, labels=named(columns[column]), up=up, **counted))
        out[name] = tuple(made)
    return out


def _pooled(answers: Sequence[Any], of: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean count of each area, by precision over the answers that tell of it whole, and its deviation."""
    weight, whole = np.zeros(size), np.zeros(size)
    for groups, values, marginal in answers:
        up = np.zeros(marginal.cells, dtype=np.int64)
        up[groups] = of
        if not np.array_equal(up[groups], of):  # bins that hold areas of several
            continue
        parts = np.maximum(np.bincount(up, minlength=size), 1)
        precision = 1 / (parts * marginal.sigma**2)
        whole += precision * np.bincount(up, weights=np.asarray(values, dtype=float).ravel(), minlength=size)
        weight += precision
    return whole / np.maximum(weight, 1e-300), np.sqrt(1 / np.maximum(weight, 1e-300))


def sections(levels: Mapping[str, tuple[AreaLevel, ...]], *, exact: bool) -> list[dict[str, Any]]:
    """What a template shows of each tree. ``exact``: what is known are real counts, and not released ones.

    Privacy: as private as the counts that it is handed.
    """
    return [
        {
            "exact": exact,
            "picture": picture(one, exact=exact),
            "rows": [(v.column, commas(len(v.labels)), percent(v.error), percent(_beside(v, exact))) for v in one],
            "areas": [(level.column, _areas(level, exact=exact)) for level in one],
        }
        for one in levels.values()
    ]


def _beside(level: AreaLevel, exact: bool) -> float | None:
    """Its tables with other columns; of released counts what noise alone would make of its own."""
    if exact:
        return level.beside
    return min(1.0, 0.5 * sqrt(2 / pi) * float(level.noise.sum()) / max(float(level.known.sum()), 1.0))


def _areas(level: AreaLevel, *, exact: bool) -> list[tuple[str, str, str, str]]:
    """A line for each area, that which is off by most rows first."""
    worst = np.argsort(-np.abs(level.synthetic - level.known), kind="stable")
    return [
        (
            level.labels[i],
            commas(level.known[i]) if exact else f"{commas(level.known[i])} ± {commas(1.96 * level.noise[i])}",
            commas(level.synthetic[i]),
            f"{level.synthetic[i] - level.known[i]:+,.0f}",
        )
        for i in worst.tolist()
    ]


def picture(levels: Sequence[AreaLevel], *, exact: bool) -> Markup:
    """The tree as tiles: a level below the other, a tile as wide as the rows of its area, dark where it is far off."""
    shapes: list[Shape] = []
    known = _("real") if exact else _("released")
    left, width = np.zeros(1), np.full(1, WIDE)
    for depth, level in enumerate(levels):
        left, width = _places(level, left, width)
        y = 16 + depth * (TALL + 16)
        shapes.append(label(0, y - 4, level.column, anchor="start", kind="dim"))
        far = np.minimum(np.abs(level.relative) / FAR, 1.0)
        for i in np.flatnonzero(width > 0).tolist():
            area, kind = level.labels[i], "heat" if level.synthetic[i] >= level.known[i] else "cold"
            title = _("{area}: {known} rows {kind}, {made} synthetic").format(
                area=area, known=commas(level.known[i]), kind=known, made=commas(level.synthetic[i])
            )
            wide, opacity = max(width[i] - GAP, 0.5), 0.06 + (DARKEST - 0.06) * float(far[i])
            shapes.append(rect(left[i], y, wide, TALL, kind, title=title, opacity=opacity))
            if room([area]) < wide:
                shapes.append(label(left[i] + wide / 2, y + TALL / 2 + 4, area, anchor="middle"))
    words = _("areas by level, from the top; dark tiles are far off: {levels}").format(
        levels="; ".join(f"{level.column} {percent(level.error)}" for level in levels)
    )
    return draw(shapes, wide=WIDE, tall=16 + len(levels) * (TALL + 16), words=words, kind="map")


def _places(level: AreaLevel, left: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left edge and width of each area's tile, inside that of the area above it, by the synthetic rows."""
    rows = np.maximum(level.synthetic, 0.0)
    within = np.bincount(level.up, weights=rows, minlength=len(left))
    wide = rows / np.maximum(within[level.up], 1e-12) * width[level.up]
    order = np.argsort(level.up, kind="stable")
    run = np.cumsum(wide[order]) - wide[order]
    first = np.append(True, level.up[order][1:] != level.up[order][:-1])
    begins = np.maximum.accumulate(np.where(first, run, -1.0))
    out = np.empty(len(rows))
    out[order] = left[level.up[order]] + run - begins
    return out, wide
