"""Questions about related tables: one root's rows count together, and intervals know that they are alike."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.pipeline.verified import Questions
from synth.verified.plan import alike
from tests.made import a_key, codes, facts_of, number, several

YES_NO = {"type": "categorical", "categories": ["no", "yes"], "source": "public"}
KEY = {"type": "identifier"}
MOST = 4
FACTS = several(
    a_key("persons", "homes", "id", MOST, source="public"),
    homes=facts_of(id=KEY, area=codes("a", "b", source="public"), rooms=number(1, 9, source="public")),
    persons=facts_of(id=KEY, age=number(0, 99, source="public"), ill=YES_NO),
)
SCHEMA = synth.app_api.parse_related(FACTS)
ASKED = [
    {"table": "persons", "kind": "count", "where": {"homes.area": "a"}},
    {"table": "persons", "kind": "share", "of": {"ill": "yes"}},
    {"table": "persons", "kind": "mean", "column": "age", "where": {"homes.area": "b"}},
    {"table": "persons", "kind": "quantile", "column": "age", "level": 0.5},
    {"table": "persons", "kind": "difference", "column": "age", "by": "homes.area", "groups": ["a", "b"]},
    {"table": "persons", "kind": "linear", "formula": "age ~ `homes.rooms` + C(ill)"},
    {"table": "persons", "kind": "logistic", "formula": "ill ~ age + C(`homes.area`)", "positive": "yes"},
    {"table": "homes", "kind": "mean", "column": "number of persons"},
    {"table": "homes", "kind": "share", "of": {"area": "a"}},
]

pytestmark = [pytest.mark.usefixtures("few_steps"), pytest.mark.xdist_group("related questions")]


def tables(many=3000, seed=1):
    """Persons of a home are alike in age, and ill together more often than by chance."""
    rng = np.random.default_rng(seed)
    area, rooms = rng.choice(["a", "b"], many, p=[0.6, 0.4]), rng.integers(1, 10, many)
    owner = np.repeat(np.arange(many), rng.integers(0, MOST + 1, many))
    age = np.clip(30 + 3 * rooms + 10 * rng.standard_normal(many), 0, 99)[owner] + rng.integers(-5, 6, len(owner))
    age = np.clip(np.rint(age), 0, 99).astype(int)
    ill = rng.random(len(owner)) < 1 / (1 + np.exp(2 - 0.04 * age - (area[owner] == "a")))
    homes = pd.DataFrame({"id": np.arange(many), "area": area, "rooms": rooms})
    return {"homes": homes, "persons": pd.DataFrame({"id": owner, "age": age, "ill": np.where(ill, "yes", "no")})}


def truth(own):
    """What the plainest analysis of the tables says, in the order of ``ASKED``."""
    homes, rows = own["homes"], own["persons"].merge(own["homes"], on="id")
    a, sick, one = rows.area == "a", (rows.ill == "yes").to_numpy(float), np.ones(len(rows))
    line = np.linalg.lstsq(np.column_stack([one, rows.rooms, sick]), rows.age, rcond=None)[0]
    x, logit = np.column_stack([one, rows.age, ~a]).astype(float), np.zeros(3)
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ logit))
        logit = logit + np.linalg.solve((x.T * (p * (1 - p))) @ x, x.T @ (sick - p))
    return [
        [a.sum()],
        [sick.mean()],
        [rows.age[~a].mean()],
        [np.quantile(rows.age, 0.5, method="inverted_cdf")],
        [rows.age[a].mean() - rows.age[~a].mean()],
        list(line),
        list(logit),
        [len(rows) / len(homes)],
        [(homes.area == "a").mean()],
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("related")
    (folder / "rows").mkdir()
    for name, table in tables().items():
        table.to_csv(folder / "rows" / f"{name}.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(FACTS))
    how = {"schema": SCHEMA, "epsilon": 4.0, "delta": 1e-5, "ledger": folder / "l.sqlite", "out": folder / "release"}
    synth.run(folder / "rows", **how)
    return folder


def test_answers_are_near_the_tables_own_and_cost_one_root(place, tmp_path):
    result = Questions(place / "release", ASKED).answer(
        place / "rows", epsilon=8, schema=SCHEMA, ledger=tmp_path / "l.sqlite"
    )
    assert {m["sensitivity"] for m in result.card["mechanisms"]} == {1.0}
    for one, own in zip(result.answers, truth(tables()), strict=True):
        for term, value in zip(one["terms"].values(), own, strict=True):
            far = max(term["table_high"] - term["table_low"], 1e-9)
            assert abs(term["estimate"] - value) < 2 * far, (one["question"], term, value)
            assert term["low"] < term["high"]


def test_rows_of_one_root_count_as_alike(place):
    """The variance of a mean over persons is that of homes' sums: more than of as many independent persons."""
    (planned,) = Questions(place / "release", ASKED[2]).planned
    rows = tables(20_000, seed=3)
    joined = rows["persons"].merge(rows["homes"], on="id")
    joined = joined[joined.area == "b"]
    off = joined.age - joined.age.mean()
    by_home = (off.groupby(joined.id).sum() ** 2).sum() / len(joined) ** 2
    size = len(joined) / planned.law.mass
    assert 0.6 < float(planned.sampling[0]) / (by_home * size) < 1.6
    assert by_home > 1.3 * (off**2).sum() / len(joined) ** 2


def test_the_command_line_prices_and_answers(place, command, tmp_path):
    (tmp_path / "q.json").write_text(json.dumps(ASKED[2]))
    code, said, _ = command("ask", place / "release", tmp_path / "q.json")
    assert code == 0
    assert said.startswith("mean: synthetic ")
    out = tmp_path / "answer.json"
    more = ["--table", place / "rows", "--schema", place / "schema.json", "--epsilon", 1, "--out", out]
    code, _, error = command("ask", place / "release", tmp_path / "q.json", *more, "--ledger", tmp_path / "l.sqlite")
    assert code == 0, error
    assert json.loads(out.read_text())["card"]["unit"] == "homes"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"kind": "mean", "column": "age"}, "name one with"),
        ({"table": "person", "kind": "mean", "column": "age"}, "did you mean persons"),
        ({"table": "homes", "kind": "mean", "column": "age"}, "age is not a column"),
        ({"table": "persons", "kind": "mean", "column": "area"}, "area is not a column"),
        ({"table": "persons", "kind": "survival", "time": "age", "event": {"ill": "yes"}, "at": [40]}, "single tables"),
    ],
)
def test_what_cannot_be_asked_is_refused(place, question, words):
    with pytest.raises(synth.UsageError, match=words):
        Questions(place / "release", question)


def test_another_key_is_another_table(place, tmp_path):
    other = json.loads(json.dumps(FACTS))
    other["keys"][0]["most_children"] = 2
    with pytest.raises(synth.UsageError, match="its key has other facts"):
        Questions(place / "release", ASKED[:1]).answer(
            place / "rows", schema=synth.app_api.parse_related(other), epsilon=1, ledger=tmp_path / "l.sqlite"
        )
    assert not (tmp_path / "l.sqlite").exists()


def test_rows_of_a_person_may_all_be_alike(place):
    """Of persons the release tells nothing: the sampling variance is as many times that of rows as they may have."""
    (planned,) = Questions(place / "release", ASKED[8]).planned
    assert np.allclose(alike(planned, 3).sampling, 3 * planned.sampling)
    assert np.allclose(alike(planned, 3).expected(1.0).noise, planned.expected(1.0).noise)
