"""What a run of several tables would ask and how exact it would be: from public facts alone, beside the server."""

from typing import Any

import streamlit as st

from app.run import forecast
from app.session import frame, words
from app.session.state import JOINED, Wizard, facts, joined_method, linked
from synth.languages import Texts, _

FEW = 10_000  # units below which relations between tables are mostly noise
METHODS = Texts(
    {
        "mixture": "mixture: relations within and between rows as well",
        "independent": "independent: each column and numbers of rows alone, the baseline",
    }
)
COVERED = 0.5  # an expected error from which on noise covers what is asked


def head(w: Wizard) -> None:
    """How several tables, or one whose persons keep their rows, are made."""
    w.method = st.radio(
        _("Method"),
        JOINED,
        index=JOINED.index(joined_method(w)),
        key="joined_method",
        format_func=lambda n: _(METHODS[n]),
        help=_("Both for the same price. Relations that noise hides are none in either."),
    )
    if joined_method(w) != JOINED[0]:
        st.subheader(_("What to expect"), anchor=False)
        return
    if linked(w):
        st.markdown(
            _(
                "**mixture** counts single columns, pairs of them, numbers of rows of one person and rows of one "
                "person with each other, and fits one model to all."
            )
        )
        st.subheader(_("What to expect"), anchor=False)
        return
    st.markdown(
        _(
            "**mixture** counts single columns, pairs within and across tables, numbers of children and rows of one "
            "parent with each other, and fits one model to all."
        )
    )
    st.subheader(_("What to expect"), anchor=False)


def shown(w: Wizard) -> None:
    """What to expect, once it is known. Errors: UsageError, InputError."""
    plan = forecast.forecast(w)
    if plan is None:
        st.info(
            _("The forecast takes too long here. The run can be made all the same; nothing was spent."),
            icon=":material/hourglass_empty:",
        )
        return
    st.table(_errors(plan), hide_index=True)
    st.caption(
        _(
            "Share of rows that noise alone puts into the wrong place, at most; the fitted model averages much of it "
            "out. “Noise covers it”: {covered:.0f} % and more."
        ).format(covered=100 * COVERED),
        help=_(
            "Computed on made-up tables of the size you gave; yours are not read. Where noise covers a relation, "
            "little of it will show, whatever the method."
        ),
    )
    if w.rows < FEW:
        root = _("persons") if linked(w) else frame.escape(facts(w)[0].root)
        st.warning(
            _(
                "With about {rows:,} rows of {root}, expect single columns and numbers of children to come out "
                "well, but hardly any relation between rows or tables."
            ).format(rows=w.rows, root=root),
            icon=":material/info:",
        )


def _errors(plan: Any) -> dict[str, list[str]]:
    """A line for each table and what is asked of it, the root first."""
    order = list(dict.fromkeys(a.table for a in plan.asked))
    lines = sorted(plan.asked, key=lambda a: order.index(a.table))
    return {
        _("Table"): [frame.escape(a.table) for a in lines],
        _("Asked"): [frame.escape(a.about) for a in lines],
        _("Error"): [_("noise covers it") if a.error >= COVERED else words.at_most(a.error) for a in lines],
    }


def stages(plan: Any) -> dict[str, list[str]]:
    """What the spend asks for, a line for each table and kind."""
    return {
        _("Asks for"): [frame.escape(f"{a.table}: {a.about}") for a in plan.asked],
        _("Tables"): [f"{a.tables:,}" for a in plan.asked],
        _("Cells"): [f"{a.cells:,}" for a in plan.asked],
        _("Noise"): [_span(words.count(a.sigma_least), words.count(a.sigma_most)) for a in plan.asked],
    }


def _span(least: str, most: str) -> str:
    return least if least == most else _("{least} to {most}").format(least=least, most=most)
