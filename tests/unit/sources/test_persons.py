"""Whose rows are whose, beyond memory: parts with whole persons, and at most so many rows of each kept."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.errors import InputError
from synth.pipeline import run as pipeline
from synth.privacy.noise import SeededNoise
from synth.schema.table import canonical, parse
from synth.sources.formats.text_table import Text
from synth.sources.rows import spill
from synth.sources.rows.spill import Persons, keep_parts
from synth.sources.table_source import ParquetPlace


def drawn(count: int, people: int) -> np.ndarray:
    """Persons of rows in random order, some written in two ways, one row in ten without a name."""
    rng = np.random.default_rng(0)
    number = rng.integers(0, people, count).astype(str)
    written = np.where(rng.random(count) < 0.5, number, np.char.add(np.char.add(" ", number), ".0")).astype(object)
    written[rng.random(count) < 0.1] = ""
    return written


@pytest.fixture
def few(monkeypatch, tmp_path):
    """More than a thousand rows go to the file."""
    monkeypatch.setattr(spill, "FEW", 1000)
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(home))
    return home


def filled(cells: np.ndarray) -> Persons:
    result = Persons("id")
    for part in np.array_split(cells, 7):
        values, codes = np.unique(part.astype(str), return_inverse=True)
        result.append(Text(values.astype(object), codes))
    return result


def test_every_row_is_in_one_part_and_every_person_too(few):
    cells = drawn(20_000, 3000)
    seen, home = Counter(), {}
    for number, (text, rows) in enumerate(filled(cells).parts()):
        seen.update(rows.tolist())
        assert text.values[text.codes].tolist() == [canonical(c.strip()) for c in cells[rows]]
        for name in {canonical(v.strip()) for v in text.values} - {""}:
            assert home.setdefault(name, number) == number
    assert seen == Counter(range(20_000))
    assert number > 10  # it was cut into parts
    assert list(few.iterdir()) == []


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("long", [True, False])
def test_a_person_keeps_as_many_rows_as_may_be_wherever_they_lie(monkeypatch, long, most):
    monkeypatch.setattr(spill, "FEW", 1000 if long else 1 << 30)
    cells = drawn(20_000, 3000)
    result = filled(cells)
    retained = keep_parts(result.parts(), most, SeededNoise(1), num_rows=result.num_rows)
    plain = np.array([canonical(c.strip()) for c in cells])
    assert retained[plain == ""].all()
    whole, left = Counter(plain[plain != ""]), Counter(plain[retained & (plain != "")])
    assert left == Counter({name: min(count, most) for name, count in whole.items()})


def test_a_run_whose_persons_are_beyond_memory(few, tmp_path):  # noqa: ARG001
    """At epsilon 8 and two rows a person a cell's noise is about 2: the total of 12 cells within 80 of the true one."""
    cells = drawn(6000, 400)
    table = pa.table({"id": cells.tolist(), "a": np.arange(6000) % 10})
    pq.write_table(table, tmp_path / "t.parquet")
    schema = parse(
        {
            "unit": "id",
            "max_rows": 2,
            "columns": {"id": {"type": "identifier"}, "a": {"type": "integer", "min": 0, "max": 9}},
        }
    )
    result = pipeline.run(
        tmp_path / "t.parquet", schema=schema, epsilon=8, delta=1e-5, method="independent", out=tmp_path / "out"
    )
    assert abs(result.num_rows - (800 + int((cells == "").sum()))) <= 80


def test_a_full_disk_is_told_in_one_line(few, monkeypatch):  # noqa: ARG001
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(InputError, match="set TMPDIR"):
        filled(drawn(3000, 50))


def test_persons_show_in_no_representation(few, tmp_path):  # noqa: ARG001
    pq.write_table(pa.table({"id": ["secret"], "a": [1]}), tmp_path / "t.parquet")
    schema = parse({"columns": {"id": {"type": "identifier"}, "a": {"type": "integer", "min": 0, "max": 9}}})
    opened = ParquetPlace(tmp_path / "t.parquet").encoded(schema, SeededNoise(1), person="id", key=b"k" * 16)
    assert "secret" not in repr(opened.persons)
