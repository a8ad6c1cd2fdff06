"""`synth ask`: what is refused for nothing, what is answered, and that an answer looks alike whatever the rows are."""

import contextlib
import json
import sqlite3
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synth
from synth.pipeline.verified import Questions
from synth.privacy.noise import SystemNoise
from synth.verified import language
from synth.verified.inference import Measured, pointed, solved
from synth.verified.plan import Planned
from tests.conftest import small_frame
from tests.engines import fill, spark
from tests.made import a_schema, codes, facts_of, number

SCHEMA = facts_of(
    age=number(18, 90, source="public"),
    sex=codes("f", "m", source="public"),
    region=codes("1", "2", "3", "4", missing=["?"], source="public"),
    income=number(0, 100000, decimals=2, nullable=True, source="public"),
    ill=codes("no", "yes", source="public"),
)
ASKED = [
    {"kind": "count", "where": {"sex": "f", "age": "30..60"}},
    {"kind": "share", "of": {"ill": "yes", "sex": "f"}, "where": {"age": "40..90"}},
    {"kind": "mean", "column": "age", "where": {"ill": "yes"}},
    {"kind": "quantile", "column": "age", "level": 0.25},
    {"kind": "difference", "column": "age", "by": "ill", "groups": ["yes", "no"]},
    {"kind": "difference", "of": {"ill": "yes"}, "by": "sex", "groups": ["f", "m"]},
    {"kind": "linear", "formula": "log(income) ~ age + C(sex)"},
    {"kind": "logistic", "formula": "ill ~ age * sex", "positive": "yes"},
    {"kind": "poisson", "formula": "age ~ C(ill) + sex"},
    {"kind": "within", "question": {"kind": "mean", "column": "age"}, "mine": 50, "by": 10},
    {"kind": "survival", "time": "age", "event": {"ill": "yes"}, "at": [60, 80]},
]


def frame(rows=3000):
    return small_frame(rows)[list(SCHEMA["columns"])].replace({"3.0": "3"})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    frame().to_csv(folder / "people.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    synth.run(
        folder / "people.csv",
        schema=synth.Schema.parse(SCHEMA),
        epsilon=20,  # little noise: what a release of few rows tells nothing of has no answer
        delta=1e-5,
        seed=1,
        ledger=folder / "ledger.sqlite",
        out=folder / "release",
    )
    (folder / "question.json").write_text(json.dumps({"questions": ASKED}))
    return folder


def truth():
    """The table's own values, by the plainest means."""
    rows = frame().assign(age=lambda t: t.age.astype(int), income=lambda t: pd.to_numeric(t.income))
    ill, woman = rows.ill == "yes", rows.sex == "f"
    older = rows.age.between(40, 90)
    return [
        {"count": int((woman & rows.age.between(30, 60)).sum())},
        {"share": float((ill & woman)[older].mean())},
        {"mean": rows.age[ill].mean()},
        {"quantile": rows.age.quantile(0.25)},
        {"difference": rows.age[ill].mean() - rows.age[~ill].mean()},
        {"difference": ill[woman].mean() - ill[~woman].mean()},
    ]


def test_with_hardly_any_noise_answers_are_the_tables_own(place, tmp_path):
    """Each kind, at an epsilon that hides little: near what the plainest analysis finds."""
    result = Questions(place / "release", ASKED).answer(
        place / "people.csv", epsilon=20.0, dataset="exact", separate=True, ledger=tmp_path / "l.sqlite"
    )
    for reported, own in zip(result.answers, truth(), strict=False):
        for name, value in own.items():
            term = reported["terms"][name]
            assert abs(term["estimate"] - value) <= 4 * (term["table_high"] - term["table_low"]), reported
            assert term["table_high"] - term["table_low"] < 0.1 * abs(value) + 2.1, reported
    rows0 = frame().assign(age=lambda t: t.age.astype(int), income=lambda t: pd.to_numeric(t.income))
    rows = rows0[rows0.income > 0]
    x = np.column_stack([np.ones(len(rows)), rows.age, rows.sex == "m"]).astype(float)
    beta = np.linalg.lstsq(x, np.log(rows.income), rcond=None)[0]
    terms = result.answers[6]["terms"]
    assert list(terms) == ["Intercept", "age", "C(sex)[T.m]"]
    for term, own in zip(terms.values(), beta, strict=True):  # a width is four deviations of the noise
        assert abs(term["estimate"] - own) <= 1.5 * (term["table_high"] - term["table_low"]) < 0.6, term
    assert result.answers[9]["within"]["mean"]["within"]
    curve = result.answers[10]["terms"]
    for at, own in zip((60, 80), kaplan_meier(rows0.age, rows0.ill == "yes", (60, 80)), strict=True):
        term = curve[f"survival at {at}"]
        assert abs(term["estimate"] - own) <= 4 * (term["table_high"] - term["table_low"])
        assert term["table_high"] - term["table_low"] < 0.05


def kaplan_meier(time, event, at):
    """Survival at these times, by its definition."""
    left_at = []
    for end in at:
        left = 1.0
        for t in range(end + 1):
            left *= 1 - ((time == t) & event).sum() / max((time >= t).sum(), 1)
        left_at.append(left)
    return left_at


@pytest.mark.parametrize(("scale", "shape"), [(50, 1.3), (40, 1.3), (70, 1.3)])
def test_survival_bends_the_releases_curve_to_the_tables_own(scale, shape):
    """Without noise or clipping: the sums of another table lead from the synthetic curve to that table's."""
    schema = a_schema(t=number(0, 120), d=codes("0", "1"))
    rng, at = np.random.default_rng(4), [12, 36, 60]

    def rows(n, scale):
        ends, leaves = np.floor(scale * rng.weibull(shape, n)), np.floor(rng.uniform(0, 130, n))
        seen = np.minimum(np.minimum(ends, leaves), 120).astype(np.int64)
        return {"t": seen, "d": ((ends <= leaves) & (ends <= 120)).astype(np.int64)}

    (question,) = language.read({"kind": "survival", "time": "t", "event": {"d": "1"}, "at": at}, schema)
    planned, own = Planned.of(question, rows(20_000, 50), 20_000.0), rows(20_000, scale)
    asked, done = planned.law.coefficients(planned.law.beta), []
    for _ in range(2):
        score = planned.law.score(asked, 1e6, planned.whitening)
        done.append(Measured(score=score, values=score.of(own).sum(0), sigma=1e-7))
        asked = pointed(planned.law, done)
    result = solved(planned.law, done)
    truth = kaplan_meier(own["t"], own["d"] == 1, at)
    assert result.converged
    assert (np.abs(result.values - truth) < 5 * np.sqrt(result.within)).all()
    assert (np.sqrt(result.within) < np.sqrt(result.sampling) / 2).all()
    assert np.allclose(planned.law.coefficients(np.zeros(3)), kaplan_meier_of(planned), atol=1e-9)


def kaplan_meier_of(planned):
    """The synthetic rows' own curve, from the law's cells."""
    law, left_at = planned.law, []
    for end in (12, 36, 60):
        left = 1.0
        for t in range(end + 1):
            left *= 1 - law.w[(law.at == t) & (law.event == 1)].sum() / law.w[law.at >= t].sum()
        left_at.append(left)
    return left_at


def test_a_price_is_free_and_reads_no_row(place, command):
    """Widths fall with epsilon, but for the clip that each noise has its own: it may lift one by a percent or two."""
    ledger = place / "ledger.sqlite"
    before = ledger.read_bytes()
    code, said, error = command("ask", place / "release", place / "question.json", "--json")
    assert (code, error) == (0, "")
    parsed = json.loads(said)
    assert parsed["epsilon_spent"] == 0
    for one in parsed["prices"]:
        for term in one["terms"].values():
            widths = [term["widths"][e] for e in ("0.05", "0.1", "0.2", "0.5", "1")]
            assert all(later <= 1.02 * before for before, later in pairwise(widths))
            assert widths[-1] > 0.8 * term["sampling_width"]
    assert ledger.read_bytes() == before
    one = place / "one.json"
    one.write_text(json.dumps(ASKED[7]))
    code, said, _ = command("ask", place / "release", one, "--width", 0.1, "--term", "age", "--json")
    least = json.loads(said)["least_epsilon"]
    assert code == 0
    result = Questions(place / "release", ASKED[7]).price(epsilons=(least, least / 2))["terms"]["age"]["widths"]
    assert result[f"{least:g}"] <= 0.1 * 1.01 < result[f"{least / 2:g}"] * 1.01


def test_an_answer_is_charged_once_and_says_what_it_is(place, command, tmp_path):
    ledger, out = tmp_path / "ledger.sqlite", tmp_path / "answer.json"
    (place / "one.json").write_text(json.dumps(ASKED[7]))
    asked = ["ask", place / "release", place / "one.json", "--table", place / "people.csv"]
    asked += ["--schema", place / "schema.json", "--epsilon", 0.5, "--delta", 1e-5, "--ledger", ledger, "--out", out]
    code, said, error = command(*asked)
    assert code == 0, error
    parsed = json.loads(out.read_text())
    assert list(parsed["terms"]) == ["Intercept", "age", "sex[T.m]", "age:sex[T.m]"]
    for term in parsed["terms"].values():
        assert term["low"] <= term["estimate"] <= term["high"]
        assert np.isfinite(term["synthetic"])
    (line,) = [e for e in synth.Ledger(ledger).entries() if e.kind == "spend"]
    assert (line.epsilon, line.delta, line.question["method"]) == (0.5, 1e-5, "verified")
    assert parsed["card"]["epsilon"] == 0.5
    assert parsed["card"]["method"] == "verified"
    assert synth.check(parsed["card"]).epsilon <= 0.5
    assert parsed["release"]["epsilon"] == 20
    assert "charged: epsilon 0.5" in said


REFUSED = [
    ({"kind": "median"}, "kind"),
    ({"kind": "mean"}, "column"),
    ({"kind": "mean", "column": "nothing"}, "not a column"),
    ({"kind": "mean", "column": "sex"}, "numbers"),
    ({"kind": "mean", "column": "age", "where": {"age": "1..5"}}, "outside"),
    ({"kind": "mean", "column": "age", "were": {}}, "where"),
    ({"kind": "quantile", "column": "age", "level": 1}, "level"),
    ({"kind": "difference", "column": "age", "by": "sex", "groups": ["f", "f"]}, "overlap"),
    ({"kind": "logistic", "formula": "ill ~ age"}, "positive"),
    ({"kind": "logistic", "formula": "ill ~ __import__('os')", "positive": "yes"}, "question"),
    ({"kind": "linear", "formula": "age"}, "OUTCOME"),
    ({"kind": "within", "question": {"kind": "mean", "column": "age"}, "mine": {"x": 1}, "by": 1}, "mine"),
    ({"kind": "within", "question": {"kind": "mean", "column": "age"}, "mine": 1, "by": -1}, "above 0"),
    ({"kind": "survival", "time": "age", "event": {"ill": "yes"}, "at": [60, 40]}, "rising"),
    ({"kind": "survival", "time": "age", "event": {"ill": "yes"}, "at": [200]}, "from 18 to 90"),
    ({"kind": "survival", "time": "age", "event": {"ill": "yes", "sex": "f"}, "at": [40]}, "one column"),
    ({"kind": "survival", "time": "ill", "event": {"ill": "yes"}, "at": [40]}, "numbers"),
    ({"kind": "survival", "time": "age", "event": {"ill": "yes"}, "at": [90]}, "earlier times"),
    ({"questions": [{"kind": "count"}], "release": "another"}, "another release"),
    ([], "1 to"),
    ("x", "kind"),
    ({"kind": "count", "where": {"sex": "f", "age": "20", "ill": "no", "region": "1"}}, "at most 3"),
]


@pytest.mark.parametrize(("question", "words"), REFUSED)
def test_what_the_schema_cannot_answer_is_refused_before_the_spend(place, command, tmp_path, question, words):
    asked, ledger = tmp_path / "q.json", tmp_path / "ledger.sqlite"
    asked.write_text(json.dumps(question))
    code, _, error = command(
        *("ask", place / "release", asked, "--table", place / "people.csv", "--epsilon", 1, "--ledger", ledger)
    )
    assert code == 2, error
    assert words in error
    assert len(error.splitlines()) == 1
    assert not ledger.exists() or not synth.Ledger(ledger).entries()


def shape(value):
    """An answer without its numbers."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items() if k not in ("hash", "created", "ledger_entry")}
    if isinstance(value, list):
        return [shape(v) for v in value]
    return type(value).__name__ if isinstance(value, int | float) else value


TABLES = {
    "as it is": lambda t: t,
    "one row": lambda t: t.head(1),
    "nobody meets the filter": lambda t: t[t.sex == "m"],
    "a constant": lambda t: t.assign(age="50"),
    "a level that is never seen": lambda t: t[t.ill == "no"],
    "all missing": lambda t: t.assign(income="", region="?"),
    "cells of all kinds": lambda t: t.assign(age="1e999", sex="x" * 1000, income="=1+1", ill="\u0000"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_errors_are_answers_like_any_other(place, command, tmp_path, kind):
    """No row, nor the lack of it, ends a question in another way: same exit code, same words, same fields."""
    table, out = tmp_path / "people.csv", tmp_path / "answer.json"
    TABLES[kind](frame()).to_csv(table, index=False)
    code, said, error = command(
        *("ask", place / "release", place / "question.json", "--table", table, "--schema", place / "schema.json"),
        *("--epsilon", 1, "--ledger", tmp_path / "ledger.sqlite", "--out", out, "--separate", "--json"),
    )
    assert code == 0, error
    parsed = json.loads(out.read_text())
    assert [list(a["terms"]) for a in parsed["answers"]] == [
        ["count"],
        ["share"],
        ["mean"],
        ["quantile"],
        ["difference"],
        ["difference"],
        ["Intercept", "age", "C(sex)[T.m]"],
        ["Intercept", "age", "sex[T.m]", "age:sex[T.m]"],
        ["Intercept", "C(ill)[T.yes]", "sex[T.m]"],
        ["mean"],
        ["survival at 60", "survival at 80"],
    ]
    for one in parsed["answers"]:
        for term in one["terms"].values():
            assert {"estimate", "low", "high", "synthetic", "table_low", "table_high"} <= set(term)
            assert one["settled"] == (term["estimate"] is not None)
    assert len(said.splitlines()) == 1
    assert shape(parsed["card"]) == shape(json.loads(out.read_text())["card"])


class Silent(SystemNoise):
    """No noise at all, so that what engines count can be compared."""

    name = "none"

    def gaussian_counts(self, shape, *, sigma):  # noqa: ARG002
        return np.zeros(shape, dtype=np.int64)


def silently(place, table, source, folder):
    """The terms of every question, the sums without noise, and the lines of the ledger's dataset."""
    result = Questions(place / "release", ASKED).answer(
        table,
        source=source,
        epsilon=1.0,
        dataset="rows",
        separate=True,
        noise=Silent(),
        ledger=folder / "ledger.sqlite",
    )
    return [one["terms"] for one in result.answers]


@pytest.fixture(scope="module")
def of_file(place, tmp_path_factory):
    return silently(place, place / "people.csv", None, tmp_path_factory.mktemp("of_file"))


def stored(kind, folder, request):
    """(table, source) of the rows, as `synth.run` takes them."""
    rows = frame()
    if kind == "frame":
        return rows, None
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(folder / "d.duckdb")) as db:
            db.execute("CREATE TABLE people AS SELECT * FROM rows")
        return "people", f"duckdb:///{folder}/d.duckdb"
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(folder / "d.sqlite")) as base:
            rows.to_sql("people", base, index=False)
        return "people", f"sqlite:///{folder}/d.sqlite"
    if kind == "postgres":
        engine, texts = request.getfixturevalue("cluster"), rows.astype(object).where(rows.notna(), None)
        fill(
            engine, "people", pa.table({n: pa.array(texts[n], pa.string()) for n in texts}), dict.fromkeys(rows, "text")
        )
        return "people", engine.address
    rows.to_parquet(folder / "people.parquet")
    return folder / "people.parquet", spark().address if kind == "spark" else None


SERVERS = [
    pytest.param("postgres", marks=pytest.mark.long),
    pytest.param("spark", marks=[pytest.mark.long, pytest.mark.xdist_group("spark")]),  # where it is started already
]


@pytest.mark.parametrize("kind", ["parquet", "frame", "duckdb", "sqlite", *SERVERS])
def test_every_engine_has_the_same_sums(place, of_file, tmp_path, request, kind):
    """Files, frames and tables of four engines: the sums of every kind of question are equal to the last bit."""
    assert silently(place, *stored(kind, tmp_path, request), tmp_path) == of_file


def test_a_schema_with_other_facts_is_refused(place, tmp_path):
    other = json.loads(json.dumps(SCHEMA))
    other["columns"]["age"]["max"] = 100
    with pytest.raises(synth.UsageError, match="other facts"):
        Questions(place / "release", ASKED[:1]).answer(
            place / "people.csv", schema=synth.Schema.parse(other), epsilon=1, ledger=tmp_path / "l.sqlite"
        )
    assert not (tmp_path / "l.sqlite").exists()


def test_under_every_relation_and_with_persons(place, tmp_path):
    """The noise follows the relation; a person's rows count together."""
    facts = json.loads(json.dumps(SCHEMA))
    facts["columns"]["id"] = {"type": "identifier"}
    people = frame().assign(id=[f"p{i // 2}" for i in range(3000)])
    people.to_csv(tmp_path / "persons.csv", index=False)
    noises = {}
    for relation, unit, most in (
        *((r, None, None) for r in ("add_remove", "replace_one", "zero_out")),
        ("add_remove", "id", 2),
    ):
        result = Questions(place / "release", ASKED[2]).answer(
            tmp_path / "persons.csv",
            schema=synth.Schema.parse(facts),
            dataset=f"{relation}-{unit}",
            separate=True,
            epsilon=1,
            relation=relation,
            unit=unit,
            max_rows=most,
            ledger=tmp_path / "ledger.sqlite",
        )
        noises[relation, unit] = result.card["mechanisms"]
        assert result.card["relation"] == relation
    sizes = {k: {m["sensitivity"] for m in v} for k, v in noises.items()}
    assert sizes == {
        ("add_remove", None): {1.0},
        ("zero_out", None): {1.0},
        ("replace_one", None): {2.0},
        ("add_remove", "id"): {2.0},
    }
