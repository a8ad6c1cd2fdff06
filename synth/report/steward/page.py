"""The steward's report as a page: compares with real rows, is marked everywhere, and never part of a bundle."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from synth.errors import UsageError
from synth.evaluate.examination import Examination, Figure
from synth.evaluate.fidelity import OneWay
from synth.report import svg_charts
from synth.report.html import (
    card,
    details,
    facts,
    figure,
    flow,
    grid,
    legend,
    note,
    number,
    page,
    percent,
    section,
    table,
    text,
)  # fmt: skip
from synth.report.steward import pairs, subgroups

MARK = "For the steward only, not for release"
SMALL_MARK = "steward only, not for release"
IN_NAME = "steward-only"
COLUMNS = 40  # drawn one by one, the worst first; of more the rest are listed
KEYS = legend(("real", "real"), ("synthetic", "synthetic"))


def marked(path: Path) -> Path:
    """The path with the mark in its name: ``report.html`` becomes ``report.steward-only.html``.

    >>> marked(Path("a/report.html")).name, marked(Path("my.steward-only.html")).name
    ('report.steward-only.html', 'my.steward-only.html')
    """
    if path.suffix != ".html":
        raise UsageError(f"--out {path}: name a .html file")
    return path if IN_NAME in path.stem else path.with_name(f"{path.stem}.{IN_NAME}.html")


def render(found: Examination, *, about: dict[str, Any]) -> str:
    """The page. ``about``: the release card."""
    return page(
        "Steward's report",
        _opening(found, about),
        _headline(found),
        section("What is sampling, what is noise, what is bias", *_figures(found), mark=SMALL_MARK),
        section("Columns", *_columns(found), mark=SMALL_MARK),
        section("Pairs of columns", *pairs.pairs(found), mark=SMALL_MARK),
        section("Correlations of numbers", *pairs.correlations(found), mark=SMALL_MARK),
        section("Groups of people", *subgroups.groups(found), mark=SMALL_MARK),
        section("Models trained on the table", *_models(found), mark=SMALL_MARK),
        section("Copies and nearest records", *subgroups.nearness(found), mark=SMALL_MARK),
        section("SDMetrics", *_sdmetrics(found), mark=SMALL_MARK),
        section("How the figures were made", *_method(found), mark=SMALL_MARK),
        mark=MARK,
    )


def _opening(found: Examination, about: dict[str, Any]) -> str:
    c = found.comparison
    return text(
        "Every figure here was computed from the real rows without noise. Do not publish or quote it, and do not "
        "choose between several releases by it unless all of them are released or the choice is paid for: a choice "
        "made here is covered by no epsilon (mark such a release with `synth card selection`)."
    ) + facts([
        ("dataset", about.get("dataset") or "not named"),
        ("method", about.get("method")),
        ("guarantee of the synthetic table", f"epsilon {about.get('epsilon'):g}, delta {about.get('delta'):g}"),
        ("real rows", f"{c.real_rows:,}, of which {c.real_rows_used:,} used"),
        ("synthetic rows", f"{c.synthetic_rows:,}, of which {c.synthetic_rows_used:,} used"),
        ("held-out rows", "none given" if found.test_rows is None else f"{found.test_rows:,}"),
    ])  # fmt: skip


def _headline(found: Examination) -> str:
    c, boxes = found.comparison, []
    boxes.append(number("One-way distance", percent(c.one_way_mean),
                        "of the rows in the wrong place, mean over columns"))  # fmt: skip
    boxes.append(number("Two-way distance", percent(c.pairs_mean), "mean over pairs of columns"))
    for score in found.utility.scores[:1] if found.utility else ():
        boxes.append(number(f"Predicting {found.utility.target if found.utility else ''}", figure(score.synthetic),
                            f"{score.label}; {figure(score.real)} when trained on real rows"))  # fmt: skip
    boxes.append(number("Telling the tables apart", figure(found.two_sample.auc),
                        "area under ROC of a classifier; 0.5 is guessing"))  # fmt: skip
    if c.quality is not None:
        boxes.append(number("SDMetrics quality", percent(c.quality.score), "overall, 100 % is best"))
    boxes.append(number("Copies", percent(found.nearness.copies, 2),
                        f"equal to a real row; {percent(found.nearness.copies_floor, 2)} of real rows have "
                        "a twin"))  # fmt: skip
    return grid(boxes)


def _figures(found: Examination) -> Iterable[str]:
    rows = [[f.label, _value(f, f.value), _value(f, f.floor), _value(f, f.forecast), f.reading or "-"]
            for f in found.figures]  # fmt: skip
    yield text("The floor is the same figure for a bootstrap sample of the real rows: what remains when nothing but "
               "sampling is wrong. The forecast is the error that privacy noise alone was expected to bring at most, "
               "as told by synth plan before the run, on the tables that the method measures.")  # fmt: skip
    told = [f for f in found.figures if f.parts is not None]
    if told:
        top = max(f.value or 0.0 for f in told)
        yield grid(card(f"{f.label}: {percent(f.value)}",
                        svg_charts.stacked(f.parts or (0, 0, 0), top=top, words=_told(f)),
                        note(_told(f))) for f in told)  # fmt: skip
        yield legend(("real", "sampling"), ("good", "privacy noise"), ("heat", "bias of the model"))
    yield table(["figure", "value", "floor", "forecast", "reading"], rows, words=(0, 4))


def _told(f: Figure) -> str:
    sampling, noise, bias = f.parts or (0.0, 0.0, 0.0)
    return f"{percent(sampling)} sampling, {percent(noise)} noise, {percent(bias)} bias: {f.reading}"


def _value(f: Figure, value: float | None) -> str:
    return percent(value) if f.name in ("one_way", "two_way", "worst_pair") else figure(value)


def _columns(found: Examination) -> Iterable[str]:
    ordered = sorted(found.comparison.one_way.values(), key=lambda o: -o.distance)
    yield text("Share of rows with each value, the column that differs most first. Outermost bins take in the half "
               "percent of rows beyond them.")  # fmt: skip
    yield KEYS
    yield flow(_column(one) for one in ordered[:COLUMNS])
    if len(ordered) > COLUMNS:
        yield details(f"{len(ordered) - COLUMNS} more columns",
                      table(["column", "distance"], [[o.column, percent(o.distance)]
                                                        for o in ordered[COLUMNS:]]))  # fmt: skip


def _column(one: OneWay) -> str:
    words = f"{one.column}: distance {percent(one.distance)} between the real and the synthetic table"
    bins = len(one.labels) if one.edges is None else len(one.edges) - 1
    parts = []
    if one.edges is None:
        bins -= int(one.pooled)
        parts.append(svg_charts.paired_bars(one.labels[:bins], one.real[:bins], one.synthetic[:bins], words=words))
    else:
        parts.append(svg_charts.overlaid_bins(one.labels[:bins], one.real[:bins], one.synthetic[:bins], words=words))
    others = zip(one.labels[bins:], one.real[bins:], one.synthetic[bins:], strict=True)
    parts += [note(f"{label}: real {percent(r)}, synthetic {percent(s)}") for label, r, s in others]
    shares = zip(one.labels, one.real, one.synthetic, strict=True)
    rows = [[label, percent(r), percent(s)] for label, r, s in shares]
    return card(one.column, note(f"distance {percent(one.distance)}"), *parts,
                details("as a table", table(["value", "real", "synthetic"], rows)))  # fmt: skip


def _models(found: Examination) -> Iterable[str]:
    used = found.utility
    if used is None:
        yield text("No target that varies was named, so no model was trained; name one with --target.")
    else:
        what = {"binary": "two classes", "classes": "several classes", "regression": "a number"}[used.task]
        yield text(f"Models that predict {used.target} ({what}) from the other columns, tested on {used.test_rows:,} "
                   f"real rows: {HELD[used.held_out]}")  # fmt: skip
        yield table(["score", "trained on synthetic", "trained on real", "trained on resampled real", "better is"],
                    [[s.label, figure(s.synthetic), figure(s.real), figure(s.floor),
                      "higher" if s.higher_is_better else "lower"] for s in used.scores], words=(0, 4))  # fmt: skip
    told = found.two_sample
    yield text(f"A classifier told to tell real rows from synthetic ones ({told.rows:,} of each, five folds) has an "
               f"area under ROC of {figure(told.auc)}; 0.5 is guessing, 1 is certainty.")  # fmt: skip


HELD = {True: "held out, so that the generator never saw them.",
        False: "a fifth of the real rows, which the generator has seen; give held-out rows with --test."}  # fmt: skip


def _sdmetrics(found: Examination) -> Iterable[str]:
    quality = found.comparison.quality
    if quality is None:
        yield text("No column could be scored.")
        return
    boxes = [number("Quality, overall", percent(quality.score)), number("Column shapes", percent(quality.shapes)),
             number("Column pair trends", percent(quality.pairs))]  # fmt: skip
    boxes += [number(f"Diagnostic: {name}", percent(score)) for name, score in quality.diagnostic.items()]
    yield grid(boxes)
    worst = sorted(quality.by_column.items(), key=lambda pair: pair[1])
    yield details("Shape score of each column", table(["column", "score"], [[n, percent(s)] for n, s in worst]))
    yield note(f"On {quality.rows[0]:,} real and {quality.rows[1]:,} synthetic rows."
               + (f" Left out for their many categories, or beyond the first 60: "
                  f"{', '.join(quality.left_out)}."
                  if quality.left_out else ""))  # fmt: skip


def _method(found: Examination) -> Iterable[str]:
    limits = found.limits
    yield facts([
        ("rows of each table", f"at most {limits.rows:,}, drawn without replacement where there are more"),
        ("SDMetrics", f"at most {limits.quality:,} of those"),
        ("trained models", f"at most {limits.models:,}"),
        ("two-sample classifier", f"at most {limits.classifier:,}"),
        ("nearest records", f"{found.nearness.rows:,} synthetic rows against {found.nearness.references:,} real ones"),
        ("seed of all draws", limits.seed),
    ])  # fmt: skip
    yield note("Distances are total variation: the share of rows that would have to change to make two tables equal. "
               "In tables of pairs, numbers are cut into 12 groups of equal size; the 12 commonest categories are "
               "kept, and the others are one group.")  # fmt: skip
