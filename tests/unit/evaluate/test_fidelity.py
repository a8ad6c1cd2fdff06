"""Distances are those of the tables by hand; subsamples are stated and repeatable; nothing private is printed."""

import re

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import UsageError
from synth.evaluate import fidelity
from tests.made import ID, a_schema, binary, codes, dated, number

SCHEMA = a_schema(
    id=ID,
    age=number(0, 99),
    city=codes("Rome", "Oslo", "Bern", nullable=True),
    member=binary("no", "yes"),
    seen=dated("2020-01-01", "2020-12-31"),
)


def frame(rows: int, *, seed: int = 1, linked: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    city = rng.choice(["Rome", "Oslo", "Bern", ""], rows, p=[0.4, 0.3, 0.2, 0.1])
    member = np.where(city == "Rome", "yes", "no") if linked else rng.choice(["no", "yes"], rows, p=[0.6, 0.4])
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D")
    own = {"id": np.arange(rows), "age": rng.integers(0, 100, rows), "city": city, "member": member}
    return pd.DataFrame({**own, "seen": days.strftime("%Y-%m-%d")})


@pytest.fixture
def files(tmp_path):
    def write(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple:
        paths = tmp_path / "real.csv", tmp_path / "synthetic.parquet"
        real.to_csv(paths[0], index=False)
        synthetic.astype(str).to_parquet(paths[1])
        return paths

    return write


def test_equal_tables_have_no_distance(files):
    comparison = synth.compare(*files(frame(300), frame(300)), SCHEMA)
    assert comparison.columns == ("age", "city", "member", "seen")
    assert comparison.one_way_mean == 0
    assert comparison.pairs.max() == 0
    assert comparison.quality.score == pytest.approx(1, abs=1e-9)


def test_one_way_shares_are_counted_by_hand(files):
    real = pd.DataFrame({"c": ["a", "a", "b", ""], "x": [1, 2, 3, 3]})
    synthetic = pd.DataFrame({"c": ["a", "b", "b", "b"], "x": [1, 2, 3, 3]})
    schema = a_schema(c=codes("a", "b", nullable=True), x=number(0, 5))
    comparison = synth.compare(*files(real, synthetic), schema, quality=False)
    one = comparison.one_way["c"]
    assert dict(zip(one.labels, one.real, strict=True)) == {"a": 0.5, "b": 0.25, "(empty)": 0.25}
    assert one.distance == 0.5
    assert comparison.one_way["x"].distance == 0
    assert comparison.pairs[0, 0] == 0.5


def test_a_broken_relation_shows_in_its_pair_and_nowhere_else(files):
    real, synthetic = frame(4000, linked=True), frame(4000, seed=2)
    comparison = synth.compare(*files(real, synthetic), SCHEMA, quality=False)
    at = {n: i for i, n in enumerate(comparison.columns)}
    joint = [pd.crosstab(t.city, t.member, normalize="all") for t in (real, synthetic)]
    by_hand = 0.5 * (joint[0] - joint[1]).abs().to_numpy().sum()
    assert comparison.pairs[at["city"], at["member"]] == pytest.approx(by_hand, abs=1e-12)
    assert by_hand > 0.3
    assert comparison.worst_pair == ("city", "member")
    assert comparison.pairs[at["age"], at["seen"]] < 0.15
    assert comparison.pairs[at["city"], at["city"]] < 0.05


def test_a_joint_table_has_both_columns_as_its_margins(files):
    comparison = synth.compare(*files(frame(500), frame(400, seed=5)), SCHEMA, quality=False)
    two = comparison.two_way("city", "member")
    assert two.real.shape == (len(two.rows), len(two.columns))
    shares = comparison.one_way["city"]
    margin = dict(zip(two.rows, two.synthetic.sum(axis=1), strict=True))
    assert margin == pytest.approx(dict(zip(shares.labels, shares.synthetic, strict=True)))
    with pytest.raises(synth.UsageError, match="not compared"):
        comparison.two_way("city", "id")


def test_chance_is_what_two_samples_of_one_population_show(files):
    comparison = synth.compare(*files(frame(3000), frame(2000, seed=9)), SCHEMA, quality=False)
    assert comparison.pairs_mean == pytest.approx(comparison.pairs_by_chance, rel=0.15)


def test_large_tables_are_subsampled_by_seed_and_the_size_is_stated(files):
    paths = files(frame(900), frame(800, seed=4))
    first, second, other = (synth.compare(*paths, SCHEMA, max_rows=200, seed=s, quality_rows=150) for s in (0, 0, 1))
    assert (first.real_rows, first.real_rows_used) == (900, 200)
    assert (first.synthetic_rows, first.synthetic_rows_used) == (800, 200)
    assert first.quality.rows == {"table": (150, 150)}
    assert np.array_equal(first.pairs, second.pairs)
    assert first.quality == second.quality
    assert not np.array_equal(first.pairs, other.pairs)


def test_worse_tables_score_worse(files):
    real = frame(1000, linked=True)
    good = synth.compare(*files(real, frame(1000, seed=8, linked=True)), SCHEMA).quality
    bad = synth.compare(*files(real, frame(1000, seed=8).assign(city="Bern")), SCHEMA).quality
    assert good.score > bad.score + 0.1
    assert bad.by_column["city"] < 0.4


def test_the_comparison_is_marked_and_prints_no_figure(files):
    comparison = synth.compare(*files(frame(123), frame(123, seed=3)), SCHEMA)
    assert "steward only" in comparison.marking
    for thing in (comparison, comparison.one_way["age"], comparison.two_way("age", "city"), comparison.quality):
        assert not re.search(r"\d", repr(thing)), repr(thing)


@pytest.mark.parametrize(("limits", "words"), [({"max_rows": 0}, "max_rows 0"), ({"quality_rows": -1}, "quality_rows")])
def test_limits_below_one_row_are_refused(files, limits, words):
    with pytest.raises(synth.UsageError, match=words):
        synth.compare(*files(frame(10), frame(10)), SCHEMA, **limits)


def test_nothing_but_identifiers_cannot_be_compared(files):
    with pytest.raises(synth.UsageError, match="identifier"):
        synth.compare(*files(frame(10), frame(10)), a_schema(id=ID))


def test_a_table_without_the_columns_is_refused(files):
    with pytest.raises(synth.InputError, match="no column 'member'"):
        synth.compare(*files(frame(10), frame(10).drop(columns="member")), SCHEMA)


@pytest.mark.parametrize("rows", [1, 2])
def test_the_smallest_tables_and_constant_columns_go_through(files, rows):
    table = frame(rows).assign(city="", member="no")
    comparison = synth.compare(*files(table, table), SCHEMA)
    assert comparison.one_way_mean == 0


def test_columns_of_very_many_categories_are_left_out_of_the_scores_and_named(files):
    names = [f"v{i}" for i in range(600)]
    table = pd.DataFrame({"v": names * 2, "x": ["a", "b"] * 600})
    comparison = synth.compare(*files(table, table), a_schema(v=codes(*names), x=binary("a", "b")))
    assert comparison.quality.left_out == ("v",)
    assert comparison.quality.pairs is None
    assert comparison.marking == fidelity.STEWARD_ONLY


def test_a_slice_is_that_of_its_rows_alone_and_associations_tell_what_goes_together(files):
    real, synthetic = frame(3000, linked=True), frame(2000, seed=2)
    comparison = synth.compare(*files(real, synthetic), SCHEMA, quality=False)
    both = comparison.two_way("city", "member", where=("member", "yes"))
    retained = [t[t["member"] == "yes"] for t in (real, synthetic)]
    assert both.used == tuple(map(len, retained))
    rome = [float((k["city"] == "Rome").mean()) for k in retained]
    place = both.rows.index("Rome"), both.columns.index("yes")
    assert [float(t[place]) for t in (both.real, both.synthetic)] == pytest.approx(rome)
    inside = comparison.within("member", "yes")
    assert inside[0].column == "city", "the worst first"
    assert "member" not in [o.column for o in inside]
    i, j = (comparison.columns.index(n) for n in ("city", "member"))
    strong, none = (a[i, j] for a in comparison.associations)
    assert strong > 0.9 > 0.1 > none
    with pytest.raises(UsageError, match="no group of member"):
        comparison.two_way("city", "seen", where=("member", "perhaps"))
