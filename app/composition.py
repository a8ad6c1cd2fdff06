"""A dataset's total privacy loss under several ways of adding up, as the command line computes it."""

import json
from typing import Any

import streamlit as st

import synth
from app import charts, frame, work

WAYS = {
    "basic": "sum (what the cap counts)",
    "advanced": "advanced composition",
    "zcdp": "zero-concentrated DP",
    "rdp": "Rényi DP",
    "exact": "exact",
}


def section(names: list[str]) -> None:
    """A chart for one dataset, worked out when asked for."""
    with st.expander("What all runs on a dataset cost together"):
        st.caption("The cap counts plain sums, which are always valid. Noise of several runs composes better; "
                   "the exact figure is the smallest true one, at the same total delta.")  # fmt: skip
        name = st.selectbox("Dataset", names, key="composed", help="The dataset whose runs are added up.")
        if not st.button("Work it out", key="compose", icon=":material/functions:"):
            return
        with st.spinner("Adding up"):
            totals = _totals(name)
        if not totals:
            st.info("Nothing was spent on this dataset yet.", icon=":material/info:")
            return
        st.altair_chart(charts.composition(totals), key="composition")
        st.caption("; ".join(f"{frame.escape(k)}: epsilon {v:.4g}" for k, v in totals.items()))


def _totals(name: str) -> dict[str, float]:
    """Total epsilon by way of adding up; the sum and the exact figure where the others are not offered."""
    try:
        found: Any = json.loads(work.answer("ledger", "composition", "--dataset", name, "--json"))
        given = found["datasets"][0]["steps"][-1]
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
