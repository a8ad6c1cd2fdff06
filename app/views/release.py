"""Step 7: the guarantee, what may leave, and more rows."""

from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import export, more, papers
from app.run import background, recent, runs
from app.session import access, frame, words
from app.table import unit
from synth.app_api import jobs, looks
from synth.languages import _, phrase

ROWS = "As many as the real table has, up to noise, unless its number of rows is public."
DIALECT = "synthetic.dialect.csv"  # the table as the private one is written; not every release has it
CSV, PARQUET, HTML = "text/csv", "application/vnd.apache.parquet", "text/html"
PAGE = 700  # height of a page that is shown inside this one, pixels


def page() -> None:
    """What came out of the chosen run and may be shared. What needs the bundle is drawn once that is packed."""
    frame.head("release", _("The synthetic table and everything that may go with it."))
    job = recent.chosen("release")
    if job is None:
        return
    place, together = runs.release(job), runs.is_several(job)
    st.markdown(
        _("**This run:** {table}, {run}").format(
            table=frame.escape(recent.label(job.path)), run=frame.escape(recent.named(job))
        )
    )
    wanted: list[Future[Any]] = [*export.begun(job), export.standing_begun(place), papers.begun(job, place)]
    claims, whole = st.empty(), background.over(wanted, patience=0.0)
    if not whole:
        with claims.container():
            _summary(job, export.own(place), alone=True)
    more.again(job)
    frame.fold(_("First rows of the synthetic table"), "first_rows", lambda: _preview(place, together))
    packed = st.container()
    free = export.may_leave(job)
    if free and together:
        more.more_of_tables(job, place)
        st.caption(_("Putting synthetic tables into a database is there for single tables alone."))
    elif free:
        more.more(job, place, synth.Schema.load(place / "schema.json"))
        more.outlet(job, str(place / "model.json"))
    recent.table()
    frame.onward("release")

    def leaves() -> None:
        with claims.container():
            card = export.claimed(job, place)
            _summary(job, card)
            export.counted(job, card)
        export.standing(place)
        papers.section(job, place)
        if free:
            more.downloads_of_tables(job, place) if together else _downloads(job, place)
            _pages(job, place)

    background.then(wanted, packed, leaves, about=_("The bundle is being checked and packed"))


def _summary(job: jobs.Job, card: dict[str, Any], *, alone: bool = False) -> None:
    """The guarantee. ``alone``: of the run itself; what its choice rests on is still being added up."""
    result = job.result()
    many = result["num_rows"]
    for line in runs.warnings(job):
        st.warning(frame.escape(frame.sentence(line)), icon=":material/warning:")
    rows = (
        {_("Rows of {t}").format(t=t): n for t, n in many.items()}
        if isinstance(many, dict)
        else {_("Synthetic rows"): many}
    )
    with st.container(horizontal=True):
        for label, value, explained in (
            *((label, f"{n:,}", _(ROWS)) for label, n in rows.items()),
            (
                _("Run's epsilon") if alone else _("Epsilon"),
                f"{card['epsilon']:g}",
                _("The privacy loss of the run, and of what its choice rests on."),
            ),
            (_("Delta"), words.small(card["delta"]), _("Probability that the promise of epsilon does not hold.")),
            (_("Time"), f"{result['seconds_total']:.1f} s", _("From start to end.")),
        ):
            st.metric(label, value, border=True, width=155, help=explained)
    reported = (
        _("; the unit is {unit_in_words}").format(unit_in_words=phrase(card["unit_in_words"]))
        if "unit_in_words" in card
        else ""
    )
    st.success(
        _(
            "**The guarantee{alone}:** {meaning}, however much else somebody knows. It covers "
            "{relation_in_words}. It holds for everything in the downloads, for any further use of them, and for "
            "rows drawn later from the model."
        ).format(
            alone=_(" of the run itself") * alone,
            meaning=frame.escape(phrase(card["meaning"])),
            relation_in_words=frame.escape(phrase(card["relation_in_words"]) + reported),
        ),
        icon=":material/verified_user:",
    )
    line = card["ledger_entry"]
    free = _(" It was refitted from a stored release: nothing more was charged.") if job.request().get("free") else ""
    st.caption(
        _("Charged to {dataset} in line {number} of the ledger, seal {hash}…, made {when}.{free}").format(
            dataset=frame.escape(str(card["dataset"])),
            number=line["number"],
            hash=line["hash"][:12],
            when=recent.when(job),
            free=free,
        )
    )
    if (most := card.get("max_rows_of_a_unit") or 1) > 1 and card.get("unit") != "row" and "unit_in_words" not in card:
        st.caption(unit.alone(most))
    if whose := unit.rows_used(card):
        st.caption(unit.joined(whose))


def _preview(place: Path, together: bool) -> None:
    import pandas as pd

    if together:
        more.preview_tables(place)
        return
    rows = pd.read_csv(place / "synthetic.csv", dtype=str, keep_default_na=False, nrows=50)
    st.dataframe(rows, hide_index=True)


def _pages(job: jobs.Job, place: Path) -> None:
    """The card and the publishable report as their readers will see them."""
    for title, name in (
        (_("The card: what it says of the guarantee"), "card"),
        (_("The publishable report: noisy answers against the synthetic table"), "report"),
    ):
        frame.fold(title, f"see_{name}", partial(_read, job, place, f"{name}.html", title.partition(":")[0]))


def _read(job: jobs.Job, place: Path, name: str, title: str) -> None:
    st.iframe(export.part(job, place, name).decode(), height=PAGE, alt=title)


def _all_of_them(job: jobs.Job) -> None:
    """Runs that are released together leave together, in one file; those of others are said to be missing."""
    own, every = export.released_together(job), len(looks.rivals(job)) + 1
    if len(own) < 2:
        return
    left = _(" {runs} of others are not in it: their owners release them.").format(
        runs=words.runs(every - len(own))
    ) * (every > len(own))
    st.download_button(
        _("All {number} releases (.zip)").format(number=len(own)),
        access.later(export.all_packed, job),
        "facsimile-releases.zip",
        "application/zip",
        key="get_all",
        on_click="ignore",
        type="primary",
        icon=":material/folder_zip:",
        help=_("A folder each, with table, card, report and model.{left}").format(left=left),
    )
    st.caption(_("Released together: ") + frame.escape("; ".join(recent.named(one) for one in own)) + f".{left}")


def _csv(place: Path) -> tuple[str, str]:
    """The CSV to be downloaded and what to say of it: a choice where there is one in the private table's dialect."""
    if not (place / DIALECT).is_file():
        return "synthetic.csv", _("Opens in any program.")
    facts = synth.Schema.load(place / "schema.json").dialect
    own = phrase(facts.in_words()) if facts else _("its own dates and numbers")
    said = {
        "same": _("Like the private table: {own}").format(own=own),
        "plain": _("Plain: UTF-8 text, commas, points, dates like 2020-01-31"),
    }
    chosen = st.radio(
        _("How the CSV is written"),
        list(said),
        key="csv_dialect",
        format_func=lambda k: said[k],
        help=_("The rows are the same. The zip holds both."),
    )
    return (
        (DIALECT, _("Opens where the private table does.")) if chosen == "same" else ("synthetic.csv", _("Plain CSV."))
    )


def _downloads(job: jobs.Job, place: Path) -> None:
    st.subheader(_("Downloads"), anchor=False)
    st.markdown(_("All of these may be released: they are made from noisy answers and public facts alone."))
    table, reported = _csv(place)
    offers: list[tuple[str, str, str, str, str]] = [
        (_("Table (CSV)"), table, CSV, "csv", reported),
        (
            _("Table (Parquet)"),
            "synthetic.parquet",
            PARQUET,
            "parquet",
            _("Numbers and dates keep their types; missing ones are empty."),
        ),
        (_("Card"), "card.html", HTML, "card", _("The guarantee with all its figures; keep it with the table.")),
        (_("Report"), "report.html", HTML, "report", _("How well the table keeps what was measured, for its readers.")),
    ]
    _all_of_them(job)
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
            help=_("Table, description, card, report, release, model, and a script that makes more of them."),
        )
        more.pdf(job, place)
        for label, name, mime, key, help_text in offers:
            st.download_button(
                label,
                access.later(export.part, job, place, name),
                name,
                mime,
                key=f"get_{key}",
                on_click="ignore",
                help=help_text,
                icon=":material/download:",
            )


page()
