"""Review and Questions of tables that belong together, and of one table whose persons keep their rows."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import synth
from app.result import comparison, more
from app.session.state import view
from app.table import stored
from synth import jobs
from synth.jobs import asked
from tests.app.elements import all_helped, german, refitted, said

pytestmark = pytest.mark.xdist_group("app")
KEY = {"type": "identifier"}
SEX = {"type": "categorical", "categories": ["f", "m"]}
WARD = {"type": "categorical", "categories": ["a", "b"]}
TWO = {
    "tables": {"patients": {"columns": {"pid": KEY, "sex": SEX}}, "stays": {"columns": {"pid": KEY, "ward": WARD}}},
    "keys": [{"parent": "patients", "child": "stays", "columns": ["pid"], "most_children": 3}],
}
ONE = {"unit": "pid", "max_rows": 3, "columns": {"pid": KEY, "sex": {**SEX, "of": "unit"}, "ward": WARD}}


def rows(many=200):
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(many), 1 + np.arange(many) % 3)
    patients = pd.DataFrame({"pid": np.arange(many), "sex": rng.choice(["f", "m"], many)})
    stays = pd.DataFrame({"pid": who, "ward": np.where(patients.sex.to_numpy()[who] == "f", "a", "b")})
    return {"patients": patients, "stays": stays}


def made(plain, method="independent"):
    """A finished run, its table still there."""
    place, tables = stored.new_place(""), rows()
    if "tables" in plain:
        table = place
        for name, frame in tables.items():
            frame.to_csv(place / f"{name}.csv", index=False)
    else:
        table = place / "stays.csv"
        tables["stays"].merge(tables["patients"], on="pid")[list(plain["columns"])].to_csv(table, index=False)
    about = {"table": str(table), "label": "stays", "dataset": "clinic", "epsilon": 1.0, "delta": 1e-5}
    job = jobs.create(about | {"method": method, "relation": "add_remove"})
    schema = synth.app_api.parse_schema(plain)
    out = job.path / "release"
    result = synth.run(table, schema=schema, epsilon=1, delta=1e-5, method=method, out=out, dataset="clinic")
    (job.path / "result.json").write_text(json.dumps(result.plain()))
    job.write(jobs.Status(state="done"))
    return job


def review(start, job):
    at = start()
    at.session_state["wizard"].job = job.path
    at.switch_page(view("result")).run()
    at._page_hash = ""
    assert not at.exception
    return at


@pytest.mark.parametrize(("plain", "other"), [(TWO, "mixture"), (ONE, "independent")], ids=["two tables", "one table"])
def test_another_fit_is_free_and_stands_beside_the_first(start, plain, other):
    job = made(plain)
    at = review(start, job)
    assert "This is the only finished run on its dataset" in said(at)
    at.selectbox(key="refit_method").set_value(other).run()
    at.number_input(key="refit_rows").set_value(20).run()
    all_helped(at)
    at.button(key="refit").click().run()
    assert "The other fit is ready" in said(refitted(at))
    second = jobs.Job(at.session_state["wizard"].job)
    card = json.loads((second.path / "release" / "card.json").read_text())
    assert (card["method"], card["refitted"]) == (other, True)
    assert [t.epsilon for t in synth.Ledger().summary("clinic")] == [1.0]
    at.multiselect(key="beside").set_value([at.multiselect(key="beside").options[0]]).run()
    at.radio(key="how_beside").set_value("releases").run()
    at.button(key="choose_beside").click().run()
    at.button(key="score").click().run()
    assert not at.exception
    assert not at.error, at.error[0].value
    tables = [t.value for t in at.table if "Method" in list(t.value.iloc[:, 0])]
    assert tables[0].shape[1] == 3, "a column for each run"
    assert any("columns of" in str(line) for line in tables[0].iloc[:, 0]), "the verdict, from the release"
    if "tables" in plain:
        lines = [str(line).replace("\\", "") for line in tables[0].iloc[:, 0]]
        assert any("patients" in line for line in lines), "the verdict by table and relation, from the release"
        assert "real rows: relations: columns of stays with those of tables above" in lines
        assert "SDMetrics' report of related tables" in said(at)
        assert more.command(job.request(), several=True).startswith("synth run clinic --schema schema.json")
        assert "load_related" in more.in_python(job.request(), several=True)


def test_nothing_of_related_tables_is_english_on_a_german_page(start, in_german):  # noqa: ARG001
    at = review(start, made(TWO))
    german(at)
    german(at.button(key="compare").click().run())


def test_many_numbers_of_rows_are_few_bars_that_name_whose_they_are():
    real = np.arange(501) / np.arange(501).sum()
    numbers = SimpleNamespace(child="stays", parent="patients", real=real, synthetic=real[::-1], distance=0.5)
    drawn = comparison._numbers(numbers).to_dict()
    assert drawn["height"] <= 600
    assert drawn["encoding"]["x"]["title"] == "share of the rows of patients"
    (rows,) = drawn["datasets"].values()
    assert len(rows) == 2 * 12
    assert sum(row["share"] for row in rows) == pytest.approx(2)
    few = SimpleNamespace(child="stays", parent="patients", real=real[:3], synthetic=real[:3], distance=0.0)
    (rows,) = comparison._numbers(few).to_dict()["datasets"].values()
    assert [row["value"] for row in rows] == ["0", "1", "2"] * 2


def test_a_question_about_persons_is_priced_and_answered(start):
    made(ONE)
    synth.Ledger().set_policy("clinic", max_epsilon=3.0, max_delta=1e-3)
    at = start().switch_page(view("questions")).run()
    assert at.selectbox(key="q_table").options == ["rows", "persons"]
    assert "survival" not in at.selectbox(key="q_kind").options
    at.selectbox(key="q_kind").set_value("share").run()
    at.multiselect(key="q_of").set_value(["sex"]).run()
    assert not at.exception
    all_helped(at)
    at.button(key="ask_question").click().run()
    (question,) = asked.listing()
    assert question.questions == {"table": "rows", "kind": "share", "of": {"sex": "f"}}
    at.button(key=f"answer_{question.name}").click().run()
    assert not at.error, at.error[0].value
    done = question.answer
    assert done.wait(120).state == "done", done.status().message
    answer = json.loads((done.path / "answer.json").read_text())
    assert answer["card"]["unit_in_words"] == "one person, named by pid, with all rows"


def test_a_run_of_several_tables_is_shown_as_a_command_line_too(start):
    job = made(TWO)
    at = start()
    at.session_state["wizard"].job = job.path
    at.session_state["again"] = True
    at.switch_page(view("result")).run()
    assert not at.exception
    assert not at.error, at.error[0].value
    assert any(c.value.startswith("synth run clinic --schema schema.json") for c in at.code), [
        e.label for e in at.toggle
    ]
