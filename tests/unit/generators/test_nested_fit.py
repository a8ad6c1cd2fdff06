"""How tables of related rows are weighed: budget between the root's own, and the rows' own chance."""

import numpy as np
import pandas as pd
import pytest
import torch

import synth
from synth.generators.base import Setting
from synth.generators.core.related_fit import NestedMatrix, TreeFit, TreeOptions, _fitting, root_last
from synth.generators.core.related_levels import Columns, Logits, of_root
from synth.generators.core.related_questions import TreePlan, WantedTable, ask_tree, tree_questions
from synth.generators.core.related_tables import Grain, learn_tables
from synth.mechanisms import linked
from synth.pipeline.rehearsal import made_up
from synth.privacy.noise import SeededNoise
from synth.questions import Bins
from synth.questions.linked import place
from tests.unit.generators.helpers import FLAG, related

SCHEMA = related({"y": FLAG}, root={"x": FLAG, "w": FLAG})


class Shares:
    """A setting in which noise is told as the share that it costs."""

    def sigma(self, share):
        return share


def wanted(table, *columns, cells=6, weight=1.0):
    bins = tuple(
        Bins(column=place(t, c), cells=cells, starts=np.arange(cells), groups=np.arange(cells)) for t, c in columns
    )
    return WantedTable(table=table, view="rows", bins=bins, weight=weight)


@pytest.mark.parametrize("children", [1, 60])
def test_the_roots_own_columns_have_their_part_however_many_others_are_asked(children):
    """Found on hospitals: tables of the number of children took eight times what the only pair of patients had."""
    plan, number = TreePlan(), "number of c"
    asked = [wanted("p", ("p", "x"), ("p", "w"), cells=2)]
    asked += [wanted("p", ("p", c), ("p", number), weight=plan.number) for c in ("x", "w")]
    asked += [wanted("c", ("c", "y"), ("p", "x"), weight=plan.across)] * children
    result = {
        (q.table, i): m.sigma
        for q in tree_questions(SCHEMA, asked, Shares(), plan, share=1.0)
        for i, m in enumerate(q.marginals)
    }
    root = sum(s for (t, _), s in result.items() if t == "p")
    assert sum(result.values()) == pytest.approx(1.0)
    assert root >= plan.root - 1e-9
    assert result["p", 0] >= plan.own * root - 1e-9


@pytest.mark.usefixtures("few_steps")
def test_of_few_roots_what_pairs_would_cost_is_spent_on_columns(tmp_path):
    """Found on 400 patients at epsilon 1: no pair was worth asking, and two thirds of epsilon bought nothing."""
    homes = pd.DataFrame({"id": [str(i) for i in range(30)], "x": ["0", "1"] * 15, "w": ["0", "1"] * 15})
    people = pd.DataFrame({"id": ["1", "1", "2", "9"], "y": ["0", "1", "1", "0"]})
    made = synth.run(
        {"p": homes, "c": people},
        schema=SCHEMA,
        epsilon=0.1,
        delta=1e-5,
        dataset="few",
        ledger=tmp_path / "ledger.sqlite",
    )
    assert {m["name"].split(": ")[1] for m in made.card["mechanisms"]} == {"one-way", "one-way, again"}
    assert made.epsilon_derived == pytest.approx(0.1, rel=1e-3)


def block(y, precision, view="rows"):
    return NestedMatrix(table="p", view=view, above="p", y=torch.tensor(y), precision=torch.tensor(precision))


def test_a_cell_is_known_no_better_than_its_own_chance():
    """1,000 roots: cells of 900 and 100, noise of 2 roots; a count's variance is its mean, at most."""
    precision = (1000 / 2.0) ** 2
    result = block([[0.9, 0.1]], [[precision, 0.0]]).softened(1 / 1000.0)
    assert result[0, 0].item() == pytest.approx(1000**2 / (2.0**2 + 900), rel=1e-5)
    assert result[0, 1].item() == 0, "what was not measured stays so"
    below = block([[-0.1]], [[precision]]).softened(1 / 1000.0)
    assert below.item() == pytest.approx(precision, rel=1e-5), "noise below nothing has no chance of its own"


def test_the_roots_own_tables_are_met_at_last_whatever_the_rest_asked_for():
    columns = Columns(slices={"x": slice(0, 2), "w": slice(2, 4)}, size=4)
    given = Logits(columns=0.3 * torch.randn(8, 4, generator=torch.Generator().manual_seed(1)), state=torch.zeros(1, 8))
    y, precision = torch.zeros(4, 4), torch.zeros(4, 4)
    y[:2, 2:] = torch.tensor([[0.4, 0.1], [0.1, 0.4]])
    precision[:2, 2:] = 1e5
    own = NestedMatrix(table="p", view="rows", above="p", y=y, precision=precision)

    def off():
        return float((precision * (of_root(given, columns).own - y) ** 2).sum())

    before = off()
    root_last("p", columns, given, [own])
    assert off() < 4 < before, "within the noise of its four cells"


@pytest.mark.parametrize(
    ("noise", "components", "steps", "pull", "stop"),
    [(0.9, 256, 600, 0.02, 0.6), (2.0, 125, 585, 0.04, 0.65), (20.0, 16, 300, 0.04, 0.695)],
)
def test_few_components_are_fitted_in_fewer_steps_pulled_harder_and_stopped_sooner(
    noise, components, steps, pull, stop
):
    """1,000 roots, a component for every four times the noise. Found on accounts: a weak pull lost their siblings."""
    asked = block([[0.5, 0.5]], [[(1000 / noise) ** 2] * 2])
    given = TreeOptions(roots=256, children=256, each=4.0, steps=600, pull=0.02, stop=0.6, sooner=0.1)
    result = _fitting(given, [asked], 1000.0)
    assert (result.roots, result.children, result.steps) == (components, components, steps)
    assert result.pull == pytest.approx(pull, rel=0.03)
    assert result.stop == pytest.approx(stop, abs=0.002)


@pytest.fixture(scope="module")
def trees():
    """A fit of made-up rows, and all that was asked of them."""
    setting = Setting(schema=SCHEMA.as_measured("p"), tree=SCHEMA, mu=3.0, sensitivity=1.0)
    rows, noise = made_up(SCHEMA, 500), SeededNoise(1)
    releases = ask_tree(lambda q: linked.answer(q, rows, noise), SCHEMA, setting, TreePlan(), progress=lambda _: None)
    fit = TreeFit(schema=SCHEMA, known=learn_tables(releases, SCHEMA, setting, noise=0.1, grain=Grain()))
    return fit, fit.blocks(releases, {})


def fitted(trees, seeds, *, threads=1, progress=lambda _: None):
    fit, measured = trees
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return fit.fit(
            measured,
            TreeOptions(roots=6, children=6, steps=30),
            rngs=[np.random.default_rng(s) for s in seeds],
            progress=progress,
        )
    finally:
        torch.set_num_threads(before)


def test_starts_that_move_together_are_each_what_it_is_alone(trees):
    together = fitted(trees, (0, 1, 2))
    for seed, one in enumerate(together):
        (alone,) = fitted(trees, (seed,))
        for table, logits in one.items():
            for name, tensor in logits.named.items():
                torch.testing.assert_close(tensor, alone[table].named[name], atol=1e-3, rtol=1e-3)
    assert not torch.allclose(together[0]["p"].columns, together[1]["p"].columns, atol=0.1)


def test_a_fit_is_the_same_bytes_on_any_number_of_cores(trees):
    for one, other in zip(fitted(trees, (0, 1)), fitted(trees, (0, 1), threads=3), strict=True):
        for table, logits in one.items():
            assert all(torch.equal(t, other[table].named[n]) for n, t in logits.named.items())


def test_whoever_has_had_enough_stops_the_fit(trees):
    def cancelled(share):
        assert 0 <= share <= 1
        assert share.loss > 0
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(trees, (0,), progress=cancelled)
