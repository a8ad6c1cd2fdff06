"""What a table is for: lines of text, JSON, research plans; refusals before the spend; forecast and verdict by use."""

import json

import numpy as np
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.generators.base import NamedTable, Workload
from synth.pipeline import plan
from synth.pipeline.plan import _means_off
from synth.pipeline.uses import tables_of, with_uses, workload
from synth.questions import Bins, Marginal
from synth.schema import uses
from tests.conftest import small_frame

COLUMNS = {
    "age": {"type": "integer", "min": 0, "max": 99},
    "sex": {"type": "categorical", "categories": ["m", "f"]},
    "home district": {"type": "categorical", "categories": ["n", "s", "w"]},
    "income": {"type": "categorical", "categories": ["low", "high"]},
    "pay": {"type": "float", "min": 0, "max": 1000},
    "id": {"type": "identifier"},
}


def schema(*lines):
    return synth.Schema.parse({"columns": COLUMNS, **({"uses": list(lines)} if lines else {})})


@pytest.mark.parametrize(
    ("line", "tables"),
    [
        ("age by sex", [("age", "sex")]),
        ("age x sex x `home district`", [("age", "sex", "home district")]),
        ("compare pay and age across sex, income", [("sex", "income", "pay"), ("sex", "income", "age")]),
        ("means of pay and age by sex and income", [("sex", "income", "pay"), ("sex", "income", "age")]),
        ("average pay by sex by income", [("sex", "income", "pay")]),
        ("correlations of age, pay, income", [("age", "pay"), ("age", "income"), ("pay", "income")]),
        ("columns age, pay", [("age",), ("pay",)]),
        ("pay ~ age", [("pay", "age")]),
        ("income ~ age + C(`home district`)", [("income", "age"), ("income", "home district")]),
    ],
)
def test_a_line_is_a_use_and_comes_back_from_json(line, tables):
    made = schema(f"{line} (weight 3)")
    again = synth.Schema.parse(made.model_dump(exclude_none=True))
    assert again == made
    assert made.uses[0].weight == 3
    assert uses.of_text(made.uses[0].words).words == made.uses[0].words
    needed = dict(tables_of(made))[made.uses[0].words]
    assert set(tables) <= set(needed)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("age by sec", "'sec' is not among the columns; did you mean sex?"),
        ("age by id", "'id' is an identifier, which is never modelled"),
        ("age by age", "it names a column twice"),
        ("age by sex by income by pay by `home district`", "a table has 2 to 4 columns"),
        ("mean of sex by income", "sex is no number and has no mean; compare it"),
        ("how old are they", "is none that is understood"),
        ("age by sex (weight 0)", "a weight is above 0"),
        ({"kind": "table", "columns": ["age"]}, "at least 2 items"),
        ({"kind": "regression", "formula": "income ~ age", "power": 2}, "power"),
    ],
)
def test_what_is_no_use_is_refused_in_one_line(line, message):
    with pytest.raises(InputError, match="use") as refusal:
        schema(line)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("income ~ age +", "is no formula"),
        ("income ~ height", "height must be of one measured column"),
        ("income ~ income + age", "on both sides"),
        ("`home district` ~ age", 'name one of them as "positive"'),
        ("id ~ age", "not among the measured columns"),
        ("income ~ exec(age)", "what no term may have"),
    ],
)
def test_formulas_are_read_before_the_spend(line, message):
    with pytest.raises(UsageError, match="`uses=`") as refusal:
        with_uses(schema(), [line])
    assert message in str(refusal.value)
    with pytest.raises(InputError, match="schema: use 1"):
        with_uses(schema(line), [])


def test_too_many_tables_are_refused():
    columns = {f"c{i}": {"type": "integer", "min": 0, "max": 9} for i in range(70)}
    with pytest.raises(InputError, match=r"2,415 tables, at most 2,000"):
        synth.Schema.parse({"columns": columns, "uses": ["correlations of " + ", ".join(columns)]})


def test_uses_need_a_complete_schema():
    open_one = synth.Schema.parse({"columns": {**COLUMNS, "sex": {"type": "categorical"}}}, complete=False)
    with pytest.raises(InputError, match="to be learnt first"):
        with_uses(open_one, ["age by income"])


def test_a_regression_needs_its_outcome_with_each_term_and_each_two_in_its_own_groups():
    made = workload(schema("income ~ I(pay > 0) + sex*age"))
    tables = {t.columns: t for t in made.tables}
    assert set(tables) == {
        ("income", "pay"),
        ("income", "sex"),
        ("income", "age"),
        ("income", "pay", "sex"),
        ("income", "pay", "age"),
        ("income", "sex", "age"),
    }
    above = tables["income", "pay"].bins["pay"]
    assert above.starts.tolist() == [0, 1]
    assert "age" not in tables["income", "age"].bins
    assert made.outcomes == ("income",)
    assert made.target(None) == "income"
    assert made.target("sex") == "sex"


def test_pairs_that_are_named_weigh_more():
    made = workload(schema("age by sex", "age by pay by income (weight 2)", "columns pay"))
    assert made.pair_weight(("sex", "age")) == 8
    assert made.pair_weight(("pay", "age")) == 5
    assert made.pair_weight(("pay", "home district")) == 2
    assert made.pair_weight(("sex", "home district")) == 1
    assert [t.columns for t in made.larger] == [("age", "pay", "income")]


def test_a_research_plan_gives_its_uses_and_what_is_left():
    text = "Aims\n* income ~ age*sex\n2) Does pay differ with Age and sex?\n\npredict income\nFunding: none."
    made, rest = uses.of_plan(text, list(COLUMNS))
    assert [u.words for u in made] == ["income ~ age*sex", "pay by age by sex", "predict income"]
    assert rest == ["Aims", "Funding: none."]


def test_of_many_larger_tables_a_pair_weighs_by_how_many_hold_it():
    few = Workload(tables=tuple(NamedTable(columns=("a", f"b{i}", f"c{i}")) for i in range(2)))
    assert few.pair_weight(("a", "b0")) == few.pair_weight(("b0", "c0")) == 3
    by_a = tuple(NamedTable(columns=("a", f"b{i % 3}", f"c{i}")) for i in range(51))
    assert Workload(tables=by_a).pair_weight(("a", "b0")) == 8
    assert Workload(tables=by_a).pair_weight(("a", "c0")) == 3
    assert Workload(tables=by_a).pair_weight(("b0", "b1")) == 1


def test_the_forecast_says_what_each_use_gets_and_the_least_epsilon():
    result = plan.plan(
        schema(),
        rows=20_000,
        epsilon=1.0,
        delta=1e-5,
        uses=["age by sex by income", "predict income"],
        error=0.05,
        epsilons=(0.3, 3),
    )
    errors = [u.error for u in result.uses if u.use == "age by sex by income"]
    assert errors == sorted(errors, reverse=True)
    least = result.least_epsilon["age by sex by income"]
    again = plan.plan(schema(), rows=20_000, epsilon=least, delta=1e-5, uses=["age by sex by income"])
    assert next(u.error for u in again.uses if u.epsilon == least) <= 0.05
    below = plan.plan(schema(), rows=20_000, epsilon=least / 1.1, delta=1e-5, uses=["age by sex by income"])
    assert next(u.error for u in below.uses if u.epsilon == least / 1.1) > 0.045
    assert "least epsilon for the error asked for, predict income" in result.in_words()
    with pytest.raises(UsageError, match="name what the table is for"):
        plan.plan(schema(), rows=100, epsilon=1.0, delta=1e-5, error=0.1)


def test_means_are_forecast_in_standard_deviations():
    """As far off as noisy counts of groups and bins of equal rows put them."""
    place = {"rows": 20_000, "delta": 1e-5, "uses": ["mean of pay by `home district`"]}
    at, far = (plan.plan(schema(), epsilon=e, error=0.05, **place) for e in (1.0, 0.3))
    assert 0.001 < at.uses[0].means < far.uses[0].means < 0.1
    assert f"means off by {at.uses[0].means:.2g} standard deviations" in at.in_words()
    (least,) = at.least_epsilon.values()
    assert plan.plan(schema(), epsilon=least, **place).uses[0].means <= 0.05
    rows, sigma, sizes = 6_000, 25.0, (3, 10)
    bins = tuple(Bins.each(n, k) for n, k in zip("gx", sizes, strict=True))
    counts = rows / 30 + np.random.default_rng(0).normal(0, sigma, (2_000, *sizes))
    middles = (np.arange(10) - 4.5) / np.arange(10).std()
    off = np.abs((counts * middles).sum(2) / counts.sum(2)).mean()
    assert _means_off([(Marginal(bins=bins, sigma=sigma), rows)], {"x"}) == pytest.approx(off, rel=0.05)


def test_uses_go_from_the_command_line_into_the_reports(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_frame(3000).to_csv("t.csv", index=False)
    assert command("schema", "init", "t.csv", "--out", "s.json", "--assume-public")[0] == 0
    facts = json.loads((tmp_path / "s.json").read_text())
    names = [n for n, c in facts["columns"].items() if c["type"] not in ("identifier", "omitted")][:3]
    line = " by ".join(names)
    asked = ("run", "t.csv", "--schema", "s.json", "--epsilon", "5", "--out", "out", "--num-rows", "500")
    code, _, stderr = command(*asked, "--for", "nothing of this kind")
    assert (code, "--for" in stderr, "is none that is understood" in stderr) == (2, True, True)
    said, _ = command.done(*asked, "--for", line, "--json")
    assert json.loads(said)["epsilon_spent"] == 5
    stored = json.loads((tmp_path / "out" / "release.json").read_text())["schema"]
    assert stored["uses"] == [{"weight": 1.0, "kind": "table", "columns": names}]
    assert command("report", "out", "--publishable", "--out", "p.html")[0] == 0
    assert f"named: {line}" in (tmp_path / "p.html").read_text()
    assert command("run", "--from-release", "out", "--out", "again", "--num-rows", "100")[0] == 0
    code, _, stderr = command("run", "--from-release", "out", "--out", "third", "--for", line)
    assert (code, "asks nothing" in stderr) == (2, True)
