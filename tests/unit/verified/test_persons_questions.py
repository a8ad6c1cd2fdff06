"""Questions about one table whose persons keep their rows: one person's rows count together."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.pipeline.verified import Questions
from synth.verified import language

MOST = 4
COLUMNS = {
    "pid": {"type": "identifier"},
    "sex": {"type": "categorical", "categories": ["f", "m"], "of": "unit"},
    "age": {"type": "integer", "min": 0, "max": 99, "of": "unit"},
    "ward": {"type": "categorical", "categories": ["a", "b"]},
    "days": {"type": "integer", "min": 1, "max": 30},
}
PLAIN = {"dataset": "stays", "unit": "pid", "max_rows": MOST, "columns": COLUMNS}
SCHEMA = synth.Schema.parse(PLAIN)
ASKED = [
    {"kind": "count", "where": {"sex": "f"}},
    {"table": "persons", "kind": "count"},
    {"kind": "share", "of": {"ward": "a"}},
    {"kind": "mean", "column": "days", "where": {"sex": "m"}},
    {"kind": "linear", "formula": "days ~ age + C(sex)"},
    {"table": "persons", "kind": "mean", "column": "number of rows"},
    {"table": "persons", "kind": "mean", "column": "age"},
]
pytestmark = [pytest.mark.usefixtures("few_steps"), pytest.mark.xdist_group("persons questions")]


def stays(persons=3000, seed=1):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), rng.integers(1, MOST + 1, persons))
    sex, age = rng.choice(["f", "m"], persons)[who], rng.integers(20, 90, persons)[who]
    days = np.clip(5 + age // 10 + 3 * (sex == "m") + rng.integers(-3, 4, len(who)), 1, 30)
    ward = np.where(rng.random(len(who)) < 0.3, "a", "b")
    return pd.DataFrame({"pid": who.astype(str), "sex": sex, "age": age, "ward": ward, "days": days})


def truth(rows):
    persons = rows.drop_duplicates("pid")
    design = np.column_stack([np.ones(len(rows)), rows.age, rows.sex == "m"]).astype(float)
    return [
        [(rows.sex == "f").sum()],
        [len(persons)],
        [(rows.ward == "a").mean()],
        [rows.days[rows.sex == "m"].mean()],
        list(np.linalg.lstsq(design, rows.days, rcond=None)[0]),
        [len(rows) / len(persons)],
        [persons.age.mean()],
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("persons")
    stays().to_csv(folder / "stays.csv", index=False)
    how = {"schema": SCHEMA, "epsilon": 4.0, "delta": 1e-5, "ledger": folder / "l.sqlite", "out": folder / "release"}
    synth.run(folder / "stays.csv", **how)
    return folder


def test_answers_are_near_the_tables_own_and_cost_one_person(place, tmp_path):
    asked = Questions(place / "release", ASKED)
    result = asked.answer(place / "stays.csv", epsilon=8, schema=SCHEMA, ledger=tmp_path / "l.sqlite")
    assert {m["sensitivity"] for m in result.card["mechanisms"]} == {1.0}
    assert result.card["unit_in_words"] == "one person, named by pid, with all rows"
    for one, own in zip(result.answers, truth(stays()), strict=True):
        for term, value in zip(one["terms"].values(), own, strict=True):
            far = max(term["table_high"] - term["table_low"], 1e-9)
            assert abs(term["estimate"] - value) < 2 * far, (one["question"], term, value)
            assert term["synthetic"] is not None


def test_the_command_line_answers_and_names_the_release(place, command, tmp_path):
    card = json.loads((place / "release" / "card.json").read_text())
    request = {"release": card["synthetic_sha256"], "questions": ASKED[2:4]}
    (tmp_path / "q.json").write_text(json.dumps(request))
    more = ["--table", place / "stays.csv", "--epsilon", 1, "--out", tmp_path / "answer.json"]
    code, _, error = command("ask", place / "release", tmp_path / "q.json", *more, "--ledger", tmp_path / "l.sqlite")
    assert code == 0, error
    assert json.loads((tmp_path / "answer.json").read_text())["card"]["unit"] == "pid"


def test_another_bound_and_another_unit_are_refused_before_the_spend(place, tmp_path):
    asked = Questions(place / "release", ASKED[:1])
    how = {"epsilon": 1.0, "ledger": tmp_path / "l.sqlite"}
    with pytest.raises(synth.UsageError, match="rows or its key has other facts"):
        asked.answer(place / "stays.csv", max_rows=2, **how)
    with pytest.raises(synth.UsageError, match="`max_rows=`"):
        asked.price(max_rows=2)
    with pytest.raises(synth.InputError, match="nothing names persons"):
        asked.answer(place / "stays.csv", schema=SCHEMA.model_copy(update={"unit": None}), **how)
    assert not (tmp_path / "l.sqlite").exists()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"kind": "mean", "column": "wards"}, "wards is not a column"),
        ({"table": "persons", "kind": "mean", "column": "days"}, "days is not a column"),
        ({"table": "stays", "kind": "count"}, "is not in the release"),
    ],
)
def test_what_cannot_be_asked_is_refused(place, question, words):
    with pytest.raises(synth.UsageError, match=words):
        Questions(place / "release", question)


def test_a_form_offers_the_one_table_s_own_names():
    offered = language.tables(SCHEMA)
    assert list(offered) == ["rows", "persons"]
    assert set(offered["rows"].measured()) == {"sex", "age", "ward", "days", "number of rows"}
    assert set(offered["persons"].measured()) == {"sex", "age", "number of rows"}
