"""Rows as vectors: bounds that hold for every row, the mechanism's own sensitivity, and no look at a table."""

from itertools import product

import numpy as np
import pytest

import synth
from synth.errors import UsageError
from synth.generators.papers.slicing import scaled
from synth.mechanisms import slices
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Slices
from tests.made import a_schema, codes, facts_of, number

PLAIN = facts_of(sex=codes("f", "m"), age=number(0, 3, nullable=True), town=codes("a", "b", "c"))
SCHEMA = synth.Schema.parse(PLAIN)


@pytest.mark.parametrize("form", ["scaled", "binned"])
@pytest.mark.parametrize("relation", [r.value for r in Relation])
def test_bounds_hold_for_every_row_and_are_reached(form, relation):
    """Hundreds of made-up rows are all 30 of the schema: their longest is the bound, and two differ by no more than
    the sensitivity of a replaced row."""
    reported = synth.app_api.encode(SCHEMA, relation=relation, form=form, rows=600)
    assert len(set(reported.texts)) == 2 * 5 * 3
    assert reported.norms().max() == pytest.approx(reported.norm, abs=1e-12)
    assert reported.norm <= 1
    for column in reported.columns:
        part = reported.vectors[:, column.first : column.first + column.width]
        assert np.linalg.norm(part, axis=1).max() == pytest.approx(column.norm, abs=1e-12)
    distinct = np.unique(reported.vectors, axis=0)
    apart = max(np.linalg.norm(a - b) for a, b in product(distinct, distinct))
    shifted = apart if relation == "replace_one" else reported.norms().max()
    assert 0.95 * reported.sensitivity < shifted <= reported.sensitivity


@pytest.mark.parametrize("relation", Relation)
def test_the_sensitivity_is_the_mechanisms(relation):
    question = Slices(purpose="x", encoding=scaled(SCHEMA), sigma=1.0, groups=1)
    reported = synth.app_api.encode(SCHEMA, relation=relation.value)
    assert reported.sensitivity == slices.sensitivity(question, Adjacency(relation=relation))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("slicing", {}),
        ("slicing", {"loss": "kl"}),
        ("dp_kernel", {}),
        ("dp_kernel", {"variant": "conditional"}),
        ("dp_merf", {"frequencies": 50}),
    ],
)
@pytest.mark.parametrize("relation", [r.value for r in Relation])
def test_a_methods_rows_are_those_that_it_asks_about(method, options, relation):
    """As many coordinates as its question has, whose parts fill them; no row is longer than 1, and no two are further
    apart than a replaced one may move."""
    schema = synth.Schema.parse(PLAIN | {"target": "sex"})
    asked = {"method": method, "options": options, "relation": relation, "epsilon": 3.0, "delta": 1e-5}
    reported = synth.app_api.encode(schema, rows=300, **asked)
    answers = synth.plan(schema, rows=20_000, **asked).steps[-1].cells
    wide = reported.vectors.shape[1]
    assert answers == wide if method != "slicing" else answers % wide == 0  # of each group, or record
    assert [c.first for c in reported.columns] == list(np.cumsum([0, *(c.width for c in reported.columns[:-1])]))
    assert sum(c.width for c in reported.columns) == wide
    assert reported.norms().max() <= reported.norm + 1e-12
    distinct = np.unique(reported.vectors, axis=0)
    if relation == "replace_one":
        assert max(np.linalg.norm(a - b) for a, b in product(distinct, distinct)) <= reported.sensitivity + 1e-12
    else:
        assert reported.sensitivity == 1


def test_forms_are_words_of_what_stands_there():
    schema = synth.Schema.parse(PLAIN)
    of = {m: synth.app_api.encode(schema, method=m, rows=1) for m in ("slice_wasserstein", "dp_kernel", "dp_merf")}
    assert [c.form for c in of["slice_wasserstein"].columns][::2] == ["one-hot of 2", "one-hot of 3"]
    assert [c.name for c in of["dp_kernel"].columns] == ["sex, age", "sex, town", "age, town"]
    assert of["dp_kernel"].columns[1].form == "table of 6 cells"
    assert of["dp_kernel"].texts[0][1].split(", ")[1] in "abc"
    assert [c.form for c in of["dp_merf"].columns] == ["random waves"]


@pytest.mark.parametrize(("method", "options"), [("dp_kernel", {"form": "path"}), ("mixture", {})])
def test_a_method_without_vectors_says_so(method, options):
    with pytest.raises(UsageError, match=f"method {method}: with these options it adds up no vectors"):
        synth.app_api.encode(synth.Schema.parse(PLAIN), method=method, options=options)


def test_a_column_of_very_many_categories_is_not_shown_one_hot():
    """It would take their square of memory."""
    many = a_schema(code=codes(*[f"c{i}" for i in range(2500)]))
    with pytest.raises(UsageError, match="`form=binned`"):
        synth.app_api.encode(many)
    assert synth.app_api.encode(many, form="binned").vectors.shape == (3, 24)


def test_a_person_of_three_rows_moves_a_sum_three_times_as_far():
    columns = PLAIN["columns"] | {"who": {"type": "identifier"}}
    person = {"columns": columns, "unit": "who", "max_rows": 3, "unit_source": "declared"}
    reported = synth.app_api.encode(synth.Schema.parse(person))
    assert (reported.max_rows, reported.sensitivity) == (3, 3.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [({"form": "raw"}, "one of scaled"), ({"rows": 0}, "1 to 1000"), ({"relation": "any"}, "unknown")],
)
def test_what_cannot_be_shown_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        synth.app_api.encode(SCHEMA, **given)
