"""The flagship and the floor on small tables: budget, dependencies, margins, what no pair shows, public data."""

import numpy as np
import pytest

from synth.generators import GENERATORS
from synth.generators.base import Fit, Run, Setting
from synth.generators.core.columns import Histogram, sharpen
from synth.generators.core.mixture import Mixture, rake
from synth.generators.core.sampling import FEWEST_ROWS
from synth.questions import Bins, Counts, CountsRelease, Marginal, Search
from synth.schema.table import parse
from tests.unit.generators.helpers import OpenSession

COLUMNS = {
    "x": {"type": "integer", "min": 0, "max": 99},
    "y": {"type": "categorical", "categories": [f"c{i}" for i in range(30)]},
    "z": {"type": "boolean", "categories": ["n", "y"]},
}
SCHEMA = parse({"target": "z", "columns": COLUMNS})


def table(rows=20_000, seed=0):
    """x drives y; z is yes where x and y's parity agree: a dependence that no pair of columns shows."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 100, rows)
    y = np.clip(x // 4 + rng.integers(0, 6, rows), 0, 29)
    z = ((x >= 50) ^ (rng.random(rows) < 0.5)).astype(np.int64)
    return {"x": x, "y": y, "z": z}


def run(name, positions, *, mu=0.5, seed=0, schema=SCHEMA):
    setting = Setting(schema=schema, mu=mu, sensitivity=1.0)
    session = OpenSession(positions, setting, seed=seed)
    generator = GENERATORS[name]
    releases = generator.measure(Run(session, setting))
    model = generator.fit(releases, setting, Fit(np.random.default_rng(seed)))
    return session, model


def pair_error(real, fake, a, b, step=5):
    def law(t):
        return np.bincount(t[a] // step * 100 + t[b] // step, minlength=10_000) / len(t[a])

    return np.abs(law(real) - law(fake)).sum() / 2


@pytest.mark.parametrize("name", ["mixture", "independent"])
@pytest.mark.parametrize("mu", [0.001, 0.27, 5.0])
def test_the_whole_budget_and_no_more(name, mu):
    session, _ = run(name, table(2000), mu=mu)
    assert 0.99 * mu**2 < session.spent <= mu**2


def test_pairs_are_kept_and_the_floor_loses_them():
    real = table()
    errors = {}
    for name in ("mixture", "independent"):
        fake = run(name, real)[1].sample(20_000, rng=np.random.default_rng(1))
        errors[name] = pair_error(real, fake, "x", "y")
    assert errors["mixture"] < 0.1
    assert errors["independent"] > 0.5


def test_the_fit_depends_on_releases_and_its_rng_only():
    real = table(3000)
    one, two, other = (run("mixture", real, seed=s)[1].state()[1] for s in (1, 1, 2))
    assert all(np.array_equal(one[k], two[k]) for k in one)
    assert not np.array_equal(one["0.probs"], other["0.probs"])


def test_tables_are_drawn_in_only_where_cells_are_many(monkeypatch):
    """Where budgets are small tables are few and small, and drawn in they lost pairs."""
    setting, rng = Setting(schema=SCHEMA, mu=2.0, sensitivity=1.0), np.random.default_rng(0)
    releases = Mixture(order=2).measure(Run(OpenSession(table(rows=500), setting), setting))
    seen = []
    monkeypatch.setattr(
        "synth.generators.core.tables.shrink_singular_values", lambda t, *_: seen.append(len(t)) or (t, 0.0, 0.0)
    )
    for limit in (8000, 0):
        monkeypatch.setattr("synth.generators.core.mixture.RICHER", limit)
        Mixture(order=2).fit(releases, setting, Fit(rng))
        assert bool(seen) == (limit == 0)


def test_margins_of_tables_sharpen_one_ways():
    """A coarse, precise margin moves the fine estimate; leaves keep their proportions inside a bin."""
    result = {"y": Histogram(column="y", cells=4, starts=np.arange(4), mass=np.array([30.0, 10, 40, 20]), sigma=50.0)}
    groups = np.array([0, 0, 1, 1])
    coarse = Bins(column="y", cells=4, starts=np.arange(4), groups=groups)
    other = Bins.each("z", 2)
    marginal = Marginal(bins=(coarse, other), sigma=0.5)
    mass = sharpen(result, [(marginal, np.array([[10, 10], [40, 40]]))], 100.0)["y"].mass
    assert mass == pytest.approx([15, 5, 53.33, 26.67], abs=0.2)


def test_raking_meets_the_one_ways():
    rng = np.random.default_rng(0)
    weights, probs, goal = (rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(8), 20), rng.dirichlet(np.ones(8)))
    assert np.abs(weights @ rake(weights, probs, goal) - goal).max() < 1e-3


def test_a_table_without_a_target_and_one_with_identifiers_only_beside_it():
    columns = {"id": {"type": "identifier"}, "x": COLUMNS["x"], "y": COLUMNS["y"]}
    _, model = run("mixture", table(2000), schema=parse({"columns": columns}))
    assert list(model.sample(10, rng=np.random.default_rng(0))) == ["x", "y"]


def parity(columns, rows=20_000):
    """Six columns of four values; y tells, but for one row in fifty, whether the first ``columns`` add up to odd."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 4, (rows, 6))
    y = (x[:, :columns] % 2).sum(1) % 2
    flipped = rng.random(rows) < 0.02
    return {**{f"x{j}": x[:, j] for j in range(6)}, "y": np.where(flipped, 1 - y, y)}


PARITY = {
    **{f"x{j}": {"type": "categorical", "categories": list("abcd")} for j in range(6)},
    "y": {"type": "categorical", "categories": ["0", "1"]},
}


def parity_retained(columns, generator, *, target):
    """Share of synthetic rows whose y is the parity of their first columns; .98 of the real ones, .5 by chance."""
    schema = parse({"columns": PARITY} | ({"target": "y"} if target else {}))
    setting = Setting(schema=schema, mu=0.268, sensitivity=1.0, signed=1.0)
    session = OpenSession(parity(columns), setting)
    releases = generator.measure(Run(session, setting))
    rng = np.random.default_rng(0)
    model = generator.fit(releases, setting, Fit(rng))
    fake = model.sample(10_000, rng=rng)
    reported = sum(fake[f"x{j}"] % 2 for j in range(columns)) % 2
    return float(np.mean(reported == fake["y"])), model


@pytest.mark.parametrize(("columns", "target"), [(2, True), (2, False), (3, False)])
def test_what_no_pair_shows_is_found_and_kept_at_epsilon_one(columns, target):
    retained, model = parity_retained(columns, Mixture(), target=target)
    assert retained > (0.93 if columns == 2 else 0.75)  # a tree that is trained on the rows is right in .98 of both
    where = {"x0": np.array([1, 3]), "x1": np.array([0, 2]), "y": np.array([1])}
    if columns == 2:  # half of what x0 and x1 meet, were y independent of them
        assert model.probability(where) > 0.9 / 4
        rows = model.sample(1000, rng=np.random.default_rng(1), where={"x0": where["x0"], "x1": where["x1"]})
        assert np.mean(rows["y"]) > 0.9
    if columns == 2 and not target:  # drawn in bulk, by lattices
        many = model.sample(FEWEST_ROWS, rng=np.random.default_rng(2))
        assert np.mean((many["x0"] + many["x1"]) % 2 == many["y"]) > 0.93


@pytest.mark.parametrize("option", [{"order": 2}, {"rounds": 0}])
def test_pairs_alone_do_not_show_it(option):
    assert parity_retained(2, Mixture(**option), target=True)[0] < 0.6


def test_a_table_that_pairs_tell_all_of_loses_little_to_the_search():
    """The first round finds nothing, and what was kept goes to the pairs: their noise is near the least."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 4, 20_000)
    positions = {n: np.where(rng.random(20_000) < 0.3, hidden, rng.integers(0, 4, 20_000)) for n in PARITY if n != "y"}
    schema = parse({"columns": {n: PARITY[n] for n in positions}})
    setting = Setting(schema=schema, mu=0.268, sensitivity=1.0, signed=1.0)
    noise = []
    for rounds in (0, 2):
        session = OpenSession(positions, setting)
        releases = Mixture(rounds=rounds).measure(Run(session, setting))
        reported = [
            m
            for r in releases
            if isinstance(r, CountsRelease)
            for m in r.question.marginals
            if m.columns == ("x0", "x1")
        ]
        noise.append(sum(m.sigma**-2 for m in reported) ** -0.5)
    assert sum(isinstance(q, Search) for q in session.asked) == 1
    assert noise[1] < 1.04 * noise[0]


@pytest.mark.parametrize(("mu", "least", "most"), [(0.268, 1, 8), (3.0, 9, 70)])
def test_the_less_the_noise_the_more_tables_are_counted(mu, least, most):
    """Twelve times the budget of epsilon one bears more than two rounds of four tables; the price stays the budget."""
    setting = Setting(schema=parse({"columns": PARITY}), mu=mu, sensitivity=1.0, signed=1.0)
    session = OpenSession(parity(3), setting)
    Mixture().measure(Run(session, setting))
    larger = [m for q in session.asked if isinstance(q, Counts) for m in q.marginals if len(m.bins) > 2]
    assert least <= len(larger) <= most
    assert session.spent <= setting.mu**2


def test_a_wide_table_works_in_seconds():
    """Twenty-six columns, 325 pairs."""
    rng = np.random.default_rng(0)
    columns = {f"c{i}": {"type": "categorical", "categories": list("abcde")} for i in range(26)}
    hidden = rng.integers(0, 5, 2000)
    positions = {n: np.where(rng.random(2000) < 0.7, hidden, rng.integers(0, 5, 2000)) for n in columns}
    schema = parse({"target": "c0", "columns": columns})
    _, model = run("mixture", positions, mu=1.0, schema=schema)
    fake = model.sample(2000, rng=rng)
    assert np.mean(fake["c7"] == fake["c23"]) > 0.45


def test_real_incomes_keep_their_distribution(public_table):
    """Credit amounts at epsilon one: every distribution function within 4 %, on bounds nobody tuned."""
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(public_table("credit_default_taiwan.csv.gz"))
    names = ["LIMIT_BAL", "BILL_AMT1", "PAY_AMT1", "PAY_AMT4"]
    schema = parse({"columns": {n: {"type": "integer", "min": -500_000, "max": 2_000_000} for n in names}})
    positions = {n: frame[n].to_numpy(dtype=np.int64) + 500_000 for n in names}
    _, model = run("mixture", positions, mu=0.268, schema=schema)
    fake = model.sample(len(frame), rng=np.random.default_rng(0))
    for name in names:
        points = np.unique(positions[name])
        gap = [np.searchsorted(np.sort(t[name]), points, side="right") / len(frame) for t in (positions, fake)]
        assert np.abs(gap[0] - gap[1]).max() < 0.04, name
