"""Rows from a stored model in parts, drawn side by side: a folder of Parquet files, or a table that Spark makes.

Every part is drawn from a seed of its own that follows from the whole's: who draws it, when, how often and beside how
many others makes no difference to its rows and bytes. A file appears whole or not at all; one that is there is not
drawn again. Beside the files stand their checksums, as ``sha256sum -c _SHA256SUMS`` reads them. Spark's executors are
sent the model and need this package; where they lack it, the parts of a table are drawn here and sent.
"""

import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from synth.errors import InputError, UsageError
from synth.files import whole_files
from synth.languages import Said
from synth.pipeline.draw_rows import Condition, Drawn, allowed_by, rows_at_a_time
from synth.release import folder
from synth.schema import codec
from synth.sources.engines.engine import Engine
from synth.sources.formats import files

ABOUT, SUMS = "_parts.json", "_SHA256SUMS"  # by their names, readers of folders of Parquet pass such files over
FORMAT = "facsimile-parts/1"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a folder of parts holds; whoever has the model can draw any of them.

    ``model``: SHA-256 of the model's two files. ``rows``: of each part but the last. ``where``: a condition's words.
    """

    model: str
    num_rows: int
    rows: int
    seed: int
    where: dict[str, str]

    @property
    def count(self) -> int:
        """Number of files."""
        return -(-self.num_rows // self.rows)

    def name(self, part: int) -> str:
        """A part's file."""
        return f"part-{part:06d}.parquet"

    def drawn(self, stored: folder.StoredModel, number: int, allowed: Condition | None) -> Drawn:
        """The rows of one part."""
        first = number * self.rows
        size, rng = min(self.rows, self.num_rows - first), np.random.default_rng([self.seed, number])
        return Drawn(stored.model, stored.schema, size, rng=rng, where=allowed or None, first=first + 1)

    @classmethod
    def there(cls, out: Path) -> Self | None:
        """What the folder says of itself; None where it holds no parts. Errors: InputError where it is damaged."""
        try:
            parsed = json.loads((out / ABOUT).read_text())
            if parsed.pop("format") != FORMAT:
                raise ValueError
            return cls(**parsed)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise InputError("{}: not readable; remove the folder, or name another one", out / ABOUT) from None


def write(
    model: str | Path,
    stored: folder.StoredModel,
    out: Path,
    *,
    num_rows: int,
    seed: int | None,
    where: Mapping[str, str],
    allowed: Condition,
    workers: int | None = None,
    draw: "Callable[[Parts, list[int]], dict[str, str]] | None" = None,
) -> None:
    """All parts of ``out`` that are not there, and the checksums of all. ``stored``: what ``model`` holds.

    ``workers``: processes, by default one for each processor. ``draw``: who draws parts in their place, and returns the
    checksums by file.

    **Guarantee**: that of the model's release. Errors: InputError for a folder of other rows, or one that cannot be
    written to; UsageError.

    Privacy: released answers only.
    """
    before = Parts.there(out)
    parts = Parts(
        model=hashlib.sha256(b"".join(bytes.fromhex(checksum(f)) for f in _files(model))).hexdigest(),
        num_rows=num_rows,
        rows=rows_at_a_time(stored.schema),
        seed=seed if seed is not None else before.seed if before is not None else secrets.randbits(32),
        where=dict(where),
    )
    if before is not None and before != parts:
        raise UsageError("`out={}`: it holds parts of other rows ({}); name another folder", out, _apart(before, parts))
    try:
        out.mkdir(parents=True, exist_ok=True)
        if before is None and any(out.iterdir()):
            raise UsageError("`out={}`: the folder holds other files; name one that is empty or not there", out)
        whole_files.write(out / ABOUT, json.dumps({"format": FORMAT, **asdict(parts)}) + "\n")
    except OSError as error:
        raise InputError("{}: cannot be written ({})", out, error) from None
    left = [p for p in range(parts.count) if not (out / parts.name(p)).exists()]
    many = min(workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, len(left))
    if draw is not None:
        drawn = draw(parts, left) if left else {}
    elif many <= 1:
        drawn = {parts.name(p): part(stored, parts, out, p, allowed) for p in left}
    else:
        drawn = _draw_side_by_side(Path(model), out, [left[i::many] for i in range(many)])
    _add_sums(out, parts, drawn)
    for begun in out.glob(".part-*.part"):  # by a call that was killed
        begun.unlink(missing_ok=True)


def _apart(before: Parts, parts: Parts) -> str:
    names = {**{n: f"`{n}=`" for n in ("num_rows", "seed", "where")}, "rows": "rows of a part", "model": "model"}
    return "another " + " and ".join(names[n] for n, v in asdict(before).items() if v != getattr(parts, n))


def _files(model: str | Path) -> tuple[Path, Path]:
    """The two files of a model, or of the folder that it lies in."""
    path = Path(model) / "model.json" if Path(model).is_dir() else Path(model)
    return path, path.with_suffix(".safetensors")


def part(stored: folder.StoredModel, parts: Parts, out: Path, number: int, allowed: Condition) -> str:
    """Draws one part into its file; its SHA-256.

    Errors: InputError. Privacy: released answers only.
    """
    files.write_parts(
        out / parts.name(number), parts.drawn(stored, number, allowed).listed(), listed=True, synthetic=True
    )
    return checksum(out / parts.name(number))


def checksum(path: Path) -> str:
    """The SHA-256 of a file. Privacy: public only."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _add_sums(out: Path, parts: Parts, drawn: Mapping[str, str]) -> None:
    """Writes the checksums of all parts: those just drawn, those known before, and others from their files.

    Errors: InputError for a part that is not there.
    """
    lines = (out / SUMS).read_text().splitlines() if (out / SUMS).exists() else []
    known = {name: digest for digest, _, name in (line.partition("  ") for line in lines)} | dict(drawn)
    names = [parts.name(p) for p in range(parts.count)]
    absent = [n for n in names if not (out / n).exists()]
    if absent:
        raise InputError(
            "{}: {} parts are not there; the folder must lie on a disk that all who draw share", out, len(absent)
        )
    listed = "".join(f"{known.get(n) or checksum(out / n)}  {n}\n" for n in names)
    whole_files.write(out / SUMS, listed)


def _draw_side_by_side(model: Path, out: Path, turns: list[list[int]]) -> dict[str, str]:
    """Processes of their own: text and files are made under one interpreter's lock each. Returns the checksums.

    Errors: InputError with what the first that failed says.
    """
    threads = {"OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    helpers = [
        subprocess.Popen(
            [sys.executable, "-m", "synth.pipeline.sample_parts", str(model), str(out), json.dumps(turn)],
            env={**os.environ, **threads},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for turn in turns
    ]
    try:
        said = [(*h.communicate(), h.returncode) for h in helpers]
    finally:
        for helper in helpers:
            helper.kill()
    for _, text, code in said:
        if code:
            why = "" if "\n" in text.strip() else text.strip()  # more than a line is Python's own complaint
            raise InputError(why or Said("{}: a process that drew rows was ended; call again to go on", out))
    return {name: checksum_there for answer, _, _ in said for name, checksum_there in json.loads(answer).items()}


def _main(model: str, out: str, turn: str) -> None:
    """A helper's part of the work."""
    parts = Parts.there(Path(out))
    if parts is None:
        sys.exit(f"{out}: the folder was removed while rows were drawn")
    stored = folder.load_model(model)
    allowed = allowed_by(stored.schema, parts.where)
    try:
        drawn = {parts.name(p): part(stored, parts, Path(out), p, allowed) for p in json.loads(turn)}
    except InputError as error:
        sys.exit(str(error))
    print(json.dumps(drawn))


def store(
    model: str | Path,
    stored: folder.StoredModel,
    engine: Engine,
    table: str,
    *,
    num_rows: int,
    seed: int | None,
    where: Mapping[str, str],
) -> None:
    """All rows as a table of Spark's that is not there yet.

    **Guarantee**: that of the model's release. Errors: InputError, also where there is such a table.

    Privacy: released answers only.
    """
    seed = secrets.randbits(32) if seed is None else seed
    parts = Parts(model="", num_rows=num_rows, rows=rows_at_a_time(stored.schema), seed=seed, where=dict(where))
    if not executors_draw(engine):
        engine.store(table, (b for p in range(parts.count) for b in _typed(stored, parts, p)))
        return
    schema, name = engine.split(table)
    if name in engine.tables(schema):
        raise InputError("source {}: a table {!r} exists already; choose another name", engine.shown, table)
    first = next(_typed(stored, replace(parts, num_rows=1), 0))
    types = pa.schema([(n, a.type) for n, a in first.items()])
    with engine.answering():
        from pyspark.sql.pandas.types import from_arrow_schema

        drawn = _by_executors(engine, model, parts.count, from_arrow_schema(types), lambda s, p: _typed(s, parts, p))
        drawn.write.mode("error").saveAsTable(engine.qualified(schema, name))


def parts_of(engine: Engine, model: str | Path, out: Path, parts: Parts, left: list[int]) -> dict[str, str]:
    """The parts ``left`` of a folder that the executors reach under the same path; their checksums by file.

    **Guarantee**: that of the model's release. Errors: InputError; UsageError where executors lack this package.

    Privacy: released answers only.
    """
    if not executors_draw(engine):
        raise UsageError("`source=`: the executors' Python has not this package; install it there, or leave it out")
    place = out.absolute()

    def drawn(stored: folder.StoredModel, at: int) -> Iterator[dict[str, Any]]:
        digest = part(stored, parts, place, left[at], allowed_by(stored.schema, parts.where))
        yield {"name": [parts.name(left[at])], "checksum": [digest]}

    with engine.answering():
        told = _by_executors(engine, model, len(left), "name string, checksum string", drawn).toArrow()
    return dict(zip(told.column("name").to_pylist(), told.column("checksum").to_pylist(), strict=True))


def _typed(stored: folder.StoredModel, parts: Parts, number: int) -> Iterator[dict[str, pa.Array]]:
    """The rows of one part, some at a time, as the folder's file of that number holds them."""
    for texts in parts.drawn(stored, number, allowed_by(stored.schema, parts.where)).blocks():
        yield codec.typed(texts, stored.schema)


def _by_executors(
    engine: Engine,
    model: str | Path,
    count: int,
    types: Any,
    each: Callable[[folder.StoredModel, int], Iterator[dict[str, Any]]],
) -> Any:
    """A frame of Spark's, to which a task for each of ``count`` numbers gives columns of these types."""
    packed = [file.read_bytes() for file in _files(model)]

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        stored = _unpacked(packed)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for columns in each(stored, number):
                    yield pa.RecordBatch.from_pydict(columns)

    numbers = engine.backend._session.range(0, count, 1, numPartitions=count)
    return numbers.mapInArrow(work, types)


def executors_draw(engine: Engine) -> bool:
    """Whether executors have this package: asked of one row that is nobody's.

    Privacy: public only.
    """

    def asked(batches: Iterable[Any]) -> Iterator[Any]:
        import synth.pipeline.sample_parts  # noqa: F401

        yield from batches

    try:
        engine.backend._session.range(1).mapInArrow(asked, "id bigint").collect()
    except Exception:
        return False
    return True


_opened: dict[bytes, folder.StoredModel] = {}  # of an executor's Python: the model that it draws from


def _unpacked(packed: list[bytes]) -> folder.StoredModel:
    """The model; a Python that draws several parts one after the other reads it once."""
    digest = hashlib.sha256(b"".join(packed)).digest()
    if digest not in _opened:
        with tempfile.TemporaryDirectory() as name:
            for file, content in zip(_files(name), packed, strict=True):
                whole_files.write(file, content, durable=False)
            _opened.clear()
            _opened[digest] = folder.load_model(name)
    return _opened[digest]


if __name__ == "__main__":
    _main(*sys.argv[1:])
