"""Where private rows are few, a public table's rows are what a model departs from, as far as the answers let them."""

from itertools import combinations

import numpy as np
import pytest

from synth.generators import GENERATORS
from synth.generators.base import Fit, Run
from synth.generators.core.columns import PRIOR_LEAVES
from synth.generators.core.mixture import said
from synth.generators.core.public_rows import weighed_rows
from synth.generators.core.tables import FEW
from synth.pipeline.priors import Encoded
from synth.questions import PublicCounts
from synth.release import store
from tests.unit.generators.alike_columns import NAMES, SIZE, drawn, public, setting_of
from tests.unit.generators.helpers import OpenSession

ROWS = 1000


def measured(mu: float, seed: int, *priors: Encoded):
    setting = setting_of(ROWS, mu, *priors)
    session = OpenSession(drawn(ROWS, 0), setting, seed=seed)
    return GENERATORS["mixture"].measure(Run(session, setting)), setting_of(ROWS, mu)


def triples_off(mu: float, seed: int, *priors: Encoded) -> float:
    """How far the tables of three columns of one run are off the private ones."""
    releases, setting = measured(mu, seed, *priors)
    rng = np.random.default_rng(seed)
    made = GENERATORS["mixture"].fit(releases, setting, Fit(rng)).sample(ROWS, rng=rng)
    return shares_apart(drawn(ROWS, 0), made)


def shares_apart(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> float:
    off = []
    for names in combinations(NAMES, 3):
        places = [np.ravel_multi_index([rows[n] for n in names], (SIZE,) * 3) for rows in (one, two)]
        shares = [np.bincount(p, minlength=SIZE**3) / len(p) for p in places]
        off.append(float(np.abs(shares[0] - shares[1]).sum()))
    return float(np.mean(off))


def turned(rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Rows whose columns depend otherwise: every second one has its values reversed."""
    return {n: v if i % 2 else SIZE - 1 - v for i, (n, v) in enumerate(rows.items())}


@pytest.mark.parametrize("mu", [0.03, 0.3])
def test_few_public_rows_beat_themselves_and_a_run_without_them(mu):
    fair = drawn(200, 1)
    off = np.mean([triples_off(mu, s, public(fair)) for s in range(2)])
    assert off < shares_apart(drawn(ROWS, 0), fair)
    assert off < 0.8 * np.mean([triples_off(mu, s) for s in range(2)])


@pytest.mark.parametrize("mu", [0.03, 0.3, 3.0])
def test_rows_that_tell_nothing_of_columns_together_harm_nothing(mu):
    permuted = public(drawn(200, 1, shuffled=True))
    with_it, without = (np.mean([triples_off(mu, s, *p) for s in range(2)]) for p in ((permuted,), ()))
    assert with_it < 1.05 * without


def test_rows_of_another_joint_shape_are_left_once_the_answers_speak():
    for known, taken in ((drawn(200, 1), True), (turned(drawn(200, 1)), False)):
        releases, setting = measured(0.1, 0, public(known))
        columns, tables, _ = said(releases, setting)
        assert (weighed_rows(releases, columns, tables) is not None) is taken


def test_answers_that_say_more_than_few_public_rows_are_fitted():
    releases, setting = measured(100.0, 0, public(drawn(40, 1)))
    columns, tables, _ = said(releases, setting)
    assert weighed_rows(releases, columns, tables) is None


def test_a_release_holds_rows_of_a_public_file_alone_and_so_many_at_most():
    releases, _ = measured(0.1, 0, public(drawn(FEW + 500, 1)))
    (held,) = [r.rows for r in releases if isinstance(r, PublicCounts) and r.rows is not None]
    assert held.shape == (FEW, len(NAMES))
    (again,) = [r for r in store.unpack(*store.pack(releases)) if isinstance(r, PublicCounts) and r.rows is not None]
    assert again.question.purpose == PRIOR_LEAVES
    assert np.array_equal(again.rows, held)
    earlier = Encoded(name="r", sha256="r", rows=drawn(200, 1), reason="", cards=({"epsilon": 1.0, "delta": 1e-9},))
    for prior in (earlier, public({n: v for n, v in drawn(200, 1).items() if n != "c5"})):
        assert all(getattr(r, "rows", None) is None for r in measured(0.1, 0, prior)[0])


def test_damaged_rows_are_refused():
    release = next(r for r in measured(0.1, 0, public(drawn(50, 1)))[0] if getattr(r, "rows", None) is not None)
    plain, arrays = store.pack([release])
    assert release.rows is not None
    name = next(n for n, a in arrays.items() if a.shape == release.rows.shape)
    arrays[name] = np.where(arrays[name] == 0, SIZE, arrays[name])
    with pytest.raises(Exception, match="damaged"):
        store.unpack(plain, arrays)
