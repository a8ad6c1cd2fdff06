"""The table nearest to the real rows is told by paid noisy counts, and what cannot be compared is refused."""

import json

import pytest

import synth
from synth.pipeline.statistics import MOST_CELLS, statistics
from synth.report.chosen_release import distances, questions, shared
from tests.conftest import SMALL, small_frame

SCHEMA = synth.Schema.parse(SMALL)


def release(place, frame, schema=SCHEMA):
    """A folder with a synthetic table and its description, as a run writes them."""
    place.mkdir()
    frame.to_csv(place / "synthetic.csv", index=False)
    (place / "schema.json").write_text(schema.to_json())
    return place


def test_the_nearer_table_has_the_smaller_distance(tmp_path):
    """At epsilon 20 a count of 4,000 rows errs by about one: the other table misses the column by half of them."""
    frame = small_frame(4000)
    near = release(tmp_path / "near", small_frame(4000))
    far = release(tmp_path / "far", frame.assign(sex=frame["sex"].iloc[0]))
    asked = questions(SCHEMA, ["sex", "region"])
    assert asked == ["count:sex*region"]
    result = statistics(
        frame, schema=SCHEMA, ask=asked, epsilon=20.0, delta=1e-5, dataset="d", ledger=tmp_path / "ledger.sqlite"
    )
    (tmp_path / "paid.json").write_text(json.dumps(result.plain()))
    one, other = distances(tmp_path / "paid.json", [near, far])
    assert one < 0.05
    assert other > 0.3


def test_a_pair_too_large_to_be_counted_is_asked_about_column_by_column():
    facts = {"type": "integer", "min": 0, "max": 255}
    wide = synth.Schema.parse({"columns": {"a": facts, "b": facts}})
    assert MOST_CELLS < 256**2
    assert questions(wide, ["a", "b"]) == ["count:a", "count:b"]


def test_columns_that_the_releases_describe_differently_are_not_shared_and_refused(tmp_path):
    plain = json.loads(SCHEMA.to_json())
    plain["columns"]["sex"]["categories"] = [*plain["columns"]["sex"]["categories"][::-1]]
    first = release(tmp_path / "a", small_frame(10))
    second = release(tmp_path / "b", small_frame(10), synth.Schema.parse(plain))
    assert set(shared([first, first])) - set(shared([first, second])) == {"sex"}
    paid = {
        "format": "facsimile-statistics/1",
        "level": 0.95,
        "card": {"epsilon": 1, "delta": 0, "relation": "x"},
        "statistics": [{"ask": "count:sex", "kind": "count", "columns": ["sex"], "cells": []}],
    }
    (tmp_path / "paid.json").write_text(json.dumps(paid))
    with pytest.raises(synth.InputError, match="describe alike"):
        distances(tmp_path / "paid.json", [first, second])
