"""A sum has a unit, a relation and a set of what is public: what differs stands side by side, on cards and in ledgers.

The true loss of releases of unlike kinds has no sum: 10 persons' rows at epsilon 1 each are 10 of the person, and what
passes through in one release is protected in another.
"""

import json
from itertools import product

import pytest

import synth
from synth.errors import BudgetError, InputError
from synth.privacy.accounting.guarantee import Guarantee, sums
from synth.release.card import verify
from synth.release.card.choice import Charge, chosen
from tests.conftest import SMALL, small_frame

WHY = "the register of residents is open"
COLUMNS = {n: c for n, c in SMALL["columns"].items() if n in ("age", "sex", "ill")}
# a release of each kind: what its schema and its request say
KINDS = {
    "rows": ({}, {}),
    "persons": ({"unit": "pid", "max_rows": 2}, {}),
    "replaced": ({}, {"relation": "replace_one"}),
    "public columns": ({}, {"relation": "replace_one", "public": "age"}),
}


def schema_of(more, public=None):
    columns = {n: {**c, "role": "public", "reason": WHY} if n == public else c for n, c in COLUMNS.items()}
    columns |= {"pid": {"type": "identifier"}} if "unit" in more else {}
    return synth.Schema.parse({"columns": columns, **more})


@pytest.fixture(scope="module")
def frame():
    return small_frame(400)[list(COLUMNS)].assign(pid=[f"p{i // 2}" for i in range(400)])


def made(frame, kind, out, **more):
    schema, request = KINDS[kind]
    request = dict(request)
    schema = schema_of(schema, request.pop("public", None))
    asked = {"epsilon": 1.0, "delta": 1e-6, "dataset": "d", "separate": True, "seed": 1, "out": out} | request | more
    return synth.run(frame[list(schema.columns)], schema=schema, **asked)


@pytest.mark.parametrize(("first", "later"), [("rows", "persons"), ("replaced", "public columns"), ("rows", "rows")])
def test_a_card_with_earlier_releases_sums_what_is_alike_and_lists_the_rest(frame, first, later, tmp_path):
    made(frame, first, tmp_path / "first")
    card = made(frame.sample(frac=1, random_state=1), later, tmp_path / "later", prior=tmp_path / "first").card
    verify.check(card)
    whole = card["in_all_releases"]
    if first == later:
        assert (whole["epsilon"], whole["delta"]) == (2.0, 2e-6)
        return
    assert "epsilon" not in whole
    assert "which have no sum" in whole["statement"]
    assert [(g["epsilon"], g["delta"]) for g in whole["apart"]] == [(1.0, 1e-6), (1.0, 1e-6)]
    assert len({(g["unit"], g["relation"], tuple(g["public_columns"])) for g in whole["apart"]}) == 2


@pytest.mark.parametrize(("one", "other"), [p for p in product(KINDS, KINDS) if p[0] != p[1]])
def test_no_card_adds_a_choice_of_another_kind_and_no_cap_takes_it(frame, one, other, tmp_path):
    book = synth.Ledger()
    card = made(frame, one, tmp_path / "one").card
    book.set_policy("d", max_epsilon=10.0)
    with pytest.raises(BudgetError, match="do not add up"):
        made(frame, other, tmp_path / "other")
    book.set_policy("d", max_epsilon=None)
    second = made(frame, other, tmp_path / "other").card
    kinds = [(e.relation, e.unit) for e in book.entries() if e.kind == "spend"]
    assert [Guarantee.of(c).kind for c in (card, second)] == kinds
    assert len(sums(map(Guarantee.of, (card, second)))) == 2
    with pytest.raises(TypeError, match="do not add up"):
        chosen(card, "releases", [Charge(number=9, hash="0" * 64, guarantee=Guarantee.of(second))])
    for how in ("releases", "all"):
        with pytest.raises(InputError, match="do not add up"):
            synth.bundle(tmp_path / "one", tmp_path / "b.zip", how=how, candidates=[tmp_path / "other"])


def test_a_ledger_composes_no_runs_of_unlike_kinds(frame, tmp_path, command):
    for kind in ("replaced", "public columns"):
        made(frame, kind, tmp_path / kind)
    (total,) = synth.Ledger().summary("d")
    assert total.mu2 is None
    _, said, _ = command("ledger", "show")
    assert (
        "d: 2 runs, whose guarantees have no sum: epsilon 1, delta 1e-06 for one row (replace_one); epsilon 1" in said
    )
    assert "epsilon 2" not in said
    told = json.loads(command("ledger", "show", "--json")[1])["datasets"][0]["apart"]
    assert [(g["epsilon"], g["public_columns"]) for g in told] == [(1.0, []), (1.0, ["age"])]


def test_frames_alone_have_no_kind_of_their_own():
    row = Guarantee(unit="row", relation="replace_one", epsilon=1.0, delta=1e-6)
    assert (row + row).epsilon == 2.0
    for other in ({"unit": "pid"}, {"relation": "add_remove"}, {"public_columns": ("age",)}):
        with pytest.raises(TypeError, match="do not add up"):
            row + Guarantee(**{**vars(row), **other})
