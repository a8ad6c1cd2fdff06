"""Tables of a tilted model: their moments are the noisy counts', and differ from table to table as the noise does."""

import warnings
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import synth
from synth.pipeline import multiple
from synth.pipeline.inference.estimates import estimates
from synth.pipeline.multiple import Tilted, tilt, weights
from synth.release.folder import load_model, load_release
from tests.conftest import SMALL, Keyed, small_frame
from tests.made import number, ran
from tests.people import SCHEMA, counted, even_model, people

COLUMNS = ("age", "sex", "ill")


def test_weights_have_the_moments_asked_for_and_move_no_further_than_they_must():
    rng = np.random.default_rng(0)
    x, d = rng.normal(size=(4000, 3)), np.full(4000, 1 / 4000)
    goal = np.array([0.5, -0.3, 0.1])
    b = tilt(x, d, goal, np.zeros((3, 3)))
    assert np.allclose(weights(x, d, b) @ x, goal, atol=1e-6)
    assert np.allclose(b, goal, atol=0.1)  # of a Gaussian: the shift of its mean
    far = tilt(x, d, np.array([99.0, 0, 0]), 0.1 * np.eye(3))  # no row has that
    assert np.isfinite(far).all()


def test_tables_follow_the_counts_though_the_model_is_wrong():
    """Hardly any noise: means and products of every two columns are the rows', within .02 for 4,000 rows drawn."""
    rng = np.random.default_rng(1)
    rows = people(4000, rng)
    tilted = Tilted.of(even_model(4000.0), counted(rows, 0.5, rng), SCHEMA, COLUMNS)
    table, _ = next(tilted.tables(4000, rng=rng))

    def reported(r):
        age, sex, yes = r["age"] / 9, r["sex"], r["ill"] == 1
        return np.array(
            [age.mean(), sex.mean(), yes.mean(), (age * yes).mean(), (age * sex).mean(), (sex * yes).mean()]
        )

    assert np.abs(reported(table) - reported(rows)).max() < 0.02
    own = even_model(4000.0).sample(4000, rng=rng)
    assert np.abs(reported(own) - reported(rows)).max() > 0.05  # the model as it was: the evil twin


@pytest.mark.long
def test_tables_differ_as_the_noise_and_what_no_table_told():
    """200 tables of 4,000 rows: the mean's variance is that of its noise, and of drawing rows at most: within 4.9
    deviations of a chi-square's part."""
    rng = np.random.default_rng(2)
    rows = people(4000, rng)
    tilted = Tilted.of(even_model(4000.0), counted(rows, 30.0, rng), SCHEMA, ("age", "sex"))
    ages = np.array([t["age"].mean() for t, _ in islice(tilted.tables(4000, rng=rng), 200)])
    noise = float((tilted.root[0] ** 2).sum()) * tilted.features[0].spread ** 2  # the first moment is the age itself
    drawn = rows["age"].var() / 4000
    slack = 4.9 * np.sqrt(2 / 200)
    assert (1 - slack) * noise < ages.var(ddof=1) < (1 + slack) * (noise + drawn)


def test_by_how_much_a_mean_cannot_be_followed_is_told():
    """Little noise: within half a deviation. Two standard deviations of the rows lower no weights reach: far above."""
    rng = np.random.default_rng(4)
    tilted = Tilted.of(even_model(4000.0), counted(people(4000, rng), 30.0, rng), SCHEMA, COLUMNS)
    assert tilted.numbers == ["age"]
    beyond = replace(tilted, goal=tilted.goal - 2.0 * (np.arange(len(tilted.goal)) == tilted._means()[0]))
    near, far = (next(t.tables(4000, rng=rng))[1] for t in (tilted, beyond))
    assert np.abs(near).max() < 0.5
    assert far[0] > 3


@pytest.mark.long
def test_the_mean_of_a_count_far_below_its_bound_is_named_where_noise_is_clipped(tmp_path, command):
    """Hardly ever above 3, bounded by 40: the noise of 37 empty cells may lift the tables' mean. Of four keys of
    noise those columns are named whose means the tables did not follow."""
    rng = np.random.default_rng(0)
    rows = small_frame(2000)[["age", "sex"]].assign(visits=rng.poisson(0.5, 2000))
    facts = {"dataset": "d", "columns": {n: SMALL["columns"][n] for n in ("age", "sex")} | {"visits": number(0, 40)}}
    named = []
    for key in range(4):
        out = tmp_path / str(key)
        ran(rows, facts, epsilon=0.1, out=out, ledger=tmp_path / "l.sqlite", noise=Keyed(key), seed=2)
        stored = load_release(out)
        tilted = Tilted.of(load_model(out).model, stored.releases, stored.setting.schema, ("age", "sex", "visits"))
        made = islice(tilted.tables(max(1, round(tilted.model.total)), rng=np.random.default_rng(1)), 5)
        off = dict(zip(tilted.numbers, np.mean([above for _, above in made], axis=0), strict=True))
        far = {n for n, by in off.items() if abs(by) > multiple.FAR}
        with warnings.catch_warnings(record=True) as warned:
            list(synth.app_api.multiple(out, count=5, seed=1))
        assert {str(w.message).split(":")[0] for w in warned} == far
        assert {Path(w.filename).name for w in warned} <= {"test_tilted_rows.py"}
        code, stdout, _ = command("sample", out, "--multiple", 5, "--seed", 1, "--out", tmp_path / f"t{key}")
        assert code == 0
        assert ("visits: its mean in these tables is above" in stdout) == ("visits" in far)
        named.append("visits" in far)
    assert {*named} == {True, False}


@pytest.mark.long
def test_columns_of_an_analysis_may_be_named_and_too_many_are_refused(tmp_path, monkeypatch, command):
    ran(small_frame(300), SMALL, epsilon=2.0, out=tmp_path / "out", ledger=tmp_path / "l.sqlite")
    named = list(synth.app_api.multiple(tmp_path / "out", count=2, seed=1, columns=["age", "sex"]))
    assert list(named[0]) == list(small_frame(2))  # the others are drawn beside them
    monkeypatch.setattr(multiple, "MOST_MOMENTS", 3)
    code, _, stderr = command(f"sample {tmp_path}/out --multiple 2 --columns age,sex --out {tmp_path}/t")
    assert code == 2
    assert "too many" in stderr
    assert (
        len(list(synth.app_api.multiple(tmp_path / "out", count=2, num_rows=20))) == 2
    )  # all columns: the model fitted again
    for wrong in (["--multiple", 2, "--columns", "nothing"], ["--columns", "age"]):
        assert command("sample", tmp_path / "out", *wrong, "--out", tmp_path / "u")[0] == 2


@pytest.mark.long
def test_combined_intervals_are_centred_where_those_of_the_counts_are(tmp_path):
    """One release: 20 tables' mean against the estimate from the counts, within 4.9 deviations of a mean of 20."""
    ran(small_frame(2000), SMALL, epsilon=2.0, out=tmp_path / "out", ledger=tmp_path / "l.sqlite")
    (straight,) = estimates(tmp_path / "out", ["mean:age"])
    reported = [t["age"].mean() for t in synth.app_api.multiple(tmp_path / "out", count=20, seed=3)]
    assert abs(np.mean(reported) - straight["estimate"]) < 4.9 * np.std(reported, ddof=1) / np.sqrt(20) + 0.05


def test_noise_that_asks_for_the_impossible_leaves_no_table_of_a_few_rows():
    """Moments that no rows have, such as shares below zero: every table still has many different rows."""
    rng = np.random.default_rng(3)
    tilted = Tilted.of(even_model(2000.0), counted(people(2000, rng), 60.0, rng), SCHEMA, COLUMNS)
    for table, _ in islice(tilted.tables(2000, rng=rng), 10):
        _, times = np.unique(np.stack([table[n] for n in COLUMNS]), axis=1, return_counts=True)
        assert len(times) > 15
        assert times.max() < 600
