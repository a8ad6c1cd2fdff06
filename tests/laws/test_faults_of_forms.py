"""Faulty cells, absent keys and tables of one row end as ordinary ones do, in every form that a run or a session has.

Not the rows' worth is compared but what is seen outside: how it ended, which files lie there, one charge.
"""

import pandas as pd
import pytest

import synth
from synth.errors import SynthError
from synth.pipeline.verified import Questions
from synth.privacy.ledger.ledger import Ledger
from tests.laws import small_forests
from tests.made import ID, codes, facts_of, number, ran

FLAG = codes("0", "1", source="declared")
NUMBER = number(0, 9, source="declared")
PERSONS = facts_of(id=ID, x={**FLAG, "of": "unit"}, y=FLAG, t=NUMBER) | {"unit": "id", "max_rows": 3, "order": "t"}
PUBLIC = facts_of(x={**FLAG, "role": "public", "source": "public", "reason": "a register"}, y=FLAG, t=NUMBER)
TOTALS = facts_of(x=FLAG, y=FLAG, t=NUMBER) | {
    "totals": [{"columns": ["x"], "counts": [["0", "30"], ["1", "20"]], "published": "a yearbook"}]
}
AREAS = facts_of(x=FLAG, y={**FLAG, "within": "x"}, t=NUMBER)
FORMS = {
    "persons": (PERSONS, {}),
    "persons replaced": (PERSONS, {"relation": "replace_one"}),
    "public columns": (PUBLIC, {"relation": "replace_one"}),
    "totals": (TOTALS, {}),
    "areas": (AREAS, {}),
}
ROWS = 40
SOUND = pd.DataFrame(
    {
        "id": [f"p{i // 2}" for i in range(ROWS)],
        "x": "1",
        "y": ["0", "1"] * (ROWS // 2),
        "t": [str(i % 10) for i in range(ROWS)],
    }
)
FAULTS = {
    "no keys": SOUND.assign(id=""),
    "null keys": SOUND.assign(id=None),
    "one key": SOUND.assign(id="k"),
    "no cell of the schema": SOUND.assign(x="?", y="zz", t="abc"),
    "null cells": SOUND.assign(x=None, y=None, t=None),
    "a person's own differs": SOUND.assign(x=["0", "1"] * (ROWS // 2)),
    "one row": SOUND.head(1),
    "one row without a key": SOUND.head(1).assign(id=" "),
}


def seen(place, work):
    """How it ended, what lies there, what was charged; but for what a result is made of."""
    place.mkdir()
    try:
        work(place)
        ended = "done"
    except SynthError as error:
        ended = f"{type(error).__name__}: {error}"
    charged = [(e.kind, e.epsilon, e.delta) for e in Ledger(place / "ledger.sqlite").entries()]
    files = sorted(p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file())
    return ended, charged, files


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("form", FORMS)
def test_a_run_ends_as_on_sound_rows(form, fault, tmp_path):
    plain, options = FORMS[form]
    schema = synth.Schema.parse(plain)

    def run(table):
        def work(place):
            columns = table[list(plain["columns"])]
            columns.to_csv(place / "t.csv", index=False)
            ran(place / "t.csv", schema, at=place, delta=1e-6, method="independent", **options)

        return work

    sound, faulty = (seen(tmp_path / n, run(t)) for n, t in (("sound", SOUND), ("faulty", FAULTS[fault])))
    assert sound == faulty
    assert sound[0] == "done"


@pytest.mark.parametrize("fault", ["no cell of the schema", "null cells", "one row"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_session_ends_as_on_sound_rows(delta, fault, tmp_path):
    schema = synth.Schema.parse({"columns": {n: TOTALS["columns"][n] for n in ("x", "y")}})

    def session(table):
        def work(place):
            with synth.online(
                table[["x", "y"]], schema=schema, epsilon=1.0, delta=delta, ledger=place / "ledger.sqlite", dataset="d"
            ) as door:
                door.count({"x": "0"})
                door.count({"x": "1", "y": "0"})

        return work

    sound, faulty = (seen(tmp_path / n, session(t)) for n, t in (("sound", SOUND), ("faulty", FAULTS[fault])))
    assert sound == faulty
    assert sound[0] == "done"


CHILDREN = pd.DataFrame({"id": ["a", "a", "b"], "y": ["0", "1", "1"], "t": ["1", "2", "3"]})
PARENTS = pd.DataFrame({"id": ["a", "b", "c"], "x": ["0", "1", "0"]})
TREES = {
    "no children": {"p": PARENTS, "c": CHILDREN.head(0)},
    "children of nobody": {"p": PARENTS, "c": CHILDREN.assign(id="z")},
    "no keys": {"p": PARENTS.assign(id=""), "c": CHILDREN},
    "no cell of the schema": {"p": PARENTS.assign(x="?"), "c": CHILDREN.assign(y="?", t="?")},
    "one root": {"p": PARENTS.head(1), "c": CHILDREN.head(1)},
}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    place = tmp_path_factory.mktemp("trees")
    many = [{n: t.assign(id=t["id"] + str(i)) for n, t in (("p", PARENTS), ("c", CHILDREN))} for i in range(100)]
    ran(
        {n: pd.concat([m[n] for m in many]) for n in ("p", "c")},
        small_forests.two("t"),
        at=place,
        epsilon=4.0,
        delta=1e-6,
        method="independent",
    )
    return place / "out"


@pytest.mark.parametrize("fault", TREES)
@pytest.mark.parametrize("kind", ["share", "mean"])
def test_an_answer_about_related_tables_ends_as_on_sound_rows(kind, fault, tmp_path, released):
    asked = {
        "share": {"kind": "share", "of": {"y": "1"}, "where": {"p.x": "0"}},
        "mean": {"kind": "mean", "column": "t"},
    }

    def answer(tables):
        def work(place):
            Questions(released, {"table": "c", **asked[kind]}).answer(
                tables,
                epsilon=1.0,
                delta=1e-6,
                schema=small_forests.two("t"),
                ledger=place / "ledger.sqlite",
                dataset="d",
            )

        return work

    sound = seen(tmp_path / "sound", answer({"p": PARENTS, "c": CHILDREN}))
    assert sound == seen(tmp_path / "faulty", answer(TREES[fault]))
    assert sound[0] == "done"
