"""More rows from a finished run's model, also under conditions: free."""

import secrets
from pathlib import Path

import streamlit as st

import synth
from app.result import releasing
from app.run import runs
from app.session import access, frame
from app.session.aside import TooLongError, worker
from app.table import conditions
from synth.app_api import jobs
from synth.languages import _

MOST_ROWS = 2_000_000
PATIENCE = 300.0


def section(job: jobs.Job, place: Path, schema: synth.Schema) -> None:
    """How many rows, which, and the download."""
    frame.fold(_("More rows from the same model, free"), "more_open", lambda: _ask(job, place, schema))


def _ask(job: jobs.Job, place: Path, schema: synth.Schema) -> None:
    st.markdown(_("Drawing from the model costs no budget: it never looks at the real rows again."))
    columns = schema.model_dump(mode="json", exclude_none=True)["columns"]
    where = conditions.ask(
        columns,
        key="where",
        label=_("Only rows with (optional)"),
        help_text=_("Conditions that every drawn row meets, such as women over 65."),
    )
    count = st.number_input(
        _("How many persons, each with all rows") if runs.is_joined(job) else _("How many rows"),
        1,
        MOST_ROWS,
        10_000,
        step=1000,
        key="more_rows",
        help=_("Up to {most_rows:,} here; the command line knows no limit.").format(most_rows=MOST_ROWS),
    )
    if st.button(_("Draw them"), key="draw", icon=":material/casino:"):
        _draw(job, place, int(count), where)
    made = st.session_state.get("more")
    if made is not None and made[0] == str(job.path) and Path(made[1]).is_file():
        _offer(job, *made[1:])


def _draw(job: jobs.Job, place: Path, count: int, where: dict[str, str]) -> None:
    releasing.allow("draw", job)
    out = job.path / f"more-{secrets.token_hex(4)}.csv"
    try:
        with st.spinner(_("Drawing")):
            rows, probability = worker.ask(
                "sampled",
                str(place / "model.json"),
                num_rows=count,
                where=where,
                out=str(out),
                dialect=st.session_state.get("csv_dialect", "plain"),
                seconds=PATIENCE,
            )
    except TooLongError:
        raise synth.InputError(_("drawing takes too long here; ask for fewer rows")) from None
    if (before := st.session_state.get("more")) is not None:
        Path(before[1]).unlink(missing_ok=True)
    st.session_state["more"] = (str(job.path), str(out), rows, probability, where)


def _bytes(job: jobs.Job, file: str) -> bytes:
    releasing.allow("draw", job)
    return Path(file).read_bytes()


def _offer(job: jobs.Job, file: str, rows: int, probability: float, where: dict[str, str]) -> None:
    if where:
        said = frame.escape(conditions.in_words(where))
        st.markdown(
            _(
                "**{probability:.3g} %** of the rows are expected to meet: {said}. This is the model's figure, "
                "not a count of real rows."
            ).format(probability=100 * probability, said=said)
        )
    st.download_button(
        _("Download {rows:,} rows (CSV)").format(rows=rows),
        access.later(_bytes, job, file),
        "more.csv",
        "text/csv",
        key="get_more",
        on_click="ignore",
        icon=":material/download:",
        help=_("A table like the one above."),
    )
