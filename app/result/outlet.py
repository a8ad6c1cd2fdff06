"""Synthetic rows put into a database: free, drawn from the model; only where the installation allows writing."""

import json
import re

import streamlit as st

import synth
from app.result import releasing
from app.session import access, frame
from app.table import database, work
from synth.app_api import jobs
from synth.languages import _

NAME = re.compile(r"[A-Za-z_]\w{0,62}")


def section(job: jobs.Job, model: str) -> None:
    """Which database, which name; nothing where there is no database to write to."""
    places = {f"@{d.name}": d.shown for d in database.offered(writing=True)}
    own = job.request().get("source")
    if own and access.me().alone and not own.startswith("@"):
        places[own] = own
    if not places:
        return
    frame.fold(_("Put a synthetic table into a database, free"), "outlet", lambda: _ask(job, model, places))


def _ask(job: jobs.Job, model: str, places: dict[str, str]) -> None:
    st.markdown(_("Rows are drawn from the model and sent as a new table. It costs no budget."))
    source = st.selectbox(
        _("Database"),
        list(places),
        key="out_source",
        help=_("Databases that may be written to."),
        format_func=lambda s: f"{s} ({places[s]})" if s.startswith("@") else s,
    )
    name = st.text_input(
        _("Name of the new table"),
        value=_usual(job),
        key="out_table",
        help=_("Letters, digits and _; no table of this name may be there yet."),
    )
    count = st.number_input(
        _("Synthetic rows"),
        1,
        value=int(job.result()["num_rows"]),
        step=1000,
        key="out_rows",
        help=_("As many as the synthetic table has, or another number."),
    )
    if not NAME.fullmatch(name.strip()):
        st.caption(_("Choose a name of letters, digits and _, beginning with a letter."))
    elif st.button(_("Write it"), key="out_write", icon=":material/database_upload:"):
        _write(job, model, source, name.strip(), int(count))


def _write(job: jobs.Job, model: str, source: str, name: str, count: int) -> None:
    try:
        allow(job, source)
        with st.spinner(_("Drawing and sending rows")):
            reported = work.answer(
                "sample", model, "--num-rows", str(count), "--source", source, "--out-table", name, "--json"
            )
    except synth.SynthError as error:
        frame.tell(error)
        return
    st.success(
        _("{num_rows:,} synthetic rows are in {name}.").format(
            num_rows=json.loads(reported)["num_rows"], name=frame.escape(name)
        ),
        icon=":material/check_circle:",
    )


def allow(job: jobs.Job, source: str) -> None:
    """Errors: UsageError where the visitor may not put rows of this run there."""
    who = releasing.allow("write_out", job)
    if not (who.alone or any(f"@{d.name}" == source for d in database.offered(writing=True))):
        raise synth.UsageError(
            _("{source}: no database that you may write to; choose one that is offered").format(source=source)
        )


def _usual(job: jobs.Job) -> str:
    return re.sub(r"\W+", "_", f"{job.request()['dataset']}_synthetic").lower()
