"""One table whose persons keep their rows, from its description to the result."""

import pytest

from app.session.state import view
from tests.app.elements import ended, keys, said, to_run, upload

VISITS = b"pid,sex,ward,day\n" + b"".join(
    b"P%03d,%s,%s,%d\n" % (i % 80, b"fm"[i % 2 : i % 2 + 1], b"abc"[i % 3 : i % 3 + 1], i % 9) for i in range(240)
)
COLUMNS = {
    "pid": {"type": "identifier"},
    "sex": {"type": "categorical", "categories": ["f", "m"]},
    "ward": {"type": "categorical", "categories": ["a", "b", "c"]},
    "day": {"type": "integer", "min": 0, "max": 9},
}
SCHEMA = {"dataset": "visits", "unit": "pid", "max_rows": 3, "columns": COLUMNS}


def element(at, kind: str, begins: str):
    return next(e for e in getattr(at, kind) if str(e.key).startswith(begins))


def test_a_person_s_columns_and_the_order_of_rows_are_said_on_describe(start):
    at = upload(start(), VISITS, SCHEMA)
    assert "In the result every row stands alone" in said(at)
    element(at, "toggle", "linked_").set_value(True).run()
    assert "each made-up person has several rows with one made-up key" in said(at)
    element(at, "multiselect", "own_").set_value(["sex"]).run()
    element(at, "selectbox", "order_").set_value("day").run()
    plain = at.session_state["wizard"].plain
    assert (plain["linked"], plain["order"], plain["columns"]["sex"]["of"]) == (True, "day", "unit")
    assert "of" not in plain["columns"]["ward"]
    element(at, "toggle", "linked_").set_value(False).run()
    plain = at.session_state["wizard"].plain
    assert (plain["linked"], plain["order"]) == (False, None)


@pytest.mark.slow
def test_from_describe_to_release(start):
    columns = {**COLUMNS, "sex": {**COLUMNS["sex"], "of": "unit"}}
    uses = ["ward by sex", "day ~ sex"]
    at = to_run(
        upload(start(), VISITS, {**SCHEMA, "order": "day", "columns": columns, "uses": uses}, rows=80), method="mixture"
    )
    assert "each made-up person has several rows" in said(at)
    at.button(key="spend").click().run()
    at = ended(at, seconds=300)
    assert [u["kind"] for u in at.session_state["wizard"].plain["uses"]] == ["table", "regression"]
    at.switch_page(view("result")).run()
    assert "one person, named by pid, with all rows" in said(at)
    assert "each made-up person has several rows" in said(at)
    assert "draw" in keys(at)
    at.switch_page(view("result")).run()
    assert not at.exception
    assert "refit" in keys(at), "another method on the same answers"
    at.button(key="compare").click().run()
    assert "named: ward by sex" in said(at)
    assert "named: day ~ sex" in said(at)
