"""The steward's report: pairs of columns, with the worst ones in full, and correlations."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from synth.evaluate.examination import Examination
from synth.evaluate.fidelity import Comparison
from synth.report import svg_charts
from synth.report.html import card, details, grid, legend, note, percent, table, text

WORST = 12  # pairs shown in full
MATRIX = 40  # columns of a matrix; of more those that differ most


def pairs(found: Examination) -> Iterable[str]:
    """Heat map of all pairs, the worst pairs in full."""
    c = found.comparison
    if len(c.columns) < 2:
        yield text("There is one column only, so there are no pairs.")
        return
    worst = sorted(combinations(range(len(c.columns)), 2), key=lambda p: -c.pairs[p])
    yield text(f"Mean distance over {len(worst):,} pairs: {percent(c.pairs_mean)} of rows in the wrong place; two "
               f"samples of one population would show about {percent(c.pairs_by_chance)} by chance. Darker is worse; "
               "the diagonal shows each column alone; a pair with a link leads to its tables.")  # fmt: skip
    yield _matrix(c, {frozenset(p) for p in worst[:WORST]})
    yield grid((_pair(c, i, j) for i, j in worst[:WORST]), wide=True)
    rows = [[f"{c.columns[i]} and {c.columns[j]}", percent(c.pairs[i, j])] for i, j in worst[: 10 * WORST]]
    yield details("The worst pairs as a table", table(["pair", "distance"], rows))


def _matrix(c: Comparison, linked: set[frozenset[int]]) -> str:
    shown = np.arange(len(c.columns))
    if len(shown) > MATRIX:
        shown = np.sort(np.argsort(-c.pairs.mean(axis=1))[:MATRIX])
    names = [c.columns[i] for i in shown]

    def title(i: int, j: int) -> str:
        both = names[i] if i == j else f"{names[i]} and {names[j]}"
        return f"{both}: {percent(float(c.pairs[shown[i], shown[j]]))}"

    def link(i: int, j: int) -> str | None:
        pair = frozenset((int(shown[i]), int(shown[j])))
        return _anchor(*sorted(pair)) if pair in linked else None

    words = f"Distances of pairs of {len(names)} columns; the worst is {' and '.join(c.worst_pair or ())}"
    drawn = svg_charts.heat(names, names, c.pairs[np.ix_(shown, shown)], words=words, title=title, link=link)
    left_out = len(c.columns) - len(names)
    return f'<div class="scroll">{drawn}</div>' + (note(f"{left_out} columns that differ less are left out.")
                                                    if left_out else "")  # fmt: skip


def _anchor(i: int, j: int) -> str:
    return f"pair-{i}-{j}"


def _pair(c: Comparison, i: int, j: int) -> str:
    a, b = c.columns[i], c.columns[j]
    both = c.two_way(a, b)
    top, gap = float(max(both.real.max(), both.synthetic.max())), both.synthetic - both.real

    def titled(shares: np.ndarray):
        return lambda x, y: f"{a} {both.rows[x]}, {b} {both.columns[y]}: {shares[x, y]:.2%}"

    parts = []
    for name, shares, high, root in (("real", both.real, top, True), ("synthetic", both.synthetic, top, True),
                                     ("synthetic minus real", gap, None, False)):  # fmt: skip
        words = f"{a} by {b}, {name}: {_largest(both.rows, both.columns, shares)}"
        drawn = svg_charts.heat(both.rows, both.columns, shares, words=words, title=titled(shares), top=high, root=root)
        parts.append(
            details(f"{name}: {_largest(both.rows, both.columns, shares)}", f'<div class="scroll">{drawn}</div>')
        )
    opened = parts[2].replace("<details>", "<details open>", 1)
    return card(f"{a} by {b}", note(f"distance {percent(both.distance)}"), opened, *parts[:2], name=_anchor(i, j))


def _largest(rows: tuple[str, ...], columns: tuple[str, ...], shares: np.ndarray) -> str:
    i, j = np.unravel_index(int(np.abs(shares).argmax()), shares.shape)
    return f"most at {rows[i]}, {columns[j]} ({100 * shares[i, j]:+.1f} %)"


def correlations(found: Examination) -> Iterable[str]:
    """Pearson correlations of numbers and dates in both tables, and their difference."""
    alike = found.similarity[0]
    if len(alike.names) < 2:
        yield text("Fewer than two columns are numbers or dates, so there are no correlations.")
        return
    shown = np.arange(len(alike.names))
    real, synthetic = alike.correlations
    gap = synthetic - real
    if len(shown) > MATRIX:
        shown = np.sort(np.argsort(-np.nanmean(np.abs(np.nan_to_num(gap)), axis=1))[:MATRIX])
    yield legend(("heat", "positive"), ("cold", "negative"))
    shades = (("real", real), ("synthetic", synthetic), ("synthetic minus real", gap))
    yield grid(_correlation(alike.names, shown, name, matrix) for name, matrix in shades)


def _correlation(names: tuple[str, ...], shown: np.ndarray, name: str, matrix: np.ndarray) -> str:
    kept = [names[i] for i in shown]
    part = matrix[np.ix_(shown, shown)]

    def title(i: int, j: int) -> str:
        return f"{kept[i]} and {kept[j]}: " + ("not defined" if np.isnan(part[i, j]) else f"{part[i, j]:+.2f}")

    outside = np.where(np.eye(len(kept), dtype=bool) | np.isnan(part), 0.0, part)
    i, j = np.unravel_index(int(np.abs(outside).argmax()), part.shape)
    words = f"Correlations, {name}: strongest {kept[i]} and {kept[j]}, {outside[i, j]:+.2f}"
    top = 1.0 if "minus" not in name else max(0.1, float(np.nanmax(np.abs(part), initial=0.0)))
    drawn = svg_charts.heat(kept, kept, part, words=words, title=title, top=top)
    return card(name, f'<div class="scroll">{drawn}</div>', note(words))
