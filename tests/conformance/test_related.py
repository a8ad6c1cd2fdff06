"""The laws of every method, for related tables of every shape: the accountant's figure, valid rows, sound releases."""

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import BudgetError
from synth.generators import TREES
from synth.generators.core.related import IndependentChildren, Nested
from synth.generators.core.related_fit import TreeOptions
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out
from synth.pipeline.sample import sample_to
from synth.privacy.ledger.ledger import Ledger
from synth.release import leaving
from synth.release.card import verify

SMALL = Nested(options=TreeOptions(roots=6, children=12, steps=20))
METHODS = {m.name: m for m in (SMALL, IndependentChildren())}
KEY = {"type": "identifier"}
LETTER = {"type": "categorical", "categories": ["a", "b", "c"]}
WIDE = {"type": "float", "min": 0, "max": 1e6, "decimals": 2, "nullable": True}
DAY = {"type": "datetime", "min": "2019-01-01", "max": "2021-12-31", "missing": ["?"]}


def key(child, parent, most, **more):
    return {
        "parent": parent,
        "child": child,
        "columns": [f"{parent}_id"],
        "parent_columns": ["id"],
        "most_children": most,
        **more,
    }


def table(*parents, **columns):
    return {"columns": {"id": KEY, **{f"{p}_id": KEY for p in parents}, **columns}}


SHAPES = {
    "two levels": ({"a": table(x=LETTER), "b": table("a", y=LETTER)}, [key("b", "a", 4)]),
    "a name of files": ({"a": table(x=LETTER), "synthetic": table("a", y=LETTER)}, [key("synthetic", "a", 4)]),
    "two branches": (
        {"a": table(x=LETTER), "b": table("a", y=LETTER), "c": table("a", z=LETTER)},
        [key("b", "a", 2), key("c", "a", 3)],
    ),
    "three levels": (
        {"a": table(x=LETTER), "b": table("a", y=LETTER), "c": table("b", z=LETTER)},
        [key("b", "a", 2), key("c", "b", 2)],
    ),
    "events": ({"a": table(x=LETTER), "b": table("a", day=DAY, y=LETTER)}, [key("b", "a", 5, order="day")]),
    "one event": ({"a": table(x=LETTER), "b": table("a", day=DAY)}, [key("b", "a", 1, order="day")]),
    "wide numbers": ({"a": table(x=WIDE), "b": table("a", y=WIDE, day=DAY)}, [key("b", "a", 3)]),
}


def cells(facts, size, rng):
    """Texts that a column allows, missing ones too."""
    if facts["type"] == "categorical":
        return rng.choice(facts["categories"], size)
    if facts["type"] == "datetime":
        days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1000, size), unit="D")
        return np.where(rng.random(size) < 0.1, "?", days.strftime("%Y-%m-%d"))
    return np.where(rng.random(size) < 0.2, "", np.round(rng.gamma(2, 1e4, size), 2).astype(str))


def rows(shape, roots=60):
    rng, tables, keys = np.random.default_rng(8), *SHAPES[shape]
    sizes, frames = {}, {}
    for name, schema in tables.items():
        above = next((k for k in keys if k["child"] == name), None)
        many = None if above is None else rng.integers(0, above["most_children"] + 2, sizes[above["parent"]])
        sizes[name] = roots if many is None else int(many.sum())
        frame = {n: cells(c, sizes[name], rng) for n, c in schema["columns"].items() if c is not KEY}
        if above is not None:
            frame[f"{above['parent']}_id"] = np.repeat(np.arange(len(many)), many).astype(str)
        frames[name] = pd.DataFrame({"id": np.arange(sizes[name]).astype(str), **frame})[list(schema["columns"])]
    return frames


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "zero_out"])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_release_of_every_shape_is_sound(shape, relation, method, tmp_path):
    """Charged once and within; every cell known, every key found, bounds kept; drawn again from what is stored."""
    tables, keys = SHAPES[shape]
    schema = synth.app_api.parse_related({"dataset": "shape", "tables": tables, "keys": keys})
    out = tmp_path / "release"
    request = RunRequest(epsilon=2.0, delta=1e-5, relation=relation, out=out, num_rows=30)
    result = carry_out(request, schema, Context(rows=rows(shape), questions=METHODS[method]))
    (spend,) = [e for e in Ledger().entries("shape") if e.kind == "spend"]
    assert (spend.epsilon, spend.relation, spend.unit) == (2.0, relation, "a")
    assert verify.check(verify.load(out)).epsilon_derived <= 2.0
    assert {t: len(frame) for t, frame in result.frames.items()} == result.num_rows == result.card["rows"]["tables"]
    least = sqrt(2) if relation == "replace_one" else 1.0
    assert {m["sensitivity"] for m in result.card["mechanisms"]} == {least}
    leaving.may_leave(out)
    assert {t: len(frame) for t, frame in synth.Release(out).frames.items()} == result.num_rows
    assert {*synth.sample(out, num_rows=5)[0]} == {*tables}
    drawn, share, paths = sample_to(out, tmp_path / "more", num_rows=7, seed=3)
    assert (drawn["a"], share) == (7, 1.0)
    again = {n: pd.read_csv(p, dtype=str, keep_default_na=False) for n, p in paths.items()}
    assert again["a"].id.tolist() == [str(i) for i in range(1, 8)]
    ordered = [k for k in keys if k.get("order") and len(again[k["child"]])]
    for k in ordered:
        known = again[k["child"]].query("day != '?'")
        assert all(days.is_monotonic_increasing for _, days in known.groupby(k["columns"][0]).day)


def test_every_method_of_related_tables_is_held_to_this():
    assert METHODS.keys() == TREES.keys()


def test_nothing_is_read_or_charged_beyond_a_policy(tmp_path, command):
    tables, keys = SHAPES["two levels"]
    schema = synth.app_api.parse_related({"dataset": "shape", "tables": tables, "keys": keys})
    assert command("ledger", "policy", "shape", "--max-epsilon", "1", "--new")[0] == 0
    with pytest.raises(BudgetError, match="remaining 1"):
        synth.run(rows("two levels"), schema=schema, epsilon=2.0, delta=1e-5, out=tmp_path / "r")
    assert not [e for e in Ledger().entries("shape") if e.kind == "spend"]
    assert not (tmp_path / "r").exists()
    assert json.loads(schema.to_json())["keys"][0]["most_children"] == 4
