"""Several tables from one release, as far apart as the noise leaves it open: for intervals that count the noise."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import InputError, UsageError, reading
from synth.generators.core.product import Product
from synth.lazy import Lazy
from synth.pipeline.combining import BeyondMeasured
from synth.pipeline.draw_rows import Drawn, whole
from synth.pipeline.inference.tilted_rows import Tilted
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import check_num_rows, check_seed
from synth.pipeline.sample import MOST_ROWS
from synth.questions import CountsRelease
from synth.release import folder, leaving
from synth.schema import codec
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.schema.typed_frame import typed_frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

networks = Lazy("synth.numeric.networks")  # and with it torch

MOST = 200  # tables at a time
FAR = 0.7  # deviations of noise and chance: an interval that far off covers nine times in ten, not nineteen in twenty


class Warns(Quiet):
    """What is noted is warned of."""

    def note(self, message: str) -> None:
        warnings.warn(message, BeyondMeasured, stacklevel=4)  # where the caller asked for one table more


def multiple(
    release: str | Path,
    *,
    count: int = 20,
    num_rows: int | None = None,
    seed: int | None = None,
    columns: Sequence[str] | None = None,
    reporter: Reporter | None = None,
) -> Iterator["pd.DataFrame"]:
    """``count`` tables, one after the other, each from a model that the release's noisy counts bear as well; free.

    Numbers and dates are such, categories text. ``num_rows``: of each table; by default the source's number of rows,
    public or as released, which ``synth.combine`` takes for granted. The same ``seed`` gives the same tables.
    ``columns``: those of the analysis, whose counts the tables then follow; by default all, or of a wide table as far
    as the model can. ``reporter``: is told of progress, and after the last table by a note of each column of numbers
    whose mean the tables could not follow; without one that is a warning (``BeyondMeasured``).

    **Guarantee**: that of the release (post-processing). Errors: UsageError for a release of another method than
    ``mixture`` and for columns that were not counted or are too many, InputError for a damaged one.

    Privacy: released answers only.
    """
    heard = reporter or Warns()
    schema, tables = texts(release, count=count, num_rows=num_rows, seed=seed, columns=columns, reporter=heard)
    for one in tables:
        yield typed_frame(one, schema)


def multiple_to(
    release: str | Path,
    out: str | Path,
    *,
    count: int = 20,
    num_rows: int | None = None,
    seed: int | None = None,
    columns: Sequence[str] | None = None,
    raw_text: bool = False,
    dialect: str = "same",
    reporter: Reporter | None = None,
) -> list[str]:
    """As ``multiple``, into a folder: 01.csv, 02.csv and so on; returns their paths.

    **Guarantee**: that of the release. Errors: as of ``multiple``; UsageError for a folder that cannot be written.

    Privacy: released answers only.
    """
    place = Path(out)
    folder.check_out(place)
    schema, tables = texts(release, count=count, num_rows=num_rows, seed=seed, columns=columns, reporter=reporter)
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, one in enumerate(tables):
        paths.append(str(place / f"{i + 1:0{len(str(count))}d}.csv"))
        folder.write_table(Path(paths[-1]), one, schema, raw_text=raw_text, dialect=dialect)
    return paths


def texts(
    release: str | Path,
    *,
    count: int,
    num_rows: int | None,
    seed: int | None,
    columns: Sequence[str] | None,
    reporter: Reporter | None,
) -> tuple[Schema, Iterator[dict[str, "pa.Array"]]]:
    """The schema, and the tables as text. All that can be refused is refused here."""
    if not 2 <= count <= MOST:
        raise UsageError(f"`count={count}`: at least 2 tables, at most {MOST}; 20 are enough for most intervals")
    check_num_rows(num_rows)
    check_seed(seed)
    stored = folder.load_release(release)
    leaving.check_drawn(release, stored.card)
    if stored.method != "mixture":
        raise UsageError(f"`count=`: is for releases of mixture, and this one is of {stored.method}")
    schema, reported = stored.setting.schema, counted(stored.releases, stored.setting.schema)
    for name in set(columns or ()) - set(reported):
        raise UsageError(f"`columns={name}`: no counts of it were released")
    reporter = reporter or Quiet()
    reporter.stage("fit")
    with reading(release, "release"):
        model = folder.load_model(release).model
        if not isinstance(model, Product):
            raise InputError(f"{release}: its model is none of mixture; use another copy")
        repair = Rules(schema).repair if schema.constraints or schema.given else None
        tilted = Tilted.of(model, stored.releases, schema, tuple(columns or reported), repair)
    if tilted is None and columns:
        raise UsageError(f"`columns={','.join(columns)}`: too many to be followed together; name those of one analysis")
    size = num_rows or stored.setting.public_rows or min(max(1, round(model.total)), MOST_ROWS)
    rng = np.random.default_rng(seed)
    if tilted is None:
        return schema, _refitted(release, stored, model, size, count, rng, reporter)
    return schema, _tilted(tilted, schema, size, count, rng, reporter)


def _tilted(
    tilted: Tilted, schema: Schema, size: int, count: int, rng: np.random.Generator, reporter: Reporter
) -> Iterator[dict[str, "pa.Array"]]:
    """Ends with a note of the columns whose means the tables could not follow."""
    off = []
    for i, (rows, above) in zip(range(count), tilted.tables(size, rng=rng), strict=False):
        reporter.progress((i + 1) / count)
        off.append(above)
        yield codec.decode(rows, schema, num_rows=size)
    for name, by in zip(tilted.numbers, np.mean(off, axis=0), strict=True):
        if abs(by) > FAR:
            reporter.note(
                f"{name}: its mean in these tables is {'above' if by > 0 else 'below'} what the noisy counts say, by "
                f"{abs(by):.1f} deviations of noise and chance; take it from synth.estimates (docs/inference.md)"
            )


def _refitted(
    release: str | Path,
    stored: folder.StoredRelease,
    model: Product,
    size: int,
    count: int,
    rng: np.random.Generator,
    reporter: Reporter,
) -> Iterator[dict[str, "pa.Array"]]:
    """Of a wide table: the model fitted again to counts under noise of their own."""
    from synth.generators.core.posterior import PosteriorDraws

    with reading(release, "release"), networks.one_thread():
        redraws = PosteriorDraws.of(model, stored.releases, stored.setting)
    models = redraws.models(count, rng=rng, progress=reporter.progress)
    while True:
        with reading(release, "release"), networks.one_thread():
            drawn = next(models, None)
        if drawn is None:
            return
        yield whole(Drawn(drawn, stored.schema, size, rng=rng).blocks())


def counted(releases: Sequence[Any], schema: Schema) -> tuple[str, ...]:
    """The columns of which counts were released."""
    known = {b.column for r in releases if isinstance(r, CountsRelease) for m in r.question.marginals for b in m.bins}
    return tuple(n for n in schema.measured() if n in known)
