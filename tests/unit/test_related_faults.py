"""Faults of related tables: public ones are a line before the spend, private ones leave no sign outside the noise."""

import json

import pandas as pd
import pytest

from synth.evaluate.audit.whole_canaries import TREES as FACTS
from synth.evaluate.audit.whole_canaries import trees
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.relation import Relation
from tests.planted.walks import once, uncovered
from tests.unit.changed_facts import changed

CANARY = trees()[0]


def company() -> dict[str, pd.DataFrame]:
    """Ten homes of two people with a visit each; two rows of a home are kept."""
    return CANARY.tables(Relation.ADD_REMOVE)[1]


def orphans(t):
    t["people"].loc[::3, "home"] = "nowhere"


def empty_keys(t):
    t["people"].loc[::2, "home"] = ""
    t["homes"].loc[::4, "home"] = ""


def keys_twice(t):
    t["homes"].loc[3:7, "home"] = "h1"


def keys_twice_in_the_middle(t):
    t["people"].loc[3:9, "person"] = "h1-0"


def more_than_the_bound(t):
    t["people"] = pd.concat([t["people"]] * 4)


def no_child(t):
    t["visits"] = t["visits"].iloc[:0]


def keys_that_never_meet(t):
    t["homes"]["home"] = "x" + t["homes"]["home"]


def of_other_types(t):
    for table in ("homes", "people"):
        t[table]["home"] = [f"{float(h[1:]):.1f}" if table == "homes" else h[1:] for h in t[table]["home"]]


def unreadable(t):
    t["people"].loc[::3, "nth"] = "CANARY"
    t["visits"].loc[::2, "kind"] = "=CANARY()"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """What no noise covers of a run without faults."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_HOME", str(tmp_path_factory.mktemp("home")))
        return uncovered(once(CANARY, company()))


PRIVATE = [
    orphans,
    empty_keys,
    keys_twice,
    keys_twice_in_the_middle,
    more_than_the_bound,
    no_child,
    keys_that_never_meet,
    of_other_types,
    unreadable,
]


@pytest.mark.parametrize("fault", PRIVATE, ids=lambda f: f.__name__)
def test_what_only_cells_tell_leaves_no_sign(fault, sound):
    tables = company()
    fault(tables)
    shown = once(CANARY, tables)
    assert shown.texts["exit code"] == "0", shown.texts["message"]
    assert uncovered(shown) == sound


LEARNT = {"epsilon": 1.0, "delta": 1e-6, "relation": "add_remove", "unit": "row", "ledger_entry": 1, "mechanisms": []}
AGAIN = {"parent": "homes", "child": "visits", "columns": ["person"], "parent_columns": ["home"], "most_children": 2}
DRAFTED = {**FACTS["keys"][0], "source": "unconfirmed"}
PUBLIC = {
    "a circle": (changed(FACTS, keys__0__parent="visits", keys__0__columns=["person"]), None, "go in a circle"),
    "two parents": (changed(FACTS, keys=[*FACTS["keys"], AGAIN]), None, "visits has several parents (people, homes)"),
    "no key": (changed(FACTS, keys=FACTS["keys"][:1]), None, "homes, visits have no parent"),
    "a number as key": (
        changed(FACTS, tables__people__columns__home={"type": "integer", "min": 0, "max": 9}),
        None,
        "people.home is of type integer",
    ),
    "no bound": (
        changed(FACTS, keys__0__most_children=None),
        None,
        "key of people to homes: most_children: must be a whole",
    ),
    "no columns": (changed(FACTS, keys__0__columns=[]), None, "key of people to homes: columns: must list"),
    "a draft": (changed(FACTS, keys__0=DRAFTED), None, "nobody has confirmed that people belongs to homes"),
    "left open": (changed(FACTS, open=["people has two keys."]), None, "left open by the draft: people has two keys."),
    "learnt": (changed(FACTS, tables__visits__learnt=LEARNT), None, "table visits: its schema holds facts learnt"),
    "no file": (FACTS, lambda t: t.pop("visits"), "has no file for table visits"),
    "no column": (FACTS, lambda t: t["people"].pop("home"), "no column 'home'"),
    "no root": (FACTS, lambda t: t.update(homes=t["homes"].iloc[:0]), "a header and no rows"),
}


@pytest.mark.parametrize("fault", list(PUBLIC))
def test_what_is_public_is_one_line_before_the_spend(command, tmp_path, fault):
    plain, change, words = PUBLIC[fault]
    tables = company()
    if change is not None:
        change(tables)
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps(plain))
    asked = ["--epsilon", "1", "--dataset", "homes", "--out", tmp_path / "r"]
    code, _, stderr = command("run", tmp_path, "--schema", tmp_path / "s.json", *asked)
    assert (code, words in stderr.splitlines()[-1]) == (2, True), stderr
    assert not [e for e in Ledger().entries() if e.kind == "spend"]
    assert not (tmp_path / "r").exists()
