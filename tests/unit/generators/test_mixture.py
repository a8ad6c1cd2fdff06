"""The flagship and the floor on small tables: budget, dependencies, margins, triples, real public data."""

import numpy as np
import pytest

from synth.generators import GENERATORS
from synth.generators.base import Setting
from synth.generators.marginals.combine import sharpen
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.mixture import Mixture, rake
from synth.generators.marginals.pair_queries import Plan
from synth.questions import Bins, Counts, CountsRelease, Marginal
from synth.schema.table import parse
from tests.unit.generators.helpers import OpenDoor, quiet

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
    door = OpenDoor(positions, setting, seed=seed)
    generator = GENERATORS[name]
    releases = generator.measure(door, setting, progress=quiet)
    model = generator.fit(releases, setting, rng=np.random.default_rng(seed), device="cpu", progress=quiet)
    return door, model


def pair_error(real, fake, a, b, step=5):
    def law(t):
        return np.bincount(t[a] // step * 100 + t[b] // step, minlength=10_000) / len(t[a])

    return np.abs(law(real) - law(fake)).sum() / 2


@pytest.mark.parametrize("name", ["mixture", "independent"])
@pytest.mark.parametrize("mu", [0.001, 0.27, 5.0])
def test_the_whole_budget_and_no_more(name, mu):
    door, _ = run(name, table(2000), mu=mu)
    assert 0.99 * mu**2 < door.spent <= mu**2


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


def test_margins_of_tables_sharpen_one_ways():
    """A coarse, precise margin moves the fine estimate; leaves keep their proportions inside a bin."""
    found = {"y": Histogram(column="y", cells=4, starts=np.arange(4), mass=np.array([30.0, 10, 40, 20]), sigma=50.0)}
    groups = np.array([0, 0, 1, 1])
    coarse = Bins(column="y", cells=4, starts=np.arange(4), groups=groups)
    other = Bins.each("z", 2)
    question = Counts(purpose="tables", marginals=(Marginal(bins=(coarse, other), sigma=0.5),))
    release = CountsRelease(question=question, values=(np.array([[10, 10], [40, 40]]),))
    mass = sharpen(found, [release], 100.0)["y"].mass
    assert mass == pytest.approx([15, 5, 53.33, 26.67], abs=0.2)


def test_raking_meets_the_one_ways():
    rng = np.random.default_rng(0)
    weights, probs, goal = (
        rng.dirichlet(np.ones(20)),
        rng.dirichlet(np.ones(8), 20),
        rng.dirichlet(np.ones(8)),
    )
    assert np.abs(weights @ rake(weights, probs, goal) - goal).max() < 1e-3


def test_a_table_without_a_target_and_one_with_identifiers_only_beside_it():
    columns = {"id": {"type": "identifier"}, "x": COLUMNS["x"], "y": COLUMNS["y"]}
    _, model = run("mixture", table(2000), schema=parse({"columns": columns}))
    assert list(model.sample(10, rng=np.random.default_rng(0))) == ["x", "y"]


def test_triples_keep_what_pairs_cannot_show():
    """w tells whether u and v agree; each pair of the three is independent, and only a triple shows it."""
    rng = np.random.default_rng(0)
    u, v = rng.integers(0, 2, 5000), rng.integers(0, 2, 5000)
    positions = {"u": u, "v": v, "w": (u == v).astype(np.int64)}
    yes_no = {"type": "boolean", "categories": ["n", "y"]}
    setting = Setting(schema=parse({"target": "w", "columns": dict.fromkeys("uvw", yes_no)}), mu=0.5, sensitivity=1.0)
    agree = []
    for triples in (0.0, 0.3):
        generator = Mixture(plan=Plan(triples=triples))
        releases = generator.measure(OpenDoor(positions, setting), setting, progress=quiet)
        model = generator.fit(releases, setting, rng=rng, device="cpu", progress=quiet)
        fake = model.sample(4000, rng=rng)
        agree.append(np.mean((fake["u"] == fake["v"]) == fake["w"]))
    assert agree[0] < 0.7
    assert agree[1] > 0.9


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
