"""What the search for tables of more columns sees of a number: several bins of it, not halves alone."""

import numpy as np
import pytest

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.mixture import Mixture
from synth.generators.core.planning import FINE
from synth.generators.core.search import COARSE
from synth.questions import Counts, Search
from synth.schema.table import parse
from tests.unit.generators.helpers import OpenSession

ROWS = 20_000
NUMBERS = parse({"columns": {f"x{j}": {"type": "integer", "min": 0, "max": 3999} for j in range(5)}})
QUARTER = 1000


def quarters(rows=ROWS):
    """Five numbers; that x0's, x1's and x2's quarters add up to even is told by no pair, and by no halves."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, (rows, 5))
    x[:, 2] = x[:, 2] // 2 * 2 + (x[:, 0] + x[:, 1]) % 2
    return {f"x{j}": x[:, j] * QUARTER + rng.integers(0, QUARTER, rows) for j in range(5)}


@pytest.fixture(scope="module")
def searched():
    """All that was asked, and a model; the budget is that of epsilon 4 at delta 1e-5."""
    setting = Setting(schema=NUMBERS, mu=1.0, sensitivity=1.0, signed=1.0)
    session = OpenSession(quarters(), setting)
    releases = Mixture().measure(Run(session, setting))
    rng = np.random.default_rng(0)
    return session.asked, Mixture().fit(releases, setting, Fit(rng))


def test_a_number_has_several_bins_in_every_candidate(searched):
    sizes = [b.size for q in searched[0] if isinstance(q, Search) for b in q.bins]
    assert sizes
    assert min(sizes) > COARSE
    assert max(sizes) <= FINE


def test_what_only_finer_bins_of_three_numbers_show_is_found_and_kept(searched):
    asked, model = searched
    assert ("x0", "x1", "x2") in [m.columns for q in asked if isinstance(q, Counts) for m in q.marginals]
    rows = model.sample(10_000, rng=np.random.default_rng(1))
    even = sum(rows[f"x{j}"] // QUARTER for j in range(3)) % 2 == 0
    assert even.mean() > 0.58  # .5 by chance, with a deviation of .005


def test_tables_name_their_columns_in_the_schema_s_order():
    """Of a column of many bins as of one of few: reports and rules show tables as the schema does."""
    flag = {"type": "boolean", "categories": ["n", "y"]}
    schema = parse({"columns": {"x": {"type": "integer", "min": 0, "max": 3999}, "a": flag, "b": flag, "c": flag}})
    rng = np.random.default_rng(5)
    rows = {n: rng.integers(0, 2, ROWS) for n in "ab"}
    rows |= {"c": rows["a"] ^ rows["b"], "x": rng.integers(0, 4000, ROWS)}
    setting = Setting(schema=schema, mu=1.0, sensitivity=1.0, signed=1.0)
    session = OpenSession(rows, setting)
    Mixture().measure(Run(session, setting))
    named = [[q.bins[i].column for i in t if i >= 0] for q in session.asked if isinstance(q, Search) for t in q.tables]
    named += [list(m.columns) for q in session.asked if isinstance(q, Counts) for m in q.marginals]
    assert max(map(len, named)) > 2
    assert all(n == sorted(n, key="xabc".index) for n in named)
