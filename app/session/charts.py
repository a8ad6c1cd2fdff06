"""Charts: bars, maps and curves. Those of a comparison bear their own mark, so that a saved picture says whom it is
for."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from app.session import words
from synth.languages import _, numerals, prose

REAL, SYNTHETIC = "real", "synthetic"
GAP = "synthetic minus real"
GREY, ORANGE, GREEN = "#8793a6", "#e0762f", "#2a9d8f"
SHADES, SIGNED = ("#f3f0ea", ORANGE, "#6d2405"), ("#2763a5", "#f3f0ea", "#b3470f")
MARKED = "#c4601e"
MARK = "steward only, not for release"
_marked: ContextVar[str] = ContextVar("marked", default="")
DAY = 86_400  # seconds
LABEL = 180  # widest label of an axis, pixels
HEAD = 190  # pixels that title, mark, legend and the horizontal axis take of a chart's height
CROWDED = 15  # columns of a map, above which names at a slant run into each other beside another map
SLANTED = 110  # pixels more where the horizontal axis has slanted labels and a title
HIGH = 84  # pixels of a small chart
CELL = "cell"  # the selection of a map that can be clicked
SMALL_LEGEND = ":gray[■] real   :orange[▬] synthetic   (each chart on a scale of its own)"


def in_language(chart: Any) -> Any:
    """A chart whose numbers are written as in the page's language."""
    held = {} if chart.config is alt.Undefined else chart.config.to_dict()
    marks = {"decimal": numerals("."), "thousands": numerals(","), "grouping": [3], "currency": ["", ""]}
    drawn = chart.copy(deep=False)
    drawn.config = alt.Config.from_dict(held | {"locale": {"number": marks}})
    return drawn


def draw(place: Any, chart: Any, **how: Any) -> Any:
    """A chart in a place of the page; what was chosen in it."""
    return place.altair_chart(in_language(chart), **how)


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


def both() -> dict[str, str]:
    """What the two tables are called, and the colour of each."""
    return {_(REAL): GREY, _(SYNTHETIC): ORANGE}


def headed(text: str, *, below: str | None = None) -> alt.TitleParams:
    """A chart's title with the mark under it, or with other words."""
    return alt.TitleParams(text=text, subtitle=mark() if below is None else below, anchor="start", subtitleColor=MARKED)


def _legend(**more: Any) -> alt.Legend:
    return alt.Legend(title=None, orient="top", direction="horizontal", **more)


def _tips(names: Mapping[str, str], *, format: str = ".2%") -> list[alt.Tooltip]:
    """What is told of a mark: fields with their titles; those of numbers end in :Q."""
    written = {n: format if n.endswith(":Q") else alt.Undefined for n in names}
    return [alt.Tooltip(n, title=t, format=written[n]) for n, t in names.items()]


def bars(
    labels: Sequence[str], parts: Mapping[str, Any], *, axis: str, colours: Sequence[str], format: str = "~%"
) -> alt.Chart:
    """Bars for each label, one for each part, the parts' shares beside each other; ``axis``: what they measure."""
    rows = pd.concat(
        [pd.DataFrame({"value": list(labels), "of": name, "share": shares}) for name, shares in parts.items()]
    )
    scale = alt.Scale(domain=list(parts), range=list(colours))
    told = {"value:N": _("value"), **({"of:N": _("table")} if len(parts) > 1 else {}), "share:Q": axis}
    return (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title=axis, axis=alt.Axis(format=format, tickCount=6)),
            y=alt.Y("value:N", title=None, sort=list(labels), axis=alt.Axis(labelLimit=LABEL)),
            yOffset=alt.YOffset("of:N", sort=list(parts)),
            color=alt.Color("of:N", scale=scale, legend=_legend() if len(parts) > 1 else None),
            tooltip=_tips(told, format=".2%" if format == "~%" else format),
        )
        .properties(height=26 * len(labels) + (HEAD if len(parts) > 1 else 60))
    )


def heat(
    shown: Any,
    *,
    colour: str,
    names: tuple[str, str] | None = None,
    signed: bool = False,
    power: float = 1.0,
    format: str = ".1%",
    high: int = 22,
    beside: Mapping[str, np.ndarray] = {},
) -> alt.Chart:
    """A map: rows and columns with a shade in each cell. ``colour``: what it tells; ``signed``: it has two colours;
    ``names``: what rows and columns are, where they are values; ``beside``: figures that are told of a cell as well,
    by title, each of the map's shape."""
    rows, columns = (list(labels) for labels in (shown.rows, shown.columns))
    crowded = names is None and len(columns) > CROWDED  # only as many are named as there is room for
    below = alt.Axis(labelAngle=-90 if crowded else -45, labelLimit=110, labelOverlap="greedy" if crowded else False)
    scale = alt.Scale(
        type="pow" if power != 1 else "linear",
        domain=[-shown.top, 0, shown.top] if signed else [0, shown.top],
        range=SIGNED if signed else SHADES,
        interpolate="rgb",
        exponent=power if power != 1 else alt.Undefined,
    )
    legend = alt.Legend(orient="top", format=format, gradientLength=160, direction="horizontal")
    down, across = names or (_("column"), _("with"))
    return (
        alt.Chart(cells(shown).assign(**{n: figures.ravel() for n, figures in beside.items()}))
        .mark_rect()
        .encode(
            x=alt.X("column:N", title=names and across, sort=columns, axis=below),
            y=alt.Y("row:N", title=names and down, sort=rows, axis=alt.Axis(labelLimit=110, labelOverlap=False)),
            color=alt.Color("share:Q", title=colour, scale=scale, legend=legend),
            tooltip=[
                *_tips({"row:N": down, "column:N": across, "share:Q": colour}, format=format),
                *_tips({f"{n}:Q": n for n in beside}),
            ],
        )
        .properties(height=high * len(rows) + HEAD + SLANTED)
    )


def cells(shown: Any) -> pd.DataFrame:
    """A matrix as a table with a line for each cell."""
    return pd.DataFrame(
        {
            "row": np.repeat(shown.rows, len(shown.columns)),
            "column": np.tile(shown.columns, len(shown.rows)),
            "share": shown.values.ravel(),
        }
    )


def one_way(result: Any) -> Any:
    """Shares of one column in both tables: bars for categories, overlaid bins for numbers and dates."""
    shown = result.chart()
    if shown.edges is None:
        names = both()
        parts = dict(zip(names, (shown.real, shown.synthetic), strict=True))
        chart: Any = bars(shown.labels, parts, axis=_("share of rows"), colours=list(names.values()))
    else:
        chart = _bins(shown, dates=result.kind == "dates")
    return chart.properties(title=headed(result.column), description=described(result))


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


def _bins(shown: Any, *, dates: bool) -> Any:
    edges = pd.to_datetime(shown.edges, unit="s") if dates else shown.edges
    bins = pd.DataFrame(
        {"from": edges[:-1], "to": edges[1:], "label": shown.labels, REAL: shown.real, SYNTHETIC: shown.synthetic}
    )
    names = both()
    real, synthetic = names
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(names), range=list(names.values())), legend=_legend())
    tips = _tips({"label:N": _("values"), f"{REAL}:Q": real, f"{SYNTHETIC}:Q": synthetic})
    # each date with its year: a table's dates often span several
    days = "%Y-%m-%d" if shown.edges[-1] - shown.edges[0] < 90 * DAY else "%Y-%m"
    axis = alt.Axis(format=days, tickCount=6, labelOverlap=True) if dates else alt.Axis()
    x = alt.X(f"from:{'T' if dates else 'Q'}", title=None, axis=axis, scale=alt.Scale(zero=False, nice=False))
    y = alt.Y(f"{REAL}:Q", title=_("share of rows"), axis=alt.Axis(format="%"))
    ends = pd.DataFrame({"from": edges, SYNTHETIC: np.append(shown.synthetic, shown.synthetic[-1])})
    return alt.layer(
        alt.Chart(bins)
        .mark_bar(opacity=0.55, binSpacing=0)
        .encode(x=x, x2="to", y=y, y2=alt.datum(0), color=colour, tooltip=tips)
        .transform_calculate(kind=f"'{real}'"),
        alt.Chart(ends)
        .mark_line(interpolate="step-after", strokeWidth=2.5)
        .encode(x=x, y=f"{SYNTHETIC}:Q", color=colour)
        .transform_calculate(kind=f"'{synthetic}'"),
    ).properties(height=340)


def rest(result: Any) -> str:
    """Shares of what is not drawn (missing codes of a number, the rarer categories), in words; empty where all is."""
    return "; ".join(
        _("{label}: {r:.1f} % of the real rows, {s:.1f} % of the synthetic").format(label=label, r=100 * r, s=100 * s)
        for label, r, s in result.chart().rest
    )


def two_way(result: Any, names: tuple[str, str], table: str) -> alt.Chart:
    """Shares of two columns together in one of the tables, on a scale that both tables share."""
    shown = result.charts()[table]
    said = _(
        "Shares of {names} with {names2} in the {table} table; the largest is {largest}. {distance:.1f} % of "
        "the rows differ between the tables. {mark}."
    )
    told = {"names": names[0], "names2": names[1], "table": _(table), "largest": _largest(shown), "mark": mark()}
    return heat(shown, colour=_("share of rows"), names=names, power=0.5, format=".2%").properties(
        title=headed(_("{table} table").format(table=_(table))),
        description=said.format(distance=100 * result.distance, **told),
    )


def pairs(result: Any) -> alt.Chart:
    """Distance of each pair of columns; a column's own distance on the diagonal."""
    shown, _other = result.chart()
    return heat(shown, colour=_("rows that would have to change"), high=24).properties(
        title=headed(_("Distance of pairs")),
        description=_(
            "Distance of each two columns between the real and the synthetic table, on average {pairs_mean:.1f} "
            "% of rows; the worst is {largest}. {mark}."
        ).format(pairs_mean=100 * result.pairs_mean, largest=_largest(shown, outside=True), mark=mark()),
    )


def _largest(shown: Any, *, outside: bool = False) -> str:
    """The largest cell of a map in words."""
    row, column, share = shown.strongest(outside=outside)
    return _("{row} with {column}, {share:.1f} %").format(row=row, column=column, share=100 * share)


def association(shown: Any, name: str, *, signed: bool = False) -> alt.Chart:
    """A map of associations; ``signed``: of their difference, in two colours."""
    row, column, value = shown.strongest(outside=True)
    most = _("The largest difference") if signed else _("The strongest")
    told = _("difference") if signed else _("association")
    said = _("How strongly each two columns go together, {title}. {most}: {row} with {column}, {value:+.2f}. {mark}.")
    return heat(shown, colour=told, signed=signed, format="+.2f" if signed else ".2f", high=20).properties(
        title=headed(name),
        description=said.format(title=name, most=most, row=row, column=column, value=value, mark=mark()),
    )


def pickable(chart: alt.Chart) -> alt.Chart:
    """The map with cells that can be clicked."""
    return chart.add_params(alt.selection_point(name=CELL, fields=["row", "column"]))


def reach(result: list[Any], here: Any) -> Any:
    """The error that a run will reach over epsilon, likely and in a range, with a mark at the chosen one."""
    kinds = {"columns": _("single columns")} | ({"pairs": _("pairs of columns")} if here.pairs else {})
    rows = pd.DataFrame(
        [
            {"epsilon": f.epsilon, "of": label, "low": r.low, "likely": r.likely, "high": r.high}
            for key, label in kinds.items()
            for f in result
            for r in [getattr(f, key)]
        ]
    )
    scale = alt.Scale(type="log", nice=False)
    x = alt.X(
        "epsilon:Q",
        scale=scale,
        title=_("epsilon (more private ← → more accurate)"),
        axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g"),
    )
    axis = alt.Axis(format="~%", values=[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    strokes = _legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)
    colour = alt.Color("of:N", scale=alt.Scale(domain=list(kinds.values()), range=[GREEN, ORANGE]), legend=strokes)
    ends = {"low:Q": _("at least"), "likely:Q": _("likely"), "high:Q": _("at most")}
    tips = [alt.Tooltip("of:N", title=_("of")), alt.Tooltip("epsilon:Q", format="~g"), *_tips(ends)]
    base, mine = alt.Chart(rows), alt.Chart(rows[rows["epsilon"] == here.epsilon])
    band = base.mark_area(opacity=0.18).encode(
        x=x, y=alt.Y("low:Q", scale=scale, title=None, axis=axis), y2="high:Q", color=colour
    )
    height = alt.Y("likely:Q", scale=scale, title=_("rows that would have to change"), axis=axis)
    line = base.mark_line(strokeWidth=2.5).encode(x=x, y=height, color=colour, tooltip=tips)
    dots = mine.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=height, color=colour, tooltip=tips)
    rule = mine.mark_rule(strokeDash=[4, 4], color=GREY).encode(x=x)
    message = "; ".join(
        f"{label} {words.share(r.likely)} ({words.between(r.low, r.high)})"
        for key, label in kinds.items()
        for r in [getattr(here, key)]
    )
    return alt.layer(band, line, rule, dots).properties(
        height=330,
        title=alt.TitleParams(_("What the result will show, 9 times of 10"), anchor="start"),
        description=_(
            "Rows that would have to change, fewer from epsilon {epsilon:g} to {epsilon2:g}. At epsilon "
            "{epsilon3:g}: {reported}."
        ).format(epsilon=result[0].epsilon, epsilon2=result[-1].epsilon, epsilon3=here.epsilon, reported=message),
    )


def losses(points: tuple[tuple[float, float], ...]) -> Any:
    """Training loss over the share of the stage that is done."""
    rows = pd.DataFrame(list(points), columns=["done", "loss"])
    scale = alt.Scale(type="log", nice=False) if (rows["loss"] > 0).all() else alt.Scale(zero=False)
    done = alt.X("done:Q", title=_("part of the stage"), axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    height = alt.Y("loss:Q", title=_("loss"), scale=scale, axis=alt.Axis(format="~g", tickCount=4, grid=False))
    said = _("Training loss, from {points:.3g} to {points2:.3g} so far.").format(
        points=points[0][1], points2=points[-1][1]
    )
    return alt.Chart(rows).mark_line(color=GREEN).encode(x=done, y=height).properties(height=160, description=said)


def small(one: Any) -> Any:
    """A column in both tables, without axes: bars for the real one, a line or ticks for the synthetic."""
    shown, names = one.chart(), list(both())
    place = np.arange(len(shown.labels))
    rows = pd.DataFrame(
        {"at": place, "to": place + 1, "value": shown.labels, REAL: shown.real, SYNTHETIC: shown.synthetic}
    )
    high = max(float(np.max([shown.real, shown.synthetic])), 1e-9)
    x = alt.X("at:Q", axis=None, scale=alt.Scale(domain=[0, max(len(place), 1)], nice=False))
    scale = alt.Scale(domain=[0, high], nice=False)
    tips = _tips({"value:N": _("value"), f"{REAL}:Q": names[0], f"{SYNTHETIC}:Q": names[1]})
    level = alt.Y(f"{SYNTHETIC}:Q", scale=scale)
    real = (
        alt.Chart(rows)
        .mark_bar(color=GREY, opacity=0.6)
        .encode(x=x, x2="to", y=alt.Y(f"{REAL}:Q", axis=None, scale=scale), y2=alt.datum(0), tooltip=tips)
    )
    if shown.edges is None:  # categories: a tick above each bar
        over = alt.Chart(rows).mark_rule(color=ORANGE, strokeWidth=3).encode(x=x, x2="to", y=level, tooltip=tips)
    else:
        last = np.append(shown.synthetic, shown.synthetic[-1:])
        ends = pd.DataFrame({"at": np.append(place, len(place)), SYNTHETIC: last})
        over = alt.Chart(ends).mark_line(interpolate="step-after", color=ORANGE, strokeWidth=2).encode(x=x, y=level)
    small_print: dict[str, Any] = {"color": MARKED, "fontSize": 8, "fontWeight": "normal", "offset": 2, "limit": 200}
    title, drawn = alt.TitleParams(text=mark(), anchor="start", **small_print), alt.layer(real, over)
    return drawn.properties(height=HIGH, description=described(one), title=title).configure_view(strokeWidth=0)


def changes(rows: list[dict[str, Any]]) -> Any:
    """Changes of shares between two releases, a dot with its interval for each."""
    sure, unsure = _("changed"), _("may be noise")
    figures = ("before", "after", "change", "low", "high")
    table = pd.DataFrame(
        [
            {"what": f"{r['column']}: {prose(r['value'])}", "sure": sure if r["sure"] else unsure}
            | {n: r[n] for n in figures}
            for r in rows
        ]
    )
    colour = alt.Color("sure:N", scale=alt.Scale(domain=[sure, unsure], range=[ORANGE, GREY]), legend=_legend())
    y = alt.Y("what:N", title=None, sort=list(table["what"]), axis=alt.Axis(labelLimit=220))
    spans_told = {"change:Q": _("change"), "low:Q": _("at least"), "high:Q": _("at most")}
    tips = [*_tips({"what:N": _("share")} | spans_told, format="+.1%")]
    tips += _tips({"before:Q": _("before"), "after:Q": _("after")}, format=".1%")
    x = alt.X("low:Q", title=_("change of the share"), axis=alt.Axis(format="+~%", tickCount=6))
    base = alt.Chart(table)
    spans = base.mark_rule(strokeWidth=3, opacity=0.5).encode(x=x, x2="high:Q", y=y, color=colour)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x="change:Q", y=y, color=colour, tooltip=tips)
    zero = alt.Chart(pd.DataFrame({"change": [0.0]})).mark_rule(strokeDash=[4, 4], color=GREY).encode(x="change:Q")
    largest = "; ".join(f"{r['column']} {r['value']} {100 * r['change']:+.1f} %" for r in rows[:3])
    said = _("Changes of shares with their intervals, the largest: {largest}.")
    return alt.layer(zero, spans, dots).properties(height=24 * len(rows) + 90, description=said.format(largest=largest))
