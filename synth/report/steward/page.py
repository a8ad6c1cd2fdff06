"""The steward's report as a page: compares with real rows, is marked everywhere, and never part of a bundle."""

from collections.abc import Collection, Sequence
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.evaluate import chart_data, column_numbers
from synth.evaluate.chart_data import Matrix
from synth.evaluate.detection import QUANTILES
from synth.evaluate.examination import Examination, Figure
from synth.evaluate.fidelity import Comparison, OneWay, Subgroup
from synth.evaluate.from_rows import of_column
from synth.evaluate.risks import AttackRates, Rate
from synth.evaluate.shadows import Shadow
from synth.evaluate.verdict import DISTANCES, advice, rate
from synth.languages import Texts, _, numerals, prose, translated
from synth.release.card import limits
from synth.release.card.card import Card
from synth.report import area_pages, first_page, html, svg_charts, words
from synth.report.html import commas, figure, percent
from synth.report.words import between

MARK = "For the steward only, not for release"
SMALL_MARK = "steward only, not for release"
IN_NAME = "steward-only"
COLUMNS = 40  # drawn one by one, the worst first; of more the rest are listed
WORST = 12  # pairs shown in full
KINDS = Texts(
    {
        "correlations": "Correlations, {name}: strongest {row} and {column}, {value}",
        "associations": "Associations, {name}: strongest {row} and {column}, {value}",
    }
)
Drawn = tuple[str, str, str]  # a chart's name, its strongest cell in words, and the chart
ATTACKS = Texts(  # as `evaluate` names them: `prose` finds each here
    {"inference": "inference", "linkability": "linkability", "singling": "singling out"}
)
EXPLAINED = Texts(
    {
        "singling out": "a statement that holds of one synthetic row: does it hold of exactly one real row?",
        "linkability": "half of somebody's columns are in one hand, the other half in another: is one synthetic row "
        "the nearest to both?",
        "inference": "all columns of somebody but one are known: has the nearest synthetic row the hidden value "
        "(numbers: within 5 %)? Guessing names the value of any synthetic row.",
        "reconstruction from quasi-identifiers": "quasi-identifiers of somebody are known: is the hidden value the "
        "commonest among synthetic rows that agree in them (numbers: in twelfths)? Guessing names the commonest of "
        "all.",
    }
)


def marked(path: Path) -> Path:
    """The path with the mark in its name: ``report.html`` becomes ``report.steward-only.html``.

    >>> marked(Path("a/report.html")).name, marked(Path("my.steward-only.html")).name
    ('report.steward-only.html', 'my.steward-only.html')
    """
    if path.suffix != ".html":
        raise UsageError("`out={}`: name a .html file", path)
    return path if IN_NAME in path.stem else path.with_name(f"{path.stem}.{IN_NAME}.html")


def render(examination: Examination, *, about: Card) -> str:
    """The page. ``about``: the release card."""
    c, alike, fitted = examination.comparison, examination.similarity[0], not examination.verdict.unsure
    ordered = c.worst_first()
    columns = [
        _column(one, c.columns.index(one.column), of_column(c, one.column, fitted=fitted)) for one in ordered[:COLUMNS]
    ]
    together = _pairs(c)
    anchors = {c["anchor"] for c in columns} | {p["anchor"] for p in (together["worst"] if together else ())}
    return html.render(
        "steward.html",
        title=_("Steward's report"),
        mark=_(MARK),
        small=_(SMALL_MARK),
        result=examination,
        about=about,
        figures=[
            [prose(f.label), *(_value(f, v) for v in (f.value, f.floor, f.forecast)), prose(f.reading or "-")]
            for f in examination.figures
        ],
        stacks=_stacks(examination),
        columns=columns,
        first=first_page.answers(
            about, examination.verdict, tried=examination.risks.findings if examination.risks else ()
        ),
        verdict=_verdict(examination, anchors=anchors),
        more_columns=[
            [one.column, percent(one.distance), prose(of_column(c, one.column, fitted=fitted))]
            for one in ordered[COLUMNS:]
        ],
        pairs=together,
        correlations=_maps("correlations", alike.names, alike.correlations),
        associations=_maps("associations", c.columns, c.associations),
        scores=_scores(examination),
        own_scores=_own_scores(examination),
        weighting=_weighting(examination),
        shapes=_shapes(examination),
        areas=area_pages.sections(examination.areas, exact=True),
        **_groups(examination),
        **_risks(examination, about),
    )


def _stacks(examination: Examination) -> list[tuple[str, str, str]]:
    """For each distance that can be taken apart: its title, its chart, and the chart in words."""
    known = [f for f in examination.figures if f.parts is not None]
    top = max((f.value or 0.0 for f in known), default=0.0)
    return [
        (
            f"{prose(f.label)}: {percent(f.value)}",
            svg_charts.stacked(f.parts or (0, 0, 0), top=top, words=_parts(f)),
            _parts(f),
        )
        for f in known
    ]


def _parts(f: Figure) -> str:
    sampling, noise, bias = f.parts or (0.0, 0.0, 0.0)
    return _("{sampling} sampling, {noise} noise, {bias} bias: {reading}").format(
        sampling=percent(sampling), noise=percent(noise), bias=percent(bias), reading=prose(f.reading or "-")
    )


def _value(f: Figure, value: float | None) -> str:
    return percent(value) if f.name.startswith(("one_way", "two_way", "worst_pair", "implausible")) else figure(value)


def _column(one: OneWay, place: int, use: str) -> dict[str, Any]:
    message = _("{column}: distance {distance} between the real and the synthetic table").format(
        column=one.column, distance=percent(one.distance)
    )
    shown, draw = one.chart(), svg_charts.paired_bars if one.edges is None else svg_charts.overlaid_bins
    rows = [
        (words.group(n), percent(r), percent(s)) for n, r, s in zip(one.labels, one.real, one.synthetic, strict=True)
    ]
    chart = draw(shown.labels, shown.real, shown.synthetic, words=message)
    return {
        "name": one.column,
        "anchor": column_anchor(place),
        "distance": one.distance,
        "advice": prose(use),
        "chart": chart,
        "rows": rows,
        "rest": rows[len(shown.labels) :],
        "numbers": [(prose(name), *map(words.days, values)) for name, *values in column_numbers.lines(one.numbers)],
    }


def _scores(examination: Examination) -> list[list[str]]:
    better = {True: _("higher"), False: _("lower")}
    return [
        [prose(s.label), *map(figure, (s.synthetic, s.real, s.floor)), better[s.higher_is_better]]
        for s in (examination.utility.scores if examination.utility else ())
    ]


def _own_scores(examination: Examination) -> list[list[str]]:
    """What packages of the installation say, a line for each figure; one that failed is told as failed."""
    return [
        [name if name == s.name else f"{s.name}: {name}", value, s.package]
        for s in examination.own_scores
        for name, value in (
            [(s.name, _("failed ({fault})").format(fault=s.fault))]
            if s.fault
            else [(n, figure(v)) for n, v in s.values.items()]
        )
    ]


def _weighting(examination: Examination) -> dict[str, Any] | None:
    """Weighted distances of the columns, the worst first; None where the schema names no weight."""
    reported, floor, c = examination.comparison.weighted, examination.weighted_floor, examination.comparison
    if reported is None or floor is None:
        return None
    once = dict(zip(c.columns, np.diag(c.pairs).tolist(), strict=True))  # in the same groups
    worst = sorted(reported.columns, key=lambda n: -reported.columns[n])
    lines = [[n, percent(reported.columns[n]), percent(once[n]), percent(floor.columns[n])] for n in worst]
    return {"by": reported.by, "means": reported.means, "lines": lines}


def _shapes(examination: Examination) -> list[tuple[str, str]]:
    """SDMetrics' score of each column, the worst first."""
    quality = examination.comparison.quality
    worst = sorted(quality.by_column.items(), key=lambda pair: pair[1]) if quality else []
    return [(name, percent(score)) for name, score in worst]


def _verdict(examination: Examination, *, anchors: Collection[str]) -> dict[str, Any]:
    """What the template shows of the verdict. ``anchors``: of the cards that are on the page."""
    said, worst = examination.verdict, examination.verdict.worst
    columns = examination.comparison.columns

    def place(name: str, distance: float, anchor: str = "") -> tuple[str, float, str]:
        return name, distance, anchor if anchor in anchors else ""

    listed = {
        _("columns"): [
            place(p.names[0], p.distance, column_anchor(columns.index(p.names[0]))) for p in worst["column"]
        ],
        _("pairs"): [
            place(words.both(p.names), p.distance, pair_anchor(*sorted(map(columns.index, p.names))))
            for p in worst["pair"]
        ],
        _("three columns"): [place(", ".join(p.names), p.distance) for p in worst["triple"]],
        _("groups of people"): [place(f"{p.names[0]} {words.group(p.names[1])}", p.distance) for p in worst["group"]],
    }
    return {
        "uses": said.lines,
        "unsure": prose(said.unsure),
        "worst": [(what, places) for what, places in listed.items() if places],
        "looked_at": said.triples_looked_at,
        "reconciled": said.reconciled,
    }


def column_anchor(i: int) -> str:
    """The name of a column's card, by its place in the schema."""
    return f"column-{i}"


def _groups(examination: Examination) -> dict[str, Any]:
    """What the templates of groups and of copies show, by name."""
    return {
        "lost": [s for s in examination.subgroups if s.synthetic_share == 0],
        "groups": [(n, [_row(s) for s in m]) for n, m in groupby(examination.subgroups, key=lambda s: s.column)],
        "copies": _copies(examination),
        "quantiles": [_("{share} % below").format(share=numerals(f"{100 * q:g}")) for q in QUANTILES],
        "distances": [
            [prose(n), *(figure(v) for v in reported)] for n, reported in examination.nearness.distances.items()
        ],
    }


def _row(s: Subgroup) -> list[str]:
    shares = (s.real_share, s.synthetic_share, s.distance, s.by_chance)
    told = s.distance is not None and s.by_chance is not None
    use = for_use("subgroups", s.distance or 0, s.by_chance or 0) if told else _("too few rows to tell")
    return [words.group(s.group), commas(s.real_rows), *(percent(share) for share in shares), use]


def _copies(examination: Examination) -> list[tuple[str, str]]:
    near = examination.nearness
    rows = [
        (_("synthetic rows equal to a real row"), percent(near.copies, 2)),
        (_("real rows equal to another real row"), percent(near.copies_floor, 2)),
    ]
    if near.nearer_train is None:
        return rows
    references = commas(near.references)
    return [
        *rows,
        (
            _("synthetic rows equal to one of {n} real rows").format(n=references),
            percent(near.copies_train, 2),
        ),
        (
            _("synthetic rows equal to one of {n} held-out rows").format(n=references),
            percent(near.copies_test, 2),
        ),
        (
            _(
                "synthetic rows nearer to a real row than to a held-out one (50 % by chance, give or take {error})"
            ).format(error=percent(near.nearer_error)),
            percent(near.nearer_train),
        ),
    ]


def _pairs(c: Comparison) -> dict[str, Any] | None:
    """What the report shows of pairs: their matrix, the worst in full, more of them listed; None for one column."""
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
            (words.both((c.columns[i], c.columns[j])), percent(d), for_use("pairs", d, c.pairs_by_chance))
            for i, j in worst[: 10 * WORST]
            for d in [float(c.pairs[i, j])]
        ],
    }


def for_use(kind: str, distance: float, second: float) -> str:
    """What a distance means for use, beside what another sample of real rows would show. ``kind``: a key of
    ``DISTANCES``."""
    return prose(advice(rate(DISTANCES[kind], distance, second=second)))


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
        "advice": for_use("pairs", both.distance, c.pairs_by_chance),
        "charts": [gap, real, synthetic],
    }


def _maps(kind: str, names: Sequence[str], both: tuple[np.ndarray, np.ndarray]) -> list[Drawn]:
    """Charts of Pearson correlations of numbers and dates, or of how strongly columns of any kind go together, in both
    tables and of their difference; none below two."""

    def drawn(name: str, matrix: Matrix) -> Drawn:
        def title(i: int, j: int) -> str:
            value = matrix.values[i, j]
            shown = _("not defined") if np.isnan(value) else numerals(f"{value:+.2f}")
            return f"{words.both((matrix.rows[i], matrix.rows[j]))}: {shown}"

        row, column, value = matrix.strongest(outside=True)
        named = translated(name)
        message = KINDS[kind].format(name=named, row=row, column=column, value=numerals(f"{value:+.2f}"))
        return named, message, svg_charts.heat(matrix, words=message, title=title)

    return [drawn(*one) for one in chart_data.correlations(names, *both).items()] if len(names) > 1 else []


def pair_anchor(i: int, j: int) -> str:
    """The name of a pair's card."""
    return f"pair-{i}-{j}"


def _risks(examination: Examination, about: Card) -> dict[str, Any]:
    """What the template shows; nothing where no attack was made."""
    reported = examination.risks
    chapter: dict[str, Any] = {"shadowed": [_shadow(s) for s in examination.shadows]} if examination.shadows else {}
    if reported is None:
        return chapter
    real, held, made = reported.rows
    others = _("no held-out rows") if held is None else _("{n} held-out rows").format(n=commas(held))
    rows = _("{real} of the run, {others}, {made} synthetic ones")
    lines, one_reading = lines_of(reported.findings)
    return chapter | {
        "attacked": lines,
        "one_reading": one_reading,
        "reported_risks": [
            *((prose(name), words) for name, words in EXPLAINED.items()),
            (_("quasi-identifiers"), ", ".join(reported.known)),
            (_("rows"), rows.format(real=commas(real), others=others, made=commas(made))),
            (_("membership"), _membership(about, tried=bool(examination.shadows))),
        ],
    }


def lines_of(findings: tuple[AttackRates, ...]) -> tuple[list[list[str]], str]:
    """A line for each attack and table; what is said of every line is said once, beside them, else it ends each."""
    lines, readings = _attacks(findings), {f.reading for f in findings}
    return ([line[:-1] for line in lines], prose(*readings)) if len(readings) == 1 else (lines, "")


def _membership(about: Card, *, tried: bool) -> str:
    """What the guarantee says of every attack, and what attacks the method by many runs."""
    more = _("Shadow runs stand below.")
    if not tried:
        more = _(
            "A report with 200 shadow runs tries, by many runs of {method} on made-up tables with and without one row, "
            "and tells how much of epsilon it found."
        ).format(method=about.get("method"))
    return f"{limits.guesses(about)[0].sentence()} {more}"


def _shadow(s: Shadow) -> list[str]:
    """A line of the attack on membership."""
    f = s.finding
    least = numerals(f"{f.epsilon:.2f}") if f.epsilon > 0 else "-"
    return [
        prose(s.made),
        prose(s.seen),
        f"2 x {commas(f.draws)}",
        _rate(s.right),
        percent(s.allowed),
        least,
        numerals(f"{f.claim.at_audit:.2f}"),
        prose(s.reading),
    ]


def _attacks(findings: tuple[AttackRates, ...]) -> list[list[str]]:
    """A line for each attack and table, the attack named once."""
    out, last = [], ""
    for f in findings:
        name, last = (f.attack if f.attack != last else ""), f.attack
        if name:
            out.append([prose(name), *[""] * 7])
        shown = f.detail if "|" not in f.detail else _("halves of the columns")
        out.append(
            [
                prose(f.table),
                prose(shown),
                commas(f.real.attacks),
                _rate(f.real),
                _rate(f.control),
                percent(f.baseline),
                "-" if f.risk is None else _interval(*f.risk),
                prose(f.reading),
            ]
        )
    return out


def _rate(one: Rate | None) -> str:
    return "-" if one is None else _interval(one.value, *one.interval)


def _interval(value: float, low: float, high: float) -> str:
    return f"{percent(value)} ({between(percent(low), percent(high))})"
