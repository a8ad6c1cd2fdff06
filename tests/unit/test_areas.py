"""Areas within areas: what a schema may say of them, what is refused by name, what every row then keeps."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import SynthError
from synth.generators.core.oneways import merge_areas
from synth.generators.core.product import Axis, Product, Strata
from synth.release.card import verify
from synth.schema import areas
from synth.schema.table import Schema
from tests.made import ran
from tests.towns import LISTED, PLAIN, TOWNS, changed, frame, three


def within(**facts) -> dict:
    return changed(town={"within": {"column": "region", **facts}})


ELSEWHERE = {"type": "categorical", "categories": ["1x", "2x"], "nullable": True, "within": "region"}
IMPOSSIBLE = {"kind": "impossible", "rows": {"kind": "a", "region": "1"}}
GIVES = {"kind": "function", "column": "town", "of": ["kind"], "table": [["a", "11"]], "otherwise": "21"}
FAULTS = {
    "no such column": (changed(town={"within": "country"}), ("town", "'country'", "no such column")),
    "a number above": (changed(town={"within": "age"}), ("town", "age is integer", "categories")),
    "a number below": (changed(age={"within": "region"}), ("age is integer",)),
    "nothing listed": (changed(region={"categories": None}), ("region", "categories")),
    "itself": (changed(town={"within": "town"}), ("town", "comes back to itself")),
    "a cycle": (changed(region={"within": "town"}), ("comes back to itself", "within no other")),
    "a cycle of three": (three(within="town"), ("comes back to itself",)),
    "no parent by its code": (changed(town={"categories": [*TOWNS, "31"]}), ("'31'", "begins with no category")),
    "two parents by its code": (changed(region={"categories": ["1", "2", "11"]}), ("'11'", "'1' and '11'", "areas")),
    "two parents": (within(areas={"1": ["11", "12", "13"], "2": ["13", "21", "22"]}), ("'13'", "'1' and '2'", "one")),
    "no parent": (within(areas={"1": ["11", "12"], "2": ["21", "22"]}), ("'13'", "lies in none of region")),
    "unknown parent": (within(areas={"1": TOWNS, "3": []}), ("'3' is no category of region",)),
    "unknown child": (within(areas={"1": TOWNS, "2": ["99"]}), ("'99' is no category of town",)),
    "a parent twice": (within(areas={"1": TOWNS[:3], "1.0": [], "2": TOWNS[3:]}), ("'1' of region is listed twice",)),
    "a parent of none": (within(areas={"1": TOWNS, "2": []}), ("no area of town lies within '2'",)),
    "missing below alone": (changed(region={"nullable": None}), ("town", "region is never missing")),
    "two below one": (changed(other=ELSEWHERE), ("region", "town, other")),
    "a rule on the area above": ({**PLAIN, "constraints": [IMPOSSIBLE]}, ("constraint 1", "region", "town")),
    "a rule gives the lowest": ({**PLAIN, "constraints": [GIVES]}, ("town", "a constraint gives it")),
    "the target": ({**PLAIN, "target": "region"}, ("target 'region'", "town")),
    "public below alone": (changed(town={"role": "public", "reason": "a register"}), ("town", '"role"')),
    "no fact": (within(level="1"), ("level",)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_contradicts_the_tree_is_refused_by_name_before_the_spend(name):
    plain, words = FAULTS[name]
    with pytest.raises(SynthError) as refused:
        Schema.parse(plain)
    text = str(refused.value)
    assert "\n" not in text
    assert all(w in text for w in words), text


@pytest.mark.parametrize("plain", [PLAIN, within(areas=LISTED["areas"]), three()])
def test_a_tree_is_stored_as_it_was_said(plain):
    schema = Schema.parse(plain)
    assert Schema.parse(json.loads(schema.to_json())) == schema
    assert list(schema.measured()) == ["town", "kind", "age"]
    assert areas.lowest(schema.columns, "region") == "town"


def test_levels_of_a_chain():
    levels = areas.trees(Schema.parse(three()).columns)["town"]
    assert [(level.column, level.of.tolist()) for level in levels] == [
        ("region", [0, 0, 0, 1, 1, 2]),
        ("land", [0, 0, 0, 0, 0, 1]),
    ]


@pytest.mark.parametrize("method", ["mixture", "independent", "aim"])
@pytest.mark.parametrize("plain", [PLAIN, three()])
def test_every_row_keeps_its_areas(method, plain, tmp_path):
    table = frame() if plain is PLAIN else frame().assign(land="x")
    options = {"options": {"rounds": 4}} if method == "aim" else {}
    result = ran(table, plain, method=method, out=tmp_path / "out", seed=1, **options)
    made = pd.read_csv(tmp_path / "out" / "synthetic.csv", dtype=str, keep_default_na=False)
    assert (made["town"].str[:1] == made["region"]).all()
    if "land" in made:
        assert ((made["land"] == "x") == (made["region"] != "")).all()
    stated = [i for i in result.card["invariants"] if i.get("of") == ["town", "region"]]
    assert len(stated) == 1
    assert "lies within one of 2 of region" in stated[0]["what"]
    verify.check(tmp_path / "out")
    made.loc[0, "region"] = "1" if made.loc[0, "region"] == "2" else "2"
    made.to_csv(tmp_path / "out" / "synthetic.csv", index=False)
    with pytest.raises(SynthError, match="1 rows of the table beside it have an area of town outside"):
        verify.check(tmp_path / "out")


def test_rows_of_one_area_above_are_drawn_alone(tmp_path):
    release = tmp_path / "out"
    ran(frame(), PLAIN, epsilon=2.0, out=release, seed=1)
    drawn, _ = synth.sample(release, num_rows=200, where={"region": "2"}, seed=1)
    assert set(drawn["region"].astype(str)) == {"2"}
    assert set(drawn["town"].astype(str)) <= {"21", "22"}
    with pytest.raises(SynthError, match="meets all conditions"):
        synth.sample(release, num_rows=20, where={"region": "2", "town": "11"})


def test_totals_move_areas_and_all_above_follow():
    plain = {**PLAIN, "totals": [{"columns": ["town"], "published": "a yearbook", "counts": TOTALS}]}
    result = ran(frame(), plain, method="independent", seed=1)
    made = pd.DataFrame({n: a.to_pandas() for n, a in result.texts.items()})
    assert (made["town"].str[:1] == made["region"]).all()
    assert made["town"].value_counts().to_dict() == {t: int(n) for t, n in TOTALS if n != "0"}


TOTALS = [["11", "10"], ["12", "20"], ["13", "0"], ["21", "150"], ["22", "20"], ["", "5"]]


def test_bins_of_areas_follow_the_tree():
    """Light areas are joined inside the area above before areas of others join them."""
    rng = np.random.default_rng(0)
    up = [np.repeat(np.arange(20), 10), np.repeat(np.arange(4), 50)]
    mass = rng.gamma(0.5, 20, 200)
    before = np.arange(200)
    for least in (10.0, 40.0, 120.0, 400.0):
        groups = merge_areas(mass, before, least=least, levels=up)
        held = np.bincount(up[0], weights=mass) >= least
        for group in range(groups.max() + 1):
            inside = np.unique(up[0][groups == group])
            assert len(inside) == 1 or not held[inside].any()
        assert len(np.unique(np.stack([before, groups]), axis=1).T) == before.max() + 1  # each earlier bin in one
        before = groups


def test_persons_who_keep_their_rows_keep_their_areas():
    """Of a person's own areas and of those of each row, which are in two tables inside."""
    columns = {n: {**c, "of": "unit"} if n in ("region", "town") else c for n, c in PLAIN["columns"].items()}
    seen = {
        "ward": {"type": "categorical", "categories": ["a", "b"]},
        "bed": {"type": "categorical", "categories": ["a1", "a2", "b1"], "within": "ward"},
    }
    plain = {"unit": "id", "max_rows": 3, "columns": {"id": {"type": "identifier"}, **columns, **seen}}
    table = frame(300).assign(id=[f"p{i // 2}" for i in range(300)], ward="b", bed=["a1", "a2", "b1"] * 100)
    schema = Schema.parse(plain)
    result = ran(table, schema, epsilon=3.0, method="mixture", seed=1)
    made = pd.DataFrame({n: a.to_pandas() for n, a in result.texts.items()})
    assert (made["town"].str[:1] == made["region"]).all()
    assert (made["bed"].str[:1] == made["ward"]).all()
    assert {(i["column"], i["within"]) for i in result.card["areas"]} == {("town", "region"), ("bed", "ward")}


def test_a_persons_town_in_a_rows_region_is_refused():
    columns = {n: {**c, "of": "unit"} if n == "town" else c for n, c in PLAIN["columns"].items()}
    with pytest.raises(SynthError, match="column town: within 'region': both need the same \"of\""):
        Schema.parse({"unit": "id", "max_rows": 3, "columns": {"id": {"type": "identifier"}, **columns}})


def test_rows_are_drawn_area_by_area_and_a_stored_model_does_so_too():
    """Of each area the counts by another column are as even as of the whole table."""
    rng = np.random.default_rng(0)
    probs = [rng.dirichlet(np.ones(k), 5).astype(np.float32) for k in (4, 6, 3)]
    leaves = [np.arange(k) for k in (4, 6, 3)]
    axes = tuple(
        Axis(column=n, cells=len(s), starts=s, groups=s, within=np.ones(len(s)), probs=p)
        for n, s, p in zip("abc", leaves, probs, strict=True)
    )
    strata = Strata(column="a", groups=np.array([0, 0, 1, 2]))
    plain = Product(total=3000.0, weights=np.full(5, 0.2), axes=axes, strata=strata)
    model = Product.from_state(*plain.state())
    assert model.strata is not None
    assert model.strata.groups.tolist() == strata.groups.tolist()
    rows = model.sample(3000, rng=np.random.default_rng(1))
    joint = np.einsum("k,ka,kb->ab", model.weights, *(p.astype(float) for p in probs[:2])) * 3000
    made = np.zeros((4, 6))
    np.add.at(made, (rows["a"], rows["b"]), 1)
    assert np.abs(made.sum(1) - joint.sum(1)).max() < 3
    assert np.abs(made[2:] - joint[2:]).max() < 6  # where chance alone would bring about twenty
