"""Facts that a schema leaves out are learnt within their budget, marked private, and priced: of one table, of related
tables, and of persons with several rows, for a key of the root with everything below it."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline.learn_schema import fineness, grids, lacking
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from tests.conftest import SMALL, small_frame
from tests.made import ID, a_key, facts_of, number, ran, several

KINDS = {"target": "ill", "columns": {n: {"type": c["type"]} for n, c in SMALL["columns"].items()}}
KINDS["columns"]["region"]["missing"] = ["?"]


def kinds():
    return synth.Schema.parse(KINDS, complete=False)


def learnt(rows=20_000, epsilon=3.0, **more):
    return synth.learn_schema(small_frame(rows), schema=kinds(), epsilon=epsilon, delta=1e-6, dataset="d", **more)


def test_only_absent_facts_are_lacking():
    assert lacking(synth.Schema.parse(SMALL)) == []
    assert lacking(kinds()) == ["age", "sex", "region", "income", "seen", "ill"]


def test_what_is_learnt_fits_the_rows():
    result = learnt().columns
    assert result["sex"].categories == ("f", "m")
    assert result["region"].categories == ("1", "2", "3", "4")
    assert result["region"].missing == ("?",)
    assert result["sex"].missing is None
    assert 10 <= float(result["age"].min) <= 18
    assert 85 <= float(result["age"].max) <= 110
    assert result["age"].type == "integer"
    assert result["income"].decimals == 2
    assert result["income"].missing == ("",)
    assert "2019-07-01" <= str(result["seen"].min) <= "2020-01-01"
    assert "2020-12-30" <= str(result["seen"].max) <= "2021-07-01"
    assert result["seen"].resolution == "day"
    assert all(c.source == "private" for c in result.values() if c.type != "identifier")


def test_the_price_stands_in_the_schema_and_in_the_ledger():
    schema = learnt(rows=500)
    line = next(e for e in Ledger().entries() if e.kind == "spend")
    assert (line.epsilon, line.delta) == (3.0, 1e-6)
    assert schema.learnt is not None
    assert (schema.learnt.epsilon, schema.learnt.delta, schema.learnt.ledger_entry) == (3.0, 1e-6, line.number)
    assert json.loads(schema.to_json())["learnt"]["epsilon"] == 3.0


def test_a_run_with_a_learnt_schema_adds_its_price_to_the_card():
    schema = learnt(rows=2000)
    card = ran(small_frame(2000), schema, method="independent").card
    assert card["epsilon"] == 4.0
    assert card["delta"] == pytest.approx(1.1e-5)
    assert card["of_which_schema"]["epsilon"] == 3.0
    assert any(m["mechanism"] == "schema learning" for m in card["mechanisms"])
    assert Ledger().summary("d")[0].epsilon == 4.0


def test_learning_within_a_run_is_within_its_epsilon(tmp_path):
    result = ran(small_frame(5000), kinds(), epsilon=3.0, method="independent", learn_share=0.2, out=tmp_path / "o")
    assert result.card["epsilon"] == 3.0
    assert 2.5 < result.epsilon_derived <= 3.0
    assert Ledger().summary("d")[0].epsilon == 3.0
    assert set(result.frame["sex"]) == {"f", "m"}
    again = synth.Schema.load(tmp_path / "o" / "schema.json")
    assert again.columns["age"].source == "private"
    assert 0 < again.learnt.epsilon < 3.0


def test_stated_facts_are_neither_asked_nor_changed():
    facts = {**KINDS, "columns": {**KINDS["columns"], "age": SMALL["columns"]["age"]}}
    schema = synth.learn_schema(
        small_frame(3000), schema=synth.Schema.parse(facts, complete=False), epsilon=1.0, delta=1e-6, dataset="d"
    )
    assert schema.columns["age"].source == "declared"
    assert all("age" not in m["name"] for m in schema.learnt.mechanisms)


@pytest.mark.parametrize("rows", [1, 3])
def test_almost_no_rows_still_make_a_schema(rows):
    """Nothing passes a threshold; the schema is complete all the same, and its own rules hold."""
    schema = learnt(rows=rows, epsilon=0.1)
    assert lacking(schema) == []
    synth.Schema.parse(json.loads(schema.to_json()))


def test_missing_facts_are_refused_unless_learning_is_asked_for():
    with pytest.raises(synth.InputError, match="`learn_share="):
        ran(small_frame(50), kinds())
    with pytest.raises(synth.InputError, match="every fact already"):
        synth.learn_schema(small_frame(50), schema=synth.Schema.parse(SMALL), epsilon=1.0, delta=1e-5, dataset="d")
    assert Ledger().entries() == []


def test_a_learnt_schema_keeps_to_its_relation():
    schema = learnt(rows=300)
    with pytest.raises(synth.UsageError, match="add_remove"):
        ran(small_frame(300), schema, relation="replace_one")


def test_the_grid_does_not_depend_on_the_rows():
    one = grids(kinds())
    assert one == grids(kinds())
    assert {n: c.size for n, c in one.columns.items()} == {
        "age": 2**52 + 1,
        "income": 2**32 * 10**6 + 1,
        "seen": 400 * 365 * 86400 + 97 * 86400 + 1,
    }


def test_fineness_counts_decimals_and_times_of_day():
    wide = grids(kinds()).columns
    zero = 2**31 * 10**6
    assert fineness(wide["income"], zero + np.array([0, 10**6, 10**5, 25 * 10**4, 1])).tolist() == [0, 0, 1, 2, 6]
    assert fineness(wide["seen"], np.array([86400 * 7, 86400 * 7 + 1, wide["seen"].size])).tolist() == [0, 1, 0]


def test_negative_and_huge_numbers_get_bounds():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(-(10**9), -(10**8), 5000).astype(str), "y": rng.normal(0, 1e-3, 5000)})
    facts = {"columns": {"x": {"type": "integer"}, "y": {"type": "float"}}}
    result = synth.learn_schema(
        frame, schema=synth.Schema.parse(facts, complete=False), epsilon=2.0, delta=1e-6, dataset="d"
    ).columns
    assert -1.2e9 <= result["x"].min <= -0.9e9
    assert -1.1e8 <= result["x"].max <= -0.9e8
    assert -0.01 <= result["y"].min < 0 < result["y"].max <= 0.01


def test_the_command_writes_a_schema_that_runs(command, small, tmp_path):
    start, out = tmp_path / "kinds.json", tmp_path / "learnt.json"
    start.write_text(json.dumps(KINDS))
    said, _ = command.done(f"schema learn {small[0]} --schema {start} --epsilon 2 --out {out} --json")
    assert json.loads(said)["epsilon_spent"] == 2.0
    command.done(f"run {small[0]} --schema {out} --epsilon 1 --method independent --out {tmp_path}/o")
    command.done(
        f"run {small[0]} --schema {start} --epsilon 1 --method independent --learn-share 0.2 --out {tmp_path}/p"
    )


def test_an_output_that_cannot_be_written_costs_nothing(command, small, tmp_path):
    start = tmp_path / "kinds.json"
    start.write_text(json.dumps(KINDS))
    code, _, _ = command(f"schema learn {small[0]} --schema {start} --epsilon 2 --out {tmp_path}/no/s")
    assert code == 2
    assert Ledger().entries() == []


PATIENTS = 4000
SCHEMA = several(
    a_key("stays", "patients", "pid", 12, order="day"),
    patients=facts_of(pid=ID, sex={"type": "categorical"}),
    stays=facts_of(pid=ID, ward={"type": "categorical"}, day={"type": "datetime"}, nights={"type": "integer"}),
) | {"dataset": "clinic"}
FAST = {"delta": 1e-5, "method": "independent"}


def tables(patients=PATIENTS):
    """Up to twelve stays of a patient; the last patient's ward is like no other's, in all of them."""
    rng = np.random.default_rng(1)
    owner = np.append(np.repeat(np.arange(patients), rng.integers(0, 5, patients)), [patients - 1] * 12)
    ward = np.where(owner == patients - 1, "SENTINEL", rng.choice(["north", "south"], len(owner)))
    day = np.datetime64("2019-06-01") + rng.integers(0, 500, len(owner)).astype("timedelta64[D]")
    stays = pd.DataFrame(
        {"pid": owner, "ward": ward, "day": day.astype(str), "nights": rng.integers(0, 30, len(owner))}
    )
    return {
        "patients": pd.DataFrame({"pid": np.arange(patients), "sex": rng.choice(["f", "m"], patients)}),
        "stays": stays,
    }


def schema(plain=SCHEMA):
    return synth.app_api.parse_related(plain, complete=False)


def folder(place, made):
    place.mkdir()
    for name, table in made.items():
        table.to_csv(place / f"{name}.csv", index=False)
    return place


def complete(columns):
    facts = {
        "sex": {"categories": ["f", "m"]},
        "ward": {"categories": ["north", "south"]},
        "day": {"min": "2019-01-01", "max": "2020-12-31"},
        "nights": {"min": 0, "max": 40},
    }
    return {n: {**c, **facts.get(n, {})} for n, c in columns.items()}


def changed(**tables_columns):
    """The schema, of some tables complete or with other columns."""
    made = {t: {"columns": tables_columns.get(t, s["columns"])} for t, s in SCHEMA["tables"].items()}
    return {**SCHEMA, "tables": made}


def spends():
    return [e for e in Ledger().entries() if e.kind == "spend"]


def test_facts_of_all_tables_are_learnt_together_for_one_charge():
    made = tables()
    result = synth.learn_schema(made, schema=schema(), epsilon=2.0, delta=1e-6, noise=SeededNoise(5))  # for the bounds
    assert lacking(result) == []
    sex, stays = result.tables["patients"].columns["sex"], result.tables["stays"].columns
    assert (sex.categories, sex.source) == (("f", "m"), "private")
    assert stays["ward"].categories == ("north", "south"), "what one root has in all its rows is never said"
    assert "2019-01-01" <= str(stays["day"].min) <= "2019-06-01" < "2020-09-01" <= str(stays["day"].max) <= "2021-01-01"
    assert (stays["day"].resolution, stays["nights"].min <= 0, 29 <= stays["nights"].max <= 32) == ("day", True, True)
    (line,) = spends()
    assert (line.epsilon, line.delta, line.unit, line.dataset) == (2.0, 1e-6, "patients", "clinic")
    assert (result.learnt.epsilon, result.learnt.unit, result.learnt.ledger_entry) == (2.0, "patients", line.number)
    assert {m["sensitivity"] for m in result.learnt.mechanisms} == {1.0}, "of one row of each root"
    again = synth.app_api.parse_related(json.loads(result.to_json()))
    assert again.learnt == result.learnt
    card = synth.run(made, schema=again, epsilon=1.0, **FAST).card
    assert (card["epsilon"], card["of_which_schema"]["epsilon"]) == (3.0, 2.0)
    assert card["public_facts"]["stays.ward"] == "private"
    synth.check(card)


def test_a_run_learns_within_its_one_epsilon_from_files_to_release(command, tmp_path):
    place, facts, out = folder(tmp_path / "clinic", tables()), tmp_path / "s.json", tmp_path / "release"
    facts.write_text(json.dumps(SCHEMA))
    asked = ("--schema", facts, "--epsilon", "3", "--method", "independent", "--learn-share", "0.2")
    said, _ = command.done("plan", *asked, "--rows", PATIENTS)
    assert "learnt first: 4 columns (patients.sex, stays.ward, stays.day, stays.nights), for 20 % of the budget" in said
    assert "categories of stays.ward" in said, "the table of shares has the learning too"
    command.done("run", place, *asked, "--out", out)
    (line,) = spends()
    assert line.epsilon == 3.0
    card = json.loads((out / "card.json").read_text())
    assert (card["epsilon"], "of_which_schema" in card) == (3.0, False)
    assert 2.5 < card["epsilon_derived"] <= 3.0
    synth.check(out)
    written = synth.app_api.load_related(out / "schema.json")
    assert written.tables["stays"].columns["ward"].source == "private"
    assert "SENTINEL" not in "".join(p.read_text() for p in out.glob("*.csv"))
    assert set(pd.read_csv(out / "stays.csv")["ward"]) == {"north", "south"}


def test_the_command_learns_of_a_folder_and_what_nobody_confirmed(command, tmp_path):
    place, facts, out = folder(tmp_path / "clinic", tables()), tmp_path / "s.json", tmp_path / "learnt.json"
    stays = complete(SCHEMA["tables"]["stays"]["columns"])
    stays["nights"]["source"] = "unconfirmed"
    facts.write_text(json.dumps(changed(patients=complete(SCHEMA["tables"]["patients"]["columns"]), stays=stays)))
    said, _ = command.done("schema", "learn", place, "--schema", facts, "--epsilon", "1", "--out", out, "--json")
    assert json.loads(said)["learnt"] == ["stays.nights"]
    assert synth.app_api.load_related(out).tables["stays"].columns["nights"].source == "private"
    command.done(f"run {place} --schema {out} --epsilon 1 --method independent --out {tmp_path}/o")


def test_tables_of_a_database_are_learnt_together_and_one_alone(command, tmp_path):
    there = tmp_path / "clinic.db"
    with sqlite3.connect(there) as base:
        for name, table in tables(500).items():
            table.to_sql(name, base, index=False)
    facts, out, source = tmp_path / "s.json", tmp_path / "learnt.json", f"sqlite:///{there}"
    facts.write_text(json.dumps(SCHEMA))
    asked = ("--schema", facts, "--epsilon", "3", "--out", out, "--source", source, "--dataset", "clinic")
    command.done("schema", "learn", *asked)
    assert synth.app_api.load_related(out).tables["patients"].columns["sex"].categories == ("f", "m")
    alone = tmp_path / "alone.json"
    alone.write_text(json.dumps({"columns": SCHEMA["tables"]["patients"]["columns"]}))
    command.done("schema", "learn", "patients", *asked[2:], "--schema", alone)
    assert synth.Schema.load(out).columns["sex"].categories == ("f", "m")
    code, _, stderr = command("schema", "learn", "--schema", facts, "--epsilon", "3", "--out", out)
    assert (code, "TABLE is missing" in stderr) == (2, True)


@pytest.mark.usefixtures("few_steps")
def test_what_a_run_learns_meets_a_prior_afterwards(tmp_path):
    older, rng = tables(400), np.random.default_rng(9)
    older["stays"] = older["stays"].assign(nights=rng.integers(0, 30, len(older["stays"])), ward="north")
    older["patients"]["sex"] = rng.choice(["f", "m"], 400)
    prior = {"prior": str(folder(tmp_path / "older", older)), "prior_reason": "a public sample"}
    card = synth.run(tables(600), schema=schema(), epsilon=3.0, delta=1e-5, learn_share=0.2, **prior).card
    assert card["priors"][0]["columns"] == ["patients.sex", "stays.day", "stays.nights", "stays.ward"]
    assert (card["epsilon"], card["epsilon_derived"] <= 3.0) == (3.0, True)
    synth.check(card)


def test_tables_without_rows_still_make_a_schema():
    made = tables(3)
    made["stays"] = made["stays"].iloc[:0]
    result = synth.learn_schema(made, schema=schema(), epsilon=0.1, delta=1e-6)
    synth.app_api.parse_related(json.loads(result.to_json()))


PUBLIC = {"wards": {"key": "ward", "referred_by": ["stays.ward"]}}
EQUAL = [{"kind": "equal", "child": "stays.sex", "parent": "patients.sex"}]
TWICE = {**SCHEMA["tables"]["stays"]["columns"], "sex": {"type": "categorical"}}
REFUSED = {
    "a reference": ({**SCHEMA, "public": PUBLIC}, "stays.ward refers to the public table wards"),
    "an equal column": ({**changed(stays=TWICE), "constraints": EQUAL}, "patients.sex has the facts of another column"),
    "no bound": ({**SCHEMA, "keys": [{**SCHEMA["keys"][0], "source": "unconfirmed"}]}, "nobody has confirmed"),
    "open": ({**SCHEMA, "open": ["stays has two keys."]}, "left open by the draft"),
    "a derived name": (
        changed(stays={**SCHEMA["tables"]["stays"]["columns"], "gap in day": {"type": "integer"}}),
        "'gap in day' is called as what is derived",
    ),
}


@pytest.mark.parametrize("fault", list(REFUSED))
@pytest.mark.parametrize("share", [0.9, 0.2])
def test_what_cannot_be_learnt_is_refused_before_the_spend(fault, share):
    plain, words = REFUSED[fault]
    with pytest.raises(InputError, match=words):
        synth.run(tables(20), schema=schema(plain), epsilon=1.0, learn_share=share, **FAST)
    assert spends() == []


RARE = {"kind": "impossible", "rows": {"ward": "SENTINEL", "nights": "0..1"}}


@pytest.mark.parametrize("of", ["tables", "persons"])
def test_a_rule_about_a_value_too_rare_to_be_learnt_ends_no_run(of):
    plain = changed(stays={**SCHEMA["tables"]["stays"]["columns"], "nights": number(0, 40)})
    plain["tables"]["stays"]["constraints"] = [RARE]
    one = {**PERSONS, "columns": {**PERSONS["columns"], "nights": number(0, 40)}}
    facts = schema(plain) if of == "tables" else synth.Schema.parse({**one, "constraints": [RARE]}, complete=False)
    made = tables() if of == "tables" else tables()["stays"].merge(tables()["patients"])
    run = synth.run(made, schema=facts, epsilon=3.0, learn_share=0.2, **FAST)
    assert "SENTINEL" not in run.schema.to_json().replace(json.dumps(RARE["rows"]["ward"]), "")


@pytest.mark.parametrize("of", ["tables", "persons"])
def test_a_rule_that_cannot_be_kept_is_refused_before_the_spend_also_where_facts_are_learnt(of):
    wrong = {"kind": "impossible", "rows": {"nights": "0..1", "times": "no number"}}
    numbers = {n: number(0, 40) for n in ("nights", "times")}
    plain = changed(stays={**SCHEMA["tables"]["stays"]["columns"], **numbers})
    plain["tables"]["stays"]["constraints"] = [wrong]
    one = {**PERSONS, "columns": {**PERSONS["columns"], **numbers}, "constraints": [wrong]}
    facts = schema(plain) if of == "tables" else synth.Schema.parse(one, complete=False)
    made = tables(40)
    made["stays"]["times"] = 1
    with pytest.raises(InputError, match="constraint 1"):
        synth.run(
            made if of == "tables" else made["stays"].merge(made["patients"]),
            schema=facts,
            epsilon=1.0,
            learn_share=0.2,
            **FAST,
        )
    assert spends() == []


def test_learnt_facts_keep_to_their_unit_and_are_not_learnt_twice_within_a_run():
    made = tables(300)
    first = changed(patients=complete(SCHEMA["tables"]["patients"]["columns"]))
    result = synth.learn_schema(made, schema=schema(first), epsilon=0.5, delta=1e-6)
    with pytest.raises(UsageError, match="replace_one"):
        synth.run(made, schema=result, epsilon=1.0, relation="replace_one", **FAST)
    half = json.loads(result.to_json())
    half["tables"]["patients"]["columns"]["sex"] = {"type": "categorical"}
    with pytest.raises(InputError, match="learnt before"):
        synth.run(made, schema=schema(half), epsilon=1.0, learn_share=0.2, **FAST)
    twice = synth.learn_schema(made, schema=schema(half), epsilon=0.5, delta=1e-6)
    assert twice.learnt.epsilon == 1.0
    with pytest.raises(InputError, match="`learn_share="):
        synth.run(made, schema=schema(), epsilon=1.0, **FAST)


PERSONS = facts_of(
    pid=ID, sex={"type": "categorical", "of": "unit"}, ward={"type": "categorical"}, day={"type": "datetime"}
) | {"unit": "pid", "max_rows": 12, "order": "day", "dataset": "stays"}


def persons():
    made = tables()
    return made["stays"].merge(made["patients"])[list(PERSONS["columns"])]


def test_persons_with_several_rows_are_learnt_of_one_row_each():
    facts = synth.Schema.parse(PERSONS, complete=False)
    result = synth.learn_schema(persons(), schema=facts, epsilon=2.0, delta=1e-6)
    assert (result.columns["sex"].categories, result.columns["ward"].categories) == (("f", "m"), ("north", "south"))
    assert {m["sensitivity"] for m in result.learnt.mechanisms} == {1.0}
    made = synth.run(persons(), schema=result, epsilon=1.0, **FAST)
    assert (made.card["epsilon"], made.card["max_rows_of_a_unit"]) == (3.0, 1)
    synth.check(made.card)


def test_a_run_that_keeps_persons_together_learns_within_its_epsilon(tmp_path):
    facts = synth.Schema.parse(PERSONS, complete=False)
    made = synth.run(persons(), schema=facts, epsilon=3.0, learn_share=0.2, out=tmp_path / "o", **FAST)
    assert [line.epsilon for line in spends()] == [3.0]
    assert set(made.frame["ward"]) == {"north", "south"}
    assert made.frame.groupby("pid")["sex"].nunique().max() == 1
    assert not made.frame["pid"].is_unique
    written = synth.Schema.load(tmp_path / "o" / "schema.json")
    assert (written.columns["ward"].source, 0 < written.learnt.epsilon < 3.0) == ("private", True)
    synth.check(tmp_path / "o")


def test_uses_of_facts_that_are_to_be_learnt_are_refused_by_plan_and_run_alike(tmp_path):
    """As of one table: a draft's facts that nobody confirms are taken out and learnt, and uses rest on facts."""
    facts = {t: complete(SCHEMA["tables"][t]["columns"]) for t in SCHEMA["tables"]}
    drafted = {
        t: {n: c if c["type"] == "identifier" else {**c, "source": "unconfirmed"} for n, c in own.items()}
        for t, own in facts.items()
    }
    asked = {"epsilon": 1.0, "learn_share": 0.3, "uses": ["stays.ward by patients.sex"], **FAST}
    made = schema(changed(**drafted))
    with pytest.raises(InputError, match="uses are read under a complete schema"):
        synth.plan(made, rows=400, **asked)
    with pytest.raises(InputError, match="uses are read under a complete schema"):
        synth.run(tables(400), schema=made, ledger=tmp_path / "l.sqlite", **asked)
    assert not Ledger(tmp_path / "l.sqlite").summary()
