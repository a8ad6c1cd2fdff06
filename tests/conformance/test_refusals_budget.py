"""An epsilon, a delta or a precision that cannot be had is refused before the spend, by every method."""

from dataclasses import replace

import numpy as np
import pytest

import synth
from synth.generators import GENERATORS
from synth.pipeline.rehearsal import rehearse
from synth.questions import Counts
from tests.conformance.refusing import FRAME, SCHEMA, TRAINED, grant, quick, spends
from tests.made import ran


def test_the_rehearsal_sees_what_the_noise_is_not_precise_enough_for():
    """Of whole numbers' noise no reserve is too small, of noise on a finer lattice some are."""
    scarce = replace(grant("add_remove"), float_slack=1e-9)
    with pytest.raises(synth.UsageError, match=r"3 columns.*precise"):
        rehearse(GENERATORS["dp_merf"], SCHEMA, scarce)
    rehearse(GENERATORS["mixture"], SCHEMA, scarce)


def test_an_epsilon_beyond_the_noises_precision_is_refused_before_the_spend(tmp_path):
    with pytest.raises(synth.UsageError, match=r"3 columns.*precise"):
        ran(FRAME, SCHEMA, epsilon=50.0, method="dp_merf", ledger=tmp_path / "ledger.sqlite")
    assert spends(tmp_path / "ledger.sqlite") == []


def test_the_rehearsals_curator_refuses_what_the_real_one_would():
    """The evil twin: a method that asks for more than its budget is refused by the rehearsal, not by chance."""
    greedy = GENERATORS["independent"]
    wide = replace(grant("add_remove"), mu=grant("add_remove").mu / 2)

    class Greedy(type(greedy)):
        def measure(self, run):
            return super().measure(replace(run, setting=replace(run.setting, mu=2 * run.setting.mu)))

    with pytest.raises(synth.UsageError, match="remaining"):
        rehearse(Greedy(), SCHEMA, wide)


TINIEST = [1e-6, 1e-9, 1e-12, 5e-324]


@pytest.mark.parametrize("name", GENERATORS)
def test_an_epsilon_beyond_what_is_computed_is_refused_by_every_method(name, tmp_path):
    book = tmp_path / "ledger.sqlite"
    for epsilon in TINIEST:
        with pytest.raises(synth.UsageError, match=r"below 0\.0001"):
            ran(FRAME, SCHEMA, epsilon=epsilon, method=name, ledger=book)
    assert spends(book) == []


# The ends of what may be asked for; the trained methods, whose accounting takes seconds, are tried with -m slow.
FAR = [(1e-4, 1e-20), (1e-4, 0.1), (1e6, 1e-20), (1e6, 0.1)]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in TRAINED else []) for n in GENERATORS])
def test_the_ends_of_epsilon_and_delta_are_refused_before_the_spend_or_run_to_the_end(name, tmp_path, recwarn):
    said, spent = [], []
    for i, (epsilon, delta) in enumerate(FAR):
        book = tmp_path / f"{i}.sqlite"
        try:
            asked = {"method": name, "ledger": book, "options": quick(name, {}), "num_rows": 5}
            ran(FRAME, SCHEMA, epsilon=epsilon, delta=delta, **asked)
        except synth.UsageError as refused:
            said.append(str(refused))
            spent += spends(book)
    assert spent == []
    assert [s for s in said if "precise" not in s and "option" not in s and "raise epsilon" not in s] == []
    assert [w for w in recwarn if w.category is RuntimeWarning] == []


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-4, 1e-20), (1.0, 1e-20)])
def test_tables_of_counts_are_never_charged_and_then_refused(epsilon, delta, tmp_path):
    """What a run asks follows from its answers: here no answer leads to a question that precision refuses."""
    for i in range(3):
        ran(FRAME, SCHEMA, epsilon=epsilon, delta=delta, method="mixture", ledger=tmp_path / f"{i}.sqlite", num_rows=5)


def test_precision_is_left_for_more_tables_than_were_rehearsed():
    """The evil twin: answers that lead to ten times as many tables are no reason to refuse after the spend."""
    asked, _ = rehearse(GENERATORS["mixture"], SCHEMA, grant("add_remove"))
    tables = [q for q, _ in asked if isinstance(q, Counts)]
    given, most = grant("add_remove", 49.0), []
    for epsilon in np.arange(45.0, 56.0, 0.25):
        given = grant("add_remove", float(epsilon))
        try:
            rehearse(GENERATORS["mixture"], SCHEMA, given)
        except synth.UsageError:
            break
        most.append(epsilon)
    number = 10 * sum(len(t.marginals) for t in tables)
    taken = number * 2.0**-100 * (1 + np.exp(most[-1])) / (given.left_delta * 0.02)
    assert 0.05 < taken < 1.0
