"""A draft's bounds are no person's own value: on a public grid, the same wherever the extreme lies within its part.

The smallest and the largest value of a column are persons; a description that carried them would publish these.
"""

import datetime as dt

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synth
from synth.errors import InputError
from synth.schema import round_bounds
from synth.schema.column import RISKS
from tests.made import ran

ENDS = st.floats(-1e7, 1e7).map(lambda v: round(v, 1))


def drafted(values):
    """The draft's facts of a column of these values, each in one row, among many."""
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "other": ["a"] * len(values)})
    return synth.draft(frame).schema.columns["x"]


@settings(max_examples=300, deadline=None)
@given(ENDS, ENDS, st.booleans())
def test_bounds_hold_all_values_and_lie_on_the_grid(one, other, whole):
    low, high = sorted([int(one), int(other)] if whole else [one, other])
    step = 1 if whole else 0.1
    bottom, top = round_bounds.widened(low, high, whole=whole, common=(False, False), step=step)
    assert bottom <= low
    assert high <= top
    assert all(round_bounds.is_round(b, bottom, top, step=step) for b in (bottom, top))


@pytest.mark.parametrize(
    "values",
    [
        [136.6 + 0.7 * i for i in range(94)] + [202.7, 150.2],
        [*range(3, 180), 4918, 4],
        [*range(23, 95), 23, 24],
        [-(i**2) for i in range(3, 63)],
        [0.0011 * i for i in range(1, 41)],
        [dt.date(2019, 3, 7) + dt.timedelta(days=9 * i) for i in range(40)],
        [dt.date(1931, 5, 6) + dt.timedelta(days=700 * i) for i in range(40)],
        [dt.datetime(2020, 1, 2, 3, 4, 5) + dt.timedelta(hours=31 * i) for i in range(40)],
    ],
    ids=["heights", "seconds", "ages", "negative", "small floats", "dates", "births", "times"],
)
def test_no_bound_is_a_value_of_the_table_and_none_follows_the_extreme(values):
    column = drafted(values)
    whole = [str(v).replace(" ", "T") for v in (min(values), max(values))]
    assert not {str(column.min), str(column.max)} & set(whole)
    (low, least, *_, most, high) = sorted(values)
    part = 50 if not isinstance(low, dt.date) else 3
    inner = {
        low: low + (least - low) / part,
        high: high - (high - most) / part,
    }  # the persons at the ends move a little
    shifted = drafted([type(v)(inner[v]) if isinstance(v, int) and v in inner else inner.get(v, v) for v in values])
    assert (shifted.min, shifted.max) == (column.min, column.max)


@pytest.mark.parametrize(("name", "ends"), round_bounds.NATURAL.items())
@pytest.mark.parametrize("whole", [True, False])
def test_no_bound_passes_what_a_name_says_unless_a_value_does(name, ends, whole):
    """The bounds are the natural range's ends or the grid's; a draft's own bounds need no reason."""
    low, high = ends
    for share in (0.2, 0.5, 0.91, 0.97, 1.0):
        values = [low + (high - low) * share * part for part in (0.0, 0.1, 0.35, 0.6, 0.8, 1.0)]
        cells = [int(v) if whole else round(v, 2) for v in values] * 20
        for named in (f"x_{name}", f"{name.title()}OfSomething", "x"):
            result = synth.draft(pd.DataFrame({named: cells, "g": ["a"] * len(cells)})).schema
            column = result.columns[named]
            if column.min is None:  # few values are a list
                continue
            assert float(column.min) <= min(cells) <= max(cells) <= float(column.max)
            assert not synth.app_api.alone(result)
            assert named == "x" or (low <= float(column.min) and float(column.max) <= high)
    cells = [*cells, high + 3]
    assert synth.draft(pd.DataFrame({name: cells, "g": ["a"] * len(cells)})).schema.columns[name].max > high


def test_a_scale_that_many_rows_use_to_its_ends_stays():
    column = drafted([1, 2, 3, 4, 5] * 20)
    assert (column.min, column.max) == (1, 5)
    rare = drafted([1, 2, 3, 4, 5] * 20 + [13, 13])
    assert (rare.min, rare.max) == (1, 15)


@pytest.mark.parametrize(("low", "high"), [(136.6, 202.7), (0, 4918.3)])
def test_bounds_that_are_not_round_are_confirmed_alone_with_a_reason(tmp_path, low, high):
    """Those of drafts before 0.2.0, or typed and left unconfirmed."""
    plain = {"columns": {"x": {"type": "float", "min": low, "max": high, "decimals": 1, "source": "unconfirmed"}}}
    plain["unit_source"] = "declared"
    frame = pd.DataFrame({"x": [float(150 + i) for i in range(50)]})
    asked = {"schema": synth.Schema.parse(plain), "dataset": "d", "epsilon": 1, "delta": 1e-6, "method": "independent"}
    ledger = tmp_path / "ledger.sqlite"
    for confirmed in (True, ["x"]):
        with pytest.raises(InputError, match=r"not round|state why"):
            synth.run(frame, ledger=ledger, assume_public=confirmed, **asked)
    done = synth.run(frame, ledger=ledger, assume_public=["x"], reasons={"x": "the device's range"}, **asked)
    said = done.card["vouched_alone"]["x"]
    assert (said["bounds"], said["reason"]) == ([low, high], "the device's range")


@pytest.mark.parametrize(
    ("low", "high", "resolution", "round_"),
    [
        ("2019-03-07", "2021-12-31", "day", False),
        ("2019-01-01", "2021-11-02", "day", False),
        ("2019-01-01T00:00:00", "2021-12-31T22:10:04", "second", False),
        ("2019-01-01", "2021-12-31", "day", True),
        ("2019-01-01T00:00:00", "2021-12-31T23:59:59", "second", True),
    ],
)
def test_a_day_that_ends_no_year_is_confirmed_alone(low, high, resolution, round_):
    column = {"type": "datetime", "min": low, "max": high, "resolution": resolution, "source": "unconfirmed"}
    result = synth.Schema.parse({"columns": {"x": column}, "unit_source": "declared"})
    assert list(synth.app_api.alone(result)) == ([] if round_ else ["x"])


@pytest.mark.parametrize("resolution", ["s", "min", "h", "D"])
def test_a_draft_s_own_dates_need_no_reason(resolution):
    times = pd.date_range("1987-03-05", periods=40, freq="37D") + pd.Timedelta(1, resolution) * 5
    frame = pd.DataFrame({"x": times.astype(str), "g": ["a"] * 40})
    assert not synth.app_api.alone(synth.draft(frame).schema)


def test_a_draft_of_a_whole_table_needs_no_reason_for_its_bounds(tmp_path):
    frame = pd.DataFrame({"age": [19, 44, 83, 27] * 20, "pay": [1204.5 * i for i in range(80)]})
    result = synth.draft(frame).schema
    assert not synth.app_api.alone(result)
    done = ran(
        frame,
        result.model_copy(update={"unit_source": "declared"}),
        at=tmp_path,
        delta=1e-6,
        method="independent",
        assume_public=True,
    )
    assert done.card["vouched_alone"] == {}
    assert synth.app_api.standing_bounds(tmp_path / "out") == {"age": "19 to 100", "pay": "0 to 100000"}


@pytest.mark.parametrize("source", ["unconfirmed", "declared"])
def test_what_a_draft_remarks_of_the_rows_is_in_nothing_that_leaves(source, tmp_path):
    """Whether nine or ten rows have a value is an exact answer: the remark goes when somebody confirms the list."""
    held = []
    for seldom in (9, 10):
        frame = pd.DataFrame(
            {"ward": ["a", "b", "c"] * 1000 + ["seldom"] * seldom, "x": ["u", "v"] * 1500 + ["u"] * seldom}
        )
        result = synth.draft(frame, unit="row").schema
        assert (result.columns["ward"].risk == "rare") == (seldom == 9)
        if source == "declared":
            columns = {n: c.model_copy(update={"source": "declared"}) for n, c in result.columns.items()}
            result = result.model_copy(update={"columns": columns})
        out = tmp_path / str(seldom)
        reasons = {"ward": "the list of wards"}
        asked = {
            "schema": result,
            "assume_public": ["ward"],
            "reasons": reasons,
            "dataset": "d",
            "method": "independent",
        }
        synth.run(frame, epsilon=1, delta=1e-6, ledger=tmp_path / f"{seldom}.sqlite", out=out, **asked)
        texts = {p.name: p.read_text() for p in out.iterdir() if p.suffix in (".json", ".md", ".html", ".txt")}
        assert not [n for n, t in texts.items() if '"risk"' in t or any(said in t for said in RISKS.values())]
        held.append(texts["schema.json"])
    assert held[0] == held[1]
    confirmed = synth.draft(frame).schema.assume_public(["ward"])
    assert confirmed.columns["ward"].risk is None
