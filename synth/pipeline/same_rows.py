"""Whether the rows about to be charged were charged under another name: asked before the spend, by who may know it.

**Guarantee**: the answer is exact, so it is worked out only for datasets on which whoever asks may spend, and which he
may therefore look into. For anybody else nothing is read, said, recorded or timed that depends on it.
"""

import secrets
from collections.abc import Callable, Sequence

import numpy as np

from synth.errors import UsageError
from synth.pipeline.private_rows import PrivateRows
from synth.privacy.ledger.ledger import Ledger
from synth.schema.table import Schema
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.rows.sketch import NOTHING, RETAINED, RowSketch, Sketch
from synth.sources.table_source import MOST_COMPARED, ParquetPlace

MaySpend = Callable[[str], bool]
SAME = (
    "these rows, or nearly all of them, were charged to {} before, and one person has one budget: charge it with "
    "`dataset={}`, or say with `separate=` that no person is in both"
)


def anybody(name: str) -> bool:  # noqa: ARG001
    """Whoever may open the ledger's file may spend on all that it holds, where no file of roles says otherwise."""
    return True


def check(rows: PrivateRows, book: Ledger, *, dataset: str, may_spend: MaySpend) -> None:
    """Errors: UsageError, naming the other datasets, where rows like these were charged to one of them."""
    if result := others(rows, book, dataset=dataset, may_spend=may_spend):
        names = [repr(name) for name in result]
        raise UsageError(SAME.format(" and ".join(names), names[0]))


def others(rows: PrivateRows, book: Ledger, *, dataset: str, may_spend: MaySpend) -> list[str]:
    """The datasets, among those that ``may_spend`` allows, to which rows like these were charged before the charge."""
    among = [name for name in book.marked() if name != dataset and may_spend(name)]
    if not among or not may_spend(dataset):
        return []
    result = mark(rows, book.row_key())
    return [] if result is None else book.twins(result, dataset=dataset, among=among, alike=_alike)


def mark(rows: PrivateRows, key: bytes) -> bytes | None:
    """The mark of the rows' cells; None for one that is too long to be compared, empty, or not to be read.

    A cell that stops the reading is no reason for another end of the run: then the rows are not compared.
    """
    return marks([rows], key)[0]


def marks(forms: Sequence[PrivateRows], key: bytes) -> list[bytes | None]:
    """As ``mark``, of several forms of the rows of one place, the first of which has all columns; read once."""
    sketches = [Sketch(key, form.columns, most=MOST_COMPARED) for form in forms]
    try:
        _fill(sketches, forms[0])
    except Exception:  # whatever a private cell brought about stays unsaid
        return [None for _ in forms]
    return [sketch.mark() for sketch in sketches]


def alike(rows: PrivateRows, other: PrivateRows, key: bytes) -> bool:
    """Whether two tables hold the same rows, or nearly all of them; False where either is too long to be compared.

    Privacy: reads rows, exact: the answer is for who may see both.
    """
    marks = mark(rows, key), mark(other, key)
    return None not in marks and _alike(*marks)  # type: ignore[arg-type]


def unlike(rows: PrivateRows) -> bytes:
    """A mark of the same length that no table's is like. Privacy: public only."""
    nothing = np.full(RETAINED, NOTHING, np.uint64)
    return RowSketch(secrets.token_bytes(32), 0, nothing, np.zeros(len(rows.columns), np.uint64)).packed()


def _fill(sketches: Sequence[Sketch], rows: PrivateRows) -> None:
    place, columns = rows.place, rows.columns
    if isinstance(place, ParquetPlace):
        for sketch in sketches:
            place.feed(sketch, columns)
        return
    if isinstance(place, WarehousePlace) and place.rows_there() > MOST_COMPARED:
        for sketch in sketches:
            sketch.give_up()
        return
    nothing = Schema.model_construct(columns={})
    for batch in place.batches(nothing, columns):
        for sketch in sketches:
            sketch.add(batch.table)
        if sketches[0].full:
            return


def _alike(one: bytes, other: bytes) -> bool:
    try:
        return RowSketch.read(one).like(RowSketch.read(other))
    except ValueError:
        return False
