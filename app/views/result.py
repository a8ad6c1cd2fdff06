"""Step 5: the synthetic table, its guarantee, downloads, and the steward's comparison."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app import comparison, frame, recent, words, work
from app.state import ready, wizard
from synth import jobs

MOST_ROWS = 2_000_000
CSV, PARQUET, ZIP, JSON = "text/csv", "application/vnd.apache.parquet", "application/zip", "application/json"


def page() -> None:
    """What came out of the chosen run."""
    frame.head("result", "The synthetic table and everything that may go with it.")
    w = wizard()
    if not ready(w)["result"] or w.job is None:
        frame.needs("result", "There is no result yet. A run makes one.", "run" if ready(w)["run"] else "data")
        recent.table()
        return
    job = jobs.Job(w.job)
    place = work.release(job)
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    schema = synth.load(place / "schema.json")
    _summary(job, card)
    _preview(place)
    _downloads(place, schema)
    _more(job, place)
    comparison.section(job, place, schema)
    recent.table()


def _summary(job: jobs.Job, card: dict[str, Any]) -> None:
    result = job.result()
    for line in work.warnings(job):
        st.warning(frame.escape(frame.sentence(line)), icon=":material/warning:")
    with st.container(horizontal=True):
        st.metric(
            "Synthetic rows",
            f"{result['num_rows']:,}",
            border=True,
            width=170,
            help="As many as the table has, up to noise, unless its number of rows is public.",
        )
        st.metric("Epsilon", f"{card['epsilon']:g}", border=True, width=140, help="The privacy loss of the whole run.")
        st.metric(
            "Delta",
            words.small(card["delta"]),
            border=True,
            width=140,
            help="Probability that the promise of epsilon does not hold.",
        )
        st.metric("Time", f"{result['seconds_total']:.1f} s", border=True, width=140, help="From start to end.")
    st.success(
        f"**The guarantee:** {frame.escape(card['meaning'])}, however much else somebody knows. It covers "
        f"{frame.escape(card['relation_in_words'])}. It holds for everything in the downloads, for any further use of "
        "them, and for rows drawn later from the model.",
        icon=":material/verified_user:",
    )
    line = card["ledger_entry"]
    st.caption(f"Charged to {frame.escape(str(card['dataset']))} in line {line['number']} of the ledger, "
               f"seal {line['hash'][:12]}…, made {recent.when(job)}.")  # fmt: skip


def _preview(place: Path) -> None:
    import pandas as pd

    with st.expander("First rows of the synthetic table"):
        rows = pd.read_csv(place / "synthetic.csv", dtype=str, keep_default_na=False, nrows=50)
        st.dataframe(rows, hide_index=True)


def _downloads(place: Path, schema: synth.Schema) -> None:
    st.subheader("Downloads", anchor=False)
    st.markdown("All of these may be released: they are made from noisy counts and public facts alone.")
    offers: list[tuple[str, Callable[[], bytes], str, str, str, str]] = [
        ("Everything (.zip)", partial(work.bundle, place), "facsimile-release.zip", ZIP, "zip", "All files below."),
        ("Table (CSV)", (place / "synthetic.csv").read_bytes, "synthetic.csv", CSV, "csv", "Opens in any program."),
        ("Table (Parquet)", partial(work.parquet, place / "synthetic.csv", schema), "synthetic.parquet", PARQUET,
         "parquet", "Numbers and dates keep their types; a missing one is empty."),
        ("Card (JSON)", (place / "card.json").read_bytes, "card.json", JSON, "card",
         "The guarantee with all its figures, to be kept with the table."),
        ("Model (.zip)", partial(work.packed, place, work.MODEL), "facsimile-model.zip", ZIP, "model",
         "Draws more rows later, without the real table."),
    ]  # fmt: skip
    with st.container(horizontal=True):
        for label, data, name, mime, key, help_text in offers:
            st.download_button(label, data, name, mime, key=f"get_{key}", on_click="ignore", help=help_text,
                               type="primary" if key == "zip" else "secondary", icon=":material/download:")  # fmt: skip


def _more(job: jobs.Job, place: Path) -> None:
    with st.expander("More rows from the same model, free"):
        st.markdown("Drawing from the model costs no budget: it never looks at the real rows again.")
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        count = left.number_input("How many rows", 1, MOST_ROWS, 10_000, step=1000, key="more_rows",
                                  help=f"Up to {MOST_ROWS:,} here; the command line knows no limit.")  # fmt: skip
        if right.button("Draw them", key="draw"):
            out = job.path / "more.csv"
            with st.spinner("Drawing"):
                synth.sample(place / "model.json", num_rows=int(count), out=out)
            st.session_state["more"] = (str(job.path), int(count))
        made = st.session_state.get("more")
        if made is not None and made[0] == str(job.path):
            data, label = (job.path / "more.csv").read_bytes, f"Download {made[1]:,} more rows (CSV)"
            st.download_button(label, data, "more.csv", CSV, key="get_more", on_click="ignore",
                               icon=":material/download:")  # fmt: skip


page()
