"""Statistics that are paid for: near the truth at a generous epsilon, charged, and shown in the publishable report."""

import json

import pytest

import synth
from synth.pipeline.statistics import Asked, statistics
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, small_frame

SCHEMA = synth.Schema.parse({**SMALL, "weight": "income"})
FRAME = small_frame(4000)
ASKS = ["mean:age", "quantile:age:0.5", "count:sex", "count:ill*region", "mean:seen", "weight:ill", "weight:ill*sex"]


@pytest.fixture(scope="module")
def paid(tmp_path_factory):
    ledger = tmp_path_factory.mktemp("s") / "ledger.sqlite"
    result = statistics(FRAME, schema=SCHEMA, ask=ASKS, epsilon=20.0, delta=1e-5, dataset="d", ledger=ledger)
    return result, ledger


def test_answers_are_near_the_truth(paid):
    """At epsilon 20 over seven questions a sum of 4,000 rows has noise of about one: margins of twenty deviations."""
    mean, quantile, sexes, pairs, seen, *_ = paid[0].answers
    age = FRAME["age"].astype(int)
    assert mean["value"] == pytest.approx(age.mean(), abs=1.0)
    assert quantile["value"] == pytest.approx(age.median(), abs=2.0)
    assert quantile["low"] <= quantile["value"] <= quantile["high"]
    for cell in sexes["cells"]:
        assert cell["count"] == pytest.approx((FRAME["sex"] == cell["values"][0]).sum(), abs=30)
    assert len(pairs["cells"]) == 2 * 5
    assert sum(c["count"] for c in pairs["cells"]) == pytest.approx(4000, abs=100)
    assert seen["value"][:7] in ("2020-06", "2020-07")


def test_a_spend_is_charged_whole_and_composes_to_no_more(paid):
    result, ledger = paid
    assert [(t.dataset, t.runs, t.epsilon) for t in Ledger(ledger).summary()] == [("d", 1, 20.0)]
    assert result.card["epsilon"] == 20.0
    assert result.card["epsilon_derived"] <= 20.0
    assert result.card["epsilon_derived"] > 0.98 * 20.0


def test_weights_of_groups_are_near_the_truth_and_noise_is_that_of_the_bound(paid):
    """The same share of the budget as a count's: half the interval is the bound times a count's, at its place."""
    _, _, sexes, _, _, ill, both = paid[0].answers
    income = FRAME["income"].where(FRAME["income"] != "", "0").astype(float)
    for cell in ill["cells"]:
        assert cell["weight"] == pytest.approx(income[FRAME["ill"] == cell["values"][0]].sum(), abs=8 * ill["half"])
    unrounded = (sexes["half"] ** 2 - 1.96**2 / 12) ** 0.5  # a count is rounded to whole rows, a weight hardly
    assert ill["half"] == pytest.approx(100_000 * unrounded, rel=1e-3)
    assert (ill["by"], ill["bound"]) == ("income", 100_000)
    assert sum(c["weight"] for c in both["cells"]) == pytest.approx(income.sum(), abs=20 * both["half"])
    assert ill["half"] < 0.05 * income.sum(), "else the test could not see a wrong sum"


@pytest.mark.parametrize("relation", ["replace_one", "zero_out"])
def test_every_relation_is_paid_for(relation):
    result = statistics(
        FRAME,
        schema=SCHEMA,
        ask=["mean:age", "count:sex", "weight:sex"],
        epsilon=5.0,
        delta=1e-5,
        dataset="d",
        relation=relation,
    )
    assert 0.98 * 5.0 < result.card["epsilon_derived"] <= 5.0


def test_an_interval_holds_the_truth_as_often_as_it_says():
    """Sixty answers of 95 %, each with noise of its own: fewer than 44 covered has a chance below 1e-9."""
    result = statistics(FRAME, schema=SCHEMA, ask=["mean:age"] * 60, epsilon=8.0, delta=1e-5, dataset="d")
    age = FRAME["age"].astype(int).mean()
    assert sum(one["low"] <= age <= one["high"] for one in result.answers) >= 44
    assert len({one["value"] for one in result.answers}) > 30


def test_almost_no_rows_are_answered():
    few = FRAME.head(1)
    result = statistics(
        few, schema=SCHEMA, ask=["mean:income", "quantile:income:0.9"], epsilon=0.1, delta=1e-5, dataset="d"
    )
    for one in result.answers:
        assert 0 <= one["low"] <= one["high"] <= 100_000


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ("median:age", "write mean:COL"),
        ("mean:nothing", "not a measured column"),
        ("mean:sex", "only numbers"),
        ("quantile:age:2", "write mean:COL"),
        ("count:sex*sex", "once"),
        ("weight:income*sex", "other columns"),
        ("count:income*seen*age", "at most"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_costs_nothing(ask, words, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    with pytest.raises(synth.UsageError, match=words.replace("*", r"\*")):
        statistics(FRAME, schema=SCHEMA, ask=[ask], epsilon=1.0, delta=1e-5, dataset="d", ledger=ledger)
    assert not ledger.exists()


def test_a_quantile_is_read_from_the_right():
    assert Asked.read("quantile:a:b:0.25").columns == ("a:b",)


def test_statistics_stand_in_the_publishable_report(small, command, tmp_path):
    table, schema = small
    schema.write_text(SCHEMA.to_json())
    out, paid, page = tmp_path / "release", tmp_path / "paid.json", tmp_path / "report.html"
    synth.run(table, schema=SCHEMA, epsilon=2.0, delta=1e-5, method="independent", dataset="d", out=out)
    said, _ = command.done(
        f"statistics {table} --schema {schema} --epsilon 3 --dataset d --ask mean:age,count:sex,weight:sex "
        f"--out {paid} --assume-public"
    )
    assert "mean:age: " in said
    command.done("report", out, "--publishable", "--statistics", paid, "--out", page)
    words = page.read_text()
    assert "Further statistics" in words
    assert "mean of age" in words
    assert "income in all, a row at most 100000" in words
    assert "epsilon 5, delta 2e-05, add_remove" in words  # both together
    assert json.loads(page.with_suffix(".json").read_text())["further"]["card"]["epsilon"] == 3.0


def test_statistics_of_another_relation_do_not_add_up(small, command, tmp_path):
    out, paid = tmp_path / "release", tmp_path / "paid.json"
    synth.run(small[0], schema=SCHEMA, epsilon=2.0, delta=1e-5, method="independent", dataset="d", out=out)
    made = statistics(
        FRAME,
        schema=SCHEMA,
        ask=["mean:age"],
        epsilon=1.0,
        delta=1e-5,
        dataset="e",
        relation="replace_one",
        separate=True,
    )
    paid.write_text(json.dumps(made.plain()))
    code, _, error = command("report", out, "--publishable", "--statistics", paid, "--out", tmp_path / "r.html")
    assert code == 2
    assert "another relation" in error
    paid.write_text("{}")
    code, _, error = command("report", out, "--publishable", "--statistics", paid, "--out", tmp_path / "r.html")
    assert code == 2
    assert "holds no statistics" in error
