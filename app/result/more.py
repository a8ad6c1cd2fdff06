"""What else a release gives: each table, more rows, rows in a database, the run as a command line and a call."""

import re
import secrets
import shlex
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.result import releasing
from app.run import runs
from app.session import access, frame, tasks, workers
from app.table import database, statements
from synth import app_api
from synth.app_api import jobs
from synth.languages import _

FIRST, MOST_ROWS, MOST_ROOTS = 50, 2_000_000, 200_000
PATIENCE = 300.0
NAME = re.compile(r"[A-Za-z_]\w{0,62}")


def first_rows(place: Path) -> None:
    """The first rows of the table, or of one of several."""
    facts = app_api.load_any(place / "schema.json")
    name = "synthetic"
    if facts.several:
        name = st.selectbox(_("Table"), list(facts.tables), key="preview_table", help=_("The table to look at."))
    st.dataframe(
        pd.read_csv(place / f"{name}.csv", dtype=str, keep_default_na=False, nrows=FIRST), hide_index=True, height=260
    )
    if facts.several:
        st.caption(_("Keys are fresh counters: every row below finds its parent, and no key is a real one."))


def more(job: jobs.Job, place: Path) -> None:
    """More rows from the model, also under conditions; of several tables rows of the root with all below them."""
    frame.fold(_("More rows from the same model, free"), "more_open", lambda: _more(job, place))


def _more(job: jobs.Job, place: Path) -> None:
    facts = app_api.load_any(place / "schema.json")
    several = facts.several
    many, usual, most = _("How many rows"), 10_000, MOST_ROWS
    said = _("Conditions that every drawn row meets, such as women over 65.")
    if several:
        many, usual, most = _("How many rows of {root}, each with all that belongs to it"), 1000, MOST_ROOTS
        said = _("Conditions that are met: of a table below the root, by one of its rows.")
    elif runs.is_joined(job):
        many = _("How many persons, each with all rows")
    st.markdown(_("Drawing from the model costs no budget: it never looks at the real rows again."))
    columns = {
        f"{t}.{n}" if several else n: c.model_dump(mode="json", exclude_none=True)
        for t, s in facts.tables.items()
        for n, c in s.columns.items()
    }
    where = statements.ask_conditions(columns, key="where", label=_("Only rows with (optional)"), help_text=said)
    said = _("Up to {most_rows:,} here; the command line knows no limit.").format(most_rows=most)
    count = st.number_input(many.format(root=facts.root), 1, most, usual, step=1000, key="more_rows", help=said)
    if st.button(_("Draw them"), key="draw", icon=":material/casino:"):
        _draw(job, place, int(count), where, several=several)
    made = st.session_state.get("more")
    if made is not None and made[0] == str(job.path) and Path(made[1]).exists():
        _offer(job, *made[1:])


def _draw(job: jobs.Job, place: Path, count: int, where: dict[str, str], *, several: bool) -> None:
    releasing.allow("draw", job)
    out = job.path / f"more-{secrets.token_hex(4)}{'' if several else '.csv'}"
    asked = {"num_rows": count, "where": where, "dialect": st.session_state.get("csv_dialect", "plain")}
    late = _("drawing takes too long here; ask for fewer rows")
    with st.spinner(_("Drawing")):
        rows, share = workers.ask(
            tasks.sampled, str(place / "model.json"), str(out), seconds=PATIENCE, late=late, **asked
        )
    if (before := st.session_state.get("more")) is not None:
        shutil.rmtree(before[1], ignore_errors=True)
        Path(before[1]).unlink(missing_ok=True)
    st.session_state["more"] = (str(job.path), str(out), rows, share, where)


def _offer(job: jobs.Job, file: str, rows: Any, share: float, where: dict[str, str]) -> None:
    if where:
        said = _("**{share:.3g} %** are expected to meet: {when}. That is the model's figure, no count of real rows.")
        st.markdown(said.format(share=100 * share, when=frame.escape(statements.in_words(where))))
    if isinstance(rows, dict):
        many = ", ".join(_("{n:,} of {table}").format(n=n, table=table) for table, n in rows.items())
        label, name, said = _("Download {many} (.zip)").format(many=many), "more.zip", _("A CSV file for each table.")
    else:
        label, name = _("Download {rows:,} rows (CSV)").format(rows=rows), "more.csv"
        said = _("A table like the one above.")
    access.offer(label, name, "get_more", _bytes, job, file, help=said)


def _bytes(job: jobs.Job, file: str) -> bytes:
    releasing.allow("draw", job)
    return access.zipped(sorted(Path(file).glob("*.csv"))) if Path(file).is_dir() else Path(file).read_bytes()


def outlet(job: jobs.Job, place: Path) -> None:
    """Which database, which name; nothing where there is no database to write to, or of several tables."""
    places = {f"@{d.name}": d.shown for d in database.offered(writing=True)}
    own = job.request().get("source")
    if own and access.me().alone and not own.startswith("@"):
        places[own] = own
    if not places or runs.is_several(job):
        return
    model = str(place / "model.json")
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
    said = _("Letters, digits and _; no table of this name may be there yet.")
    label = _("Name of the new table")
    typed = st.text_input(
        label, value=re.sub(r"\W+", "_", f"{job.request()['dataset']}_synthetic").lower(), key="out_table", help=said
    )
    said = _("As many as the synthetic table has, or another number.")
    label = _("Synthetic rows")
    count = st.number_input(label, 1, value=int(job.result()["num_rows"]), step=1000, key="out_rows", help=said)
    name = typed.strip()
    if not NAME.fullmatch(name):
        st.caption(_("Choose a name of letters, digits and _, beginning with a letter."))
    elif st.button(_("Write it"), key="out_write", icon=":material/database_upload:"):
        with frame.told(_("Drawing and sending rows")):
            allow_outlet(job, source)
            asked: dict[str, Any] = {"num_rows": int(count), "source": source, "out_table": name}
            rows, _share = workers.ask(tasks.sampled, model, None, seconds=PATIENCE, **asked)
            st.success(_("{rows:,} synthetic rows are in {name}.").format(rows=rows, name=frame.escape(name)))


def allow_outlet(job: jobs.Job, source: str) -> None:
    """Errors: UsageError where the visitor may not put rows of this run there."""
    who = releasing.allow("write_out", job)
    if not (who.alone or any(f"@{d.name}" == source for d in database.offered(writing=True))):
        said = _("{source}: no database that you may write to; choose one that is offered")
        raise synth.UsageError(said.format(source=source))


def again(job: jobs.Job) -> None:
    """The command line of a charged run."""
    if not job.request().get("free"):
        frame.fold(_("The same run as a command line, or in Python"), "again", lambda: _shown(job))


def _shown(job: jobs.Job) -> None:
    said = _(
        "Beside the saved description (page The table) and the private table. Whoever runs it is charged "
        "again: the same noise is never drawn twice."
    )
    st.caption(said)
    request, several = job.request(), runs.is_several(job)
    st.code(command(request, several=several), language="bash", wrap_lines=True)
    st.code(in_python(request, several=several), language="python")


def _tables(request: dict[str, Any], *, several: bool) -> str | None:
    """What a run reads: a table by its label, related ones by a folder; those of a database are all that is there."""
    if not several:
        label = str(request["label"])  # of the sample it is no file's name
        return label if "." in label else Path(str(request.get("table") or label)).name
    return None if request.get("source") else str(request["dataset"])


def command(request: dict[str, Any], *, several: bool = False) -> str:
    """The command line of a run; ``several``: of related tables, in a folder with the dataset's name.

    >>> command({"label": "my people.csv", "dataset": "club", "epsilon": 1.0, "delta": 1e-05, "relation": "add_remove",
    ...          "method": "mixture", "options": {}})
    "synth run 'my people.csv' --schema schema.json --dataset club --epsilon 1 --delta 1e-05 --relation add_remove \
--method mixture --out release"
    """
    read = _tables(request, several=several)
    asked: dict[str, Any] = {n: request.get(n) for n in ("dataset", "source", "epsilon", "delta", "relation", "method")}
    pairs = [(n, f"{v:g}" if isinstance(v, float) else str(v)) for n, v in asked.items() if v is not None]
    pairs += [("option", f"{n}={v}") for n, v in (request.get("options") or {}).items()]
    pairs += [("prior", Path(path).name) for path in request.get("prior") or ()]
    pairs += [("prior-reason", reason) for reason in _reasons(request)]
    stated = [
        word for name, value in [("schema", "schema.json"), *pairs, ("out", "release")] for word in (f"--{name}", value)
    ]
    return shlex.join(["synth", "run", *([] if read is None else [read]), *stated])


def _reasons(request: dict[str, Any]) -> list[str]:
    """Why each prior is public; one text where it was said for all."""
    why = request.get("prior_reason")
    return [why] if isinstance(why, str) else list(why or ())


def in_python(request: dict[str, Any], *, several: bool = False) -> str:
    """The run as a call of the library; ``several``: as of ``command``."""
    names = ("source", "dataset", "epsilon", "delta", "relation", "method", "options")
    stated = {n: request[n] for n in names if request.get(n)}
    if request.get("prior"):
        stated |= {"prior": [Path(p).name for p in request["prior"]], "prior_reason": _reasons(request)}
    load = "synth.app_api.load_related" if several else "synth.Schema.load"
    given = "".join(f"    {n}={v!r},\n" for n, v in stated.items())
    table = _tables(request, several=several)
    return f'import synth\n\nresult = synth.run(\n    {table!r},\n    schema={load}("schema.json"),\n{given})'
