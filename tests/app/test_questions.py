"""The page Questions: asked by somebody who never sees a row, priced for nothing, decided on, signed, answered."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import synth
from app.result import asking
from app.run import runs
from app.session.state import view
from app.table import stored
from synth import app_api
from synth.app_api import jobs, looks
from synth.jobs.roles import Visitor
from tests.app.elements import all_helped, downloads, keys, said
from tests.made import codes, facts_of, number, ran

pytestmark = pytest.mark.xdist_group("app")
ANN, EVE, BOB, DORA, CARL = (f"{n}@example.org" for n in ("ann", "eve", "bob", "dora", "carl"))
FILE = f"""
[roles]
steward = ["{ANN}", "{EVE}"]
reviewer = ["{BOB}"]
asker = ["{DORA}", "fred@example.org"]
analyst = ["*@example.org"]
[approval]
epsilon_above = 0.5
[datasets.club]
max_epsilon = 4
"""
SCHEMA = facts_of(age=number(0, 99, source="public"), team=codes("a", "b", source="public")) | {"dataset": "club"}
SECRET = "77"  # an age that one row alone has


@pytest.fixture
def run(signed):  # noqa: ARG001
    """Ann's run on her table, done and released."""
    return made(ANN)


def made(owner, name="club"):
    rng = np.random.default_rng(1)
    table = stored.new_place(owner) / f"{name}.csv"
    age = rng.integers(20, 60, 2000)
    pd.DataFrame({"age": np.append(age, int(SECRET)), "team": rng.choice(["a", "b"], 2001)}).to_csv(table, index=False)
    about = {"table": str(table), "label": "Anns rows", "dataset": name, "epsilon": 1.0, "delta": 1e-5}
    job = jobs.create(about | {"method": "independent", "relation": "add_remove", "owner": owner})
    out = job.path / "release"
    ran(table, SCHEMA, method="independent", out=out, dataset=name)
    (job.path / "result.json").write_text(
        json.dumps({"paths": {"synthetic": str(out / "synthetic.csv"), "card": str(out / "card.json")}, "num_rows": 9})
    )
    job.write(jobs.Status(state="done"))
    looks.release(job, by=owner, approved_by=BOB)
    return job


def page(start):
    at = start().switch_page(view("questions")).run()
    assert not at.exception
    return at


def spent(name="club"):
    return sum(t.epsilon for t in synth.Ledger().summary(name))


def one():
    return jobs.asked.listing()[0]


def answered(question):
    job = question.answer
    assert job.wait(120).state == "done", (job.status(), (job.path / "log.txt").read_text())
    return job


def asked_by(start, signed, person=DORA, why="a paper on ages", **fields):
    """The page after somebody asked for the mean age."""
    signed(person)
    at = page(start)
    at.selectbox(key="q_kind").set_value("mean").run()
    for key, value in fields.items():
        at.number_input(key=key).set_value(value).run()
    at.text_area(key="q_why").set_value(why).run()
    at.button(key="ask_question").click().run()
    assert not at.exception
    return at


def test_from_a_question_to_its_answer(run, signed, start):
    """An asker's price is free and from the release alone; the steward decides; the answer is charged, and shown."""
    before = spent()
    at = asked_by(start, signed)
    assert "waits for the steward's decision" in said(at)
    all_helped(at)
    assert any("epsilon 0.2" in list(d.value.iloc[:, 0]) for d in at.dataframe), "the price stands on the page"
    assert not {k for k in keys(at) if k.startswith(("answer_", "decline_"))}
    assert spent() == before
    assert "Anns rows" not in said(at)
    assert SECRET not in said(at)

    signed(EVE)
    assert "mean" not in said(page(start)), "another steward's release: nothing of the question is shown"

    signed(ANN)
    at = page(start)
    all_helped(at)
    assert f"asked by {DORA}" in said(at)
    assert "a paper on ages" in said(at)
    assert "Of the cap in the file of roles 3 is left" in said(at)
    at.button(key=f"answer_{one().name}").click().run()
    assert not at.exception
    job = answered(one())
    assert spent() == pytest.approx(before + 0.2)
    (line,) = [e for e in synth.Ledger().entries("club") if e.kind == "spend" and e.question["method"] == "verified"]
    assert line.run == job.run

    signed(DORA)
    at = page(start)
    assert "answered" in said(at)
    assert {"Answer with its card (.json)", "Page (.html)"} <= downloads(at)
    answer = json.loads(asking.part(one(), "answer.json"))
    assert abs(answer["terms"]["mean"]["estimate"] - 39.5) < 3
    assert synth.check(answer["card"]).epsilon <= 0.2
    shown = asking.part(one(), "answer.html").decode()
    assert "<svg" in shown
    assert "epsilon 0.2" in shown
    for text in (said(at), shown, json.dumps(answer)):
        assert "Anns rows" not in text
        assert str(run.request()["table"]) not in text

    for person in ("fred@example.org", CARL, EVE):
        signed(person)
        with pytest.raises(synth.UsageError):
            asking.part(one(), "answer.json")


def test_a_large_answer_needs_a_second_signature(run, signed, start):  # noqa: ARG001
    asked_by(start, signed, q_epsilon=0.8)
    signed(ANN)
    at = page(start)
    assert at.button(key=f"answer_{one().name}").label == "Ask a reviewer to sign"
    before = spent()
    at.button(key=f"answer_{one().name}").click().run()
    assert one().state() == "held"
    assert spent() == before
    signed(BOB)
    reviewer = start().switch_page(view("approve")).run()
    assert "epsilon 0.8" in said(reviewer)
    reviewer.button(key="approve_0").click().run()
    answered(one())
    (line,) = [e for e in synth.Ledger().entries("club") if e.kind == "spend" and e.question["method"] == "verified"]
    assert (line.approved_by, line.epsilon) == (BOB, 0.8)


def test_refusing_and_withdrawing_spend_nothing_and_stand(run, signed, start):  # noqa: ARG001
    asked_by(start, signed)
    first, before = one(), spent()
    signed(ANN)
    at = page(start)
    at.text_input(key=f"reason_{first.name}").set_value("too near to another one").run()
    at.button(key=f"decline_{first.name}").click().run()
    with pytest.raises(synth.UsageError, match="decided on already"):
        asking.answer(first, epsilon=0.2)
    assert [
        j for j in jobs.listing() if j.request().get("task") == "verified" and j.status().state != "cancelled"
    ] == []
    at = asked_by(start, signed)
    assert "Reason: too near to another one" in said(at)
    at.button(key=f"withdraw_{one().name}").click().run()
    assert one().state() == "withdrawn"
    signed(ANN)
    assert not {k for k in keys(page(start)) if k.startswith("answer_")}
    assert spent() == before


def test_several_questions_share_one_epsilon(run, signed, start):  # noqa: ARG001
    signed(DORA)
    at = page(start)
    at.button(key="add_question").click().run()
    at.selectbox(key="q_kind").set_value("share").run()
    at.multiselect(key="q_of").set_value(["team"]).run()
    assert "How many rows" in said(at)
    at.text_area(key="q_why").set_value("two at once").run()
    at.button(key="ask_question").click().run()
    assert one().questions == {"questions": [{"kind": "count"}, {"kind": "share", "of": {"team": "a"}}]}
    signed(ANN)
    at = page(start)
    at.button(key=f"answer_{one().name}").click().run()
    result = json.loads((answered(one()).path / "answer.json").read_text())
    assert [list(a["terms"]) for a in result["answers"]] == [["count"], ["share"]]
    assert synth.check(result["card"]).epsilon <= 0.2


FORMS = {
    "count": {},
    "mean": {},
    "quantile": {},
    "share": {"multiselect": {"q_of": ["team"]}},
    "difference": {},
    "linear": {"text_input": {"q_formula": "age ~ C(team)"}},
    "logistic": {"text_input": {"q_formula": "team ~ age", "q_positive": "b"}},
    "poisson": {"text_input": {"q_formula": "age ~ C(team)"}},
    "survival": {"text_input": {"q_at": "30, 40"}, "multiselect": {"q_event": ["team"]}},
    "within": {"selectbox": {"q_inner": "mean"}, "number_input": {"q_mine": 40.0, "q_by": 3.0}},
}


@pytest.mark.parametrize("kind", FORMS)
def test_every_kind_can_be_written_in_the_form(run, signed, start, kind):  # noqa: ARG001
    """And is priced there: no kind of the language is left to those who write JSON."""
    from synth.verified.language import FIELDS

    assert set(FORMS) == set(FIELDS)
    signed(DORA)
    at = page(start)
    at.selectbox(key="q_kind").set_value(kind).run()
    for control, values in FORMS[kind].items():
        for key, value in values.items():
            getattr(at, control)(key=key).set_value(value).run()
    assert not at.exception
    assert not at.error
    assert "ask_question" in keys(at), said(at)
    all_helped(at)


@pytest.mark.parametrize("question", [None, {"kind": "median"}, {"kind": "mean", "column": "iban"}, [], 7])
def test_what_cannot_be_asked_is_refused_and_stores_nothing(run, signed, question):
    signed(DORA)
    with pytest.raises(synth.UsageError):
        asking.ask(run, question, epsilon=0.2, why="x")
    assert not jobs.asked.listing()


def test_what_cannot_be_asked_is_a_sentence_on_the_page(run, signed, start):  # noqa: ARG001
    signed(DORA)
    at = page(start)
    at.selectbox(key="q_kind").set_value("linear").run()
    at.text_input(key="q_formula").set_value("iban ~ team").run()
    assert not at.exception
    assert at.info or at.error
    assert "ask_question" not in keys(at)


def test_only_released_tables_are_asked_about(signed, start):
    job = made(ANN)
    (job.path / looks.RELEASED).unlink()
    signed(DORA)
    assert "There is no release to ask about yet" in said(page(start))
    with pytest.raises(synth.UsageError, match="not released"):
        asking.ask(job, {"kind": "count"}, epsilon=0.1, why="x")
    signed(ANN)
    assert "ask_question" in keys(page(start))


def test_a_reserve_is_kept_for_questions_and_they_have_no_more(run, signed, start):
    """Runs cannot spend it; answers cannot spend beyond it; what is refused is free, and can be decided anew."""
    signed(ANN)
    synth.Ledger().set_policy("club", max_epsilon=4.0)
    asking.reserve("club", 0.3)
    assert synth.Ledger().summary("club")[0].remaining_reserve == pytest.approx(0.3)
    synth.Ledger().set_policy("club", max_epsilon=4.0)
    assert synth.Ledger().policy("club").reserve == pytest.approx(0.3), "another cap leaves the reserve"
    asked_by(start, signed)
    signed(ANN)
    at = page(start)
    assert "Of the reserve for questions 0.3 is left" in said(at)
    before = spent()
    job = asking.answer(one(), epsilon=0.4)
    assert job.wait(120).state == "failed"
    assert "reserve for questions" in job.why()
    assert spent() == before
    at = page(start)
    at.number_input(key=f"grant_{one().name}").set_value(0.3).run()
    at.button(key=f"answer_{one().name}").click().run()
    answered(one())
    assert synth.Ledger().summary("club")[0].remaining_reserve == pytest.approx(0.0)
    with pytest.raises(synth.BudgetError, match="what the reserve for questions leaves"):
        ran(run.request()["table"], SCHEMA, epsilon=2.8, method="independent", dataset="club")
    with pytest.raises(synth.UsageError, match="part of the cap"):
        synth.Ledger().set_policy("club", max_epsilon=4.0, reserve=5.0)


def test_of_two_decisions_at_once_one_stands(run, signed):
    signed(DORA)
    question = asking.ask(run, {"kind": "count"}, epsilon=0.1, why="x")
    signed(ANN)
    asking.decline(question, "no")
    for deed in (lambda: asking.decline(question, "no"), lambda: question.decide("answered", by=ANN)):
        with pytest.raises(synth.UsageError, match="decided on already"):
            deed()
    assert len(list(question.path.glob("decision-*.json"))) == 1
    assert not list(question.path.glob(".*"))


def test_an_asker_opens_two_pages_and_sends_no_file():
    who = Visitor(name=DORA, role="asker")
    assert app_api.pages("asker") == ("releases", "questions")
    assert not any(who.may(a, DORA) for a in ("upload", "spend", "compare", "read_ledger", "answer_question"))


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("at", ["decided", "before"])
def test_a_server_killed_while_it_starts_an_answer_leaves_one_that_is_decided_anew(signed, start, monkeypatch, at):
    """Between a decision and its job's start nothing stood that anybody would go on with."""
    asked_by(start, signed)
    signed(ANN)
    with monkeypatch.context() as killed:
        where = (runs, "queued") if at == "decided" else (jobs.asked.Asked, "decide")
        killed.setattr(*where, lambda *_, **__: os._exit(9))
        child = os.fork()
        if not child:
            asking.answer(one(), epsilon=0.2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert one().state() == ("failed" if at == "decided" else "waits")
    asking.answer(one(), epsilon=0.2)
    answered(one())
