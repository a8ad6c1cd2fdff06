"""Small charts of columns, and maps of how columns go together; the look is that of ``charts``."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from app.session import charts
from app.session.charts import COLOURS, REAL, SYNTHETIC
from synth.languages import _

HIGH = 84  # pixels of a small chart
CELL = "cell"  # the selection of a map that can be clicked
COLD, ZERO, WARM = "#2763a5", "#f3f0ea", "#b3470f"
LEGEND = ":gray[■] real   :orange[▬] synthetic   (each chart on a scale of its own)"


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
            description=charts.described(one),
            title=alt.TitleParams(
                text=charts.mark(),
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


def association(shown: Any, title: str, *, signed: bool = False) -> alt.Chart:
    """A map of associations; ``signed``: of their difference, in two colours."""
    ends = [-shown.top, 0, shown.top] if signed else [0, 1]
    colours = [COLD, ZERO, WARM] if signed else [ZERO, "#e0762f", "#6d2405"]
    scale = alt.Scale(domain=ends, range=colours, interpolate="rgb")
    cells = charts.cells(shown)
    row, column, value = shown.strongest(outside=True)
    most = _("The largest difference") if signed else _("The strongest")
    return (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            color=alt.Color(
                "share:Q", title=_("difference") if signed else _("association"), scale=scale, legend=charts.ramp()
            ),
            x=alt.X("column:N", title=None, sort=list(shown.columns), axis=charts.slanted(len(shown.columns))),
            y=alt.Y("row:N", title=None, sort=list(shown.rows), axis=charts.upright()),
            tooltip=["row:N", "column:N", alt.Tooltip("share:Q", title=_("association"), format="+.2f")],
        )
        .properties(
            title=charts.title(title),
            height=20 * len(shown.rows) + charts.HEAD + charts.SLANTED,
            description=_(
                "How strongly each two columns go together, {title}. {most}: {row} with {column}, {value:+.2f}. {mark}."
            ).format(title=title, most=most, row=row, column=column, value=value, mark=charts.mark()),
        )
    )


def pickable(chart: alt.Chart) -> alt.Chart:
    """The map with cells that can be clicked."""
    return chart.add_params(alt.selection_point(name=CELL, fields=["row", "column"]))
