"""The sample table: made by its script, within its schema, and as its card describes it."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth.schema import table as schemas
from synth.schema.codec import encode
from synth.sources.draft_schema import draft
from synth.sources.formats import files

DATA = Path(__file__).resolve().parents[2] / "data"
TABLE, SCHEMA, CARD = DATA / "town_survey.csv.gz", DATA / "town_survey.schema.json", DATA / "README.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with what the script writes today."""
    spec = importlib.util.spec_from_file_location("simulate", DATA / "simulate.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = tmp_path_factory.mktemp("sample")
    script.main(folder)
    return folder


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(TABLE, dtype=str, keep_default_na=False)


def test_the_script_writes_the_table_and_schema_that_are_here(made):
    ours, theirs = files.read(TABLE), files.read(made / TABLE.name)
    assert ours.names == theirs.names
    for name in ours.names:
        a, b = ours.column(name), theirs.column(name)
        assert np.array_equal(a.values[a.codes], b.values[b.codes]), name
    assert (made / SCHEMA.name).read_bytes() == SCHEMA.read_bytes()


def test_it_is_small_enough_to_keep():
    assert TABLE.stat().st_size < 1_000_000


class NoDraws:
    """Fails the test when a cell is not known to the schema."""

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray:
        raise AssertionError(f"{size} cells outside the schema, which has {high}")


def test_every_cell_lies_within_the_schema():
    schema, table = schemas.load(SCHEMA), files.read(TABLE)
    assert table.names == tuple(schema.columns)
    encoded = encode(table, schema, NoDraws())
    assert not any(encoded.clamped.values())
    assert not any(encoded.unreadable.values())


def test_every_fact_is_public_and_the_target_is_the_condition():
    schema = schemas.load(SCHEMA)
    assert {c.source for c in schema.columns.values()} == {"public"}
    assert (schema.target, schema.positive) == ("chronic_condition", "yes")


def test_a_draft_from_the_rows_finds_the_same_kinds():
    stated = schemas.load(SCHEMA).columns
    drafted = draft(files.read(TABLE), ordinal=["education"]).schema.columns
    assert {n: c.type for n, c in drafted.items()} == {n: c.type for n, c in stated.items()}
    assert {n: bool(c.nullable) for n, c in drafted.items()} == {n: bool(c.nullable) for n, c in stated.items()}


def test_structural_gaps_follow_their_rules(rows):
    home = rows.occupation.isin(["retired", "student", "not working"])
    works = ~home & (rows.occupation != "")
    assert (rows.weekly_hours[home] == "").all()
    assert (rows.weekly_hours[works] != "").all()
    assert ((rows.last_visit == "") == (rows.visits == "0")).all()
    assert (rows.marital_status[rows.age.astype(int) < 18] == "single").all()


def test_the_dependencies_that_the_card_states_are_there(rows):
    number = rows.replace("", None).apply(pd.to_numeric, errors="coerce")
    ill = rows.chronic_condition == "yes"
    assert 0.15 < ill.mean() < 0.35
    assert ill[number.age > 65].mean() > 3 * ill[number.age < 40].mean()
    assert ill[rows.region == "Millside"].mean() > ill[rows.region == "Uplands"].mean()
    assert (
        number.income[rows.education == "master"].median() > 1.5 * number.income[rows.education == "primary"].median()
    )
    assert number.income.max() > 10 * number.income.median()
    assert 0.03 < (number.income == 0).mean() < 0.15
    assert 0.3 < (number.visits == 0).mean() < 0.5
    assert (rows.sex[rows.occupation == "nurse"] == "female").mean() > 0.75
    assert (rows.sex[rows.occupation == "welder"] == "male").mean() > 0.75
    weekday = pd.to_datetime(rows.last_visit[rows.last_visit != ""]).dt.dayofweek
    assert (weekday == 0).mean() > 10 * (weekday == 6).mean()


def test_the_card_says_that_it_is_simulated_and_names_every_column():
    card = CARD.read_text(encoding="utf-8")
    assert "**Simulated.**" in card
    assert "python data/simulate.py" in card
    assert [n for n in schemas.load(SCHEMA).columns if f"`{n}`" not in card] == []
