"""A table told in pieces is the table told at once, and no piece is long."""

import numpy as np
import pytest

from synth.pipeline import draw_rows
from synth.pipeline.draw_rows import Drawn
from synth.release import folder
from synth.schema.table import parse
from tests.made import ID, codes, facts_of, number

ROWS = 1_000
SCHEMA = parse(
    facts_of(ID=ID, AGE=number(0, 99, source="declared"), SEX=codes("f", "m", missing=["?"], source="declared"))
)


class Uniform:
    """Positions drawn one by one and evenly."""

    def sample(self, num_rows, *, rng, **_):
        return {n: rng.integers(0, c.cells, num_rows) for n, c in SCHEMA.measured().items()}


def reported(*, block: int, piece: int) -> list[dict[str, list[str]]]:
    drawn = Drawn(Uniform(), SCHEMA, ROWS, rng=np.random.default_rng(5), block=block, piece=piece)
    return [{n: a.to_pylist() for n, a in part.items()} for part in drawn.blocks()]


@pytest.mark.parametrize(("block", "piece"), [(400, 400), (400, 70), (2_000, 128), (400, 1), (2_000, 1_000)])
def test_pieces_are_short_and_join_to_the_same_rows(block, piece):
    whole = reported(block=block, piece=10**6)
    parts = reported(block=block, piece=piece)
    assert max(len(p["AGE"]) for p in parts) == piece
    for name in SCHEMA.columns:
        assert [x for p in parts for x in p[name]] == [x for p in whole for x in p[name]]
    assert [x for p in parts for x in p["ID"]] == [str(i) for i in range(1, ROWS + 1)]


def test_a_whole_table_has_the_rows_of_its_pieces():
    parts = reported(block=400, piece=70)
    result = draw_rows.whole(Drawn(Uniform(), SCHEMA, ROWS, rng=np.random.default_rng(5), block=400).blocks())
    assert {n: a.to_pylist() for n, a in result.items()} == {n: [x for p in parts for x in p[n]] for n in result}


def test_a_table_in_memory_is_cut_into_the_same_rows(tmp_path):
    texts = draw_rows.whole(Drawn(Uniform(), SCHEMA, ROWS, rng=np.random.default_rng(5)).blocks())
    folder.write_table(tmp_path / "at_once.csv", texts, SCHEMA)
    parts = list(draw_rows.chunks(texts, ROWS, piece=70))
    assert len(parts) == 15
    folder.write_blocks(tmp_path / "cut.csv", parts, SCHEMA)
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "at_once.csv").read_bytes()
