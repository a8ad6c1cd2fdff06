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
