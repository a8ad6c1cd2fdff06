"""A verdict in the words of the uses that a schema names, for the steward and for everybody."""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.evaluate import named_uses
from synth.evaluate.fidelity import compare_samples
from synth.evaluate.from_rows import from_rows
from synth.evaluate.read_sample import read
from synth.evaluate.verdict import GOOD, NOT
from tests.made import codes, facts_of, number

LINES = [
    "age by sex by edu",
    "pay ~ age + sex*edu",
    "rich ~ age",
    "columns age",
    "compare age across sex",
    "predict rich",
]
COLUMNS = facts_of(
    age=number(17, 89),
    sex=codes("f", "m"),
    edu=codes("lo", "hi"),
    pay=number(0, 1000, decimals=2),
    rich=codes("no", "yes"),
)
SCHEMA = synth.Schema.parse({**COLUMNS, "uses": LINES})


def rows(seed, *, slope=2.0, size=4000):
    rng = np.random.default_rng(seed)
    age, sex, edu = rng.integers(17, 90, size), rng.choice(["f", "m"], size), rng.choice(["lo", "hi"], size)
    pay = np.clip(200 + slope * age + 50 * (sex == "m") * (edu == "hi") + rng.normal(0, 40, size), 0, 1000).round(2)
    chance = 1 / (1 + np.exp(-(age - 50) / 20 * slope))
    return pd.DataFrame(
        {"age": age, "sex": sex, "edu": edu, "pay": pay, "rich": np.where(rng.random(size) < chance, "yes", "no")}
    )


def judged(real, made):
    rng = np.random.default_rng(0)
    samples = [read(f, SCHEMA, limit=10_000, rng=rng) for f in (real, made)]
    comparison = compare_samples(*samples, quality_rows=None, rng=rng)
    verdict = from_rows(comparison, named=named_uses.judged(SCHEMA, comparison, *samples))
    return {u.use: u for u in verdict.uses if u.use.startswith("named: ")}


def test_a_second_sample_serves_every_use():
    uses = judged(rows(1), rows(2))
    assert list(uses) == [f"named: {w}" for w in LINES[:5]]
    assert {u.level for u in uses.values()} == {GOOD}
    table = uses["named: age by sex by edu"]
    assert table.value == pytest.approx(table.second, rel=0.5)
    assert "rows that would have to change, three columns; another sample of real rows: " in table.sentence


def test_a_regression_that_is_off_is_said_to_be_with_its_coefficients():
    uses = judged(rows(1), rows(2, slope=1.0))
    for words in ("pay ~ age + sex*edu", "rich ~ age"):
        use = uses[f"named: {words}"]
        assert use.level == NOT
        assert use.value > 4
        assert any(p.startswith("coefficient of age: ") and "95 % interval" in p for p in use.parts)
        assert "coefficient of age" in use.sentence
    assert uses["named: age by sex by edu"].level == GOOD


def test_coefficients_are_those_of_least_squares():
    real, made = rows(1), rows(2)
    rng = np.random.default_rng(0)
    samples = [read(f, SCHEMA, limit=10_000, rng=rng) for f in (real, made)]
    asked = named_uses.asked(SCHEMA, SCHEMA.uses[1])
    own = {c.name: c for c in named_uses.coefficients(asked, *(s.positions for s in samples))}
    x = np.column_stack([np.ones(len(real)), real["age"], real["sex"] == "m"]).astype(float)
    assert set(own) >= {"Intercept", "age"}
    assert own["age"].real == pytest.approx(np.linalg.lstsq(x, real["pay"], rcond=None)[0][1], abs=0.1)
    assert own["age"].error < 0.1


def test_what_cannot_be_fitted_is_said():
    flat = rows(2).assign(sex="f")
    use = judged(rows(1), flat)["named: pay ~ age + sex*edu"]
    assert use.value is None
    assert "cannot be fitted" in use.why
