"""A dataset's total privacy loss under several ways of adding up, as the command line computes it."""

import json
from typing import Any

import streamlit as st

import synth
from app.run import datasets
from app.session import access, charts, frame
from app.table import work
from synth.languages import Texts, _

WAYS = Texts(
    {
        "basic": "sum (what the cap counts)",
        "advanced": "advanced composition",
        "zcdp": "zero-concentrated DP",
        "rdp": "Rényi DP",
        "exact": "exact",
    }
)  # in the order shown


ASKED = "composition of"


def _remember(name: str) -> None:
    st.session_state[ASKED] = name


def section(names: list[str]) -> None:
    """A chart for one dataset, worked out when asked for."""
    with st.expander(_("What all runs on a dataset cost together")):
        st.caption(
            _(
                "Ways to add up the privacy loss of the runs, all at the same total delta. The cap counts the "
                "plain sum, which is valid even if later runs were chosen after seeing earlier results. The "
                "others hold for runs that were planned beforehand; the smallest is the best bound; methods made "
                "for many runs are coarse for a few."
            ),
            help=_(
                "In the terms of the field: composition theorems. “Exact” follows all noise together through the "
                "privacy profile."
            ),
        )
        name = st.selectbox(_("Dataset"), names, key="composed", help=_("The dataset whose runs are added up."))
        # remembered, so that a page drawn again meanwhile (a run that ends, say) does not lose what was asked
        st.button(_("Work it out"), key="compose", icon=":material/functions:", on_click=_remember, args=(name,))
        if st.session_state.get(ASKED) != name:
            return
        access.allow("compose")
        if not datasets.seen([name]):
            raise synth.UsageError(_("{name}: no dataset of yours; choose one of the list").format(name=name))
        with st.spinner(_("Adding up")):
            totals = _totals(name)
        if not totals:
            st.info(_("Nothing was spent on this dataset yet."), icon=":material/info:")
            return
        st.altair_chart(charts.composition(totals), key="composition")
        least = min(totals, key=lambda k: totals[k])
        st.markdown(
            _(
                "All runs on {name} together: epsilon **{totals:.4g}** as the cap counts, **{totals2:.4g}** if "
                "all were planned beforehand."
            ).format(name=frame.escape(name), totals=totals[WAYS["basic"]], totals2=totals[least])
        )
        st.caption("; ".join(_("{k}: epsilon {v:.4g}").format(k=frame.escape(k), v=v) for k, v in totals.items()))


def _totals(name: str) -> dict[str, float]:
    """Total epsilon by way of adding up; the sum and the exact figure where the others are not offered."""
    try:
        result: Any = json.loads(work.answer("ledger", "composition", "--dataset", name, "--json"))
        given = result["datasets"][0]["steps"][-1]
        totals = {WAYS[k]: float(given[k]) for k in WAYS if isinstance(given.get(k), int | float)}
        if totals:
            return totals
    except (synth.SynthError, ValueError, KeyError, IndexError, AttributeError):
        pass
    shown = json.loads(work.answer("ledger", "show", "--dataset", name, "--json"))["datasets"]
    if not shown or not shown[0]["runs"]:
        return {}
    exact = shown[0].get("epsilon_exact")
    return {WAYS["basic"]: shown[0]["epsilon"]} | ({WAYS["exact"]: exact} if exact is not None else {})
