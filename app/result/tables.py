"""What may leave of a release of several tables: a look at each, the downloads, and more rows from the model."""

import io
import shutil
import zipfile
from pathlib import Path

import pandas as pd
import streamlit as st

import synth
from app.result import export, releasing
from app.session import access, frame
from app.session.aside import TooLongError, worker
from app.table import conditions
from synth import app_api
from synth.app_api import jobs
from synth.languages import _

CSV, PARQUET, HTML = "text/csv", "application/vnd.apache.parquet", "text/html"
PAGES = (
    ("Card", "card.html", "The guarantee with all its figures."),
    ("Report", "report.html", "How well the tables keep what was measured."),
)
FIRST, MOST_ROOTS, PATIENCE = 50, 200_000, 300.0


def preview(place: Path) -> None:
    """The first rows of one of the tables."""
    names = list(app_api.load_related(place / "schema.json").tables)
    name = st.selectbox(_("Table"), names, key="preview_table", help=_("The table to look at."))
    rows = pd.read_csv(place / f"{name}.csv", dtype=str, keep_default_na=False, nrows=FIRST)
    st.dataframe(rows, hide_index=True)
    st.caption(_("Keys are fresh counters: every row below finds its parent, and no key is a real one."))


def downloads(job: jobs.Job, place: Path) -> None:
    """The bundle, and one table of it."""
    st.subheader(_("Downloads"), anchor=False)
    st.markdown(_("All of these may be released: they are made from noisy answers and public facts alone."))
    held = zipfile.ZipFile(export.bundle(job, place)).namelist()
    with st.container(horizontal=True):
        st.download_button(
            _("Everything (.zip)"),
            access.later(export.packed, job, place),
            "facsimile-release.zip",
            "application/zip",
            key="get_zip",
            on_click="ignore",
            type="primary",
            icon=":material/download:",
            help=_("All tables, description, card, report, release and model."),
        )
        pdf(job, place)
        for label, page, reported in PAGES:
            st.download_button(
                _(label),
                access.later(export.part, job, place, page),
                page,
                HTML,
                on_click="ignore",
                key=f"get_{label.lower()}",
                help=_(reported),
                icon=":material/download:",
            )
    tables = [n.removesuffix(".csv") for n in held if n.endswith(".csv")]
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    name = left.selectbox(_("One table"), tables, key="one_table", help=_("Public tables are copied as they are."))
    offers = [(f"{name}.csv", CSV, "csv"), (f"{name}.parquet", PARQUET, "parquet")]
    with right.container(horizontal=True):
        for file, mime, kind in (o for o in offers if o[0] in held):
            st.download_button(
                file,
                access.later(export.part, job, place, file),
                file,
                mime,
                key=f"get_{kind}",
                on_click="ignore",
                help=_("Of the bundle."),
                icon=":material/download:",
            )


def pdf(job: jobs.Job, place: Path) -> None:
    """The download of card, report and papers as one PDF."""
    st.download_button(
        "PDF",
        access.later(export.pdf, job, place),
        export.PDF,
        "application/pdf",
        key="get_pdf",
        on_click="ignore",
        icon=":material/picture_as_pdf:",
        help=_("Card, report and papers for whoever signs them, on numbered pages; it takes some seconds."),
    )


def more(job: jobs.Job, place: Path) -> None:
    """More rows of the root with everything below them: free."""
    frame.fold(_("More rows from the same model, free"), "more_open", lambda: _ask(job, place))


def _ask(job: jobs.Job, place: Path) -> None:
    schema = app_api.load_related(place / "schema.json")
    st.markdown(
        _("Draws rows of {root} with everything below them. It costs no budget.").format(root=frame.escape(schema.root))
    )
    facts = {
        f"{t}.{n}": c.model_dump(mode="json", exclude_none=True)
        for t, s in schema.tables.items()
        for n, c in s.columns.items()
    }
    where = conditions.ask(
        facts,
        key="where",
        label=_("Only those with (optional)"),
        help_text=_("Conditions that are met: of a table below the root, by one of its rows."),
    )
    count = st.number_input(
        _("How many rows of {root}").format(root=schema.root),
        1,
        MOST_ROOTS,
        1000,
        step=1000,
        key="more_rows",
        help=_("Up to {most_roots:,} here; the command line knows no limit.").format(most_roots=MOST_ROOTS),
    )
    if st.button(_("Draw them"), key="draw", icon=":material/casino:"):
        _draw(job, place, int(count), where)
    made = st.session_state.get("more_tables")
    if made is not None and made[0] == str(job.path) and Path(made[1]).is_dir():
        _offer(job, *made[1:])


def _draw(job: jobs.Job, place: Path, count: int, where: dict[str, str]) -> None:
    releasing.allow("draw", job)
    out = job.path / "more"
    shutil.rmtree(out, ignore_errors=True)
    try:
        with st.spinner(_("Drawing")):
            rows, share = worker.ask(
                "sampled_into", str(place / "model.json"), str(out), num_rows=count, where=where, seconds=PATIENCE
            )
    except TooLongError:
        raise synth.InputError(_("drawing takes too long here; ask for fewer rows")) from None
    except synth.SynthError as error:
        frame.tell(error)
        return
    st.session_state["more_tables"] = (str(job.path), str(out), rows, share, where)


def _offer(job: jobs.Job, folder: str, rows: dict[str, int], share: float, where: dict[str, str]) -> None:
    if where:
        st.markdown(
            _(
                "**{share:.3g} %** are expected to meet: {in_words}. This is the model's figure, not a count of "
                "real rows."
            ).format(share=100 * share, in_words=frame.escape(conditions.in_words(where)))
        )
    message = ", ".join(_("{n:,} of {table}").format(n=n, table=table) for table, n in rows.items())
    st.download_button(
        _("Download {reported} (.zip)").format(reported=message),
        access.later(_zipped, job, folder),
        "more.zip",
        "application/zip",
        key="get_more",
        on_click="ignore",
        icon=":material/download:",
        help=_("A CSV file for each table."),
    )


def _zipped(job: jobs.Job, folder: str) -> bytes:
    releasing.allow("draw", job)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(Path(folder).glob("*.csv")):
            archive.write(file, file.name)
    return out.getvalue()
