"""Rows from a stored model by Spark's executors, each part drawn from a seed of its own: a table, or a folder of files.

The parts and their seeds are those of a folder of parts (sample_parts.py): who draws a part, how often and beside how
many others makes no difference to its rows, and seeds hold nothing of the private table. A file of a part has the same
bytes too, and takes its name when it is whole, so that a task that is tried again or speculated on changes nothing. The
model is sent to the executors, which need this package; where they lack it, the parts of a table are drawn here and
sent.
"""

import hashlib
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synth.errors import InputError, UsageError
from synth.files import whole_files
from synth.pipeline import sample_parts
from synth.pipeline.condition import allowed_by
from synth.pipeline.draw_rows import Drawn, rows_at_a_time
from synth.release import folder
from synth.schema import codec
from synth.sources.engines.engine import Engine

FILES = ("model.json", "model.safetensors")
_opened: dict[bytes, folder.StoredModel] = {}  # of an executor's Python: the model that it draws from


def write(
    model: str | Path,
    stored: folder.StoredModel,
    engine: Engine,
    table: str,
    *,
    num_rows: int,
    seed: int | None,
    where: Mapping[str, str],
) -> None:
    """All rows, as a table that is not there yet.

    **Guarantee**: that of the model's release. Errors: InputError, also where there is such a table.

    Privacy: released answers only.
    """
    seed = secrets.randbits(32) if seed is None else seed
    rows = rows_at_a_time(stored.schema)
    sizes = [min(rows, num_rows - first) for first in range(0, num_rows, rows)]
    if not executors_draw(engine):
        engine.store(table, (b for p in range(len(sizes)) for b in part(stored, p, rows, sizes[p], seed, where)))
        return
    schema, name = engine.split(table)
    if name in engine.tables(schema):
        raise InputError(f"source {engine.shown}: a table {table!r} exists already; choose another name")
    reported = next(iter(part(stored, 0, rows, 1, seed, where)))
    types = pa.schema([(n, a.type) for n, a in reported.items()])
    work = drawer(_packed(model), rows, tuple(sizes), seed, dict(where))
    with engine.answering():
        from pyspark.sql.pandas.types import from_arrow_schema

        session = engine.backend._session
        parts = session.range(0, len(sizes), 1, numPartitions=len(sizes))  # an executor's task for each part
        drawn = parts.mapInArrow(work, from_arrow_schema(types))
        drawn.write.mode("error").saveAsTable(engine.qualified(schema, name))


def part(
    stored: folder.StoredModel, number: int, rows: int, size: int, seed: int, where: Mapping[str, str]
) -> Iterator[dict[str, pa.Array]]:
    """The rows of one part, some at a time, as the folder's file of that number holds them.

    Privacy: released answers only.
    """
    rng = np.random.default_rng([seed, number])
    allowed = allowed_by(stored.schema, where) or None
    drawn = Drawn(stored.model, stored.schema, size, rng=rng, where=allowed, first=number * rows + 1)
    for texts in drawn.blocks():
        yield codec.typed(texts, stored.schema)


def drawer(
    packed: dict[str, bytes], rows: int, sizes: tuple[int, ...], seed: int, where: dict[str, str]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What an executor does with the numbers of its parts.

    Privacy: released answers only.
    """

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        stored = _unpacked(packed)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for columns in part(stored, number, rows, sizes[number], seed, where):
                    yield pa.RecordBatch.from_pydict(columns)

    return work


def parts_of(
    engine: Engine, model: str | Path, out: Path, parts: sample_parts.Parts, left: list[int]
) -> dict[str, str]:
    """The parts ``left`` of a folder that the executors reach under the same path; their checksums by file.

    **Guarantee**: that of the model's release. Errors: InputError; UsageError where executors lack this package.

    Privacy: released answers only.
    """
    if not executors_draw(engine):
        raise UsageError("`source=`: the executors' Python has not this package; install it there, or leave it out")
    work = part_drawer(_packed(model), out.absolute(), parts, tuple(left))
    with engine.answering():
        numbers = engine.backend._session.range(0, len(left), 1, numPartitions=len(left))
        drawn = numbers.mapInArrow(work, "name string, checksum string").toArrow()
    return dict(zip(drawn.column("name").to_pylist(), drawn.column("checksum").to_pylist(), strict=True))


def part_drawer(
    packed: dict[str, bytes], out: Path, parts: sample_parts.Parts, left: tuple[int, ...]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What an executor does with the places of its parts in ``left``: a file each.

    Privacy: released answers only.
    """

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        stored = _unpacked(packed)
        allowed = allowed_by(stored.schema, parts.where)
        for batch in batches:
            for at in batch.column(0).to_pylist():
                held = sample_parts.part(stored, parts, out, left[at], allowed)
                yield pa.RecordBatch.from_pydict({"name": [parts.name(left[at])], "checksum": [held]})

    return work


def executors_draw(engine: Engine) -> bool:
    """Whether executors have this package: asked of one row that is nobody's.

    Privacy: public only.
    """

    def asked(batches: Iterable[Any]) -> Iterator[Any]:
        import synth.pipeline.sample_spark  # noqa: F401

        yield from batches

    try:
        engine.backend._session.range(1).mapInArrow(asked, "id bigint").collect()
    except Exception:
        return False
    return True


def _unpacked(packed: dict[str, bytes]) -> folder.StoredModel:
    """The model; a Python that draws several parts one after the other reads it once."""
    digest = hashlib.sha256(b"".join(packed.values())).digest()
    if digest not in _opened:
        with tempfile.TemporaryDirectory() as name:
            for file, held in packed.items():
                whole_files.write(Path(name) / file, held, durable=False)
            _opened.clear()
            _opened[digest] = folder.load_model(name)
    return _opened[digest]


def _packed(model: str | Path) -> dict[str, bytes]:
    path = Path(model) / "model.json" if Path(model).is_dir() else Path(model)
    return {FILES[0]: path.read_bytes(), FILES[1]: path.with_suffix(".safetensors").read_bytes()}
