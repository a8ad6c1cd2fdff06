"""A schema of related tables: one tree, one key a child, one line for each thing that is wrong; rules across tables:
what children repeat, what parents sum up, dates in order between them; kept without a row."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.generators.core.related_model import DrawnTable
from synth.pipeline.related_rules import AcrossTables
from synth.schema import dataset as datasets
from synth.sources.related_tables import places
from tests.made import ID, a_key, codes, dated, facts_of, number, several
from tests.unit.changed_facts import changed

KEY = {"type": "identifier"}
FLAG = {"type": "categorical", "categories": ["f", "m"]}
PLAIN = several(
    a_key("stays", "patients", "patient", 5, parent_columns="pid", order="days"),
    a_key("acts", "stays", "sid", 3),
    patients={"columns": {"pid": KEY, "sex": FLAG}},
    stays={"columns": {"sid": KEY, "patient": KEY, "days": {"type": "integer", "min": 0, "max": 9}}},
    acts={"columns": {"sid": KEY, "code": FLAG}},
)


def test_a_tree_is_read_and_written():
    result = datasets.parse_related(PLAIN)
    assert (result.root, result.downwards) == ("patients", ("patients", "stays", "acts"))
    assert result.most_rows("acts") == 15
    assert result.key_columns("stays") == ["sid", "patient"]
    assert list(result.as_measured("patients").columns) == ["sex", "number of stays"]
    assert datasets.parse_related(json.loads(result.to_json())) == result


WRONG = {
    "unknown parent": ({"keys__0__parent": "people"}, "'people' is not among the tables"),
    "unknown column": ({"keys__0__columns": ["nobody"]}, "'nobody' is not among the columns of stays"),
    "of another kind": ({"keys__1__columns": ["code"]}, "acts.code is of type categorical"),
    "circle": ({"keys__0__parent": "acts", "keys__0__parent_columns": ["sid"]}, "circle"),
    "two parents": (
        {"keys": [*PLAIN["keys"], a_key("acts", "patients", "sid", 2, parent_columns="pid")]},
        "acts has several parents",
    ),
    "two roots": ({"keys": PLAIN["keys"][:1]}, "patients, acts have no parent"),
    "bound below one": ({"keys__0__most_children": 0}, "key of stays to patients: most_children: must be"),
    "bound out of reach": ({"keys__0__most_children": 501}, "must be a whole number from 1 to 500"),
    "order of nothing": ({"keys__0__order": "when"}, "order 'when' is not among the columns"),
    "order by the key": ({"keys__0__order": "patient"}, "order stays.patient"),
    "a table's unit": ({"tables__stays__unit": "patient", "tables__stays__max_rows": 3}, "leave out unit"),
    "a table's uses": ({"tables__stays__uses": ["predict days"]}, "table stays: uses of related tables stand beside"),
    "a use of no column": ({"uses": ["stays.ward by acts.kind"]}, "use 1 ('stays.ward by acts.kind'): "),
    "a regression of no column": ({"uses": ["stays.days ~ acts.kind"]}, "use 1 ('stays.days ~ acts.kind'): "),
    "a table's order": ({"tables__stays__order": "days"}, "order is for one table in which persons repeat"),
    "a person's column": (
        {"tables__stays__columns__days__of": "unit"},
        "days is for one table in which persons repeat",
    ),
    "keys of other lengths": ({"keys__0__columns": ["patient", "sid"]}, "2 columns of stays and 1 of patients"),
    "a name that is a path": ({"tables": {**PLAIN["tables"], "../x": PLAIN["tables"]["acts"]}}, "letters, digits"),
    "more facts": ({"keys__0__share": 1}, "is no fact of related tables"),
    "one table": (several(patients=PLAIN["tables"]["patients"]), "two or more"),
    "its own parent": ({"keys__1__parent": "acts"}, "its own parent"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_what_is_wrong_is_one_line(wrong):
    parts, reported = WRONG[wrong]
    with pytest.raises(InputError) as error:
        datasets.parse_related(changed(PLAIN, **parts))
    assert reported in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_has_one_file_for_each_table(tmp_path):
    schema = datasets.parse_related(PLAIN)
    for name in ("patients.csv", "stays.parquet", "acts.csv"):
        (tmp_path / name).write_bytes(b"")
    assert {n: p.path.name for n, p in places(tmp_path, schema).items()} == {
        "patients": "patients.csv",
        "stays": "stays.parquet",
        "acts": "acts.csv",
    }
    (tmp_path / "acts.xlsx").write_bytes(b"")
    with pytest.raises(InputError, match=r"acts is there as acts\.csv and as acts\.xlsx"):
        places(tmp_path, schema)
    (tmp_path / "acts.csv").unlink()
    (tmp_path / "acts.xlsx").unlink()
    with pytest.raises(InputError, match="no file for table acts"):
        places(tmp_path, schema)
    with pytest.raises(UsageError, match="table stays of the schema is not given"):
        places({"patients": tmp_path / "patients.csv"}, schema)


RULES_KEY = ID
REGION = codes("n", "s")
DAY = dated("2020-01-01", "2020-12-31")
RULES_PLAIN = several(
    a_key("orders", "accounts", "id", 4, order="day"),
    accounts=facts_of(
        id=RULES_KEY,
        region=REGION,
        opened=DAY,
        closed={**DAY, "nullable": True},
        orders=number(0, 9),
        total=number(0, 400, decimals=1),
    )
    | {"constraints": [{"kind": "order", "low": "opened", "high": "closed"}]},
    orders=facts_of(id=RULES_KEY, region=REGION, day=DAY, amount=number(0, 99.9, decimals=1, nullable=True)),
) | {
    "dataset": "bank",
    "constraints": [
        {"kind": "equal", "child": "orders.region", "parent": "accounts.region"},
        {"kind": "order", "low": "accounts.opened", "high": "orders.day"},
        {"kind": "order", "low": "orders.day", "high": "accounts.closed"},
        {"kind": "count", "parent": "accounts.orders", "child": "orders"},
        {"kind": "total", "parent": "accounts.total", "child": "orders.amount"},
    ],
}
SCHEMA = datasets.parse_related(RULES_PLAIN)


def rows(seed=1, size=200):
    """Rows as a model draws them, in which nothing fits anything."""
    rng = np.random.default_rng(seed)
    parent = np.repeat(np.arange(size), rng.integers(0, 5, size))
    cells = {t: {n: c.cells for n, c in s.measured().items()} for t, s in SCHEMA.tables.items()}
    sizes = {"accounts": size, "orders": len(parent)}
    result = {t: {n: rng.integers(0, c, sizes[t]) for n, c in columns.items()} for t, columns in cells.items()}
    result["accounts"]["opened"] = rng.integers(0, 100, size)
    result["accounts"]["closed"] = np.where(rng.random(size) < 0.3, 366, rng.integers(200, 366, size))
    return {
        "accounts": DrawnTable(positions=result["accounts"], parent=np.zeros(size, dtype=np.int64)),
        "orders": DrawnTable(positions=result["orders"], parent=parent),
    }


def test_every_rule_holds_in_drawn_rows_and_is_counted():
    across, block = AcrossTables(SCHEMA), rows()
    before = {t: {n: p.copy() for n, p in r.positions.items()} for t, r in block.items()}
    across.apply(block, np.random.default_rng(0))
    up, down, parent = block["accounts"].positions, block["orders"].positions, block["orders"].parent
    assert (down["region"] == up["region"][parent]).all()
    assert (down["day"] >= up["opened"][parent]).all()
    assert (down["day"] <= np.where(up["closed"] == 366, 999, up["closed"])[parent]).all()
    assert (np.diff(down["day"])[parent[1:] == parent[:-1]] >= 0).all(), "events are in order still"
    assert (up["orders"] == np.bincount(parent, minlength=200)).all()
    sums = np.bincount(parent, weights=np.where(down["amount"] < 1000, down["amount"], 0), minlength=200)
    assert (up["total"] == np.minimum(sums, 4000)).all()
    assert [k["kept"] for k in across.shares_kept] == [1.0] * 5
    assert (up["opened"] == before["accounts"]["opened"]).all(), "the parent's dates stand"
    assert len(np.unique(down["day"])) > 60, "dates that broke a rule are drawn again, not heaped at the bound"


def test_what_cannot_hold_is_told():
    """An account that closes before it opens, where no rule of its own says that it must not: its orders cannot be
    between."""
    facts = RULES_PLAIN["tables"]["accounts"]
    alone = {n: v for n, v in facts.items() if n != "constraints"}
    free = datasets.parse_related(RULES_PLAIN | {"tables": RULES_PLAIN["tables"] | {"accounts": alone}})
    across, block = AcrossTables(free), rows()
    block["accounts"].positions["opened"][:] = 300
    block["accounts"].positions["closed"][:] = 10
    across.apply(block, np.random.default_rng(0))
    shares = {(k["kind"], *k["columns"]): k["kept"] for k in across.shares_kept}
    assert (
        min(shares[("order", "accounts.opened", "orders.day")], shares[("order", "orders.day", "accounts.closed")]) < 1
    )


@pytest.mark.usefixtures("few_steps")
def test_a_release_keeps_its_rules_and_the_card_tells(command, tmp_path):
    folder = tmp_path / "bank"
    folder.mkdir()
    rng = np.random.default_rng(4)
    many = rng.integers(0, 4, 150)
    ids = np.repeat(np.arange(150), many)
    days = (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, 150), unit="D")).strftime("%Y-%m-%d")
    pd.DataFrame(
        {
            "id": range(150),
            "region": rng.choice(["n", "s"], 150),
            "opened": days,
            "closed": "",
            "orders": many,
            "total": 1.5,
        }
    ).to_csv(folder / "accounts.csv", index=False)
    pd.DataFrame({"id": ids, "region": rng.choice(["n", "s"], len(ids)), "day": days[ids], "amount": 7.5}).to_csv(
        folder / "orders.csv", index=False
    )
    (tmp_path / "s.json").write_text(json.dumps(RULES_PLAIN))
    out = tmp_path / "r"
    command.done("run", folder, "--schema", tmp_path / "s.json", "--epsilon", "8", "--out", out)
    for place in (out, tmp_path / "more"):
        if place != out:
            asked = ["--num-roots", "50", "--where", "accounts.orders=2..4", "--out", place]
            command.done("sample", out, *asked)
        up, down = pd.read_csv(place / "accounts.csv"), pd.read_csv(place / "orders.csv")
        both = down.merge(up, on="id", suffixes=("", "_of"))
        assert (both.region == both.region_of).all()
        assert (both.day >= both.opened).all()
        sizes = down.groupby("id").size().reindex(up.id, fill_value=0)
        assert (up.orders.to_numpy() == sizes.to_numpy()).all()
    assert up.orders.between(2, 4).all(), "the condition is on what the rule gives"
    card = json.loads((out / "card.json").read_text())
    assert [k["kept"] for k in card["constraints"] if k.get("across")] == [1.0] * 5
    assert command("card", "check", out)[0] == 0


RULES_WRONG = {
    "no such column": (
        {"kind": "equal", "child": "orders.x", "parent": "accounts.region"},
        "orders.x is not a measured",
    ),
    "upside down": ({"kind": "equal", "child": "accounts.region", "parent": "orders.region"}, "does not stand above"),
    "of other facts": (
        {"kind": "equal", "child": "orders.day", "parent": "accounts.region"},
        "must have the same type",
    ),
    "a total of words": ({"kind": "total", "parent": "accounts.total", "child": "orders.region"}, "must be numbers"),
    "a date and a number": (
        {"kind": "order", "low": "accounts.total", "high": "orders.day"},
        "two numbers or two dates",
    ),
    "a count of nothing": ({"kind": "count", "parent": "accounts.orders", "child": "loans"}, "no table of children"),
    "a count in words": ({"kind": "count", "parent": "accounts.region", "child": "orders"}, "must be an integer"),
    "a kind of its own": ({"kind": "twice"}, "constraints"),
}


@pytest.mark.parametrize("wrong", list(RULES_WRONG))
def test_a_rule_that_cannot_be_kept_is_one_line(wrong):
    rule, words = RULES_WRONG[wrong]
    plain = {**copy.deepcopy(RULES_PLAIN), "constraints": [rule]}
    with pytest.raises(InputError, match=words) as error:
        synth.app_api.parse_related(plain)
    assert "\n" not in str(error.value)
