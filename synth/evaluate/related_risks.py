"""Attacks on what one row of a table and those above it tell together: a risk for each relation.

A table alone is attacked as any other; here whoever attacks knows columns of two tables or more, and numbers of
children.
"""

from collections.abc import Mapping

import numpy as np

from synth.evaluate.examination import Limits
from synth.evaluate.read_sample import Sample
from synth.evaluate.risks import Risks, measure
from synth.schema.dataset import Dataset
from synth.sources.rows.forest import Forest
from synth.verified.language import joined


def attacked(real: Forest, synthetic: Forest, schema: Dataset, *, limits: Limits) -> dict[str, Risks]:
    """By child what attacks have on its rows with the columns of the tables above; none where a side has no row.

    ``limits``: of rows, attacks and the seed. **Guarantee**: none; for the steward alone.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    out: dict[str, Risks] = {}
    for key in schema.keys:
        own, places = joined(schema, key.child)
        rng = np.random.default_rng([limits.seed, len(out)])
        ours, theirs = (_sample(forest.rows(key.child, places), own.columns) for forest in (real, synthetic))
        reported = measure(ours, theirs, test=None, known=[], rng=rng, attacks=limits.attacks, rows=limits.attacked)
        if reported is not None:
            out[key.child] = reported
    return out


def _sample(rows: Mapping[str, np.ndarray], columns: Mapping) -> Sample:
    size = len(next(iter(rows.values())))
    return Sample(columns=columns, positions=rows, rows=size)
