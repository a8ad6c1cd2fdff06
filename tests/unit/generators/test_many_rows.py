"""Where rows are many and noise is little: tables beyond pairs, and the fit to them, cost no more than a bound."""

from itertools import combinations

import numpy as np
import pytest

from synth.generators.base import Run, Setting
from synth.generators.core import solver
from synth.generators.core.mixture import Mixture
from synth.generators.core.planning import TABLES
from synth.generators.core.search import Rounds
from synth.generators.core.solver import JOINED, Options, fit_mixture, how_many
from synth.schema.table import Schema
from tests.unit.generators.helpers import OpenSession, identity, quiet


def followers(rows: int) -> dict[str, np.ndarray]:
    """Six columns of 50 values that follow three hidden numbers, with a noise of their own: in no order."""
    rng = np.random.default_rng(0)
    hidden = rng.random((rows, 3))
    return {f"c{j}": ((hidden[:, j % 3] + 0.1 * rng.random(rows)) * 50).astype(int) * 7 % 50 for j in range(6)}


@pytest.fixture(scope="module")
def asked():
    """By the most cells of a round, all that was counted."""
    facts = {"type": "categorical", "categories": [str(i) for i in range(50)]}
    setting = Setting(
        schema=Schema.model_validate({"columns": {f"c{j}": facts for j in range(6)}}), mu=5.0, sensitivity=1.0
    )
    rows, out = followers(200_000), {}
    for cells in (Rounds().cells, 10**12):
        method = Mixture(beyond=Rounds(cells=cells), rounds=1)
        releases = method.measure(Run(OpenSession(rows, setting), setting))
        out[cells] = [r.question.marginals for r in releases if r.question.purpose == TABLES]
    return out


def test_a_round_of_larger_tables_has_a_bounded_number_of_cells(asked):
    reported, free = (
        [sum(m.cells for m in t) for t in counts if any(len(m.columns) > 2 for m in t)] for counts in asked.values()
    )
    assert reported
    assert max(reported) <= Rounds().cells
    assert max(free) > 3 * Rounds().cells  # without the bound


def test_bins_of_larger_tables_are_unions_of_those_of_pairs(asked):
    """A coarser bin is a union of finer ones, for every two groupings of a column."""
    groupings: dict[str, dict[bytes, np.ndarray]] = {}
    for bins in (b for t in next(iter(asked.values())) for m in t for b in m.bins):
        groupings.setdefault(bins.column, {})[bins.groups.tobytes()] = bins.groups
    assert max(map(len, groupings.values())) > 1
    for item in groupings.values():
        for fine, coarse in combinations(sorted(item.values(), key=lambda g: -g.max()), 2):
            assert len(np.unique(np.stack([fine, coarse]), axis=1).T) == fine.max() + 1


@pytest.mark.parametrize(("affordable", "mixtures"), [(2.5, 2), (0.1, 1), (99, 4)])
def test_mixtures_are_fewer_where_even_the_fewest_steps_cost_too_much(monkeypatch, affordable, mixtures):
    laid = identity(16)
    monkeypatch.setattr(solver, "MOST", affordable * laid.work * 3)
    options = Options(components=3, ensembles=4, steps=1, stop=1e9)
    weights, _ = fit_mixture(laid, options, rng=np.random.default_rng(0), device="cpu", progress=quiet)
    assert len(weights) == 3 * mixtures


def test_whatever_is_affordable_can_be_joined_whole():
    """Eleven mixtures were once afforded, which four do not divide: none was joined, and the table was much worse."""
    for wanted in range(1, 33):
        for affordable in range(65):
            many = how_many(wanted, affordable)
            assert many % min(many, JOINED) == 0
            assert 1 <= many <= max(1, min(wanted, affordable))
            assert many > min(wanted, affordable) - JOINED
