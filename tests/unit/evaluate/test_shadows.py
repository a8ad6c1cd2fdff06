"""Membership by shadow runs: what is called a fault, what the guarantee allows (the report: test_steward.py)."""

from dataclasses import replace

import numpy as np
import pytest

from synth.errors import UsageError
from synth.evaluate import shadows
from synth.evaluate.audit import runs
from synth.evaluate.audit.neighbours import worst_pair
from synth.evaluate.audit.statistics import Claim, examine
from synth.evaluate.risks import Rate


def test_a_method_without_its_noise_is_called_a_fault():
    """The release's own line, where every answer is exact: the reading says that nothing may be let out."""
    pair = worst_pair("add_remove")
    claim = Claim(epsilon=1.0, delta=1e-6, mu=0.23)
    sides = [
        [{shadows.TABLE: runs.looked_at(shadows._texts(pair, rows), pair)}] * 80 for rows in (pair.one, pair.other)
    ]
    reported = shadows._shadow(sides, "a method", shadows.TABLE, claim)
    assert reported.right.hits == reported.right.attacks == 80
    assert "fault" in reported.reading


@pytest.mark.parametrize(
    ("claim", "most"),
    [
        (Claim(epsilon=0.0, delta=0.0), 0.5),
        (Claim(epsilon=np.log(3), delta=0.0), 0.75),
        (Claim(epsilon=5.0, delta=0.0, mu=2 * 0.6744897501960817), 0.75),
        (Claim(epsilon=50.0, delta=0.5), 1.0),
    ],
)
def test_the_guarantee_bounds_right_guesses(claim, most):
    """Randomised response and the Gaussian reach the bound: of log 3 three quarters are right."""
    one, other = np.zeros((80, 1)), np.ones((80, 1))
    reported = shadows.Shadow(
        made="",
        seen="",
        private=True,
        right=Rate(hits=1, attacks=2),
        finding=replace(examine(one, other, claim=claim, confidence=0.999)),
    )
    assert reported.allowed == pytest.approx(most, abs=1e-3)


def test_persons_and_other_relations_have_neighbours_too():
    for relation, most in (("replace_one", 1), ("zero_out", 1), ("add_remove", 20)):
        pair = worst_pair(relation, max_rows=most)
        for draw in shadows.leaks(pair, np.random.default_rng(0)).values():
            sizes = {draw(rows)["rows"] for rows in (pair.one, pair.other)}
            assert sizes == {12.0}, "a number of rows that differs would tell by itself"


def test_too_few_runs_are_refused():
    with pytest.raises(UsageError, match="`shadow_runs=39`: at least 40"):
        shadows.measure(
            "independent", epsilon=1.0, delta=1e-6, relation="add_remove", draws=39, rng=np.random.default_rng(0)
        )
