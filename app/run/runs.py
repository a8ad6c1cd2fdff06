"""Runs, from the request to what may leave: each is a job that stands in line, is followed, and found again."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

import synth
from app.run import caps, options, prior
from app.session import access, frame, state, words
from app.session.state import TABLES, Wizard, dataset, effective, method, ready, several, together, view, wizard
from app.table import stored
from synth import app_api
from synth.app_api import Visitor, jobs, looks
from synth.languages import Texts, _, prose

ABOUT = ("table", "source", "label", "dataset", "epsilon", "delta", "relation", "owner")  # of a run, on its refits
HELD = "held.json"  # arguments of a run that was held before its request told all of them
Plain = dict[str, Any]
AS_READ = ("unit", "max_rows", "unit_source", "learnt", "dialect")  # how a file is read, as its whole description says
TURN = threading.Lock()


@contextmanager
def _in_turn() -> Iterator[None]:
    """Spends begin one at a time: a second click is heard beside the first, and must see what that one began."""
    with TURN:
        yield


def _under_way(path: Path | None) -> jobs.Job | None:
    return None if path is None or jobs.Job(path).status().final else jobs.Job(path)


@_in_turn()
def start(w: Wizard) -> jobs.Job:
    """Puts the run that the wizard describes in line, or before a reviewer where the roles ask for one.

    From here on the wizard follows it, and the job's folder tells how it goes; while that one is under way it is the
    answer to every further call. Errors: UsageError for somebody who may not spend.
    """
    assert w.table is not None
    if begun := _under_way(w.job):
        return begun
    rules = access.rules()
    may_spend(stored.allow_table("spend", w.table, w.source), dataset(w))
    rules.put_down(synth.Ledger(), dataset(w))
    caps.first(dataset(w))
    job = jobs.create(_request(w).stored())
    facts = job.path / jobs.DESCRIPTION  # where the worker looks for the schema of a request that names none
    reported = {k: v for k, v in effective(w).items() if k != "open"}  # what a draft asked was decided
    jobs.write_file(facts, json.dumps(reported, ensure_ascii=False))
    w.job = queued(job, held=rules.needs_approval(dataset(w), w.epsilon)).path
    return job


def _request(w: Wizard) -> app_api.RunRequest:
    written_as = "same" if several(w) else options.written_as(w)
    asked = _whose(w) | {"method": method(w), "options": {} if together(w) else w.options} | prior.asked(w)
    return app_api.RunRequest(epsilon=w.epsilon, delta=w.delta, device=w.device, dialect=written_as, **asked)


def _whose(w: Wizard) -> Plain:
    """What every charged request says of the table, of whose budget it is, and who asks."""
    about = {"source": w.source, "label": w.label, "dataset": dataset(w), "relation": w.relation}
    table = None if several(w) and w.source else str(w.table)
    return {**about, "table": table, "owner": access.me().name, "separate": _apart(w)}


@_in_turn()
def approve(job: jobs.Job) -> None:
    """Lets a held run go, with the reviewer's name in the ledger. Errors: UsageError where it may not."""
    who = access.allow("approve_spend", job.request().get("owner"))
    if job.status().state != "held":
        raise synth.UsageError(_("a run is approved once; reload the list of waiting runs"))
    access.rules().put_down(synth.Ledger(), str(job.request()["dataset"]))
    old = job.path / HELD
    arguments = json.loads(old.read_text(encoding="utf-8")) if old.exists() else jobs.AS_ASKED
    job.write(jobs.Status())
    job.start([*arguments, "--approved-by", who.name], program=jobs.QUEUED)


def refuse(job: jobs.Job) -> None:
    """Ends a run that waits for a reviewer. Errors: UsageError where it may not."""
    access.allow("refuse_spend", job.request().get("owner"))
    if job.status().state != "held":
        raise synth.UsageError(_("a run that has started can no longer be refused; its owner may cancel it"))
    job.cancel()


def cancel(job: jobs.Job) -> None:
    """Asks a run to stop. Errors: UsageError for somebody else's."""
    access.allow("cancel", job.request().get("owner"))
    job.cancel()


def refit(
    job: jobs.Job, *, method: str, options: Plain, target: str | None = None, num_rows: int | None = None
) -> jobs.Job:
    """Puts another fit to a finished run's release in line: free, no row is read."""
    access.allow("refit", job.request().get("owner"))
    known = job.request()
    asked = {k: known[k] for k in ABOUT if k in known} | {"method": method, "options": options}
    asked |= {"target": target or None, "num_rows": num_rows or None}
    asked["dialect"] = "plain" if known.get("dialect") == "plain" else "same"  # as the first was
    return queued(jobs.create(app_api.RefitRequest(release=str(release(job)), **asked).stored()))


@_in_turn()
def learn(w: Wizard, columns: list[str], *, epsilon: float, delta: float) -> jobs.Job:
    """Puts the private learning of these columns' values or bounds in line; it is charged to the dataset, once while
    it is under way."""
    assert w.table is not None
    if begun := _under_way(w.learning):
        return begun
    _may_spend_beside(stored.allow_table("learn", w.table, w.source), dataset(w), epsilon)
    request = app_api.LearningRequest(epsilon=epsilon, delta=delta, learns=tuple(columns), **_whose(w))
    job = jobs.create(request.stored())
    jobs.write_file(job.path / jobs.DESCRIPTION, json.dumps(_asked(effective(w), columns)))
    w.learning = queued(job).path
    return job


def _asked(plain: Plain, columns: list[str]) -> Plain:
    """The description of the columns that are learnt, without what is to be learnt, and of those that say whose; of
    several tables, of which ``columns`` are TABLE.COLUMN, of those and the tables above them."""
    keys = [{k: v for k, v in key.items() if k != "order"} for key in plain.get("keys", ())]

    def asked(table: str, described: Plain) -> Plain:
        wanted = [n for n in described["columns"] if state.start(table) + n in columns]
        whose = {described.get("unit"), *(n for key in keys for n in _of_key(key, table))}
        kept = {
            n: _bare(c) if n in wanted else {"type": "identifier"}
            for n, c in described["columns"].items()
            if n in wanted or n in whose
        }
        return {**{k: v for k, v in described.items() if k in AS_READ}, "columns": kept}

    if not keys:
        return asked("", plain)
    above = {k["child"]: k["parent"] for k in keys}
    owners: dict[str, None] = {}
    for name in columns:
        table: str | None = name.partition(".")[0]
        while table is not None:
            owners[table], table = None, above.get(table)
    if len(owners) == 1:  # of the root alone: one of its children stands beside it, of which nothing is learnt
        owners[next(c for c, p in above.items() if p in owners)] = None
    before = {"learnt": plain["learnt"]} if plain.get("learnt") else {}
    tables = {owner: asked(owner, plain["tables"][owner]) for owner in owners}
    return {**before, "tables": tables, "keys": [k for k in keys if {k["child"], k["parent"]} <= set(owners)]}


def _of_key(key: Plain, table: str) -> list[str]:
    """The columns of a table by which a key joins it."""
    own = key["columns"] if key["child"] == table else []
    return [*own, *((key.get("parent_columns") or key["columns"]) if key["parent"] == table else [])]


@_in_turn()
def decide(job: jobs.Job, candidates: list[jobs.Job], asked: list[str], *, epsilon: float, delta: float) -> jobs.Job:
    """Puts noisy counts that decide between runs in line; they are charged to the runs' dataset."""
    who, request = access.allow("decide", job.request().get("owner")), job.request()
    for one in candidates:
        access.allow("decide", one.request().get("owner"))
    stored.allow_table("use_table", Path(str(request["table"])), request.get("source"))
    name = str(request["dataset"])
    others = [c for c in candidates if c.path != job.path]
    part = sorted(c.path.name for c in candidates)

    def decides(one: jobs.Job) -> bool:
        asks = sorted(one.request().get("decides", ())) == part
        return asks and one.status().state not in ("failed", "cancelled")

    if looks.decided(job, others) or any(jobs.those(decides)):
        raise synth.UsageError(_("noisy counts have already decided between these runs; that decision stands"))
    _may_spend_beside(who, name, epsilon)
    about = {"table": str(request["table"]), "relation": request["relation"], "dataset": name, "owner": who.name}
    about |= {"schema_file": str(release(job) / "schema.json"), "epsilon": epsilon, "delta": delta}
    names = tuple(c.path.name for c in candidates)
    return queued(jobs.create(app_api.StatisticsRequest(ask=tuple(asked), decides=names, **about).stored()))


def queued(job: jobs.Job, *, held: bool = False) -> jobs.Job:
    """Puts what a job's folder asks for in line, or, ``held``, before a reviewer."""
    job.write(jobs.Status(state="held")) if held else job.start(jobs.AS_ASKED, program=jobs.QUEUED)
    return job


def counted(job: jobs.Job) -> Path:
    """Where a deciding job writes its noisy counts."""
    return job.path / jobs.COUNTS


def may_spend(who: Visitor, name: str) -> None:
    """Errors: UsageError for a dataset whose budget is not the visitor's to spend."""
    if not access.rules().may_spend(who, name):
        raise synth.UsageError(
            _("{name} may not spend of {name2}; ask whoever keeps the file of roles").format(name=who.name, name2=name)
        )


def _may_spend_beside(who: Visitor, name: str, epsilon: float) -> None:
    """Errors: UsageError for a spend beside a run that this visitor may not make, or not without a reviewer."""
    rules = access.rules()
    may_spend(who, name)
    if rules.needs_approval(name, epsilon):
        said = _(
            "epsilon {epsilon:g} of {name} needs a reviewer, and reviewers approve runs only; choose a smaller one"
        )
        raise synth.UsageError(said.format(epsilon=epsilon, name=name))
    rules.put_down(synth.Ledger(), name)
    caps.first(name)


def learnt(job: jobs.Job) -> Path:
    """Where a learning run writes the complete description."""
    return job.path / jobs.LEARNT


def _bare(column: Plain) -> Plain:
    """A column without the facts that can be learnt; missing codes stay where somebody confirms them."""
    retained = ("type", "description", "format", *(("missing",) if column.get("source") != "unconfirmed" else ()))
    if (column.get("grouping") or {}).get("kind") == "prefix":
        retained = (*retained, "grouping")
    return {k: v for k, v in column.items() if k in retained}


def _apart(w: Wizard) -> bool:
    """Whether the steward said, of rows that were charged under another name, that no person is in both."""
    return w.table == frame.SAMPLE or (bool(w.separate) and w.separate == dataset(w))


def why(job: jobs.Job) -> str:
    """Why a job failed, for whoever may open its table; one sentence for everybody else, whatever the reason is."""
    about, status = job.request(), job.status()
    table, who = about.get("table"), access.me()
    if not who.may("watch", about.get("owner")) or not stored.open_to(who, Path(str(table)), about.get("source")):
        return _("It did not succeed. Whoever may open its table is told why") if status.state == "failed" else ""
    said = job.why() if status.state == "failed" else status.message
    label = str(about.get("label") or _("the table"))
    return frame.sentence(words.plain(said).replace(str(table), label))


def release(job: jobs.Job) -> Path:
    """The folder of a finished run's files. Errors: InputError when they are gone."""
    paths = job.result().get("paths", {})
    place = Path(str(paths.get("synthetic") or paths.get("card", ""))).parent
    there = place / "synthetic.csv" if "synthetic" in paths or not paths else place / "card.json"
    if not there.is_file():
        raise synth.InputError(_("the files of this run are no longer there; run again, or draw from a kept model"))
    return place


def is_several(job: jobs.Job) -> bool:
    """Whether the run made tables that belong together."""
    return isinstance(job.result().get("num_rows"), dict)


def is_joined(job: jobs.Job) -> bool:
    """Whether rows of the run belong together: of several tables, or of the persons of one."""
    if is_several(job):
        return True
    try:
        return "keys" in (jobs.read_json(release(job) / "card.json") or {})
    except synth.SynthError:
        return False


def rows(job: jobs.Job) -> str:
    """How many rows a finished run made, in words; of several tables each."""
    many = job.result()["num_rows"]
    if not isinstance(many, dict):
        return _("{many:,} synthetic rows").format(many=many)
    return _("synthetic rows: ") + ", ".join(
        _("{n:,} of {table}").format(n=n, table=table) for table, n in many.items()
    )


def charged_line(job: jobs.Job) -> Any:
    """The ledger's line that charged this run, None where there is none.

    A run that was killed cannot say so itself: its charge carries its id. Errors: InputError for a run of an older
    version, which had no id.
    """
    if job.run is None:
        raise synth.InputError(_("this run was made before runs had ids; look for its charge on the page Ledger"))
    return synth.Ledger().charge(job.run)


@st.fragment(run_every=1.0)
def follow(
    path: str,
    ended: Callable[[jobs.Job, jobs.Status], Any] = lambda *_: None,
    *,
    about: str | Callable[[jobs.Job, jobs.Status], None],
    label: str = "",
) -> None:
    """Says how it stands and lets it be cancelled; ``ended`` takes the outcome. ``about``: what it does, or what shows
    that."""
    with frame.told():
        job = access.job("watch", path)
        status = job.status()
        if status.final:
            ended(job, status)
            st.rerun()
        st.progress(status.fraction, text=in_progress(job, status))
        about(job, status) if callable(about) else st.caption(about)
        if st.button(
            label or _("Cancel"),
            key=f"cancel_{job.path.name}",  # several may be followed on a page
            disabled=job.cancel_asked,
            icon=":material/stop_circle:",
            help=_("Nothing is spent before the charge is written; later it is not given back."),
        ):
            cancel(job)
            st.rerun(scope="fragment")


def in_progress(job: jobs.Job, status: jobs.Status) -> str:
    """The stage, how far it is, and about how long it will take; in line, how many are before it."""
    if job.cancel_asked:
        return _("**Stopping at the next safe point**")
    if status.state == "held":
        return _("**Waiting for a reviewer to approve it**")
    if status.state == "queued" and (before := jobs.ahead(job)):
        return _("**Waiting for {runs} before it**").format(runs=words.runs(before))
    left = ""
    if status.seconds_left is not None:
        left = _(", {about_seconds} left").format(about_seconds=words.about_seconds(status.seconds_left))
    return f"**{prose(jobs.stage_in_words(status.stage))}**, {100 * status.fraction:.0f} %{left}"


SHOWN = 10
LABELS = Texts(
    held="waits for a reviewer",
    queued="waiting",
    running="running",
    done="done",
    failed="failed",
    cancelled="cancelled",
)


def paid_jobs() -> list[tuple[jobs.Job, jobs.Status]]:
    """The newest runs on private tables of the visitor's own, each with how it stands."""

    def paid(job: jobs.Job) -> jobs.Status | None:
        makes = {"epsilon", "table"} <= job.request().keys() and looks.makes_rows(job)
        return job.status() if makes and access.mine(job) else None

    return list(islice(jobs.each(paid), SHOWN))


def offer() -> None:
    """On the first page of a new session: what is running, and what has finished."""
    if wizard().table is not None or wizard().job is not None:
        return
    result = paid_jobs()
    running = next((job for job, status in result if not status.final), None)
    done = next((job for job, status in result if status.state == "done"), None)
    if running:
        with st.container(border=True):
            st.markdown(_("**A run is under way:** {named}").format(named=_of_table(running)))
            if st.button(_("Watch it"), key="watch", type="primary"):
                wizard().watched = True  # he who waits for it is shown the table, also where it is ready by then
                _open(running, "privacy")
    elif done:
        with st.container(border=True):
            st.markdown(_("**Your latest result:** {named}").format(named=_of_table(done)))
            if st.button(_("Open it"), key="open_latest"):
                _open(done, "result")


def _open(job: jobs.Job, page: str) -> None:
    wizard().job = access.job("watch", job.path).path
    st.switch_page(view(page))


def come_back() -> None:
    """A page that was reloaded under its own address: goes on with the visitor's last table, and its run where it has.

    The first page of all does not: there one chooses.
    """
    w, name = wizard(), urlsplit(st.context.url or "").path.strip("/")
    page = state.EARLIER.get(name, name)
    if w.page or w.table is not None or w.job is not None or (page not in state.STEPS[1:] and name != "describe"):
        return
    if not (retained := stored.stored_tables()):
        return
    place, table, reported = retained[0]
    stored.resume(w, place, table, reported)
    of_table = ((job, s) for job, s in paid_jobs() if str(job.request()["table"] or TABLES) == str(table))
    last, status = next(of_table, (None, None))
    if page != "table" and last and status and (page == "result" or not status.final):
        w.job = access.job("watch", last.path).path
    w.notice = _("Went on with the last table: {label}.").format(label=frame.escape(w.label))


def chosen(name: str) -> jobs.Job | None:
    """The run that a page is about; None where there is no result yet, which the page then says."""
    w = wizard()
    if not ready(w)[name] or w.job is None:
        frame.needs(_("There is no result yet. A run makes one."), "privacy" if ready(w)["privacy"] else "table")
        all_runs()
        return None
    return access.job("watch", w.job)


def all_runs() -> None:
    """All recent runs, each with a button to open it."""
    if result := paid_jobs():
        frame.fold(_("All runs ({number})").format(number=len(result)), "all_runs", lambda: _all(result))


def _all(result: list[tuple[jobs.Job, jobs.Status]]) -> None:
    for i, (job, status) in enumerate(result):
        left, right = st.columns([4, 1], vertical_alignment="center")
        ended = LABELS[status.state]
        if status.state == "failed" and status.exit_code is not None:  # the worker lived to tell why
            ended = _("failed: {get}").format(get=words.ENDS.get(status.exit_code, _("see its page")))
        left.markdown(_("{named}  \n:small[{ended}]").format(named=_of_table(job), ended=ended))
        if right.button(_("Open"), key=f"open_{i}"):
            _open(job, "result" if status.state == "done" else "privacy")


def named(job: jobs.Job) -> str:
    """A run in a few words, for menus and headings."""
    request = job.request()
    free = _(", refitted free") if request.get("free") else ""
    return _("{get}, epsilon {epsilon:g}{free}, {when}").format(
        get=request.get("method"), epsilon=request["epsilon"], free=free, when=when(job)
    )


def label(job: Path | None) -> str:
    """Of which table a run is, for whoever opened its result in a later visit; empty without one."""
    try:
        return "" if job is None else _table(jobs.Job(job).request())
    except synth.SynthError:
        return ""


def _table(request: Plain) -> str:
    return str(request.get("label") or request.get("dataset") or str(request["table"]).rsplit("/", 1)[-1])


def _of_table(job: jobs.Job) -> str:
    return frame.escape(f"{_table(job.request())}, {named(job)}")


def when(job: jobs.Job) -> str:
    """When a job was made, in local time."""
    return words.moment(datetime.fromtimestamp((job.path / "request.json").stat().st_mtime))
