"""A result as a notebook shows it: its guarantee, and small histograms of the synthetic columns."""

import numpy as np
import pandas as pd
from markupsafe import Markup

from synth.languages import _
from synth.pipeline.result import Result
from synth.report import html
from synth.report.svg import Shape, draw, rect

SHOWN = 6  # columns
BINS = 12  # of numbers and dates; of categories the commonest
WIDE, TALL = 120, 44  # units of a picture
GAP = 1.0


def render(result: Result) -> Markup:
    """The ``result`` as a piece of HTML with its own style. A long table, which is in its file alone, has no picture.

    Privacy: released answers only.
    """
    columns = result.frame if result.texts else pd.DataFrame()
    pictures = [(str(n), _picture(columns[n])) for n in columns.columns if n in result.schema.measured()][:SHOWN]
    more = len(result.schema.columns) - len(pictures)
    return html.render("result.html", result=result, pictures=pictures, more=more if pictures else 0)


def _picture(column: pd.Series) -> Markup:
    counts = _counts(column.dropna())
    step, top = WIDE / max(len(counts), 1), max([*counts, 1])
    shapes: list[Shape] = [
        rect(i * step, TALL * (1 - many / top), step - GAP, TALL * many / top, "") for i, many in enumerate(counts)
    ]
    return draw(
        shapes, wide=WIDE, tall=TALL, words=_("Histogram of the synthetic column {name}").format(name=column.name)
    )


def _counts(values: pd.Series) -> list[int]:
    """Rows by bin, or by category from the commonest on."""
    if pd.api.types.is_datetime64_any_dtype(values):
        values = values.astype("int64")
    if pd.api.types.is_numeric_dtype(values) and len(values):
        return [int(c) for c in np.histogram(values.to_numpy(), bins=BINS)[0]]
    return [int(c) for c in values.value_counts().head(BINS)]
