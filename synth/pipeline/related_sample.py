"""Related rows from a stored model: free, since the model was paid for."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from synth.errors import UsageError, reading
from synth.generators.nested_mixture.model import NestedMixture
from synth.pipeline.related_condition import PILOT, Drawing, split
from synth.pipeline.related_draw import DrawnTables
from synth.pipeline.request import check_num_rows, check_seed
from synth.pipeline.sample import MOST_ROWS
from synth.release import related_folder
from synth.schema import codec, whole_files
from synth.schema.table import Schema


def roots_of(model: NestedMixture, share: float = 1.0) -> int:
    """Roots that are drawn unasked."""
    return min(max(1, round(model.total * share)), MOST_ROWS)


def sample_to(
    model: str | Path,
    out: str | Path,
    *,
    num_roots: int | None = None,
    where: Mapping[str, str] | None = None,
    seed: int | None = None,
    raw_text: bool = False,
) -> tuple[dict[str, int], float, dict[str, str]]:
    """Related rows from a stored model: free. A CSV file a table in the folder ``out``, public ones of the release too.

    ``num_roots``: rows of the root, by default the model's own number; ``seed``, ``raw_text``: as of ``run``.

    ``where``: by TABLE.COLUMN a value, ``a|b``, or ``low..high``; of a table below the root, one of its rows meets all
    that is asked of it. Returns rows by table, the model's probability of
    ``where`` and the files. **Guarantee**: that of the model's release. Errors: InputError, UsageError.

    Privacy: released answers only.
    """
    with reading(model, "model"):
        check_num_rows(num_roots)
        check_seed(seed)
        stored = related_folder.load_model(model)
        found, schema = stored.model, stored.model.schema
        related_folder.check_out(Path(out), schema)
        public = related_folder.public_beside(model, stored)
        allowed = {
            t: {n: _places(schema.tables[t], n, wanted) for n, wanted in columns.items()}
            for t, columns in split(schema, where or {}).items()
        }
        rng = np.random.default_rng(seed)
        share = Drawing(found, allowed).probability(rng=rng)
        if not share:
            raise UsageError(f"--where: of {PILOT:,} roots of the model none meets it; ask for less")
        drawn = DrawnTables(found, num_roots or roots_of(found, share), rng=rng, where=allowed)
    blocks = {n: drawn.blocks(n) for n in schema.tables}
    paths = related_folder.write_tables(Path(out), blocks, schema, raw_text=raw_text)
    for name, file in public.items():
        paths[name] = str(Path(out) / file.name)
        if Path(paths[name]).resolve() != file.resolve():
            whole_files.write(paths[name], file.read_bytes())
    return drawn.num_rows, share, paths


def _places(schema: Schema, column: str, wanted: str) -> np.ndarray:
    try:
        return codec.places_of(schema.columns[column], wanted)
    except ValueError as error:
        raise UsageError(f"--where {column}={wanted}: {error}") from None
