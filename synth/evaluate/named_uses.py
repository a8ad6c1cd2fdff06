"""What a table is worth for the uses that its schema names, in their words. For the steward alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synth.errors import UsageError
from synth.evaluate.distances import scored
from synth.evaluate.fidelity import Comparison
from synth.evaluate.read_sample import Sample
from synth.evaluate.verdict import CARE, Measured, Use, mean, use_of
from synth.languages import Said
from synth.pipeline.uses import positive_of
from synth.schema import uses as named
from synth.schema.table import CATEGORICAL, Schema
from synth.verified import formula, language
from synth.verified.language import Question
from synth.verified.law import Law, free

CELLS = 8  # groups of a column in a table of three and more
BY_CHANCE = 2**0.5  # standard errors between the estimates of two samples
Z = 1.959964
CANNOT = (UsageError, np.linalg.LinAlgError, FloatingPointError)  # what a fit to rows may end with


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """A regression's coefficient in the synthetic and in the real rows; ``error``: the real one's standard error."""

    name: str
    synthetic: float = field(repr=False)
    real: float = field(repr=False)
    error: float = field(repr=False)

    @property
    def in_words(self) -> str:
        """Both, the real one with its 95 % interval.

        >>> Coefficient(name="education", synthetic=5.3, real=5.1, error=0.2).in_words
        'coefficient of education: 5.3 (real 5.1, 95 % interval 4.708 to 5.492)'
        """
        low, high = (self.real + s * Z * self.error for s in (-1, 1))
        return Said(
            "coefficient of {}: {:.4g} (real {:.4g}, 95 % interval {:.4g} to {:.4g})",
            self.name,
            self.synthetic,
            self.real,
            low,
            high,
        )


def judged(schema: Schema, comparison: Comparison, real: Sample, synthetic: Sample) -> Iterator[Use]:
    """A verdict on each use of the schema, in its words; what trained models predict is judged elsewhere.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    for use in schema.uses or ():
        if isinstance(use, named.RegressionUse):
            yield _regression(schema, use, real, synthetic)
        elif isinstance(use, named.ColumnsUse):
            yield _tables("columns", use, [_table(comparison, (n,)) for n in use.columns])
        elif use.tables:
            kind = "triples" if max(len(t) for t in use.tables) > 2 else "pairs"
            yield _tables(kind, use, [_table(comparison, t) for t in use.tables])


def _tables(kind: str, use: named.Use, tables: Sequence[Measured]) -> Use:
    whole = mean(tables)
    assert whole is not None
    return use_of(kind, whole, Said("named: {}", use.words))


def _table(comparison: Comparison, names: tuple[str, ...]) -> Measured:
    """One table, of three and more columns in few groups each, as every such table is compared."""
    few = {n: comparison.few(n, CELLS if len(names) > 2 else None) for n in names}
    sizes = [int(max(c.max(initial=0) for c in few[n])) + 1 for n in names]
    codes = ({n: few[n][0] for n in names}, {n: few[n][1] for n in names})
    return scored(names, sizes, codes, comparison.filled)


def asked(schema: Schema, use: named.RegressionUse) -> Question:
    """A regression as a question. Errors: UsageError. Privacy: public only."""
    column = formula.column_of(formula.sides(use.formula, place="use")[0])
    positive = positive_of(schema, column, use.positive)
    kind = "logistic" if schema.columns[column].type in CATEGORICAL else "linear"
    plain = {"kind": kind, "formula": use.formula} | ({} if positive is None else {"positive": positive})
    return language.read(plain, schema)[0]


def coefficients(
    question: Question,
    real: Mapping[str, np.ndarray],
    synthetic: Mapping[str, np.ndarray],
    *,
    unit: np.ndarray | None = None,
) -> list[Coefficient]:
    """A regression on both tables, positions by column; none where it cannot be fitted to one of them.

    ``unit``: of related tables, to which root each real row belongs, in rising order: rows of one are no separate
    draws, which the standard error follows.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    wide = len(question.names)
    if any(len(free(question.score, p)) < wide for p in (real, synthetic)):
        return []
    laws = [
        Law.of(question.score, p, float(len(next(iter(p.values())))), unit=u)
        for p, u in ((real, unit), (synthetic, None))
    ]
    none = np.zeros(wide)
    ours, theirs = (law.coefficients(none) for law in laws)
    w = laws[0].w
    error = np.sqrt((laws[0].together(laws[0].influences(none), w) ** 2) @ laws[0].apart(w))
    return [
        Coefficient(name=n.replace("`", ""), synthetic=float(b), real=float(a), error=float(e))
        for n, a, b, e in zip(question.names, ours, theirs, error, strict=True)
    ]


def _regression(schema: Schema, use: named.RegressionUse, real: Sample, synthetic: Sample) -> Use:
    try:
        each = coefficients(asked(schema, use), real.positions, synthetic.positions)
    except CANNOT:
        each = []
    return judged_by(use.words, each)


def judged_by(words: str, each: Sequence[Coefficient]) -> Use:
    """The verdict on a regression by its coefficients.

    Privacy: as private as the coefficients.
    """
    off = [(c.synthetic - c.real) / c.error for c in each if c.error > 0]
    if not off:
        why = Said("it cannot be fitted to the rows")
        return Use(name="regression", use=Said("named: {}", words), level=CARE, why=why, value=None)
    of = Measured(value=float(np.sqrt(np.mean(np.square(off)))), second=BY_CHANCE)
    parts = [c.in_words for c in each]
    return use_of("regression", of, Said("named: {}", words), digits=2, parts=parts)
