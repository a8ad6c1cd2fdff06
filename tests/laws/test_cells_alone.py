"""A text's position under a column is the same whichever texts stand beside it (the codec's part of the law)."""

import numpy as np
import pytest

from synth.schema import codec
from synth.schema.table import Column

HOSTILE = {
    "blank": ["", " ", "a "],
    "word": ["x", "Infinity", "nan", "True", "0x10", "1_0"],
    "decimal": ["0.5", "7.125", "1e3", ".5", "1e999"],
    "19 digits": [str(10**18 + 65), "9" * 19, "-" + "9" * 40],
    "dates": ["2020-01-01", "2020-01-01T10:11:12", "infinity", "-infinity", "99999-01-01"],
    "NUL": ["\0", "1\0", "a\0", "\0a", "a\0b", "2020-01-01\0"],
    "5 MB": ["7" * 5_000_000, "a" * 5_000_000],
    "new texts": [f"new {i}" for i in range(100_000)],
    "new numbers": [str(i / 8) for i in range(100_000)],
}
COLUMNS = {
    "whole": Column(type="integer", min=10**18, max=10**18 + 1000, missing=("?", "99")),
    "wide": Column(type="integer", min=0, max=4 * 10**18, resolution=1000, nullable=True),
    "tens": Column(type="integer", min=0, max=1000, resolution=10, nullable=True),
    "float": Column(type="float", min=0, max=1000, decimals=3, nullable=True),
    "day": Column(type="datetime", min="2000-01-01", max="2030-01-01", nullable=True),
    "second": Column(type="datetime", min="2000-01-01", max="2030-01-01", resolution="second", nullable=True),
    "category": Column(type="categorical", categories=("a", "3", "1.10", "=x", "2020-01-01"), missing=("?", "")),
    "boolean": Column(type="boolean", categories=("True", "False")),
}
ROWS = [
    str(10**18 + 65),
    str(10**18 + 1),
    "1000000000000000129.0",
    "3",
    "3.0",
    " 3 ",
    "1.10",
    "1.1",
    "a",
    "'=x",
    "=x",
    "",
    "?",
    "99",
    "0.0005",
    "0.0015",
    "15",
    "25",
    "123456789.123456789",
    "2020-01-01",
    "2020-01-01 23:59:59.9",
    "2020-02-30",
    "True",
    "true",
    "1e2",
    "-0",
    "+7",
]


def alone(column: Column, text: str) -> tuple[int, bool]:
    places, outside = codec.known(column, np.array([text], dtype=object))
    return int(places[0]), bool(outside[0])


@pytest.mark.parametrize("name", COLUMNS)
def test_a_texts_position_is_that_of_the_text_alone(name):
    column = COLUMNS[name]
    expected = [alone(column, text) for text in ROWS]
    for beside, texts in HOSTILE.items():
        for start, cells in ((0, [*ROWS, *texts]), (len(texts), [*texts, *ROWS])):
            places, outside = codec.known(column, np.array(cells, dtype=object))
            part = slice(start, start + len(ROWS))
            assert list(zip(places[part].tolist(), outside[part].tolist(), strict=True)) == expected, beside


@pytest.mark.parametrize("low", [0, 10**18, -(10**18)])
def test_whole_numbers_that_a_double_cannot_tell_apart_are_told_apart(low):
    """Beside a blank as beside each other: what one double holds may be 128 positions."""
    column = Column(type="integer", min=low, max=low + 300)
    texts = [*map(str, range(low, low + 301)), "", "x"]
    assert codec.known(column, np.array(texts, dtype=object))[0].tolist() == [*range(301), -1, -1]
    assert alone(column, "1" + "0" * 400) == (300, True)
    assert alone(column, "-1" + "0" * 400) == (0, True)
    if low >= 0:
        assert alone(column, "000" + str(low)) == (0, False)
