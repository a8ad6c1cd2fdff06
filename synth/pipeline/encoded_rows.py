"""How rows become vectors of bounded norm, shown on rows made up from the schema: nothing private is looked at.

The encoding, its norms and the sensitivity are those of the very code that `slicing` asks with: its encodings, the
lattice on which a mechanism sums them (questions/slices.py), and its statement of sensitivity (mechanisms/slices.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from synth.errors import UsageError
from synth.generators.papers import slicing as encodings
from synth.mechanisms import slices
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.relation import relation_named
from synth.questions import Slices
from synth.questions.features import Block, looked_up
from synth.schema.codec import decode
from synth.schema.dataset import check_schema
from synth.schema.table import Schema

FORMS = {"scaled": encodings.scaled, "binned": encodings.binned}
MOST_ROWS = 1000
MOST_CATEGORIES = 2000  # of a column that is shown one-hot


@dataclass(frozen=True, kw_only=True)
class EncodedColumn:
    """One column's coordinates ``first`` to ``first + width - 1`` of a row's vector, and their norm at most.

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
    schema: Schema, *, relation: str = "add_remove", form: str = "scaled", rows: int = 3, seed: int = 0
) -> EncodedRows:
    """``rows`` made-up rows of the schema as vectors, with bounds of norm and the sensitivity that follows.

    Every position of a column is as likely as any other. ``form``: ``scaled``, categories one-hot and numbers one
    coordinate in [0, 1]; ``binned``, one-hot on at most 24 bins a column. ``vectors`` has shape (rows, d), its entries
    multiples of 2**-20. ``relation``: as of ``run``. ``seed``: of the made-up rows. Touches no table. Errors:
    UsageError.

    **Guarantee**: ||vector|| <= 1 for every row, made up or real (mechanisms/slices.md).

    Privacy: public only.

    >>> import synth
    >>> facts = synth.Schema.parse({"columns": {"sex": {"type": "categorical", "categories": ["f", "m"]}}})
    >>> told = encode(facts, relation="replace_one", rows=2)
    >>> told.vectors.shape, round(told.norm, 4), round(told.sensitivity, 4)
    ((2, 2), 1.0, 1.4142)
    """
    check_schema(schema)
    if form not in FORMS:
        raise UsageError(f"`form={form}`: must be one of {', '.join(FORMS)}")
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError(f"`rows={rows}`: must be 1 to {MOST_ROWS}")
    if not schema.measured():
        raise UsageError("every column is an identifier; there is nothing to encode")
    if form == "scaled" and any(c.cells > MOST_CATEGORIES for c in schema.measured().values() if not c.is_numeric):
        raise UsageError(f"`form=scaled`: shows columns of at most {MOST_CATEGORIES} categories; say `form=binned`")
    question = Slices(purpose="shown", encoding=FORMS[form](schema), sigma=1.0, groups=1)
    adjacency = adjacency_of(schema, relation_named(relation))
    blocks = [Block(bins=b.bins, table=t) for b, t in zip(question.encoding.blocks, question.tables, strict=True)]
    rng = np.random.default_rng(seed)
    places = {n: rng.integers(0, c.cells, rows) for n, c in schema.measured().items()}
    texts = decode(places, schema, num_rows=rows)
    vectors = np.hstack([looked_up(b, places[b.bins.column]) for b in blocks])
    return EncodedRows(
        relation=relation,
        max_rows=adjacency.max_rows,
        columns=_columns(blocks),
        norm=sqrt(sum(b.square for b in blocks)),
        sensitivity=slices.events(question, adjacency)[0].sensitivity,  # after the mechanism's own check of the norm
        texts=tuple(zip(*(texts[b.bins.column].to_pylist() for b in blocks), strict=True)),
        vectors=vectors,
    )


def _columns(blocks: Sequence[Block]) -> tuple[EncodedColumn, ...]:
    columns, first = [], 0
    for block in blocks:
        name = block.bins.column
        one_hot = block.width == block.bins.size
        codes = block.width - 1
        line = "one coordinate" + (f" and {codes} for missing values" if codes else "")
        form = f"one-hot of {block.width}" if one_hot else f"number in [0, {block.table[:, 0].max():.3g}], {line}"
        columns.append(EncodedColumn(name=name, form=form, first=first, width=block.width, norm=sqrt(block.square)))
        first += block.width
    return tuple(columns)
