"""What public related tables say of the cells that private ones are asked for, and how far they may be believed.

Of tables of two columns only the dependence is borrowed, as ``marginals/prior.py`` does; how far it is off the truth is
estimated from the released answers, table by table. Privacy: public tables and released answers only.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from synth.generators.base import PublicTrees
from synth.generators.marginals.histogram import LEAVES
from synth.generators.marginals.prior import RAKES, SMOOTH, WEAK
from synth.generators.marginals.prior_variance import TINY, variances
from synth.generators.nested_mixture.evidence import Apart
from synth.generators.nested_mixture.known import Known
from synth.questions import Bins, Linked, Marginal, PublicLinked
from synth.questions.linked import place
from synth.schema.dataset import Dataset

Place = tuple[str, str, tuple[str, ...]]  # of a table of two columns: whose rows, view, columns


def of_columns(priors: Sequence[PublicTrees], schema: Dataset, known_tables: Mapping[str, Known]) -> list[PublicLinked]:
    """What they say of every column's leaves."""
    out = []
    for table in schema.downwards if priors else ():
        leaves = tuple(
            Bins(column=place(table, n), cells=h.cells, starts=h.starts, groups=np.arange(len(h.starts)))
            for n, h in known_tables[table].histograms.items()
        )
        marginals = tuple(Marginal(bins=(b,), sigma=1.0) for b in leaves)
        question = Linked(purpose=LEAVES, table=table, view="rows", most=schema.most_rows(table), marginals=marginals)
        out += [counted(p, question) for p in priors]
    return out


def counted(trees: PublicTrees, question: Linked) -> PublicLinked:
    """Their counts at a question's cells."""
    values, missing = trees.weighted(question)
    return PublicLinked(
        question=question,
        values=values,
        name=trees.name,
        sha256=trees.sha256,
        num_rows=trees.num_rows,
        missing=missing,
    )


def weights(
    tables: Mapping[Place, Apart], values: Mapping[Place, np.ndarray], publics: Sequence[PublicLinked], total: float
) -> list[dict[Place, tuple[np.ndarray, np.ndarray]]]:
    """For each prior, by table its target (A, B) and the variance around that, infinite where it says nothing.

    ``tables``, ``values``: as released. Targets that the answers do not bear out are left out.
    """
    out = []
    for digest in dict.fromkeys(p.sha256 for p in publics):
        own = [p for p in publics if p.sha256 == digest and p.question.purpose != LEAVES]
        said: dict[Place, np.ndarray] = {}
        for public in own:
            for marginal, counts in zip(public.question.marginals, public.values, strict=True):
                at = (public.question.table, public.question.view, marginal.columns)
                if at in tables and _same(marginal, tables[at].marginal) and not set(at[2]) & set(public.missing):
                    said[at] = _raked(counts, tables[at].alone)
        if not said:
            continue
        spread = variances(
            [(values[at], target, tables[at].marginal.sigma ** 2) for at, target in said.items()],
            least=total / max(own[0].num_rows, 1),
            rivals=[tables[at].alone for at in said],
        )
        result = {at: (said[at], variance) for at, variance in zip(said, spread, strict=True)}
        out.append({at: v for at, v in result.items() if _weight(tables[at].marginal.sigma, v[1]) > WEAK})
    return out


def _weight(sigma: float, variance: np.ndarray) -> float:
    return float(np.mean(sigma**2 / (sigma**2 + variance)))


def _same(one: Marginal, other: Marginal) -> bool:
    return all(np.array_equal(a.groups, b.groups) for a, b in zip(one.bins, other.bins, strict=True))


def _raked(public: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """The public table with the private margins: smoothed by independence, then fitted in proportion."""
    whole = alone.sum()
    table = (public + SMOOTH * alone / max(whole, TINY)) / (public.sum() + SMOOTH) * whole
    for _ in range(RAKES):
        for axis in (0, 1):
            table = table * (alone.sum(axis, keepdims=True) / np.maximum(table.sum(axis, keepdims=True), TINY))
    return table
