"""Two sites, one generator: each pays for itself, answers add up with the noise that the method reckons with."""

import json
from contextlib import nullcontext
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import BudgetError, InputError, UsageError
from synth.pipeline import federated
from synth.privacy.ledger.ledger import Ledger
from synth.questions import Bins, Counts, CountsRelease, Marginal
from synth.release.card import model
from synth.report import card_page
from tests.conftest import SMALL, small_frame

SCHEMA = synth.Schema.parse(SMALL)
QUICK = {"rounds": 3, "features": 16}


def sites(tmp_path, rows=300):
    frame = small_frame(2 * rows)
    halves = {"north": frame[:rows], "south": frame[rows:]}
    return {
        n: federated.Site(table=half.reset_index(drop=True), dataset=n, ledger=tmp_path / f"{n}.sqlite")
        for n, half in halves.items()
    }


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_each_site_pays_for_itself_and_one_table_is_made(tmp_path, relation):
    made = synth.federated(
        sites(tmp_path), schema=SCHEMA, epsilon=2.0, delta=1e-6, seed=1, num_rows=50, options=QUICK, relation=relation
    )
    assert made.table.shape[0] == 50
    assert set(SCHEMA.measured()) <= set(made.table.columns)
    for name in ("north", "south"):
        (entry,) = (e for e in Ledger(tmp_path / f"{name}.sqlite").entries() if e.kind == "spend")
        assert (entry.epsilon, entry.dataset, entry.number) == (2.0, name, made.spent[name])
        assert 1.8 < made.epsilon_derived[name] <= 2.0
    assert made.model.total == pytest.approx(600, rel=0.2)


def test_one_release_folder_names_every_sites_line_and_can_be_drawn_from_again(tmp_path):
    """The card holds for each site; a site that spent more than it lists is noticed."""
    out = tmp_path / "out"
    made = synth.federated(
        sites(tmp_path), schema=SCHEMA, epsilon=2.0, delta=1e-6, seed=1, num_rows=50, options=QUICK, out=out
    )
    assert synth.check(out).epsilon_derived == pytest.approx(made.epsilon_derived["south"], rel=1e-6)
    card = json.loads((out / "card.json").read_text())
    jsonschema.validate(card, model.json_schema())
    lines = {s["site"]: s["ledger_entry"] for s in card["sites"]}
    for name, entry in lines.items():
        (line,) = (e for e in Ledger(tmp_path / f"{name}.sqlite").entries() if e.kind == "spend")
        assert (entry["number"], entry["hash"]) == (line.number, line.hash)
        assert entry["hash"] in card_page.render_markdown(card)
    assert pd.read_csv(out / "synthetic.csv").shape == made.table.shape
    again = synth.app_api.refit(out, num_rows=20)
    assert (len(again.frame), again.epsilon_spent) == (20, 0.0)
    card["sites"][0]["epsilon_derived"] *= 1.01
    with pytest.raises(InputError, match="spent more"):
        synth.check(card)


def test_a_site_without_budget_ends_it_before_any_site_spends(tmp_path):
    both = sites(tmp_path)
    Ledger(both["south"].ledger).set_policy("south", max_epsilon=1.0)
    with pytest.raises(BudgetError):
        synth.federated(both, schema=SCHEMA, epsilon=2.0, delta=1e-6, options=QUICK)
    for site in both.values():
        assert not [e for e in Ledger(site.ledger).entries() if e.kind == "spend"]


@pytest.mark.parametrize(("cap", "spends"), [(3.9, 0), (4.0, 2)])
def test_sites_of_one_budget_are_checked_together_before_any_site_spends(tmp_path, cap, spends):
    ledger = tmp_path / "one.sqlite"
    both = {n: replace(s, dataset="both", ledger=ledger) for n, s in sites(tmp_path).items()}
    Ledger(ledger).set_policy("both", max_epsilon=cap)
    with nullcontext() if spends else pytest.raises(BudgetError):
        synth.federated(both, schema=SCHEMA, epsilon=2.0, delta=1e-6, options=QUICK)
    assert len([e for e in Ledger(ledger).entries() if e.kind == "spend"]) == spends


def test_the_same_rows_at_two_sites_are_refused_before_any_site_spends(tmp_path):
    both = sites(tmp_path)
    both["south"] = replace(both["south"], table=both["north"].table.sample(frac=0.95, random_state=1))
    with pytest.raises(UsageError, match="hold the same rows"):
        synth.federated(both, schema=SCHEMA, epsilon=2.0, delta=1e-6, options=QUICK)
    assert not any(Ledger(site.ledger).entries() for site in both.values())


def test_answers_add_up_with_the_noise_that_was_asked_for():
    """Each site draws noise of sigma / sqrt(2); with sigma itself the sum would have too much, with half too little."""
    rng, sigmas = np.random.default_rng(0), []

    def door(question):
        sigmas.append(question.marginals[0].sigma)
        noise = rng.normal(scale=question.marginals[0].sigma, size=(20_000,))
        return CountsRelease(question=question, values=(np.rint(noise + 5).astype(np.int64),))

    bins = Bins.each("a", 20_000)
    question = Counts(purpose="c", marginals=(Marginal(bins=(bins,), sigma=30.0),))
    released = federated.summed([door, door])(question)
    assert released.question is question
    assert sigmas == pytest.approx([30 / 2**0.5] * 2)
    z = (released.values[0] - 10) / 30.0
    assert abs((z**2).sum() - 20_000) / (2 * 20_000) ** 0.5 < 4.9


def test_other_methods_and_one_site_are_refused(tmp_path):
    both = sites(tmp_path)
    with pytest.raises(UsageError, match="gs_wgan"):
        synth.federated(both, schema=SCHEMA, epsilon=1.0, delta=1e-6, method="mixture")
    with pytest.raises(UsageError, match="two sites"):
        synth.federated({"north": both["north"]}, schema=SCHEMA, epsilon=1.0, delta=1e-6)
