"""Areas within areas: what a schema may say of them, what is refused by name, what every row then keeps.

Published totals: the synthetic table agrees with them to the unit; contradictions are refused by name.
"""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth import app_api
from synth.errors import InputError, SynthError
from synth.generators.core.oneways import merge_areas
from synth.generators.core.product import Axis, Product, Strata
from synth.generators.core.totals import witness
from synth.generators.core.totals_search import Layout
from synth.privacy.ledger.ledger import Ledger
from synth.release.card import verify
from synth.schema import areas
from synth.schema.published_totals import stated
from synth.schema.table import Schema, parse
from tests import towns
from tests.conftest import SMALL, as_text, small_frame
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


ROWS = 1200
PLACE = "Yearbook 2025, table 3"
AGES = {f"{a}..{b}": (a, b) for a, b in ((0, 17), (18, 39), (40, 64), (65, 99))}


def parted(frame):
    age = frame["age"].astype(int)
    labels = pd.Series("", index=frame.index)
    for label, (low, high) in AGES.items():
        labels[(age >= low) & (age <= high)] = label
    return frame.assign(age=labels, region=frame["region"].replace("3.0", "3"))


def printed(frame, columns, *, base=1, **more):
    counts = parted(frame).groupby(list(columns)).size()
    lines = [[*(k if isinstance(k, tuple) else (k,)), str(base * round(n / base))] for k, n in counts.items()]
    rounded = {"rounded": base} if base > 1 else {}
    return {"columns": list(columns), "counts": lines, "published": PLACE, "unlisted": "zero", **rounded, **more}


def made(*totals, frame=None, method="independent", rules=(), **more):
    schema = synth.Schema.parse({**SMALL, "totals": list(totals), "constraints": list(rules) or None})
    frame = small_frame(ROWS) if frame is None else frame
    return synth.run(frame, schema=schema, epsilon=1.0, delta=1e-5, method=method, dataset="d", seed=1, **more)


def counted(result, columns):
    rows = parted(as_text(result))
    return rows.groupby(list(columns)).size().to_dict()


@pytest.mark.parametrize("method", ["independent", "mixture"])
def test_overlapping_tables_hold_to_the_unit(method):
    frame = small_frame(ROWS)
    tables = [("sex",), ("sex", "region"), ("age", "sex"), ("age", "region"), ("age", "sex", "ill")]
    result = made(*(printed(frame, t) for t in tables), frame=frame, method=method)
    assert result.num_rows == ROWS
    for table in tables:
        assert counted(result, table) == parted(frame).groupby(list(table)).size().to_dict()
    assert [one["cells_off"] for one in result.card["totals"]] == [0] * len(tables)


@pytest.mark.parametrize("method", ["independent", "mixture"])
def test_totals_of_any_level_of_a_tree_of_areas_hold_beside_each_other(method, tmp_path):
    """Of regions and of towns within them; the table counts by the town, and both columns agree."""
    by_region = {"columns": ["region", "kind"], "unlisted": "open", "published": PLACE}
    by_region["counts"] = [["1", "a", "210"], ["1", "b", "90"], ["2", "a", "17"], ["2", "b", "33"], ["2", "c", "0"]]
    land = {"columns": ["land"], "counts": [["x", "590"], ["", "10"]], "published": PLACE}
    town = {"columns": ["town"], "counts": [["11", "101"], ["22", "3"]], "unlisted": "open", "published": PLACE}
    schema = synth.Schema.parse({**towns.three(), "totals": [by_region, land, town]})
    rows = towns.frame(600).assign(land="x")
    asked = {"schema": schema, "epsilon": 1.0, "delta": 1e-5, "dataset": "d", "method": method, "seed": 1}
    result = as_text(synth.run(rows, out=tmp_path / "out", **asked))
    for region, kind, count in by_region["counts"]:
        assert ((result["region"] == region) & (result["kind"] == kind)).sum() == int(count)
    assert (result["land"] == "x").sum() == 590
    assert [(result["town"] == n).sum() for n in ("11", "22")] == [101, 3]
    assert (result["town"].str[:1] == result["region"]).all()
    assert verify.check(tmp_path / "out").epsilon == 1.0


@pytest.mark.parametrize(
    ("one", "words"),
    [
        ({"columns": ["town", "region"], "counts": [["11", "1", "5"]], "unlisted": "open"}, "one lies in the other"),
        ({"columns": ["region"], "counts": [["1", "5"], ["3", "5"]], "unlisted": "open"}, "region=3"),
        ({"columns": ["region"], "counts": [["1", "5"]]}, "no line has region=2"),
        ({"columns": ["region"], "counts": [["1", "5"], ["2", "5"], ["", "590"]]}, "land.*and.*region.*disagree"),
    ],
)
def test_what_is_wrong_with_totals_of_areas_is_said_by_their_own_names(one, words):
    land = {"columns": ["land"], "counts": [["x", "590"], ["", "10"]], "published": PLACE}
    with pytest.raises(SynthError, match=words):
        stated(synth.Schema.parse({**towns.three(), "totals": [land, {**one, "published": PLACE}]}))


def test_rounded_counts_hold_to_their_base_and_rules_hold_too():
    frame = small_frame(ROWS)
    frame = frame[~((frame["age"].astype(int) < 18) & (frame["ill"] == "yes"))].reset_index(drop=True)
    rule = {"kind": "impossible", "rows": {"age": "0..17", "ill": "yes"}}
    tables = [("age", "sex"), ("sex", "ill"), ("region", "ill")]
    bases = [1, 5, 10]
    totals = [printed(frame, t, base=b) for t, b in zip(tables, bases, strict=True)]
    result = made(*totals, frame=frame, rules=[rule])
    rows = as_text(result)
    assert not ((rows["age"].astype(int) < 18) & (rows["ill"] == "yes")).any()
    for columns, base, one in zip(tables, bases, totals, strict=True):
        has = counted(result, columns)
        for *key, count in one["counts"]:
            assert abs(has.get(tuple(key), 0) - int(count)) <= base // 2


def test_totals_of_other_rows_than_the_private_ones_are_met_all_the_same():
    """A population beside a sample, or totals that are simply wrong: nothing after the spend hangs on it."""
    one = {"columns": ["sex"], "counts": [["f", "10"], ["m", "490"]], "published": PLACE}
    result = made(one, method="mixture")
    assert counted(result, ["sex"]) == {"f": 10, "m": 490}


def test_the_card_names_them_and_its_check_counts_the_table_again(tmp_path):
    frame = small_frame(ROWS)
    result = made(printed(frame, ("age", "sex")), frame=frame, out=tmp_path / "out")
    about = json.loads((tmp_path / "out" / "card.json").read_text())
    named = [i for i in about["invariants"] if "published totals" in i["what"]]
    assert len(named) == 1
    assert named[0]["of"] == ["age", "sex"]
    assert PLACE in named[0]["vouched"]
    assert "given these counts" in named[0]["vouched"]
    assert verify.check(tmp_path / "out").epsilon == result.card["epsilon"]
    path = tmp_path / "out" / "synthetic.csv"
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines[1:], 1) if ",f," in line)
    lines[first] = lines[first].replace(",f,", ",m,")
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="cells disagree"):
        verify.check(tmp_path / "out")


def test_a_stored_model_draws_them_again_and_other_numbers_of_rows_freely(tmp_path):
    frame = small_frame(ROWS)
    made(printed(frame, ("age", "sex")), frame=frame, out=tmp_path / "out")
    again, _ = synth.sample(tmp_path / "out", seed=3)
    wanted = parted(frame).groupby(["age", "sex"]).size().to_dict()
    assert parted(again.astype(str)).groupby(["age", "sex"]).size().to_dict() == wanted
    fewer, _ = synth.sample(tmp_path / "out", seed=3, num_rows=50)
    assert len(fewer) == 50


def test_a_file_beside_the_schema(tmp_path):
    (tmp_path / "sex.csv").write_text("sex;count\nf;700\nm;500\n")
    plain = {**SMALL, "totals": [{"file": "sex.csv", "published": PLACE}]}
    (tmp_path / "schema.json").write_text(json.dumps(plain))
    schema = synth.Schema.load(tmp_path / "schema.json")
    assert schema.totals[0].counts == (("f", "700"), ("m", "500"))
    assert stated(schema).num_rows == 1200
    assert synth.Schema.parse(json.loads(schema.to_json())).totals == schema.totals


SEX = {"columns": ["sex"], "counts": [["f", "600"], ["m", "600"]], "published": PLACE}


def table(columns, counts, **more):
    return {"columns": columns, "counts": counts, "published": PLACE, **more}


def binary(a, b, counts):
    return table([a, b], [[x, y, str(n)] for (x, y), n in counts.items()])


TRIANGLE = {"columns": {n: {"type": "categorical", "categories": ["0", "1"]} for n in "abc"}}
SAME = {("0", "0"): 50, ("0", "1"): 0, ("1", "0"): 0, ("1", "1"): 50}
APART = {("0", "0"): 0, ("0", "1"): 50, ("1", "0"): 50, ("1", "1"): 0}
CONTRADICTIONS = {
    "below 0": ([table(["sex"], [["f", "-3"], ["m", "5"]])], {}, ("sex=?|f", "below 0")),
    "no number": ([table(["sex"], [["f", "3.5"], ["m", "5"]])], {}, ("whole number",)),
    "unknown column": ([table(["gender"], [["f", "3"]])], {}, ("'gender'", "not among the columns")),
    "unknown value": ([table(["sex"], [["f", "3"], ["x", "5"]])], {}, ("sex=x", "no such value")),
    "key": ([table(["id"], [["1", "1"]])], {}, ("'id'", "identifier")),
    "nowhere printed": ([{"columns": ["sex"], "counts": [["f", "3"], ["m", "5"]]}], {}, ("published",)),
    "twice": ([table(["sex"], [["f", "3"], ["m", "5"], ["f", "3"]])], {}, ("sex=f", "twice")),
    "overlapping parts": (
        [table(["age"], [["0..40", "3"], ["40..99", "5"]])],
        {},
        ("age=0..40", "age=40..99", "overlap"),
    ),
    "missing cells": ([table(["age"], [["0..40", "3"], ["41..80", "5"]])], {}, ("age=81", "unlisted")),
    "outside bounds": ([table(["age"], [["0..40", "3"], ["41..120", "5"]])], {}, ("age=41..120", "outside")),
    "a base that counts lack": (
        [table(["sex"], [["f", "603"], ["m", "600"]], rounded=5)],
        {},
        ("603", "no multiple of 5"),
    ),
    "common margin": (
        [SEX, table(["sex", "ill"], [["f", "no", "500"], ["f", "yes", "101"], ["m", "no", "500"], ["m", "yes", "99"]])],
        {},
        ("totals 1 (sex)", "totals 2 (sex x ill)", "sex=f", "600", "601"),
    ),
    "number of rows": ([SEX, table(["ill"], [["no", "1200"], ["yes", "1"]])], {}, ("1,200", "1,201")),
    "rounding beyond what is left": (
        [SEX, table(["ill"], [["no", "1200"], ["yes", "20"]], rounded=10)],
        {},
        ("totals 2 (ill)", "1,200"),
    ),
    "asked for others": ([SEX], {"num_rows": 100}, ("num_rows=100", "1,200")),
    "against a rule": (
        [binary("sex", "ill", {("f", "no"): 5, ("f", "yes"): 5, ("m", "no"): 5, ("m", "yes"): 5})],
        {"rules": [{"kind": "impossible", "rows": {"sex": "m", "ill": "yes"}}]},
        ("sex=m, ill=yes", "constraint 1", "impossible"),
    ),
    "given by a rule": (
        [table(["ill"], [["no", "5"], ["yes", "5"]])],
        {"rules": [{"kind": "function", "column": "ill", "of": ["sex"], "table": [["f", "no"]], "otherwise": "yes"}]},
        ("'ill'", "given by a constraint"),
    ),
    "no number of rows at all": (
        [table(["sex"], [["f", "3"]], unlisted="open")],
        {},
        ("no number of rows", "num_rows"),
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused_by_name_before_the_spend(name):
    totals, more, words = CONTRADICTIONS[name]
    with pytest.raises(SynthError) as refused:
        made(*totals, **more)
    text = str(refused.value)
    assert "\n" not in text
    for word in words:
        assert any(w in text for w in word.split("|")), text
    assert all(e.kind != "spend" for e in Ledger().entries())


def test_three_tables_of_which_any_two_agree_are_refused_together():
    totals = [binary("a", "b", SAME), binary("b", "c", SAME), binary("a", "c", APART)]
    schema = synth.Schema.parse({**TRIANGLE, "totals": totals})
    frame = pd.DataFrame({n: ["0", "1"] * 50 for n in "abc"})
    with pytest.raises(InputError, match=r"totals 1 \(a x b\), totals 2 \(b x c\) and totals 3 \(a x c\) cannot all"):
        synth.run(frame, schema=schema, epsilon=1.0, delta=1e-5, method="independent", dataset="d")
    assert all(e.kind != "spend" for e in Ledger().entries())


def test_a_file_of_totals_that_is_none(tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps({**SMALL, "totals": ["sex.csv"]}))
    with pytest.raises(InputError, match="put it beside the schema"):
        synth.Schema.load(tmp_path / "schema.json")
    (tmp_path / "sex.csv").write_text("sex,number\nf,3\n")
    with pytest.raises(InputError, match="called count"):
        synth.Schema.load(tmp_path / "schema.json")


@pytest.mark.parametrize("seed", range(6))
def test_totals_of_any_table_can_be_met(seed):
    """Counts of a real table never contradict each other: the search finds rows for them, rounded or not."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, 5)
    rows = rng.integers(0, sizes, (400, 5))
    rows[:, 1] = np.where(rng.random(400) < 0.7, rows[:, 0] % sizes[1], rows[:, 1])
    columns = {f"c{i}": {"type": "categorical", "categories": [str(k) for k in range(s)]} for i, s in enumerate(sizes)}
    totals = []
    for _ in range(8):
        at = sorted(rng.choice(5, rng.integers(1, 4), replace=False).tolist())
        base = int(rng.choice([1, 1, 5]))
        cells, counts = np.unique(rows[:, at], axis=0, return_counts=True)
        lines = [[*map(str, c), str(base * round(int(n) / base))] for c, n in zip(cells.tolist(), counts, strict=True)]
        one = {"columns": [f"c{i}" for i in at], "counts": lines, "unlisted": "zero", "published": PLACE}
        totals.append({**one, "rounded": base} if base > 1 else one)
    result = stated(parse({"columns": columns, "totals": totals}), num_rows=400)
    _, search = witness(Layout(result))
    assert search.off == 0


def related(**facts):
    """Roots and what is below them, as frames and schema; ``facts``: by table, beside its own."""
    child = {"id": {"type": "identifier"}, "kind": {"type": "categorical", "categories": ["a", "b"]}}
    tables = {"roots": {"columns": SMALL["columns"]}, "below": {"columns": child}}
    plain = {
        "tables": {n: {**t, **facts.get(n, {})} for n, t in tables.items()},
        "keys": [{"child": "below", "parent": "roots", "columns": ["id"], "most_children": 3}],
    }
    roots = small_frame(200)
    frames = {"roots": roots, "below": pd.DataFrame({"id": roots["id"], "kind": "a"})}
    return frames, app_api.parse_related(plain)


def test_totals_of_roots_hold():
    frames, schema = related(roots={"totals": [printed(small_frame(200), ("sex", "ill"))]})
    result = synth.run(frames, schema=schema, epsilon=1.0, delta=1e-5, dataset="d", seed=1)
    roots = pd.DataFrame({n: a.to_pandas() for n, a in result.tables["roots"].items()})
    wanted = small_frame(200).groupby(["sex", "ill"]).size().to_dict()
    assert roots.groupby(["sex", "ill"]).size().to_dict() == wanted
    assert [one["cells_off"] for one in result.card["totals"]] == [0]


@pytest.mark.parametrize("counts", [(40, 25), (230, 200), (500, 90)])
def test_totals_of_children_hold_whatever_was_drawn(counts):
    """Fewer rows than are drawn, as many, and nearly as many as 200 roots with three each may have; none without."""
    kinds = {"columns": ["kind"], "counts": [["a", str(counts[0])], ["b", str(counts[1])]], "published": PLACE}
    facts = {"roots": {"totals": [printed(small_frame(200), ("sex",))]}, "below": {"totals": [kinds]}}
    frames, schema = related(**facts)
    result = synth.run(frames, schema=schema, epsilon=1.0, delta=1e-5, dataset="d", seed=1)
    made = {t: pd.DataFrame({n: a.to_pandas() for n, a in c.items()}) for t, c in result.tables.items()}
    assert made["below"]["kind"].value_counts().to_dict() == dict(zip("ab", counts, strict=True))
    assert made["roots"]["sex"].value_counts().to_dict() == small_frame(200)["sex"].value_counts().to_dict()
    assert made["below"].groupby("id").size().max() <= 3
    assert set(made["below"]["id"]) <= set(made["roots"]["id"])
    assert [(one["columns"], one["cells_off"]) for one in result.card["totals"]] == [(["sex"], 0), (["below.kind"], 0)]


def test_more_children_than_roots_may_have_are_refused():
    kinds = {"columns": ["kind"], "counts": [["a", "600"], ["b", "1"]], "published": PLACE}
    frames, schema = related(roots={"totals": [printed(small_frame(200), ("sex",))]}, below={"totals": [kinds]})
    with pytest.raises(InputError, match="count 601 rows, but 200 roots with at most 3 each have 600"):
        synth.run(frames, schema=schema, epsilon=1.0, delta=1e-5, dataset="d", seed=1)
    assert all(e.kind != "spend" for e in Ledger().entries())


@pytest.mark.parametrize(
    ("table", "facts", "words"),
    [
        (
            "below",
            {"totals": [{"columns": ["kind"], "counts": [["a", 1], ["b", 2]], "published": "x"}]},
            "totals of roots say how many roots there are",
        ),
        (
            "roots",
            {"columns": {**SMALL["columns"], "sex": {**SMALL["columns"]["sex"], "role": "public", "reason": "x"}}},
            "role",
        ),
    ],
)
def test_what_related_tables_cannot_have_is_refused(table, facts, words):
    """For what nothing holds to must not stand in a schema as if it held."""
    frames, schema = related(**{table: facts})
    with pytest.raises(InputError, match=words):
        synth.run(frames, schema=schema, epsilon=1.0, delta=1e-5, dataset="d")
    assert all(e.kind != "spend" for e in Ledger().entries())
