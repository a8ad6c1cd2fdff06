"""Whatever gives a frame gives numbers as numbers, dates as dates and missing values as missing."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import COMMITTED
from synth.release import folder
from tests.made import ran

COLUMNS = {
    "age": {"type": "integer", "min": 0, "max": 99, "missing": ["", "-9"]},
    "weight": {"type": "float", "min": 0, "max": 9, "resolution": 0.5},
    "seen": {"type": "datetime", "min": "2020-01-01", "max": "2020-12-31"},
    "word": {"type": "categorical", "categories": ["=x", "y"], "missing": ["?"]},
    "key": {"type": "identifier"},
}
ROWS = 400


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    place = tmp_path_factory.mktemp("typed")
    frame = pd.DataFrame(
        {
            "age": ["-9", "30"] * (ROWS // 2),
            "weight": ["1.5"] * ROWS,
            "seen": ["2020-03-04"] * ROWS,
            "word": ["=x", "?", "y", "y"] * (ROWS // 4),
            "key": [str(i) for i in range(ROWS)],
        }
    )
    schema = synth.Schema.parse({"columns": {n: {**c, "source": "public"} for n, c in COLUMNS.items()}})
    COMMITTED.clear()
    return ran(
        frame,
        schema,
        epsilon=10.0,
        method="independent",
        dataset="typed",
        ledger=place / "ledger.sqlite",
        out=place / "release",
        seed=1,
    )


def release(result) -> str:
    return result.paths["card"].removesuffix("/card.json")


FRAMES = {
    "Result.frame": lambda r: r.frame,
    "sample": lambda r: synth.sample(release(r), num_rows=ROWS, seed=1)[0],
    "Synthesizer.sample": lambda r: synth.Synthesizer.load(release(r)).sample(ROWS, seed=1),
    "Release.frame": lambda r: synth.Release(release(r)).frame,
    "Release.sample": lambda r: synth.Release(release(r)).sample(ROWS, seed=1),
}


@pytest.mark.parametrize("way", FRAMES)
def test_a_frame_is_typed(result, way):
    frame = FRAMES[way](result)
    assert list(frame.columns) == list(COLUMNS)
    for name in ("age", "weight"):
        assert pd.api.types.is_numeric_dtype(frame[name])
    assert pd.api.types.is_datetime64_any_dtype(frame["seen"])
    assert set(frame["word"].dropna()) <= {"=x", "y"}
    for name in ("age", "word"):
        assert 0.1 < frame[name].isna().mean() < 0.9, name
    assert not frame[["weight", "seen", "key"]].isna().any(axis=None)


def test_a_table_that_is_read_back_is_the_one_that_was_made(result):
    """Missing codes, and text that a spreadsheet would take for a formula and so has a mark in the file."""
    pd.testing.assert_frame_equal(synth.Release(release(result)).frame, result.frame)
    assert {n: a.to_pylist() for n, a in result.texts.items()} == {
        n: a.to_pylist() for n, a in folder.read_texts(result.paths["synthetic"], result.schema).items()
    }


def test_a_related_table_without_a_row_is_read_back_as_such(result, tmp_path):
    (tmp_path / "none.csv").write_text(",".join(COLUMNS) + "\n")
    assert {n: len(a) for n, a in folder.read_texts(tmp_path / "none.csv", result.schema).items()} == dict.fromkeys(
        COLUMNS, 0
    )


def test_a_notebook_shows_the_synthetic_columns_and_their_guarantee(result):
    page = result._repr_html_()
    assert page.count("<svg") == 4  # the measured columns
    assert "epsilon 10, delta 1e-05" in page
    assert "<script" not in page


def test_representations_are_short_and_hold_no_value(result):
    """A draft's categories are private until somebody confirms them; a password is nobody's business."""
    drafted = synth.draft(pd.DataFrame({"word": ["nobody-knows-this", "other"] * 60}))
    shown = [
        repr(drafted.schema),
        str(drafted.schema),
        repr(result.schema),
        repr(result),
        repr(synth.Ledger(release(result) + "/../ledger.sqlite")),
        repr(synth.Synthesizer(drafted.schema, source="postgres://me:secret-word@host/db", epsilon=1.0)),
        repr(synth.Release(release(result))),
        repr(synth.Release("nowhere")),
    ]
    assert all(len(one) < 300 and "\n" not in one for one in shown)
    assert not [one for one in shown if "nobody-knows" in one or "secret-word" in one or "=x" in one]
    assert "1 columns: word; 1 unconfirmed" in shown[0]
    assert "400 rows" in repr(result) or f"{result.num_rows:,} rows" in repr(result)


def test_a_schema_is_drafted_saved_and_loaded(tmp_path):
    frame = pd.DataFrame({"age": np.arange(200) % 90, "sex": ["f", "m"] * 100})
    frame.to_csv(tmp_path / "t.csv", index=False)
    by_frame, by_path = synth.Schema.draft(frame), synth.Schema.draft(tmp_path / "t.csv")
    assert by_frame.columns == by_path.columns == synth.draft(frame).schema.columns
    by_path.save(tmp_path / "s.json")
    assert synth.Schema.load(tmp_path / "s.json") == by_path
    assert synth.Schema.parse(json.loads(by_path.to_json())) == by_path
    with pytest.raises(synth.UsageError, match="name another file"):
        by_path.save(tmp_path / "absent" / "s.json")
