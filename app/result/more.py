"""What else a release gives: each table, more rows, rows in a database, the run as a command line."""

import io
import json
import re
import secrets
import shlex
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.result import export, releasing
from app.run import runs
from app.session import access, frame
from app.session.aside import TooLongError, worker
from app.table import database, statements, stored
from synth import app_api
from synth.app_api import jobs
from synth.languages import _

MOST_ROWS = 2_000_000
PATIENCE = 300.0


def more(job: jobs.Job, place: Path, schema: synth.Schema) -> None:
    """How many rows, which, and the download."""
    frame.fold(_("More rows from the same model, free"), "more_open", lambda: _more_ask(job, place, schema))


def _more_ask(job: jobs.Job, place: Path, schema: synth.Schema) -> None:
    st.markdown(_("Drawing from the model costs no budget: it never looks at the real rows again."))
    columns = schema.model_dump(mode="json", exclude_none=True)["columns"]
    where = statements.ask_conditions(
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
        _more_draw(job, place, int(count), where)
    made = st.session_state.get("more")
    if made is not None and made[0] == str(job.path) and Path(made[1]).is_file():
        _more_offer(job, *made[1:])


def _more_draw(job: jobs.Job, place: Path, count: int, where: dict[str, str]) -> None:
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


def _more_offer(job: jobs.Job, file: str, rows: int, probability: float, where: dict[str, str]) -> None:
    if where:
        said = frame.escape(statements.in_words(where))
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


CSV, PARQUET, HTML = "text/csv", "application/vnd.apache.parquet", "text/html"
PAGES = (
    ("Card", "card.html", "The guarantee with all its figures."),
    ("Report", "report.html", "How well the tables keep what was measured."),
)
FIRST, MOST_ROOTS = 50, 200_000


def preview_tables(place: Path) -> None:
    """The first rows of one of the tables."""
    names = list(app_api.load_related(place / "schema.json").tables)
    name = st.selectbox(_("Table"), names, key="preview_table", help=_("The table to look at."))
    rows = pd.read_csv(place / f"{name}.csv", dtype=str, keep_default_na=False, nrows=FIRST)
    st.dataframe(rows, hide_index=True)
    st.caption(_("Keys are fresh counters: every row below finds its parent, and no key is a real one."))


def downloads_of_tables(job: jobs.Job, place: Path) -> None:
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


def more_of_tables(job: jobs.Job, place: Path) -> None:
    """More rows of the root with everything below them: free."""
    frame.fold(_("More rows from the same model, free"), "more_open", lambda: _tables_ask(job, place))


def _tables_ask(job: jobs.Job, place: Path) -> None:
    schema = app_api.load_related(place / "schema.json")
    st.markdown(
        _("Draws rows of {root} with everything below them. It costs no budget.").format(root=frame.escape(schema.root))
    )
    facts = {
        f"{t}.{n}": c.model_dump(mode="json", exclude_none=True)
        for t, s in schema.tables.items()
        for n, c in s.columns.items()
    }
    where = statements.ask_conditions(
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
        _tables_draw(job, place, int(count), where)
    made = st.session_state.get("more_tables")
    if made is not None and made[0] == str(job.path) and Path(made[1]).is_dir():
        _tables_offer(job, *made[1:])


def _tables_draw(job: jobs.Job, place: Path, count: int, where: dict[str, str]) -> None:
    releasing.allow("draw", job)
    out = job.path / "more"
    shutil.rmtree(out, ignore_errors=True)
    try:
        with st.spinner(_("Drawing")):
            rows, share = worker.ask(
                "sampled_into",
                str(place / "model.json"),
                str(out),
                num_rows=count,
                where=where,
                seconds=PATIENCE,
            )
    except TooLongError:
        raise synth.InputError(_("drawing takes too long here; ask for fewer rows")) from None
    except synth.SynthError as error:
        frame.tell(error)
        return
    st.session_state["more_tables"] = (str(job.path), str(out), rows, share, where)


def _tables_offer(job: jobs.Job, folder: str, rows: dict[str, int], share: float, where: dict[str, str]) -> None:
    if where:
        st.markdown(
            _(
                "**{share:.3g} %** are expected to meet: {in_words}. This is the model's figure, not a count of "
                "real rows."
            ).format(share=100 * share, in_words=frame.escape(statements.in_words(where)))
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


NAME = re.compile(r"[A-Za-z_]\w{0,62}")


def outlet(job: jobs.Job, model: str) -> None:
    """Which database, which name; nothing where there is no database to write to."""
    places = {f"@{d.name}": d.shown for d in database.offered(writing=True)}
    own = job.request().get("source")
    if own and access.me().alone and not own.startswith("@"):
        places[own] = own
    if not places:
        return
    frame.fold(_("Put a synthetic table into a database, free"), "outlet", lambda: _outlet_ask(job, model, places))


def _outlet_ask(job: jobs.Job, model: str, places: dict[str, str]) -> None:
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
        allow_outlet(job, source)
        with st.spinner(_("Drawing and sending rows")):
            reported = stored.answer(
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


def allow_outlet(job: jobs.Job, source: str) -> None:
    """Errors: UsageError where the visitor may not put rows of this run there."""
    who = releasing.allow("write_out", job)
    if not (who.alone or any(f"@{d.name}" == source for d in database.offered(writing=True))):
        raise synth.UsageError(
            _("{source}: no database that you may write to; choose one that is offered").format(source=source)
        )


def _usual(job: jobs.Job) -> str:
    return re.sub(r"\W+", "_", f"{job.request()['dataset']}_synthetic").lower()


def again(job: jobs.Job) -> None:
    """Both, of a charged run."""
    if not job.request().get("free"):
        frame.fold(_("The same run as a command line, or as a notebook"), "again", lambda: _shown(job))


def _shown(job: jobs.Job) -> None:
    st.caption(
        _(
            "Beside the saved description (page Describe) and the private table. Whoever runs it is charged "
            "again: the same noise is never drawn twice."
        )
    )
    request, several = job.request(), runs.is_several(job)
    st.code(command(request, several=several), language="bash", wrap_lines=True)
    st.download_button(
        _("Notebook (.ipynb)"),
        notebook(request, several=several),
        "run.ipynb",
        "application/x-ipynb+json",
        key="get_notebook",
        on_click="ignore",
        icon=":material/terminal:",
        help=_("The same in Python, with a picture of the result. It holds no row."),
    )


def _tables(request: dict[str, Any], *, several: bool) -> str | None:
    """What a run reads: a table by its label, related ones by a folder; those of a database are all that is there."""
    if not several:
        return str(request["label"])
    return None if request.get("source") else str(request["dataset"])


def command(request: dict[str, Any], *, several: bool = False) -> str:
    """The command line of a run; ``several``: of related tables, in a folder with the dataset's name.

    >>> command({"label": "my people.csv", "dataset": "club", "epsilon": 1.0, "delta": 1e-05, "relation": "add_remove",
    ...          "method": "mixture", "options": {}})
    "synth run 'my people.csv' --schema schema.json --dataset club --epsilon 1 --delta 1e-05 --relation add_remove \\
--method mixture --out release"
    """
    read = _tables(request, several=several)
    reported = ["synth", "run", *([] if read is None else [read]), "--schema", "schema.json"]
    reported += ["--dataset", str(request["dataset"])]
    for name in ("source", "epsilon", "delta", "relation", "method"):
        if (value := request.get(name)) is not None:
            reported += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    for name, value in (request.get("options") or {}).items():
        reported += ["--option", f"{name}={value}"]
    for path in request.get("prior") or ():
        reported += ["--prior", Path(path).name]
    for reason in _reasons(request):
        reported += ["--prior-reason", reason]
    return shlex.join([*reported, "--out", "release"])


def _reasons(request: dict[str, Any]) -> list[str]:
    """Why each prior is public; one text where it was said for all."""
    why = request.get("prior_reason")
    return [why] if isinstance(why, str) else list(why or ())


def notebook(request: dict[str, Any], *, several: bool = False) -> str:
    """The run as a Jupyter notebook of three cells; ``several``: as of ``command``."""
    names = ("source", "dataset", "epsilon", "delta", "relation", "method", "options")
    stated = {n: request[n] for n in names if request.get(n)}
    if request.get("prior"):
        stated |= {"prior": [Path(p).name for p in request["prior"]], "prior_reason": _reasons(request)}
    given = "".join(f"    {n}={v!r},\n" for n, v in stated.items())
    load = "synth.app_api.load_related" if several else "synth.Schema.load"
    shown = 'result.frame.describe(include="all")'
    if several:
        shown = '{name: frame.describe(include="all") for name, frame in result.frames.items()}'
    cells = [
        (
            "markdown",
            _("# {dataset}\n\nOne charged run. Running it again is charged again.").format(dataset=request["dataset"]),
        ),
        ("code", "import synth"),
        (
            "code",
            f"result = synth.run(\n    {_tables(request, several=several)!r},\n"
            f'    schema={load}("schema.json"),\n{given})\nresult',
        ),
        ("code", shown),
    ]
    code: dict[str, Any] = {"execution_count": None, "outputs": []}
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"language_info": {"name": "python"}},
            "cells": [
                {"id": f"c{i}", "cell_type": k, "metadata": {}, "source": s, **(code if k == "code" else {})}
                for i, (k, s) in enumerate(cells)
            ],
        },
        indent=1,
    )
