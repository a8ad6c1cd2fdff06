"""A package that names a score under `synth.scores` stands in the steward's report; one that fails harms nothing."""

import json
import sys

import numpy as np
import pytest

from synth.evaluate import plugin_scores, read_sample
from tests.made import a_schema, codes, number

PACKAGE = """
def share(real, synthetic, schema):
    return {"same columns": float(list(real) == list(synthetic) == ["a", "n"]),
            "mean apart": abs(real["n"].mean() - synthetic["n"].mean())}

def one(real, synthetic, schema):
    return len(real) / len(synthetic)

def broken(real, synthetic, schema):
    raise KeyError("a value of a person")

def spoils(real, synthetic, schema):
    real["n"] = 0
    return 0
"""
METADATA = "Metadata-Version: 2.1\nName: institute-scores\nVersion: 0.3\n"
ENTRIES = """[synth.scores]
broken = institute_scores:broken
first_spoils = institute_scores:spoils
share = institute_scores:share
whole = institute_scores:one
absent = institute_scores:nothing
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A small distribution, installed as pip leaves one: a module, and its metadata beside it."""
    (tmp_path / "institute_scores.py").write_text(PACKAGE)
    about = tmp_path / "institute_scores-0.3.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(METADATA)
    (about / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("institute_scores", None)


SCHEMA = a_schema(a=codes("x", "y"), n=number(0, 9, nullable=True))


def sample(*numbers):
    positions = {"a": np.zeros(len(numbers), dtype=np.int64), "n": np.array(numbers)}
    return read_sample.Sample(columns=SCHEMA.measured(), positions=positions, rows=len(numbers))


def test_without_such_packages_there_is_no_score():
    assert plugin_scores.measure(sample(1), sample(1), SCHEMA) == ()


@pytest.mark.usefixtures("installed")
def test_installed_scores_are_called_with_both_tables():
    result = {s.name: s for s in plugin_scores.measure(sample(1, 2, 3, 4), sample(1, 10), SCHEMA)}
    assert list(result) == ["absent", "broken", "first_spoils", "share", "whole"]
    assert result["share"].values == {"same columns": 1.0, "mean apart": 1.5}  # 10 is the code of a missing number
    assert result["whole"].values == {"whole": 2.0}
    assert result["whole"].package == "institute-scores 0.3"
    assert result["broken"].fault == "KeyError"
    assert result["absent"].fault == "AttributeError"
    assert "person" not in repr(result["broken"])


@pytest.mark.usefixtures("installed")
def test_they_stand_in_the_stewards_report(tmp_path):
    from synth.evaluate import examination
    from synth.release.card.card import Card
    from synth.report.steward import page

    rows = "a,n\n" + "".join(f"{'xy'[i % 2]},{i % 10}\n" for i in range(200))
    for name in ("real.csv", "made.csv"):
        (tmp_path / name).write_text(rows)
    result = examination.examine(tmp_path / "real.csv", tmp_path / "made.csv", SCHEMA)
    about = {"epsilon": 1.0, "delta": 1e-5, "method": "m", "dataset": "d", "unit": "row", "relation": "add_remove"}
    reported = page.render(result, about=Card(about))
    assert "Scores of this installation" in reported
    assert "share: same columns" in reported
    assert "failed (KeyError)" in reported
    assert "institute-scores 0.3" in reported
    plain = json.loads(json.dumps(examination.plain(result)))
    assert {s["name"]: s["values"] for s in plain["own_scores"]}["whole"] == {"whole": 1.0}
