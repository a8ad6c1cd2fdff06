"""The steward's report: pairs of columns, with the worst ones in full, and correlations."""

from itertools import combinations
from typing import Any

import numpy as np

from synth.evaluate import chart_data
from synth.evaluate.chart_data import Matrix
from synth.evaluate.examination import Examination
from synth.evaluate.fidelity import Comparison
from synth.evaluate.verdict import DISTANCES, advice, rate
from synth.languages import Texts, _, numerals, translated
from synth.report import svg_charts, words
from synth.report.html import percent

WORST = 12  # pairs shown in full
KINDS = Texts(
    {
        "correlations": "Correlations, {name}: strongest {row} and {column}, {value}",
        "associations": "Associations, {name}: strongest {row} and {column}, {value}",
    }
)
Drawn = tuple[str, str, str]  # a chart's name, its strongest cell in words, and the chart


def pairs(examination: Examination) -> dict[str, Any] | None:
    """What the report shows of pairs: their matrix, the worst in full, more of them listed; None for one column."""
    c = examination.comparison
    if len(c.columns) < 2:
        return None
    worst = sorted(combinations(range(len(c.columns)), 2), key=lambda p: -c.pairs[p])
    return {
        "number": len(worst),
        "mean": c.pairs_mean,
        "by_chance": c.pairs_by_chance,
        "left_out": len(c.columns) - len(chart_data.most_different(c.pairs)),
        "matrix": _matrix(c, {frozenset(p) for p in worst[:WORST]}),
        "worst": [_pair(c, i, j) for i, j in worst[:WORST]],
        "listed": [
            (words.both((c.columns[i], c.columns[j])), percent(c.pairs[i, j]), of_pair(c, float(c.pairs[i, j])))
            for i, j in worst[: 10 * WORST]
        ],
    }


def of_pair(c: Comparison, distance: float) -> str:
    """What a pair's distance means for use, beside what a second real sample would show of pairs on average."""
    return words.advice(advice(rate(DISTANCES["pairs"], distance, second=c.pairs_by_chance)))


def _matrix(c: Comparison, linked: set[frozenset[int]]) -> str:
    drawn, shown = c.chart()

    def title(i: int, j: int) -> str:
        both = drawn.rows[i] if i == j else words.both((drawn.rows[i], drawn.rows[j]))
        return f"{both}: {percent(float(drawn.values[i, j]))}"

    def link(i: int, j: int) -> str:
        pair = frozenset((int(shown[i]), int(shown[j])))
        return pair_anchor(*sorted(pair)) if pair in linked else ""

    message = _("Distances of pairs of {n} columns; the worst is {pair}").format(
        n=len(shown), pair=words.both(c.worst_pair or ())
    )
    return svg_charts.heat(drawn, words=message, title=title, link=link)


def _pair(c: Comparison, i: int, j: int) -> dict[str, Any]:
    """A pair of columns in full."""
    a, b = c.columns[i], c.columns[j]
    both = c.two_way(a, b)

    def drawn(name: str, matrix: Matrix) -> Drawn:
        def title(x: int, y: int) -> str:
            row, column = words.group(both.rows[x]), words.group(both.columns[y])
            return f"{a} {row}, {b} {column}: {percent(matrix.values[x, y], 2)}"

        row, column, share = matrix.strongest()
        most = _("most at {row}, {column} ({share})").format(
            row=words.group(row), column=words.group(column), share=numerals(f"{100 * share:+.1f} %")
        )
        root, named = "minus" not in name, translated(name)
        message = f"{_('{first} by {second}').format(first=a, second=b)}, {named}: {most}"
        return named, most, svg_charts.heat(matrix, words=message, title=title, root=root)

    real, synthetic, gap = (drawn(name, matrix) for name, matrix in both.charts().items())
    return {
        "title": _("{first} by {second}").format(first=a, second=b),
        "anchor": pair_anchor(i, j),
        "distance": both.distance,
        "advice": of_pair(c, both.distance),
        "charts": [gap, real, synthetic],
    }


def correlations(examination: Examination) -> list[Drawn]:
    """Charts of Pearson correlations of numbers and dates in both tables and of their difference; none below two."""
    alike = examination.similarity[0]
    if len(alike.names) < 2:
        return []
    return [
        _correlation(name, m, "correlations")
        for name, m in chart_data.correlations(alike.names, *alike.correlations).items()
    ]


def associations(examination: Examination) -> list[Drawn]:
    """Charts of how strongly columns of any kind go together, in both tables and their difference; none below two."""
    if len(examination.comparison.columns) < 2:
        return []
    charts = examination.comparison.association_charts()
    return [_correlation(name, m, "associations") for name, m in charts.items()]


def _correlation(name: str, matrix: Matrix, kind: str) -> Drawn:
    def title(i: int, j: int) -> str:
        value = matrix.values[i, j]
        shown = _("not defined") if np.isnan(value) else numerals(f"{value:+.2f}")
        return f"{words.both((matrix.rows[i], matrix.rows[j]))}: {shown}"

    row, column, value = matrix.strongest(outside=True)
    named = translated(name)
    message = KINDS[kind].format(name=named, row=row, column=column, value=numerals(f"{value:+.2f}"))
    return named, message, svg_charts.heat(matrix, words=message, title=title)


def pair_anchor(i: int, j: int) -> str:
    """The name of a pair's card."""
    return f"pair-{i}-{j}"
