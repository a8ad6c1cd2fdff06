"""Long histories: what is drawn is what the closed form says, times rise within bounds, and long numbers have bins."""

import numpy as np
import pytest
import torch

from synth.errors import InputError
from synth.generators.base import Setting
from synth.generators.core.related import _model
from synth.generators.core.related_fit import TreeFit, TreeOptions
from synth.generators.core.related_levels import levels
from synth.generators.core.related_model import NestedMixture
from synth.generators.core.related_questions import TreePlan, ask_tree_columns
from synth.generators.core.related_tables import Grain, learn_tables
from synth.mechanisms import linked
from synth.pipeline.rehearsal import made_up
from synth.privacy.noise import SeededNoise
from synth.schema import dataset as datasets
from tests.made import ID, a_key, binary, codes, dated, facts_of, several

MOST = 12
TREE = several(
    a_key("c", "p", "id", MOST, order="day"),
    p=facts_of(id=ID, x=binary("0", "1")),
    c=facts_of(id=ID, y=codes("a", "b", "c"), day=dated("2019-01-01", "2020-12-31", nullable=True)),
)


def fitted(plain=TREE, roots=1000):
    """A model of made-up rows whose components hardly mix, and its closed form."""
    schema = datasets.parse_related(plain)
    setting = Setting(schema=schema.as_measured("p"), tree=schema, mu=30.0, sensitivity=1.0)
    rows, noise = made_up(schema, roots), SeededNoise(1)
    releases = ask_tree_columns(
        lambda q: linked.answer(q, rows, noise), schema, setting, TreePlan(oneway=1.0), progress=lambda _: None
    )
    result = learn_tables(releases, schema, setting, noise=0.1, grain=Grain())
    trees = TreeFit(schema=schema, known=result)
    options = TreeOptions(roots=3, children=4, spread=2.0)
    rng = np.random.default_rng(0)
    logits = trees.start(options, rng)
    logits["c"].keep = torch.tensor([1.0, 3.0, -1.0])
    logits["c"].lean -= 1
    logits["c"].again = torch.ones_like(logits["c"].again) * 0.5
    logits["c"].lasting -= 1.5
    logits["c"].shared += 2
    estimates = levels(schema, trees.columns, logits)
    return schema, trees.columns, estimates, _model(trees, estimates)


def drawn(model, roots, seed=0):
    (block,) = model.blocks(roots, rng=np.random.default_rng(seed))
    return block["p"].positions, block["c"].positions, block["c"].parent


def test_successive_rows_are_drawn_as_the_closed_form_has_them():
    """Tables of a column and itself in the next row, and half a history later; 60,000 roots, so within .005."""
    plain = {**TREE, "tables": {**TREE["tables"], "c": {"columns": dict(TREE["tables"]["c"]["columns"])}}}
    plain["tables"]["c"]["columns"]["day"] = ID  # so that no time chooses among rows
    _, columns, estimates, model = fitted(plain)
    _, rows, parent = drawn(model, 60_000)
    y, number = rows["y"], np.bincount(parent, minlength=60_000)
    rank = np.arange(len(y)) - np.repeat(np.cumsum(number) - number, number)
    of_y, many = columns["c"].slices["y"], number[parent]
    near = np.flatnonzero(rank + 1 < many)
    result = np.bincount(y[near] * 3 + y[near + 1], weights=1 / (many[near] - 1), minlength=9).reshape(3, 3) / 60_000
    stated = estimates["c"].paired()[of_y, of_y].numpy()
    alone = np.outer(stated.sum(1), stated.sum(0)) / stated.sum()
    assert abs(stated - alone).sum() > 0.1, "rows depend on the row before"
    assert abs(result - stated).sum() < 0.015
    ahead = many // 2
    far = np.flatnonzero((many >= 4) & (rank + ahead < many))
    later = y[far + ahead[far]]
    result = np.bincount(y[far] * 3 + later, weights=1 / (many - ahead)[far], minlength=9).reshape(3, 3) / 60_000
    assert abs(result - estimates["c"].far[of_y, of_y].numpy()).sum() < 0.06, "near, by its own word"
    single = np.bincount(y, weights=1 / many, minlength=3) / 60_000
    assert abs(single - estimates["c"].one_way[of_y].numpy()).sum() < 0.015, "single rows are as without a memory"


def test_times_rise_stay_in_bounds_and_follow_gaps():
    schema, _, _, model = fitted()
    _, rows, parent = drawn(model, 500)
    day, size = rows["day"], schema.tables["c"].columns["day"].size
    assert set(rows) == {"y", "day"}
    assert day.min() >= 0
    assert day.max() <= size, "one cell more, where a date is missing"
    within = parent[1:] == parent[:-1]
    assert (np.diff(day)[within] >= 0).all()


def test_a_stored_model_draws_the_same_and_a_damaged_one_is_refused():
    schema, _, _, model = fitted()
    about, arrays = model.state()
    again = NestedMixture.from_state(schema, about, arrays)
    for one, other in zip(drawn(model, 50)[1].values(), drawn(again, 50)[1].values(), strict=True):
        assert np.array_equal(one, other)
    broken = {**arrays, "table1.keep": np.array([0.5, 1.0, 0.2])}
    with pytest.raises(InputError, match="components are kept"):
        NestedMixture.from_state(schema, about, broken)


def test_a_long_number_of_rows_has_bins_whose_tables_are_as_asked():
    """120 rows at most: bins of several numbers, of which 0 and 1 are alone; the model's numbers are within bounds."""
    plain = {**TREE, "keys": [{**TREE["keys"][0], "most_children": 120}]}
    schema, columns, estimates, model = fitted(plain)
    within = columns["p"].numbers["number of c"]
    assert within.shape[0] < within.shape[1] == 121
    assert within[0, 0] == within[1, 1] == 1.0
    np.testing.assert_allclose(within.sum(1), 1.0)
    assert estimates["c"].mass.shape[1] == 120
    above, _, parent = drawn(model, 300)
    assert np.array_equal(np.bincount(parent, minlength=300), above["number of c"])
    del schema
