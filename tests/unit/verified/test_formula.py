"""Formulas taken apart into tables give the numbers that formulaic gives on rows, and run no text."""

import formulaic
import numpy as np
import pandas as pd
import pytest

import synth
from synth.questions import Score
from synth.verified import formula
from tests.made import ID, codes, dated, number

SCHEMA = synth.Schema.parse(
    {
        "columns": {
            "age": number(18, 90),
            "hours-per-week": number(0, 99),
            "pay": number(0, 1000, decimals=1, nullable=True),
            "sex": codes("m", "f"),
            "region": codes("s", "n", "10", "w", nullable=True),
            "code": codes("10", "9", "1"),
            "born": dated("1950-01-01", "2000-01-01"),
            "name": ID,
        }
    }
)
FORMULAS = [
    "age",
    "age + C(sex)",
    "sex * region",
    "0 + sex + age",
    "age - 1",
    "C(region):age",
    "age * sex * region",
    "(age + sex + region) ** 2",
    "I(age ** 2) + log(age) + I(age > 40)",
    "np.log(age) + np.sqrt(pay)",
    "C(code) + sex:code",
    "`hours-per-week` + Q('hours-per-week'):sex",
    "I((age - 40) / 10) + pay:age",
    "C(sex) + C(region) + C(sex):C(region) - 1",
    "1",
]


def rows(count=300):
    rng = np.random.default_rng(0)
    return {n: rng.integers(0, c.cells, count) for n, c in SCHEMA.measured().items()}


def as_frame(positions):
    """The rows as an analyst has them: numbers as such, categories in sorted order, missing values as missing."""
    out = {}
    for name, column in SCHEMA.measured().items():
        places = positions[name]
        if column.type == "datetime":
            continue
        if column.is_numeric:
            values = float(column.bounds[0]) + float(column.step) * places
            out[name] = np.where(places < column.size, values, np.nan)
        else:
            texts = np.array([*column.categories, *[None] * 3], dtype=object)[places]
            try:
                levels = sorted(column.categories, key=float)
            except ValueError:
                levels = sorted(column.categories)
            out[name] = pd.Categorical(texts, categories=levels)
    return pd.DataFrame(out)


@pytest.mark.parametrize("text", FORMULAS)
def test_tables_give_formulaics_numbers(text):
    made, positions = formula.design(text, SCHEMA, place="question"), rows()
    wide = len(made.names)
    score = Score(
        factors=made.factors,
        terms=made.terms,
        present=made.present or (made_of_ones(),),
        outcome=(),
        link="linear",
        coefficients=np.zeros(wide),
        whitening=np.eye(wide),
        clip=1.0,
    )
    x, _, here = score.design(positions)
    frame = as_frame(positions)
    plain = text.replace("Q('hours-per-week')", "`hours-per-week`")
    context = {"np": np, "log": np.log}
    theirs = formulaic.model_matrix(plain, frame, context=context, na_action="ignore")
    whole = np.isfinite(theirs.to_numpy(float)).all(axis=1)
    needed = {str(v) for v in theirs.model_spec.required_variables} & set(frame.columns)
    whole &= frame[sorted(needed)].notna().all(axis=1).to_numpy()
    assert np.array_equal(here > 0, whole)
    assert np.allclose(x.T[whole], theirs.to_numpy(float)[whole])
    if "`" not in text:
        bare = [n.replace("np.", "") for n in theirs.columns]
        assert [n.replace("np.", "") for n in made.names] == bare


def made_of_ones():
    return formula.design("sex", SCHEMA, place="q").present[0]


HOSTILE = [
    "__import__('os').system('touch /tmp/x')",
    "age.__class__",
    "I(().__class__)",
    "I(age if 1 else 2)",
    "I([a for a in age])",
    "I(lambda: age)",
    "I(age @ age)",
    "{print(1)}",
    "log(age, 2)",
    "eval(age)",
    "I(age ** 99)",
    "(age + sex + region) ** 9",
    "log(age + pay)",
    "age + nothing",
    "name",
    "born",
    "log(sex)",
    "C(pay)",
    "I('a')",
    ".",
    "age |",
    "age ~ sex",
    "a" * 2000,
    "I(" * 300 + "age" + ")" * 300,
    "bs(age, df=3)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_else_is_refused_in_a_line(text):
    with pytest.raises(synth.UsageError, match="question: ") as refused:
        formula.design(formula.sides(f"sex ~ {text}", place="question")[1], SCHEMA, place="question")
    assert len(str(refused.value).splitlines()) == 1


def test_repeated_terms_are_one():
    assert formula.design("age + " * 30 + "sex", SCHEMA, place="q").names == ("Intercept", "age", "sex[T.m]")


def test_outcomes_are_numbers_or_a_named_category():
    yes, _ = formula.outcome("sex", SCHEMA, "f", place="q")
    assert yes.table.ravel().tolist() == [0.0, 1.0]
    logged, there = formula.outcome("log(pay)", SCHEMA, None, place="q")
    assert there.table[0, 0] == 0  # the logarithm of nothing is no number: such rows take no part
    assert there.table[1:].all()
    assert np.isfinite(logged.table).all()
    for left, positive, words in (
        ("sex", None, "positive"),
        ("sex", "x", "positive"),
        ("age", "3", "leave out"),
        ("nothing", None, "column"),
        ("born", None, "numbers"),
    ):
        with pytest.raises(synth.UsageError, match=words):
            formula.outcome(left, SCHEMA, positive, place="q")
