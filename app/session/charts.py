"""Charts of a comparison. Each bears its own mark, so that a saved picture still says whom it is for."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from synth.languages import _, phrase

REAL, SYNTHETIC = "real", "synthetic"
COLOURS = alt.Scale(domain=[REAL, SYNTHETIC], range=["#8793a6", "#e0762f"])
MARK = "steward only, not for release"
_marked: ContextVar[str] = ContextVar("marked", default="")
LEGEND = alt.Legend(title=None, orient="top", direction="horizontal")
STROKES = alt.Legend(
    title=None, orient="top", direction="horizontal", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1
)
DAY = 86_400  # seconds
LABEL = 180  # widest label of an axis, pixels
HEAD = 190  # pixels that title, mark, legend and the horizontal axis take of a chart's height
CROWDED = 15  # columns of a map, above which names at a slant run into each other beside another map
SLANTED = 110  # pixels more where the horizontal axis has slanted labels and a title


@contextmanager
def marked(text: str) -> Iterator[None]:
    """Charts made within bear this mark, translated, in place of the steward's."""
    token = _marked.set(text)
    try:
        yield
    finally:
        _marked.reset(token)


def mark() -> str:
    """The mark of a chart that is made now, translated."""
    return _marked.get() or _(MARK)


def one_way(result: Any) -> Any:
    """Shares of one column in both tables: bars for categories, overlaid bins for numbers and dates."""
    shown = result.chart()
    chart = _bars(shown) if shown.edges is None else _bins(shown, dates=result.kind == "dates")
    return chart.properties(title=title(result.column), description=described(result))


def described(result: Any) -> str:
    """The chart for whoever cannot see it: the commonest values with both shares, and the distance."""
    commonest = result.chart().commonest(3)
    shares = "; ".join(
        _("{label}: {r:.1f} % and {s:.1f} %").format(label=label, r=100 * r, s=100 * s) for label, r, s in commonest
    )
    return _(
        "Shares of the values of {column} in the real and the synthetic table. The commonest: {shares}. "
        "{distance:.1f} % of the rows differ. {mark}."
    ).format(column=result.column, shares=shares, distance=100 * result.distance, mark=mark())


def title(text: str) -> alt.TitleParams:
    """A chart's title with the mark under it."""
    return alt.TitleParams(text=text, subtitle=mark(), anchor="start", subtitleColor="#c4601e")


def _bars(shown: Any) -> alt.Chart:
    parts = [
        pd.DataFrame({"value": shown.labels, "table": name, "share": shares})
        for name, shares in ((REAL, shown.real), (SYNTHETIC, shown.synthetic))
    ]
    return (
        alt.Chart(pd.concat(parts))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title=_("share of rows"), axis=alt.Axis(format="%")),
            y=alt.Y("value:N", title=None, sort=list(shown.labels), axis=alt.Axis(labelLimit=LABEL)),
            yOffset=alt.YOffset("table:N", sort=[REAL, SYNTHETIC]),
            color=alt.Color("table:N", scale=COLOURS, legend=LEGEND),
            tooltip=["value:N", "table:N", alt.Tooltip("share:Q", format=".2%")],
        )
        .properties(height=26 * len(shown.labels) + HEAD)
    )


def _bins(shown: Any, *, dates: bool) -> Any:
    edges = pd.to_datetime(shown.edges, unit="s") if dates else shown.edges
    bins = pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "label": shown.labels,
            REAL: shown.real,
            SYNTHETIC: shown.synthetic,
        }
    )
    scale = "T" if dates else "Q"
    tips = [
        alt.Tooltip("label:N", title=_("values")),
        *(alt.Tooltip(f"{t}:Q", format=".2%") for t in (REAL, SYNTHETIC)),
    ]
    # each date with its year: a table's dates often span several
    marks = (
        alt.Axis(
            format="%Y-%m-%d" if shown.edges[-1] - shown.edges[0] < 90 * DAY else "%Y-%m",
            tickCount=6,
            labelOverlap=True,
        )
        if dates
        else alt.Axis()
    )
    x = alt.X(f"from:{scale}", title=None, axis=marks, scale=alt.Scale(zero=False, nice=False))
    real = (
        alt.Chart(bins)
        .mark_bar(opacity=0.55, binSpacing=0)
        .encode(
            x=x,
            x2="to",
            y=alt.Y(f"{REAL}:Q", title=_("share of rows"), axis=alt.Axis(format="%")),
            y2=alt.datum(0),
            color=alt.Color("kind:N", scale=COLOURS, legend=LEGEND),
            tooltip=tips,
        )
        .transform_calculate(kind=f"'{REAL}'")
    )
    ends = pd.DataFrame({"from": edges, SYNTHETIC: np.append(shown.synthetic, shown.synthetic[-1])})
    line = (
        alt.Chart(ends)
        .mark_line(interpolate="step-after", strokeWidth=2.5)
        .encode(
            x=x,
            y=f"{SYNTHETIC}:Q",
            color=alt.Color("kind:N", scale=COLOURS, legend=LEGEND),
        )
        .transform_calculate(kind=f"'{SYNTHETIC}'")
    )
    return alt.layer(real, line).properties(height=340)


def rest(result: Any) -> str:
    """Shares of what is not drawn (missing codes of a number, the rarer categories), in words; empty where all is."""
    return "; ".join(
        _("{label}: {r:.1f} % of the real rows, {s:.1f} % of the synthetic").format(label=label, r=100 * r, s=100 * s)
        for label, r, s in result.chart().rest
    )


def two_way(result: Any, names: tuple[str, str], table: str) -> alt.Chart:
    """Shares of two columns together in one of the tables, on a scale that both tables share."""
    shown = result.charts()[table]
    chart = _matrix(shown, power=0.5).encode(
        x=alt.X("column:N", title=names[1], sort=list(shown.columns), axis=slanted()),
        y=alt.Y("row:N", title=names[0], sort=list(shown.rows), axis=upright()),
        tooltip=[
            alt.Tooltip("row:N", title=names[0]),
            alt.Tooltip("column:N", title=names[1]),
            alt.Tooltip("share:Q", format=".2%"),
        ],
    )
    return chart.properties(
        title=title(_("{table} table").format(table=table)),
        height=22 * len(shown.rows) + HEAD + SLANTED,
        description=_(
            "Shares of {names} with {names2} in the {table} table; the largest is {largest}. {distance:.1f} % of "
            "the rows differ between the tables. {mark}."
        ).format(
            names=names[0],
            names2=names[1],
            table=table,
            largest=_largest(shown),
            distance=100 * result.distance,
            mark=mark(),
        ),
    )


def pairs(result: Any) -> alt.Chart:
    """Distance of each pair of columns; a column's own distance on the diagonal."""
    shown, _other = result.chart()
    words = _(
        "Distance of each two columns between the real and the synthetic table, on average {pairs_mean:.1f} "
        "% of rows; the worst is {largest}. {mark}."
    ).format(pairs_mean=100 * result.pairs_mean, largest=_largest(shown, outside=True), mark=mark())
    chart = _matrix(shown, words=_("rows in the wrong place")).encode(
        x=alt.X("column:N", title=None, sort=list(shown.columns), axis=slanted(len(shown.columns))),
        y=alt.Y("row:N", title=None, sort=list(shown.rows), axis=upright()),
        tooltip=["row:N", "column:N", alt.Tooltip("share:Q", title=_("distance"), format=".1%")],
    )
    return chart.properties(
        title=title(_("Distance of pairs")), height=24 * len(shown.rows) + HEAD + SLANTED, description=words
    )


def _largest(shown: Any, *, outside: bool = False) -> str:
    """The largest cell of a heat map in words."""
    row, column, share = shown.strongest(outside=outside)
    return _("{row} with {column}, {share:.1f} %").format(row=row, column=column, share=100 * share)


def _matrix(shown: Any, *, words: str = "share of rows", power: float = 1.0) -> alt.Chart:
    """The cells of a heat map, without its axes."""
    scale = alt.Scale(type="pow", exponent=power, domain=[0, shown.top], range=["#f3f0ea", "#e0762f", "#6d2405"])
    colour = alt.Color("share:Q", title=words, scale=scale, legend=ramp("%"))
    return alt.Chart(cells(shown)).mark_rect().encode(color=colour)


def cells(shown: Any) -> pd.DataFrame:
    """A matrix as a table with a line for each cell."""
    return pd.DataFrame(
        {
            "row": np.repeat(shown.rows, len(shown.columns)),
            "column": np.tile(shown.columns, len(shown.rows)),
            "share": shown.values.ravel(),
        }
    )


def ramp(format: str = ".1f") -> alt.Legend:
    """The legend of a scale of shades, above its chart."""
    return alt.Legend(orient="top", format=format, gradientLength=160, direction="horizontal")


def slanted(columns: int = 0) -> alt.Axis:
    """The horizontal axis of a map; of many columns only as many are named as there is room for."""
    crowded = columns > CROWDED
    return alt.Axis(labelAngle=-90 if crowded else -45, labelLimit=110, labelOverlap="greedy" if crowded else False)


def upright() -> alt.Axis:
    """The vertical axis of a map."""
    return alt.Axis(labelLimit=110, labelOverlap=False)


def reach(result: list[Any], here: Any) -> Any:
    """The error that a run will reach over epsilon, likely and in a range, with a mark at the chosen one."""
    kinds = [("columns", _("single columns")), *([("pairs", _("pairs of columns"))] if here.pairs else [])]
    rows = pd.DataFrame(
        [
            {"epsilon": f.epsilon, "of": label, "low": r.low, "likely": r.likely, "high": r.high}
            for key, label in kinds
            for f in result
            for r in [getattr(f, key)]
        ]
    )
    x = alt.X(
        "epsilon:Q",
        scale=alt.Scale(type="log", nice=False),
        title=_("epsilon (more private ← → more accurate)"),
        axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g"),
    )
    y = alt.Scale(type="log", nice=False)
    axis = alt.Axis(format="~%", values=[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    colour = alt.Color(
        "of:N", scale=alt.Scale(domain=[label for _other, label in kinds], range=["#2a9d8f", "#e0762f"]), legend=STROKES
    )
    tips = [
        "of:N",
        alt.Tooltip("epsilon:Q", format="~g"),
        *(alt.Tooltip(f"{n}:Q", format=".2%") for n in ("low", "likely", "high")),
    ]
    base = alt.Chart(rows)
    band = base.mark_area(opacity=0.18).encode(
        x=x, y=alt.Y("low:Q", scale=y, title=None, axis=axis), y2="high:Q", color=colour
    )
    height = alt.Y("likely:Q", scale=y, title=_("rows in the wrong place"), axis=axis)
    line = base.mark_line(strokeWidth=2.5).encode(x=x, y=height, color=colour, tooltip=tips)
    mine = rows[rows["epsilon"] == here.epsilon]
    dots = (
        alt.Chart(mine)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(x=x, y=alt.Y("likely:Q", scale=y), color=colour, tooltip=tips)
    )
    rule = alt.Chart(mine[:1]).mark_rule(strokeDash=[4, 4], color="#8793a6").encode(x=x)
    message = "; ".join(
        f"{label} {100 * r.likely:.2g} % ({phrase(r.in_words)})" for key, label in kinds for r in [getattr(here, key)]
    )
    return alt.layer(band, line, rule, dots).properties(
        height=330,
        title=alt.TitleParams(_("What the result will show, 9 times of 10"), anchor="start"),
        description=_(
            "Rows in the wrong place, falling from epsilon {epsilon:g} to {epsilon2:g}. At epsilon {epsilon3:g}: "
            "{reported}."
        ).format(epsilon=result[0].epsilon, epsilon2=result[-1].epsilon, epsilon3=here.epsilon, reported=message),
    )


def losses(points: tuple[tuple[float, float], ...]) -> Any:
    """Training loss over the share of the stage that is done."""
    rows = pd.DataFrame(list(points), columns=["done", "loss"])
    scale = alt.Scale(type="log", nice=False) if (rows["loss"] > 0).all() else alt.Scale(zero=False)
    return (
        alt.Chart(rows)
        .mark_line(color="#2a9d8f")
        .encode(
            x=alt.X("done:Q", title=_("part of the stage"), axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("loss:Q", title=_("loss"), scale=scale, axis=alt.Axis(format="~s", tickCount=4, grid=False)),
        )
        .properties(
            height=160,
            description=_("Training loss, from {points:.3g} to {points2:.3g} so far.").format(
                points=points[0][1], points2=points[-1][1]
            ),
        )
    )


def composition(totals: dict[str, float]) -> Any:
    """A dataset's total epsilon under several accountings."""
    rows = pd.DataFrame({"accounting": list(totals), "epsilon": list(totals.values())})
    return (
        alt.Chart(rows)
        .mark_bar(color="#2a9d8f")
        .encode(
            x=alt.X("epsilon:Q", title=_("total epsilon")),
            y=alt.Y("accounting:N", title=None, sort=list(totals), axis=alt.Axis(labelLimit=LABEL)),
            tooltip=["accounting:N", alt.Tooltip("epsilon:Q", format=".3g")],
        )
        .properties(
            height=28 * len(rows) + 60,
            description=_("Total epsilon: {text}.").format(
                text="; ".join((f"{name} {total:.3g}" for name, total in totals.items()))
            ),
        )
    )


HIGH = 84  # pixels of a small chart
CELL = "cell"  # the selection of a map that can be clicked
COLD, ZERO, WARM = "#2763a5", "#f3f0ea", "#b3470f"
SMALL_LEGEND = ":gray[■] real   :orange[▬] synthetic   (each chart on a scale of its own)"


def small(one: Any) -> Any:
    """A column in both tables, without axes: bars for the real one, a line or ticks for the synthetic."""
    shown = one.chart()
    place = np.arange(len(shown.labels))
    rows = pd.DataFrame(
        {
            "at": place,
            "to": place + 1,
            "mid": place + 0.5,
            "value": shown.labels,
            REAL: shown.real,
            SYNTHETIC: shown.synthetic,
        }
    )
    high = max(float(np.max([shown.real, shown.synthetic])), 1e-9)
    x = alt.X("at:Q", axis=None, scale=alt.Scale(domain=[0, max(len(place), 1)], nice=False))
    scale = alt.Scale(domain=[0, high], nice=False)
    tips = [alt.Tooltip("value:N"), *(alt.Tooltip(f"{t}:Q", format=".2%") for t in (REAL, SYNTHETIC))]
    real = (
        alt.Chart(rows)
        .mark_bar(color=COLOURS.range[0], opacity=0.6)
        .encode(x=x, x2="to", y=alt.Y(f"{REAL}:Q", axis=None, scale=scale), y2=alt.datum(0), tooltip=tips)
    )
    return (
        alt.layer(real, _synthetic(rows, shown, x, scale, tips))
        .properties(
            height=HIGH,
            description=described(one),
            title=alt.TitleParams(
                text=mark(),
                anchor="start",
                color="#c4601e",
                fontSize=8,
                fontWeight="normal",
                offset=2,
                limit=200,
            ),
        )
        .configure_view(strokeWidth=0)
    )


def _synthetic(rows: pd.DataFrame, shown: Any, x: Any, scale: Any, tips: list[Any]) -> alt.Chart:
    colour = COLOURS.range[1]
    if shown.edges is None:  # categories: a tick above each bar
        return (
            alt.Chart(rows)
            .mark_rule(color=colour, strokeWidth=3)
            .encode(x=x, x2="to", y=alt.Y(f"{SYNTHETIC}:Q", scale=scale), tooltip=tips)
        )
    last = np.append(shown.synthetic, shown.synthetic[-1:])
    ends = pd.DataFrame({"at": np.append(rows["at"], len(rows)), SYNTHETIC: last})
    return (
        alt.Chart(ends)
        .mark_line(interpolate="step-after", color=colour, strokeWidth=2)
        .encode(x=x, y=alt.Y(f"{SYNTHETIC}:Q", scale=scale))
    )


def association(shown: Any, name: str, *, signed: bool = False) -> alt.Chart:
    """A map of associations; ``signed``: of their difference, in two colours."""
    ends = [-shown.top, 0, shown.top] if signed else [0, 1]
    colours = [COLD, ZERO, WARM] if signed else [ZERO, "#e0762f", "#6d2405"]
    scale = alt.Scale(domain=ends, range=colours, interpolate="rgb")
    lines = cells(shown)
    row, column, value = shown.strongest(outside=True)
    most = _("The largest difference") if signed else _("The strongest")
    return (
        alt.Chart(lines)
        .mark_rect()
        .encode(
            color=alt.Color(
                "share:Q", title=_("difference") if signed else _("association"), scale=scale, legend=ramp()
            ),
            x=alt.X("column:N", title=None, sort=list(shown.columns), axis=slanted(len(shown.columns))),
            y=alt.Y("row:N", title=None, sort=list(shown.rows), axis=upright()),
            tooltip=["row:N", "column:N", alt.Tooltip("share:Q", title=_("association"), format="+.2f")],
        )
        .properties(
            title=title(name),
            height=20 * len(shown.rows) + HEAD + SLANTED,
            description=_(
                "How strongly each two columns go together, {title}. {most}: {row} with {column}, {value:+.2f}. {mark}."
            ).format(title=name, most=most, row=row, column=column, value=value, mark=mark()),
        )
    )


def pickable(chart: alt.Chart) -> alt.Chart:
    """The map with cells that can be clicked."""
    return chart.add_params(alt.selection_point(name=CELL, fields=["row", "column"]))
