"""Secret numbers that a law states, and columns of text: for laws of rows that are put together."""

import numpy as np

from synth.sources.formats.text_table import Text


class Given:
    """Secret numbers that belong to rows: those of each table in turn. Neighbours share their common rows' numbers."""

    def __init__(self, *numbers):
        self.left = list(numbers)

    def uniform_codes(self, size, *, high):  # noqa: ARG002
        result = self.left.pop(0)
        assert len(result) == size
        return np.array(result, dtype=np.int64)


def texts(values):
    values = [str(v) for v in values]
    distinct = sorted(set(values))
    return Text(np.array(distinct, dtype=object), np.array([distinct.index(v) for v in values], dtype=np.int64))
