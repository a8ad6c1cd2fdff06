"""The whole examination: repeatable, bounded, each figure with its floor, small groups seen, and marked."""

import json

import numpy as np
import pytest
from samples import SCHEMA, compared, sample, write

from synth.errors import UsageError
from synth.evaluate import examination
from synth.evaluate.examination import Figure, Limits
from synth.evaluate.fidelity import subgroups

pytestmark = pytest.mark.xdist_group("examination")
SMALL = Limits(rows=800, quality=300, models=800, classifier=400, nearest=300, attacks=40)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    return [write(folder / f"{i}.csv", sample(1000, seed=i)) for i in range(3)]


@pytest.fixture(scope="module")
def examined(tables):
    return examination.examine(
        tables[0], tables[1], SCHEMA, test=tables[2], limits=SMALL, forecast={"one_way": 0.02, "two_way": 0.05}
    )


def test_the_same_question_has_the_same_answer(tables, examined):
    again = examination.examine(
        tables[0], tables[1], SCHEMA, test=tables[2], limits=SMALL, forecast={"one_way": 0.02, "two_way": 0.05}
    )
    assert json.dumps(examination.plain(again)) == json.dumps(examination.plain(examined))


def test_every_score_of_the_paper_has_its_floor(examined):
    reported = {f.name: f for f in examined.figures}
    for name in ("one_way", "two_way", "ks", "tv", "contsim", "corrsim", "auc", "logreg_f1", "c2st_auc"):
        assert reported[name].value is not None
        assert reported[name].floor is not None
    assert reported["one_way"].forecast == 0.02


def test_limits_hold_and_are_told(examined):
    assert examined.comparison.real_rows == 1000
    assert examined.comparison.real_rows_used == examined.limits.rows == 800
    assert examined.nearness.references == 300


def test_the_json_is_marked(examined):
    assert "steward only" in examination.plain(examined)["marking"]


@pytest.mark.parametrize(
    ("value", "reading"),
    [(0.010, "as close as"), (0.022, "privacy noise explain"), (0.05, "bias")],
)
def test_a_distance_is_parted_into_sampling_noise_and_bias(value, reading):
    one = Figure(name="d", label="d", higher_is_better=False, value=value, floor=0.01, forecast=0.02)
    assert sum(one.parts) == pytest.approx(value)
    assert min(one.parts) >= 0
    assert reading in one.reading


def test_a_worse_table_has_more_bias(tables, tmp_path):
    bad = write(tmp_path / "bad.csv", sample(1000, seed=4, linked=False))
    reported = examination.examine(tables[0], bad, SCHEMA, limits=SMALL, forecast={"two_way": 0.02})
    two_way = next(f for f in reported.figures if f.name == "two_way")
    assert two_way.parts[2] > 0.02
    assert "bias" in two_way.reading


def test_a_group_that_is_lost_is_seen():
    real, made = sample(900, seed=1), sample(900, seed=2)
    made.positions["city"][made.positions["city"] == 2] = 0
    reported = compared(real, made)
    cities = {s.group: s for s in subgroups(reported, ["city"])}
    assert (cities["Bern"].synthetic_share, cities["Bern"].distance) == (0, None)
    assert cities["Bern"].real_rows == int((real.positions["city"] == 2).sum())
    assert [s.real_rows for s in subgroups(reported, ["city"])] == sorted(s.real_rows for s in cities.values())


def test_a_groups_distance_by_hand():
    real, made = sample(900, seed=1), sample(900, seed=2)
    reported = compared(real, made)
    one = next(s for s in subgroups(reported, ["city"]) if s.group == "Oslo")
    apart = []
    for other in ("age", "income", "ill"):
        size = len(reported.groups[other].labels)
        shares = [
            np.bincount(c[other][c["city"] == list(reported.groups["city"].labels).index("Oslo")], minlength=size)
            for c in reported.codes
        ]
        apart.append(0.5 * np.abs(shares[0] / shares[0].sum() - shares[1] / shares[1].sum()).sum())
    assert one.distance == pytest.approx(np.mean(apart))


def test_unknown_groups_and_limits_are_refused(tables):
    with pytest.raises(UsageError, match="`group=height`"):
        examination.examine(tables[0], tables[1], SCHEMA, groups=("height",), limits=SMALL)
    with pytest.raises(UsageError, match="rows 0"):
        Limits(rows=0)


def test_a_schemas_target_that_does_not_vary_is_passed_over_and_a_named_one_refused(tmp_path):
    made = sample(200, seed=1)
    made.positions["ill"][:] = 0
    table = write(tmp_path / "real.csv", made)
    assert examination.examine(table, table, SCHEMA, limits=SMALL).utility is None
    with pytest.raises(UsageError, match="does not vary"):
        examination.examine(table, table, SCHEMA, target="ill", limits=SMALL)


def test_tiny_tables_go_through(tmp_path):
    for rows in (1, 2, 7):
        table = write(tmp_path / "real.csv", sample(rows, seed=rows))
        reported = examination.examine(table, table, SCHEMA, limits=SMALL)
        assert reported.figures[0].value == 0
        json.dumps(examination.plain(reported), allow_nan=False)


def test_many_columns_are_scored_in_part():
    from synth.evaluate import quality
    from synth.schema import table as schemas

    facts = {f"c{i}": {"type": "boolean", "categories": ["a", "b"]} for i in range(5)}
    columns = schemas.parse({"columns": facts}).measured()
    rng = np.random.default_rng(0)
    tables = [{n: rng.integers(0, 2, 20) for n in columns} for _ in range(2)]
    reported = quality.measure(*tables, columns, rows=20, rng=rng, most=3)
    assert len(reported.by_column) == 3
    assert reported.left_out == tuple(columns)[3:]
