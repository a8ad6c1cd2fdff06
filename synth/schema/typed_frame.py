"""Decoded columns as a data frame: numbers as numbers, dates as dates, missing values as missing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from synth.schema import codec
from synth.schema.column import Column, canonical
from synth.schema.table import Schema

if TYPE_CHECKING:
    import pandas as pd


def typed_frame(texts: Mapping[str, pa.Array], schema: Schema) -> "pd.DataFrame":
    """A frame of columns that ``codec.decode`` made. A missing code is null.

    Privacy: released answers only: it derives from what was decoded.
    """
    import pandas as pd

    typed = codec.typed(texts, schema)
    return pd.DataFrame({n: _present(schema.columns[n], cells).to_pandas() for n, cells in typed.items()})


def _present(column: Column, cells: pa.Array) -> pa.Array:
    """Texts without the codes for a missing value; numbers and dates have none left."""
    codes = {*column.missing_codes, *map(canonical, column.missing_codes)}
    if column.is_numeric or not codes:
        return cells
    return pc.if_else(pc.is_in(cells, value_set=pa.array(sorted(codes), type=cells.type)), None, cells)
