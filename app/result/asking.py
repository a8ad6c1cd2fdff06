"""Questions about a release: asked in a form, decided on by its steward, answered by a job."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import releasing
from app.run import caps, runs
from app.session import access
from app.table import stored
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import Texts, _

Asked = jobs.asked.Asked
DELTA = 1e-5


def releases() -> list[jobs.Job]:
    """The runs whose tables the visitor may ask about, newest first: released ones, and his own."""
    return list(jobs.those(_open))


def _open(job: jobs.Job) -> bool:
    about = job.request()
    made = looks.makes_rows(job) and "epsilon" in about and about.get("task") != "refit"
    if not made or job.status().state != "done" or not runs.release(job):
        return False
    return access.me().may("watch", about.get("owner")) or releasing.is_open(job)


def ask(job: jobs.Job, questions: Any, *, epsilon: float, why: str) -> Asked:
    """Stores a question for the steward of the release. Errors: UsageError, also for one that it cannot answer."""
    who = access.allow("ask_question")
    if not any(job.path == j.path for j in releases()):
        raise synth.UsageError(_("this table was not released, or is gone; choose another one"))
    if not why.strip() and not who.alone:
        raise synth.UsageError(_("say why the question is asked; the steward decides by that"))
    synth.Release(runs.release(job)).question(questions)
    return jobs.asked.ask(by=who.name, why=why, job=job, questions=questions, epsilon=epsilon)


def seen() -> list[Asked]:
    """The questions that the visitor asked, or decides on, newest first; a reviewer sees all."""
    who = access.me()
    return [
        a
        for a in jobs.asked.listing()
        if who.may("withdraw_question", a.by) or who.may("approve_spend", owner(a)) or decides(a)
    ]


def owner(asked: Asked) -> str | None:
    """Whose run the question is about; nobody's where it is gone."""
    try:
        return str(asked.run.request().get("owner") or "") or None
    except synth.SynthError:
        return None


def decides(asked: Asked) -> bool:
    """Whether the visitor decides on this question."""
    who = access.visitor()
    try:
        return who is not None and who.may("answer_question", asked.run.request().get("owner"))
    except synth.SynthError:
        return False


def answer(asked: Asked, *, epsilon: float) -> jobs.Job:
    """Puts the answer in line, or before a reviewer where the roles ask for one. Errors: UsageError."""
    about = asked.run.request()
    who, name = access.allow("answer_question", about.get("owner")), str(about["dataset"])
    stored.allow_table("use_table", Path(str(about["table"])), about.get("source"))
    runs.may_spend(who, name)
    rules, place = access.rules(), runs.release(asked.run)
    rules.put_down(synth.Ledger(), name)
    caps.first(name)
    known: Plain = {n: about.get(n) for n in ("table", "source", "relation", "label")}
    known |= {"dataset": name, "owner": who.name}
    known |= {"schema_file": str(place / "schema.json"), "epsilon": epsilon, "delta": DELTA, "release": str(place)}
    said: Plain = {"questions": asked.questions, "asks": asked.name, "asked_by": asked.by, "why": asked.why}
    job = jobs.create(app_api.VerifiedRequest(**known, **said).stored())
    try:
        asked.decide("answered", by=who.name, job=job)
    except synth.UsageError:
        job.cancel()
        raise
    # of a server that is killed before, the question is decided anew
    return runs.queued(job, held=rules.needs_approval(name, epsilon))


def decline(asked: Asked, why: str) -> None:
    """Refuses a question, for a reason that its asker reads; nothing is spent. Errors: UsageError."""
    who = access.allow("decline_question", asked.run.request().get("owner"))
    asked.decide("refused", by=who.name, why=why)


def withdraw(asked: Asked) -> None:
    """Takes a question back that nobody has decided on. Errors: UsageError."""
    who = access.allow("withdraw_question", asked.by)
    asked.decide("withdrawn", by=who.name)


def part(asked: Asked, name: str) -> bytes:
    """A file of the answer, for whoever asked or decided. Errors: UsageError; InputError where it is gone."""
    if not decides(asked):
        access.allow("read_answer", asked.by)
    job = asked.answer
    if job is None or job.status().state != "done":
        raise synth.InputError(_("this question has no answer yet; look again later"))
    try:
        return (job.path / name).read_bytes()
    except OSError:
        raise synth.InputError(_("the files of this answer are no longer there; ask again")) from None


def page(asked: Asked) -> bytes:
    """The answer as a page, in the language of whoever asks for it. Errors: as of ``part``."""
    return str(app_api.answer_page(json.loads(part(asked, app_api.ANSWER)))).encode()


def reserve(name: str, epsilon: float) -> None:
    """Keeps a part of a dataset's cap for questions, in the visitor's name. Errors: UsageError."""
    who, book = access.allow("set_reserve"), synth.Ledger()
    runs.may_spend(who, name)
    held = book.policy(name)
    if held is None or held.max_epsilon is None:
        raise synth.UsageError(_("{name} has no cap of which a part could be kept; set one first").format(name=name))
    book.set_policy(
        name,
        max_epsilon=held.max_epsilon,
        max_delta=held.max_delta or 0.0,
        relation=held.relation,
        unit=held.unit,
        actor=who.name or None,
        approved_by=held.approved_by,
        reserve=epsilon,
    )


KINDS = Texts(
    count="How many rows",
    share="Which share of the rows",
    mean="The mean of a number",
    quantile="A quantile of a number",
    difference="How two groups differ",
    linear="Linear regression",
    logistic="Logistic regression",
    poisson="Poisson regression",
    survival="Survival at given times",
    within="Is my number near the real one",
)
SIMPLE = ("count", "share", "mean", "quantile", "difference")  # kinds that a number of one's own is compared with
REGRESSIONS = ("linear", "logistic", "poisson")
MOST_CONDITIONS = 3
ENDS = ("q_first", "q_second")  # of the groups that are compared
Plain = dict[str, Any]


def form(place: Path) -> Plain:
    """The controls of one question about the release at ``place``; the question as JSON data, checked by nobody yet."""
    tables = app_api.question_tables(app_api.load_any(place / "schema.json"))
    table = next(iter(tables))
    if table:
        said = _("Columns above it are TABLE.COLUMN.")
        table = st.selectbox(_("Rows of which table"), list(tables), key="q_table", help=said)
    kind = st.selectbox(
        _("What do you want to know?"),
        [k for k in KINDS if not (table and k == "survival")],
        key="q_kind",
        format_func=KINDS.__getitem__,
        help=_("Other questions than these cannot be asked: no program of yours runs on the real rows."),
    )
    about: Plain = {"table": table} if table else {}
    if kind != "within":
        return about | _asked(kind, tables[table])
    said = _("What your number is a count, share, mean, quantile or difference of.")
    inner = st.selectbox(_("Number of which kind"), SIMPLE, key="q_inner", format_func=KINDS.__getitem__, help=said)
    question = _asked(inner, tables[table])
    left, right = st.columns(2)
    mine = left.number_input(_("Your number"), key="q_mine", value=0.0, format="%g", help=_("As you have it."))
    said = _("The answer is yes or no.")
    by = right.number_input(_("Near means within"), 1e-9, None, 1.0, format="%g", key="q_by", help=said)
    return about | {"kind": "within", "question": question, "mine": mine, "by": by}


def _asked(kind: str, schema: Any) -> Plain:
    """The fields of one kind, and which rows it is about."""
    numbers = [n for n, c in schema.measured().items() if c.is_numeric and c.type != "datetime"]
    plain: Plain = {"kind": kind}
    if kind == "share":
        plain["of"] = _conditions(schema, "q_of", _("Share of the rows with"))
    elif kind in ("mean", "quantile"):
        plain["column"] = _column(st, _("Column"), "q_column", numbers)
    elif kind == "difference":
        what = _column(st, _("Of which column"), "q_column", list(schema.measured()))
        plain |= {"column": what} if what in numbers else {"of": {what: _value(st, schema, what, "q_of_value")}}
        by = _column(st, _("Between groups of"), "q_by", [n for n in schema.measured() if n != what])
        groups = [_value(box, schema, by, key, i) for i, (box, key) in enumerate(zip(st.columns(2), ENDS, strict=True))]
        plain |= {"by": by, "groups": groups}
    elif kind == "survival":
        left, right = st.columns(2)
        plain["time"] = _column(left, _("Time until the event, or until somebody was last seen"), "q_time", numbers)
        with right:
            plain["event"] = _conditions(schema, "q_event", _("It was the event where"), most=1)
        said = _("Numbers in rising order, with commas between them.")
        at = st.text_input(_("At which times"), key="q_at", help=said)
        plain["at"] = [_number(t) for t in at.split(",") if t.strip()]
    elif kind in REGRESSIONS:
        about = _("As in R or statsmodels: outcome ~ columns, C(column), a:b, a*b, I(age ** 2), log(income).")
        plain["formula"] = st.text_input(_("Formula"), key="q_formula", help=about)
        if kind == "logistic":
            said = _("The outcome's category that is modelled.")
            positive = st.text_input(_("Value that counts as yes"), key="q_positive", help=said)
            plain |= {"positive": positive} if positive else {}
    if kind == "quantile":
        plain["level"] = st.slider(_("Which quantile"), 0.01, 0.99, 0.5, key="q_level", help=_("0.5 is the median."))
    return plain | _filter(schema)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text.strip()


def _filter(schema: Any) -> Plain:
    chosen = _conditions(schema, "q_where", _("Only rows with"))
    return {"where": chosen} if chosen else {}


def _conditions(schema: Any, key: str, words: str, *, most: int = MOST_CONDITIONS) -> dict[str, str]:
    said = _("At most three columns, each with values.")
    names = st.multiselect(
        words, list(schema.measured()), key=key, max_selections=most, help=said, placeholder=_("Choose columns")
    )
    return {n: _value(st, schema, n, f"{key}_{n}") for n in names}


def _value(box: Any, schema: Any, name: str, key: str, place: int = 0) -> str:
    """A value of a column, at first one of its own."""
    known = list(schema.columns[name].categories or ())
    usual = known[min(place, len(known) - 1)] if known else ""
    said = _("A value, several as a|b, or a range as 30..60.")
    return str(box.text_input(_("{name} is").format(name=name), value=usual, key=f"{key}_{name}", help=said)).strip()


def _column(box: Any, words: str, key: str, names: list[str]) -> str:
    if not names:
        raise synth.UsageError(_("the release has no column for this; ask another kind of question"))
    return str(box.selectbox(words, names, key=key, help=_("A column of the release.")))


def in_words(plain: Any) -> str:
    """A question in a sentence, for whoever decides on it."""
    if not isinstance(plain, dict) or plain.get("kind") not in KINDS:
        return str(plain)
    rest = {n: v for n, v in plain.items() if n not in ("kind", "where", "question")}
    parts = [KINDS[plain["kind"]]]
    parts += [in_words(plain["question"])] if "question" in plain else []
    parts += [f"{n}: {_written(v)}" for n, v in rest.items()]
    parts += [_("where {conditions}").format(conditions=_written(plain["where"]))] if plain.get("where") else []
    return "; ".join(parts)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{n} = {v}" for n, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
