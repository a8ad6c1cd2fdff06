"""How rows become vectors of bounded norm, shown on rows made up from the schema: nothing private is looked at.

Encoding, norms and sensitivity are those of the very code that methods ask with: the question that one would ask in a
rehearsal on made-up rows, or `slicing`'s encodings by name, and the mechanism's own statement of sensitivity.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.papers import slicing as encodings
from synth.languages import Said
from synth.mechanisms import embeddings, slices
from synth.pipeline.methods import generator_named, granted
from synth.pipeline.rehearsal import rehearse
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.relation import relation_named
from synth.questions import Embedding, Slices
from synth.questions.features import Block, Fourier, Tensors, Term
from synth.schema.codec import decode
from synth.schema.dataset import check_schema
from synth.schema.table import Schema

FORMS = {"scaled": encodings.scaled, "binned": encodings.binned}
MOST_ROWS = 1000
MOST_CATEGORIES = 2000  # of a column that is shown one-hot


@dataclass(frozen=True, kw_only=True)
class EncodedColumn:
    """Coordinates ``first`` to ``first + width - 1`` of a row's vector, which hold one column or ``name``, those that
    stand there with commas between them; their norm at most.

    Privacy: public only.
    """

    name: str
    form: str
    first: int
    width: int
    norm: float


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedRows:
    """Made-up rows and their vectors. ``texts``: n rows of J texts; ``vectors``: (n, d) float64, in column order.

    ``norm``: the most that any row of this schema can reach, at most 1. ``sensitivity``: the L2 distance by which one
    unit can move a sum of such vectors under ``relation``; ``max_rows`` of its rows are kept.

    Privacy: public only: the rows are made up.
    """

    relation: str
    max_rows: int
    columns: tuple[EncodedColumn, ...]
    norm: float
    sensitivity: float
    texts: tuple[tuple[str, ...], ...]
    vectors: np.ndarray

    def norms(self) -> np.ndarray:
        """The norm of each made-up row, (n,)."""
        return np.linalg.norm(self.vectors, axis=1)


def encode(
    schema: Schema,
    *,
    relation: str = "add_remove",
    form: str = "scaled",
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    rows: int = 3,
    seed: int = 0,
) -> EncodedRows:
    """``rows`` made-up rows of the schema as vectors, with bounds of norm and the sensitivity that follows.

    Every position of a column is as likely as any other. ``method``: what one with these ``options`` adds up of a row
    at ``epsilon`` and ``delta``, in a rehearsal on made-up rows, whose noisy counts may choose bins; else ``form``:
    ``scaled``, categories one-hot and numbers one coordinate in [0, 1], or ``binned``, one-hot on at most 24 bins a
    column. ``vectors`` has shape (rows, d); those of slices are multiples of 2**-20. ``relation``: as of ``run``.
    ``seed``: of the made-up rows. Touches no table. Errors: UsageError, also for a method that adds up no vectors.

    **Guarantee**: ||vector|| <= 1 for every row, made up or real (mechanisms/slices.md, mechanisms/embeddings.md).

    Privacy: public only.

    >>> import synth
    >>> facts = synth.Schema.parse({"columns": {"sex": {"type": "categorical", "categories": ["f", "m"]}}})
    >>> told = encode(facts, relation="replace_one", rows=2)
    >>> told.vectors.shape, round(told.norm, 4), round(told.sensitivity, 4)
    ((2, 2), 1.0, 1.4142)
    """
    check_schema(schema)
    if form not in FORMS:
        raise UsageError("`form={}`: must be one of {}", form, ", ".join(FORMS))
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError("`rows={}`: must be 1 to {}", rows, MOST_ROWS)
    if not schema.measured():
        raise UsageError("every column is an identifier; there is nothing to encode")
    adjacency = adjacency_of(schema, relation_named(relation))
    if method is not None:
        generator = generator_named(method, adjacency.relation, options)
        asked, _ = rehearse(generator, schema, granted(epsilon, delta, adjacency, learning=False))
        question = next((q for q, _ in asked if isinstance(q, Slices | Embedding)), None)
        if question is None:
            raise UsageError("method {}: with these options it adds up no vectors of rows", method)
    else:
        wide = any(c.cells > MOST_CATEGORIES for c in schema.measured().values() if not c.is_numeric)
        if form == "scaled" and wide:
            raise UsageError(
                "`form=scaled`: shows columns of at most {} categories; say `form=binned`", MOST_CATEGORIES
            )
        question = Slices(purpose="shown", encoding=FORMS[form](schema), sigma=1.0, groups=1)
    if isinstance(question, Slices):
        slices.events(question, adjacency)  # checks the norm
        blocks = [Block(bins=b.bins, table=t) for b, t in zip(question.encoding.blocks, question.tables, strict=True)]
        sensitivity = slices.sensitivity(question, adjacency)
        features: Any = Tensors(terms=tuple(Term(blocks=(b,), weight=1.0) for b in blocks))
    else:
        features, sensitivity = question.features, embeddings.sensitivity(question, adjacency)
    rng = np.random.default_rng(seed)
    places = {n: rng.integers(0, c.cells, rows) for n, c in schema.measured().items()}
    texts, columns = decode(places, schema, num_rows=rows), _columns(features)
    each = [[texts[n].to_pylist() for n in names] for names, _ in columns]
    return EncodedRows(
        relation=relation,
        max_rows=adjacency.max_rows,
        columns=tuple(column for _, column in columns),
        norm=features.norm,
        sensitivity=sensitivity,
        texts=tuple(tuple(", ".join(str(t[i] or "") for t in part) for part in each) for i in range(rows)),
        vectors=features.of(places),
    )


def _columns(features: Any) -> list[tuple[tuple[str, ...], EncodedColumn]]:
    """What stands together in a vector, with the columns that it is made of."""
    if not isinstance(features, Tensors):
        form = "random waves" if isinstance(features, Fourier) else "gradients of a public random network"
        parts = [(features.columns, form, features.dim, features.norm**2)]
    else:
        names = [tuple(dict.fromkeys(b.bins.column for b in t.blocks)) for t in features.terms]
        parts = [(n, _form(t), t.dim, t.square) for n, t in zip(names, features.terms, strict=True)]
    result, first = [], 0
    for names, form, width, square in parts:
        about = EncodedColumn(name=", ".join(names), form=form, first=first, width=width, norm=sqrt(square))
        result.append((names, about))
        first += width
    return result


def _form(term: Term) -> str:
    """How a term holds its columns."""
    if all(np.count_nonzero(b.table, axis=1).max() == 1 and b.width == b.bins.size for b in term.blocks):
        return Said("one-hot of {}", term.dim) if len(term.blocks) == 1 else Said("table of {} cells", term.dim)
    block = term.blocks[0]
    codes = block.width - 1
    if len(term.blocks) > 1 or block.table.min() < 0:
        return Said("{} coordinates", term.dim) if term.dim > 1 else "one coordinate"
    line = Said("one coordinate and {} for missing values", codes) if codes else Said("one coordinate")
    return Said("number in [0, {:.3g}], {}", block.table[:, 0].max(), line)
