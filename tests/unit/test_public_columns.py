"""Public columns pass through row by row; private ones are made given them, under the one relation for it."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import SynthError
from synth.generators.core.product import Axis, Given, Product
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, as_text, small_frame

WHY = "the register of residents is open"


def schema_of(*names, **more):
    columns = {n: {**c, "role": "public", "reason": WHY} if n in names else c for n, c in SMALL["columns"].items()}
    return synth.Schema.parse({**SMALL, "columns": columns, **more})


def made(*names, frame=None, method="independent", relation="replace_one", schema=None, **more):
    frame = small_frame(600) if frame is None else frame
    asked = {"epsilon": 1.0, "delta": 1e-5, "dataset": "d", "seed": 1, **more}
    return synth.run(frame, schema=schema or schema_of(*names), method=method, relation=relation, **asked)


@pytest.mark.parametrize("method", ["independent", "mixture"])
def test_they_pass_through_in_the_order_of_the_rows(method, tmp_path):
    frame = small_frame(600).sample(frac=1, random_state=1).reset_index(drop=True)
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = made("age", "sex", "seen", frame=tmp_path / "t.csv", method=method)
    rows = as_text(result)
    assert (rows["age"] == frame["age"]).all()
    assert (rows["sex"] == frame["sex"]).all()
    assert (rows["seen"] == frame["seen"]).all()
    assert (rows["income"] != frame["income"]).mean() > 0.5  # that is not copied


def test_the_card_says_what_it_means():
    card = made("age").card
    assert "its public columns (age), the number and the order of the rows stay" in card["relation_in_words"]
    said = [i for i in card["invariants"] if i["what"].startswith("the values of every row")]
    assert said == [{"what": "the values of every row, in the order of the rows", "of": ["age"], "vouched": WHY}]


def test_rules_hold_and_change_no_public_column():
    rule = {"kind": "impossible", "rows": {"age": "0..50", "ill": "yes"}}
    frame = small_frame(600)
    rows = as_text(made(schema=schema_of("age", constraints=[rule]), frame=frame))
    assert (rows["age"] == frame["age"]).all()
    assert not ((rows["age"].astype(int) <= 50) & (rows["ill"] == "yes")).any()


def test_neighbours_pass_through_the_same():
    """A row's private cells are replaced: no byte of the public columns changes."""
    frame = small_frame(300)
    other = frame.copy()
    other.loc[7, ["income", "ill", "region"]] = ["99999", "yes", "2"]
    one, two = (as_text(made("age", "sex", frame=f)) for f in (frame, other))
    assert (one[["age", "sex"]] == two[["age", "sex"]]).all().all()


REFUSED = {
    "add_remove": ({"relation": "add_remove"}, "replace_one"),
    "zero_out": ({"relation": "zero_out"}, "replace_one"),
    "a number of rows": ({"num_rows": 10}, "num_rows=10"),
    "a method without": ({"method": "dp_merf"}, "choose mixture"),
    "totals": (
        {"schema": schema_of("age", totals=[{"columns": ["sex"], "counts": [["f", 1], ["m", 2]], "published": "x"}])},
        "do not go together",
    ),
    "nothing private": (
        {"schema": schema_of("age", "sex", "region", "income", "seen", "ill")},
        "nothing is left to protect",
    ),
    "a rule that would change one": (
        {"schema": schema_of("ill", constraints=[{"kind": "impossible", "rows": {"age": "0..9", "ill": "yes"}}])},
        "constraint 1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_they_do_not_go_with_is_refused_before_the_spend(name):
    more, words = REFUSED[name]
    with pytest.raises(SynthError, match=words):
        made("age", **more)
    assert all(e.kind != "spend" for e in Ledger().entries())


def test_a_workbook_is_refused_since_its_empty_rows_are_none(tmp_path):
    small_frame(5).to_excel(tmp_path / "t.xlsx", index=False)
    with pytest.raises(SynthError, match="a workbook's empty rows are none"):
        made("age", frame=tmp_path / "t.xlsx")
    assert all(e.kind != "spend" for e in Ledger().entries())


@pytest.mark.parametrize(("facts", "words"), [({"type": "identifier"}, "no role"), ({"reason": " "}, "say why")])
def test_a_role_needs_a_reason_and_values(facts, words):
    column = {"type": "integer", "min": 0, "max": 9, "role": "public", "reason": "x", **facts}
    column = {k: v for k, v in column.items() if not (column["type"] == "identifier" and k in ("min", "max"))}
    with pytest.raises(SynthError, match=words):
        synth.Schema.parse({"columns": {"a": column, "b": {"type": "integer", "min": 0, "max": 9}}})


def model(weights, tables):
    def axis(name, probs):
        size = probs.shape[1]
        leaves = np.arange(size)
        return Axis(column=name, cells=size, starts=leaves, groups=leaves, within=np.ones(size), probs=probs)

    return Product(total=1.0, weights=np.array(weights), axes=tuple(axis(n, np.array(t)) for n, t in tables.items()))


def test_rows_follow_the_conditional_law():
    """Exact law of a small mixture, within what chance allows once in a million runs."""
    tables = {"a": [[0.9, 0.1], [0.2, 0.8]], "b": [[0.7, 0.3], [0.1, 0.9]]}
    made_of = model([0.3, 0.7], tables)
    given = np.repeat([0, 1], [40_000, 60_000])
    rows = Given(model=made_of, given={"a": given}).sample(0, len(given), rng=np.random.default_rng(0))
    joint = sum(w * np.outer(p, q) for w, p, q in zip([0.3, 0.7], tables["a"], tables["b"], strict=True))
    law = joint / joint.sum(1, keepdims=True)
    assert (rows["a"] == given).all()
    for value in (0, 1):
        part = rows["b"][given == value]
        deviation = np.sqrt(law[value, 1] * law[value, 0] / len(part))
        assert abs(part.mean() - law[value, 1]) < 5 * deviation


def test_a_release_with_them_is_read_again(tmp_path):
    made("age", out=tmp_path / "out")
    assert json.loads((tmp_path / "out" / "card.json").read_text())["public_columns"] == {"age": WHY}
    again, _ = synth.sample(tmp_path / "out", seed=1)
    assert isinstance(again, pd.DataFrame)
