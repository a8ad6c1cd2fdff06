"""Areas by level in both reports: private figures in the steward's alone, released ones in the other."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from synth.evaluate import area_levels
from synth.report import area_pages, publish
from synth.report.steward import write as steward
from synth.schema.table import Schema
from tests.made import ran
from tests.towns import PLAIN, frame, three

SCHEMA = Schema.parse(three())


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    place = tmp_path_factory.mktemp("areas")
    rows = frame(600).assign(land="x")
    rows.to_csv(place / "rows.csv", index=False)
    how = {"method": "independent", "out": place / "out", "ledger": place / "l.sqlite", "seed": 1}
    ran(place / "rows.csv", SCHEMA, **how)
    return place, rows


def test_levels_add_up():
    for name, levels in area_pages.of_releases([], {}, SCHEMA.columns, None).items():
        assert name
        assert not levels
    path = list(area_levels.stack(SCHEMA.columns, "town"))
    assert [column for column, _, _ in path] == ["land", "region", "town"]
    for (_, before, _), (_, of, up) in pairwise(path):
        assert (up[of] == before).all()


def test_the_publishable_report_has_released_counts_alone(released):
    place, rows = released
    result = publish.gather(place / "out")
    (levels,) = result.areas.values()
    assert [level.column for level in levels] == ["land", "region", "town"]
    for above, below in pairwise(levels):
        assert np.allclose(np.bincount(below.up, weights=below.synthetic), above.synthetic)
    real = rows["town"].value_counts()
    assert any(abs(k - real.get(a, 0)) > 1e-6 for a, k in zip(levels[-1].labels, levels[-1].known, strict=True))
    assert (levels[-1].noise > 0).all()
    publish.write(place / "out", place / "report.html")
    page = (place / "report.html").read_text()
    assert "Areas by level" in page
    assert "released, " in page
    assert [one["column"] for one in json.loads((place / "report.json").read_text())["areas"]["town"]][-1] == "town"


def test_the_stewards_report_has_real_counts(released):
    place, rows = released
    said = steward.examine(place / "out", real=place / "rows.csv")
    (levels,) = said.areas.values()
    real = rows["town"].value_counts()
    assert dict(zip(levels[-1].labels, levels[-1].known.tolist(), strict=True))["11"] == real["11"]
    assert levels[0].beside is not None
    errors = [level.error for level in levels]  # no level is further off than one below it, but for rounding
    assert 0 <= errors[0] <= errors[1] + 1e-12 <= errors[2] + 2e-12
    made = steward.put(steward.alone(said, place / "out", place / "mine.html"))
    page = Path(made["report"]).read_text()
    assert "Areas by level" in page
    assert "real, " in page


def test_a_table_without_a_tree_has_no_such_section(tmp_path):
    plain = {"columns": {n: {k: v for k, v in c.items() if k != "within"} for n, c in PLAIN["columns"].items()}}
    ran(frame(), plain, method="independent", out=tmp_path / "out", seed=1)
    publish.write(tmp_path / "out", tmp_path / "report.html")
    assert "Areas by level" not in (tmp_path / "report.html").read_text()
