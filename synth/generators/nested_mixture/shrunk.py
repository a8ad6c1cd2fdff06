"""Tables of two columns before a fit: each moved towards what is likely beside its noise.

A fit to many faint tables follows their noise and is worse than independent columns. A table that noise hides becomes
the product of its margins, one that stands out stays as it was counted; where public tables explain the answers, they
say the rest. Privacy: public tables and released answers only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synth.generators.nested_mixture.evidence import Apart, apart
from synth.generators.nested_mixture.known import Known
from synth.generators.nested_mixture.public import Place, weights
from synth.questions import LinkedRelease, PublicLinked
from synth.schema.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class Sure:
    """How sure a moved table is: ``part`` (A, B), or a number, of its noise's deviation is left in a cell; ``cells``:
    how many cells' worth of noise is left in all."""

    part: np.ndarray | float
    cells: float


def shrunk(
    releases: Sequence[LinkedRelease],
    publics: Sequence[PublicLinked],
    schema: Dataset,
    known_tables: Mapping[str, Known],
    purpose: str,
) -> tuple[list[LinkedRelease], dict[Place, Sure]]:
    """The releases so moved, and how sure each table is then."""
    tables: dict[Place, Apart] = {}
    values: dict[Place, np.ndarray] = {}
    for release in releases:
        if release.question.purpose == purpose:
            for i, one in apart(release, schema, known_tables):
                at: Place = (release.question.table, release.question.view, one.marginal.columns)
                tables[at], values[at] = one, release.values[i]
    targets = weights(tables, values, publics, known_tables[schema.root].total)
    sure: dict[Place, Sure] = {}
    for place, one in tables.items():
        said = [t[place] for t in targets if place in t]
        values[place], sure[place] = _posterior(one, values[place], said) if said else (one.drawn, _counted(one))
    return [_with(r, values) if r.question.purpose == purpose else r for r in releases], sure


def _counted(one: Apart) -> Sure:
    return Sure(part=1.0, cells=one.free)


def _posterior(
    one: Apart, values: np.ndarray, said: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, Sure]:
    """Counts and targets, each weighed by its precision."""
    noise = one.marginal.sigma**2
    precision, total = np.full(values.shape, 1 / noise), values / noise
    for target, variance in said:
        precision, total = precision + 1 / variance, total + target / variance
    left = 1 / (precision * noise)
    return total / precision, Sure(part=np.sqrt(left), cells=float(left.sum()))


def _with(release: LinkedRelease, values: Mapping[Place, np.ndarray]) -> LinkedRelease:
    asked = release.question
    each = [
        values.get((asked.table, asked.view, m.columns), v)
        for m, v in zip(asked.marginals, release.values, strict=True)
    ]
    return LinkedRelease(question=asked, values=tuple(each))
