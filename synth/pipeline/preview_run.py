"""The whole way of a run on public rows, before anything is spent: prepared, measured, fitted, drawn and written.

The private table is taken for another sample of the people of whom a prior is one. The ledger is made for the preview
and thrown away with its line; card and pages say that they are of public rows.

Privacy: public tables alone; no private row is read, nothing is charged.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.errors import SpentError, SynthError, UsageError
from synth.pipeline.dry_run import uncharged
from synth.pipeline.methods import generator_named
from synth.pipeline.prepare import Context
from synth.pipeline.priors import encoded, stated
from synth.pipeline.public_twin import NEEDED, Preview, stand_in, twin_of
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import RunRequest
from synth.pipeline.result import Result
from synth.pipeline.run import carry_out
from synth.privacy.ledger.row_marks import NOBODY
from synth.privacy.relation import relation_named
from synth.release import folder
from synth.release.card.statements import PREVIEW
from synth.schema import codec
from synth.schema.dataset import Dataset
from synth.schema.table import Schema

ONE_TABLE = (
    "a preview is of one table whose rows stand alone; of others a forecast with `prior=` rehearses the questions on "
    "the public rows"
)
MOST_ROWS = 100_000  # of the stand-in
TWIN, RELEASE = "public_twin.csv", "release"
STATEMENT = (
    f"{PREVIEW}. {{rows:,}} rows were drawn from {{name}} in place of the private table, of which nothing was read and "
    "to which nothing was charged"
)
FAILED = (
    "the preview would fail after the spend, as the run on the private table might ({}); choose other options or "
    "another method"
)


@dataclass(frozen=True, kw_only=True)
class Previewed:
    """What a run on public rows made. ``paths``: of its files; ``statement``: what it is made of.

    Privacy: public only.
    """

    result: Result
    statement: str
    paths: dict[str, str]

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return {**{n: v for n, v in asdict(self).items() if n != "result"}, **self.result.plain(), "paths": self.paths}


def run_preview(
    schema: Schema | Dataset,
    out: str | PathLike[str],
    *,
    prior: Sequence[str | PathLike[str]],
    rows: int,
    reporter: Reporter | None = None,
    **options: Any,
) -> Previewed:
    """A run on about ``rows`` rows that are drawn from the priors, with the files that a run would write, into ``out``.

    ``prior``: at least one; that which covers most columns stands in for the private table, whose other columns are
    drawn evenly. ``options``: as of ``run``. Errors: UsageError, InputError for whatever a run with these options would
    be refused for, and for what would strike it after its spend.

    **Guarantee**: none is needed, for no row is private; no ledger but its own is touched.

    Privacy: public only.
    """
    linked = options.get("linked")
    if schema.several or (schema.linked_rows if linked is None else linked):
        raise UsageError(ONE_TABLE)
    schema = schema.tables[schema.root]
    if not prior:
        raise UsageError(NEEDED)
    place, many = Path(out), min(rows, MOST_ROWS)
    with tempfile.TemporaryDirectory(prefix="synth-preview-") as beside, uncharged():
        asked = {**options, "prior": tuple(prior), "dataset": "preview", "separate": True, "actor": None, "run": None}
        request = RunRequest(**{**asked, "ledger": f"{beside}/ledger.sqlite", "out": place / RELEASE})
        questions = generator_named(request.method, relation_named(request.relation), request.options)
        paid = options.get("ledger")
        known = encoded(stated(request.prior, request.prior_reason, schema, questions, ledger=paid), schema)
        rng, twin = np.random.default_rng(0), twin_of(known)
        frame = _frame(stand_in(twin, schema, many, rng=rng), schema, many)
        stands = Preview(
            priors=tuple(p.drawn_again(rng=rng) if p is twin else p for p in known),
            card={
                "statement": STATEMENT.format(rows=many, name=twin.name),
                "name": twin.name,
                "sha256": twin.sha256,
                "rows": many,
            },
        )
        try:
            context = Context(rows=frame, reporter=reporter or Quiet(), audience=NOBODY)
            result = carry_out(request, schema, context, preview=stands)
        except SpentError as error:
            cause = error.__cause__
            raise UsageError(FAILED.format(cause if isinstance(cause, SynthError) else type(cause).__name__)) from None
    folder.write_table(place / TWIN, {n: pa.array(frame[n]) for n in frame}, schema, raw_text=True)
    return Previewed(
        result=result, statement=str(stands.card["statement"]), paths={**result.paths, "twin": str(place / TWIN)}
    )


def _frame(positions: Mapping[str, np.ndarray], schema: Schema, rows: int) -> pd.DataFrame:
    """The rows as text; of persons each has one row."""
    texts = {n: t.to_pandas() for n, t in codec.decode(positions, schema, num_rows=rows).items()}
    return pd.DataFrame(texts | ({schema.person: [str(i) for i in range(rows)]} if schema.person else {}))
