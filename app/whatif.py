"""Other fits to a stored release: another method or other options, free."""

from typing import Any

import streamlit as st

from app import frame, runs, words
from app.forecast import methods
from app.options import ask
from app.state import view, wizard
from synth import jobs


def section(job: jobs.Job, card: dict[str, Any]) -> None:
    """A method and its options for another fit; it stands in line like any run and is charged nothing."""
    with st.expander("What if: another method on the same release, free"):
        st.caption("The release is what was paid for: noisy answers about the table. Fitting something else to them "
                   "reads no row and spends nothing, as often as you like. Listed are the methods that can use "
                   "these answers.")  # fmt: skip
        held = set(card.get("release_kinds", ()))
        about = {m["name"]: m for m in methods() if card["relation"] in m["relations"] and held <= set(m["reads"])}
        names = list(about)
        now = str(card["method"])
        method = st.selectbox("Fit with", names, index=names.index(now) if now in names else 0, key="refit_method",
                              help=words.METHOD_HELP)  # fmt: skip
        st.caption(frame.escape(about[method]["summary"]))
        options = ask(about[method]["options"], {}, key=f"refit_{method}")
        rows = st.number_input("Synthetic rows", min_value=0, value=0, step=1000, key="refit_rows",
                               help="0 for as many as the table has, up to noise.")  # fmt: skip
        if st.button("Fit again, free", key="refit", icon=":material/model_training:"):
            wizard().job = runs.refit(job, method=method, options=options, num_rows=int(rows) or None).path
            st.switch_page(view("run"))
