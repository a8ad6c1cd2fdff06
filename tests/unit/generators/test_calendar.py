"""Dates keep their weekdays and months where the rows have any, and stay as they were where they have none."""

import datetime as dt

import numpy as np
import pytest

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.mixture import Independent, Mixture
from synth.generators.core.oneways import calendar_questions, scale_to_margins
from synth.schema.table import parse
from tests.unit.generators.helpers import OpenSession

YEARS = {"type": "datetime", "min": "2015-01-01", "max": "2019-12-31", "nullable": True}
HOURS = {"type": "datetime", "min": "2018-03-05T06:00:00", "max": "2019-03-04T20:00:00", "resolution": "minute"}


def day_of(column, places):
    """Days since 1970 of positions, by the calendar of the standard library's dates."""
    low = dt.datetime.fromisoformat(column.min)
    seconds = np.asarray(places) * int(column.step) + int((low - dt.datetime(1970, 1, 1)).total_seconds())
    return seconds // 86400


def made(facts, places, *, mu=0.27, generator=None):
    schema = parse({"columns": {"d": facts, "s": {"type": "boolean", "categories": ["f", "m"]}}})
    setting = Setting(schema=schema, mu=mu, sensitivity=1.0)
    session = OpenSession({"d": places, "s": np.arange(len(places)) % 2}, setting)
    generator = generator or Mixture()
    releases = generator.measure(Run(session, setting))
    model = generator.fit(releases, setting, Fit(np.random.default_rng(0)))
    return model.sample(len(places), rng=np.random.default_rng(1))["d"], schema.columns["d"], session


def weekdays(column, places):
    return np.bincount((day_of(column, places[places < column.size]) + 3) % 7, minlength=7) / len(places)


def months(column, places):
    days = day_of(column, places[places < column.size]).astype("datetime64[D]")
    return np.bincount(days.astype("datetime64[M]").astype(int) % 12, minlength=12) / len(places)


def dates(facts, rows=10_000, *, working=False, seasons=False):
    column = parse({"columns": {"d": facts}}).columns["d"]
    rng = np.random.default_rng(0)
    places = rng.integers(0, column.size, rows * 10)
    if working:
        places = places[(day_of(column, places) + 3) % 7 < 5]
    if seasons:
        month = day_of(column, places).astype("datetime64[D]").astype("datetime64[M]").astype(int) % 12
        places = places[rng.random(len(places)) < np.where(month == 11, 1.0, 0.3)]
    return places[:rows]


@pytest.mark.parametrize("facts", [YEARS, HOURS])
@pytest.mark.parametrize("generator", [Mixture(), Independent()])
def test_weekends_stay_empty(facts, generator):
    drawn, column, _ = made(facts, dates(facts, working=True), generator=generator)
    assert weekdays(column, drawn)[5:].sum() < 0.03
    assert weekdays(column, drawn)[:5].min() > 0.15


def test_a_month_that_stands_out_does_so_in_the_model():
    real = dates(YEARS, working=True, seasons=True)
    drawn, column, _ = made(YEARS, real)
    assert months(column, real)[11] > 0.2
    assert np.abs(months(column, drawn) - months(column, real)).max() < 0.03
    assert weekdays(column, drawn)[5:].sum() < 0.03


def test_where_weekdays_are_alike_they_stay_alike_even_in_much_noise():
    """Noise of a hundred times a weekday's rows: without shrinkage whole weekdays would be empty."""
    drawn, column, _ = made(YEARS, dates(YEARS, rows=2000), mu=0.01)
    share = weekdays(column, drawn[drawn < column.size])
    assert share.max() / share.min() < 1.5


def test_days_are_parts_of_their_leaves_and_meet_the_margins():
    column = parse({"columns": {"d": YEARS}}).columns["d"]
    setting = Setting(schema=parse({"columns": {"d": YEARS}}), mu=1.0, sensitivity=1.0)
    starts, mass = np.array([0, 3, 900, column.size]), np.array([50.0, 0.0, 700.0, 20.0])
    asked = calendar_questions("d", column, setting, share=0.1)
    margins = [(m, np.arange(m.cells) * 750.0 / np.arange(m.cells).sum()) for m in asked]
    cut, leaf, parts = scale_to_margins(starts, mass, column.cells, margins)
    assert (starts[leaf] <= cut).all()
    assert parts[leaf == 1].sum() == 0
    assert parts[leaf == 3].sum() == pytest.approx(20.0)  # missing dates have no weekday
    kinds = asked[1].bins[0].groups
    assert np.bincount(kinds[kinds >= 0], weights=parts[kinds >= 0]) == pytest.approx(margins[1][1], rel=0.2, abs=5)


@pytest.mark.parametrize("facts", [YEARS, HOURS])
def test_each_position_counts_towards_its_own_weekday_and_month(facts):
    column = parse({"columns": {"d": facts}}).columns["d"]
    setting = Setting(schema=parse({"columns": {"d": facts}}), mu=1.0, sensitivity=1.0)
    places = np.random.default_rng(0).integers(0, column.size, 2000)
    session = OpenSession({"d": places}, setting)
    week, year = (session.table(m) / len(places) for m in calendar_questions("d", column, setting, share=0.1))
    assert week == pytest.approx(weekdays(column, places))
    assert year == pytest.approx(months(column, places))


def test_weekdays_and_months_cost_their_small_share_and_short_ranges_nothing():
    _, _, session = made(YEARS, dates(YEARS))
    cost = sum((1 / m.sigma) ** 2 for q in session.asked if q.purpose.endswith("calendar") for m in q.marginals)
    assert 0 < cost < 0.05 * 0.33 * session.setting.mu**2 * 1.001
    _, _, session = made({"type": "datetime", "min": "2015-01-01", "max": "2015-01-20"}, np.zeros(100, dtype=np.int64))
    assert not any(q.purpose.endswith("calendar") for q in session.asked)
