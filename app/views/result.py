"""The result: its first rows, what it is good for, what may leave, and the comparison for the steward's eyes."""

import re
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import alternatives, comparison, export, more, papers, prior
from app.run import runs
from app.session import access, frame, words, workers
from app.table import facts
from synth.app_api import jobs, looks
from synth.languages import _, prose

DIALECT = "synthetic.dialect.csv"  # the table as the private one is written; not every release has it
PATIENCE = 600.0  # seconds that the verdict may take


def page() -> None:
    """What came out of the chosen run. What needs the bundle is drawn once that is packed."""
    frame.head("result", _("The synthetic table, what it is good for, and everything that may go with it."))
    job = runs.chosen("result")
    if job is None:
        return
    place = runs.release(job)
    table, run, rows = map(frame.escape, (runs.label(job.path), runs.named(job), runs.rows(job)))
    st.markdown(_("**This run:** {table}, {run}, {rows}").format(table=table, run=run, rows=rows))
    left, right = st.columns([3, 2])
    with left:
        more.first_rows(place)
    verdict, why, claims = right.container(), st.container(), st.empty()
    said = workers.of_release(place, "app_api.released_verdict", seconds=PATIENCE)
    wanted: list[Future[Any]] = [*export.begun(job), export.standing_begun(place), papers.begun(job, place), said]
    if not workers.over(wanted, patience=0.0):
        with claims.container():
            _guarantee(job, export.own(place), alone=True)
    free = export.may_leave(job)
    prior.section(place, export.own(place))
    comparison.section(job, place)
    with frame.row("opened_panel"):
        alternatives.side_by_side(job)
        alternatives.what_if(job, export.own(place))
        if free:
            more.more(job, place)
            more.outlet(job, place)
            _pages(job, place)
        more.again(job)
        runs.all_runs()
    ways: list[Any] = []
    frame.onward("result", beside=lambda: ways.append(st.container(horizontal=True)))

    def leaves() -> None:
        with verdict:
            st.caption(_("What recipients read, from the release alone:"))
            comparison.uses(said.result())
        with why:
            comparison.figures(said.result(), "why_released")
        with claims.container():
            card = export.claimed(job, place)
            _guarantee(job, card)
            export.counted(job, card)
            frame.fold(_("What is public in it"), "public_facts", lambda: export.standing(place))
            papers.section(job, place)
        with ways[0]:
            _downloads(job, place) if free else st.caption(_("It may not leave yet: see above."))

    workers.then(wanted, st.container(), leaves, about=_("The bundle is being checked and packed"))


def _guarantee(job: jobs.Job, card: dict[str, Any], *, alone: bool = False) -> None:
    """The guarantee. ``alone``: of the run itself; what its choice rests on is still being added up."""
    said = _(
        "**The guarantee{alone}, epsilon {epsilon:g}, delta {delta}:** {meaning}, however much else somebody knows. It "
        "covers {relation_in_words}. It holds for everything in the downloads, for any further use of them, and for "
        "rows drawn later from the model."
    )
    told = {"alone": _(" of the run itself") * alone, "epsilon": card["epsilon"], "delta": words.small(card["delta"])}
    told |= {n: frame.escape(prose(card[n])) for n in ("meaning", "relation_in_words")}
    st.success(said.format(**told), icon=":material/verified_user:")
    line, dataset, when = card["ledger_entry"], frame.escape(str(card["dataset"])), runs.when(job)
    free = _(" It was refitted from a stored release: nothing more was charged.") if job.request().get("free") else ""
    said = _("Charged to {dataset} in line {number} of the ledger, seal {hash}…, made {when}.{free}")
    st.caption(said.format(dataset=dataset, number=line["number"], hash=line["hash"][:12], when=when, free=free))
    if (most := card.get("max_rows_of_a_unit") or 1) > 1 and card.get("unit") != "row" and "unit_in_words" not in card:
        st.caption(facts.rows_apart(most))
    if whose := facts.rows_used(card):
        st.caption(facts.rows_together(whose))


def _pages(job: jobs.Job, place: Path) -> None:
    """The card and the publishable report as their readers will see them."""
    for title, name in (
        (_("The card: what it says of the guarantee"), "card"),
        (_("The publishable report: noisy answers against the synthetic table"), "report"),
    ):
        frame.fold(title, f"see_{name}", partial(_read, job, place, f"{name}.html", title.partition(":")[0]))


def _read(job: jobs.Job, place: Path, name: str, title: str) -> None:
    with frame.told():
        st.iframe(export.part(job, place, name).decode(), height=export.TALL, alt=title)


def _all_of_them(job: jobs.Job) -> None:
    """Runs that are released together leave together, in one file; those of others are said to be missing."""
    own, every = export.released_together(job), len(looks.rivals(job)) + 1
    if len(own) < 2:
        return
    left = _(" {runs} of others are not in it: their owners release them.").format(
        runs=words.runs(every - len(own))
    ) * (every > len(own))
    access.offer(
        _("All {number} releases (.zip)").format(number=len(own)),
        "facsimile-releases.zip",
        "get_all",
        export.all_packed,
        job,
        help=_("A folder each, with table, card, report and model.{left}").format(left=left),
        kind="primary",
    )
    st.caption(_("Released together: ") + frame.escape("; ".join(runs.named(one) for one in own)) + f".{left}")


def _csv(place: Path) -> tuple[str, str]:
    """The CSV to be downloaded and what to say of it: a choice where there is one in the private table's dialect."""
    if not (place / DIALECT).is_file():
        return "synthetic.csv", _("Opens in any program.")
    facts = synth.Schema.load(place / "schema.json").dialect
    own = prose(facts.in_words()) if facts else _("its own dates and numbers")
    said = {
        "same": _("Like the private table: {own}").format(own=own),
        "plain": _("Plain: UTF-8 text, commas, points, dates like 2020-01-31"),
    }
    about = _("The rows are the same. The zip holds both.")
    label = _("How the CSV is written")
    chosen = st.radio(label, list(said), key="csv_dialect", format_func=lambda k: said[k], help=about)
    return (
        (DIALECT, _("Opens where the private table does.")) if chosen == "same" else ("synthetic.csv", _("Plain CSV."))
    )


def _downloads(job: jobs.Job, place: Path) -> None:
    """The bundle under a name of its own, and its parts."""
    _all_of_them(job)
    card = export.own(place)
    named = f"synthetic-{card.get('dataset') or 'release'}-e{card['epsilon']:g}-{card['created'][:10]}"
    name = re.sub(r"[^\w.-]+", "-", named)
    said = _("Table, description, card, report, release, model, and a script that makes more of them.")
    label = _("Download {name}.zip")
    access.offer(
        label.format(name=name), f"{name}.zip", "get_zip", export.packed, job, place, help=said, kind="primary"
    )
    with st.popover(_("One file of it"), icon=":material/table:", help=_("The table alone, card, report, PDF.")):
        _parts(job, place)


def _parts(job: jobs.Job, place: Path) -> None:
    st.caption(_("All of these may be released: they are made from noisy answers and public facts alone."))
    if runs.is_several(job):
        tables = [n.removesuffix(".csv") for n in export.names(job, place) if n.endswith(".csv")]
        table = st.selectbox(_("One table"), tables, key="one_table", help=_("Public tables are copied as they are."))
        files = {
            "csv": (f"{table}.csv", _("Opens in any program.")),
            "parquet": (f"{table}.parquet", _("Of the bundle.")),
        }
    else:
        files = {"csv": _csv(place), "parquet": ("synthetic.parquet", _("Numbers and dates keep their types."))}
    labels = {"csv": _("Table (CSV)"), "parquet": _("Table (Parquet)")}
    offers = [(labels[kind], *file, kind) for kind, file in files.items() if file[0] in export.names(job, place)]
    offers += [
        (_("Card"), "card.html", _("The guarantee with all its figures; keep it with the table."), "card"),
        (_("Report"), "report.html", _("How well the table keeps what was measured, for its readers."), "report"),
    ]
    for label, file, said, kind in offers:
        access.offer(label, file, f"get_{kind}", export.part, job, place, file, help=said)
    if not runs.is_several(job):
        _converted(job, place)
    about = _("Card, report and papers for whoever signs them, on numbered pages; it takes some seconds.")
    access.offer("PDF", export.PDF, "get_pdf", export.pdf, job, place, help=about)


PROGRAMS = {".xlsx": "Excel", ".sav": "SPSS", ".dta": "Stata", ".xpt": "SAS"}


def _converted(job: jobs.Job, place: Path) -> None:
    """The table as another program's file; values keep their labels where it has room for them."""
    said = _("The same rows. The file itself says that they are synthetic; values keep their labels in SPSS and Stata.")
    label = _("For another program")
    chosen = st.selectbox(label, list(PROGRAMS), key="program", format_func=lambda e: f"{PROGRAMS[e]} ({e})", help=said)
    said = _("A column `synthetic`, so that rows copied elsewhere still say what they are.")
    mark = st.checkbox(_("With a column that says so in every row"), key="mark", help=said)
    label = _("Table ({program})").format(program=PROGRAMS[chosen])
    file = f"synthetic{chosen}"
    said = _("Numbers and dates keep their types.")
    access.offer(label, file, "get_converted", export.converted, job, place, file, mark, help=said)


page()
