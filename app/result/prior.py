"""Where public data was right and where the rows corrected it: released answers only."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from app.session import charts, frame, workers
from synth.languages import _

PATIENCE = 120.0
MOST = 40  # values of a column in one picture


def section(place: Path, card: dict[str, Any]) -> None:
    """A line for each column and pair, and one of them as a picture."""
    if not card.get("priors"):
        return
    st.subheader(_("What was known, and what the rows said"), anchor=False)
    names = ", ".join(p["name"] for p in card["priors"])
    said = _(
        "The public data ({names}) beside the noisy answers and the synthetic table. Released answers only: it may "
        "be published, and stands in the report."
    )
    st.markdown(said.format(names=frame.escape(names)))
    wanted = workers.of_release(place, "app_api.prior_evidence", seconds=PATIENCE)
    workers.then([wanted], st.container(), lambda: _shown(wanted.result()), about=_("Comparing with what was known"))


def _shown(result: list[Any]) -> None:
    if not result:
        st.caption(_("It shares no table with what was asked of the rows, so nothing was taken from it."))
        return
    wrong = [e for e in result if e.corrected]
    said = _(
        "Right, as far as noise lets one see, in **{right} of {all}** columns and pairs; corrected by the rows in "
        "{wrong}."
    )
    st.markdown(said.format(right=len(result) - len(wrong), all=len(result), wrong=len(wrong)))
    shares = {_("Off the answers"): "off", _("by noise and chance"): "by_chance", _("It counted for"): "weight"}
    cells: dict[str, list[Any]] = {_("Columns"): [", ".join(e.columns) for e in result]}
    cells[_("Public data")] = [e.prior for e in result]
    cells |= {title: [100 * getattr(e, share) for e in result] for title, share in shares.items()}
    cells[_("Verdict")] = [_("corrected") if e.corrected else _("right") for e in result]
    config = {title: st.column_config.NumberColumn(format="%.1f %%") for title in shares}
    st.dataframe(cells, hide_index=True, height=min(38 + 35 * len(result), 300), column_config=config)
    at = st.selectbox(
        _("Column or pair"),
        range(len(result)),
        key="evidence_of",
        format_func=lambda i: f"{', '.join(result[i].columns)} ({result[i].prior})",
        help=_("Those that the public data was farthest off first."),
    )
    one = result[at]
    if len(one.columns) == 1:
        charts.draw(st, column(one), key="evidence")
    else:
        charts.draw(st, pair(one), key="evidence_pair")
    said = _(
        "Off the answers: {off:.1f} % of the rows, of which noise and chance explain {chance:.1f} %. It counted "
        "for {weight:.0f} % of the estimate; the synthetic table is {rest:.1f} % off the answers."
    )
    st.caption(said.format(off=100 * one.off, chance=100 * one.by_chance, weight=100 * one.weight, rest=100 * one.rest))


def column(one: Any) -> Any:
    """Shares of a column's values: known before, released, and in the synthetic table."""
    parts = {_("known before"): one.known, _("synthetic"): one.made}
    order = np.sort(np.argsort(-np.maximum(one.known, one.made))[:MOST])
    labels = [one.labels[0][i] for i in order]
    spread = 2 * one.deviation[order]
    released = {n: np.maximum(one.released[order] + k * spread, 0) for n, k in (("share", 0), ("low", -1), ("high", 1))}
    axis = _("share of rows")
    drawn = charts.bars(
        labels, {n: shares[order] for n, shares in parts.items()}, axis=axis, colours=(charts.GREY, charts.ORANGE)
    )
    base = alt.Chart(pd.DataFrame({"value": labels, **released})).encode(y=alt.Y("value:N", sort=labels))
    noise = base.mark_rule(color=charts.GREEN, strokeWidth=2).encode(x="low:Q", x2="high:Q")
    answer = base.mark_point(filled=True, color=charts.GREEN, size=60, opacity=1).encode(
        x="share:Q",
        tooltip=[alt.Tooltip("value:N", title=_("value")), alt.Tooltip("share:Q", title=_("answer"), format=".1%")],
    )
    below = _("dots: the noisy answers, with two deviations of noise and chance")
    said = _("{columns}: known before, the noisy answers, and the synthetic table. {off:.1f} % apart.")
    return alt.layer(drawn, noise, answer).properties(
        height=30 * len(labels) + 90,
        title=charts.headed(one.columns[0], below=below),
        description=said.format(columns=one.columns[0], off=100 * one.off),
    )


def pair(one: Any) -> Any:
    """By how much the answers of a pair depart from what was known, cell by cell."""
    gap, (rows, columns) = one.released - one.known, one.labels
    most = max(float(np.abs(gap).max()), 1e-6)
    shown = SimpleNamespace(rows=rows, columns=columns, values=gap, top=most)
    told = _("answer minus known")
    beside = {_("known before"): one.known, _("answer"): one.released, _("synthetic"): one.made}
    chart = charts.heat(shown, colour=told, names=one.columns, signed=True, format="+.1%", high=24, beside=beside)
    said = _("{columns}: the noisy answers minus what was known, at most {most:.1f} % of rows in a cell.")
    return chart.properties(
        title=charts.headed(_("What the answers say beyond what was known"), below=""),
        description=said.format(columns=", ".join(one.columns), most=100 * most),
    )
