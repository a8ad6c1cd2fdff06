"""Several tables from one release, as far apart as the noise leaves it open: for intervals that count the noise.

Rows of the release's model are tilted until they have redrawn moments; the argument stands in docs/inference.md."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import InputError, UsageError, reading
from synth.generators.base import Positions, Repair
from synth.generators.core.product import Product
from synth.lazy import Lazy
from synth.pipeline.combining import BeyondMeasured
from synth.pipeline.draw_rows import Drawn, whole
from synth.pipeline.inference.weighted_rows import RELATED, ROWS, WeightedRows
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import check_num_rows, check_seed
from synth.pipeline.sample import MOST_ROWS
from synth.questions import CountsRelease
from synth.release import folder, leaving
from synth.schema import codec
from synth.schema.codec import typed_frame
from synth.schema.enforcement import Rules
from synth.schema.table import Schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MOST_MOMENTS = 400  # a table costs their square
MOST_VALUES = 12  # of a column that are told apart, the commonest
CUTS = tuple(k / 10 for k in range(1, 10))  # of a number, at which its distribution is held
CANDIDATES, MIXED = 3, 0.02  # rows drawn for each one kept; weight of rows whose columns are independent
BLOCK = 1 << 13  # rows of a table made at a time
LOOSE = 0.2  # of the distance between model and table, against the noise: so large that the noisy counts decide
LENGTHS = tuple(0.5**k for k in range(12))  # of a step of Newton's method that is tried
STEPS, ENOUGH = 14, 1e-8  # of it; noise may ask for what no rows have, and then there is no end


@dataclass(frozen=True, kw_only=True)
class Features:
    """What is told of a column: which of its positions are ``values`` of their own; of numbers their ``middle`` and
    ``spread``, 0 of categories, and where they are cut."""

    name: str
    size: int
    values: tuple[int, ...]
    middle: float = 0.0
    spread: float = 0.0
    cuts: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, places: np.ndarray, schema: Schema) -> "Features":
        """By rows of the model; of categories the commonest is what the others are compared with."""
        size = schema.columns[name].size
        there = places[places < size]
        if not schema.columns[name].categories and len(there):
            cuts = sorted({int(c) for c in np.quantile(there, CUTS, method="inverted_cdf")} - {int(there.max())})
            missing = (size,) if 0 < len(there) < len(places) else ()
            return cls(
                name=name,
                size=size,
                values=missing,
                middle=float(there.mean()),
                spread=float(there.std()) or 1.0,
                cuts=tuple(cuts),
            )
        values, counts = np.unique(places, return_counts=True)
        common = values[np.argsort(-counts, kind="stable")][1 : MOST_VALUES + 1]
        return cls(name=name, size=size, values=tuple(int(v) for v in common))

    def of_rows(self, places: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Columns (N,) that are multiplied with those of other columns, and those that are not."""
        own = [(places == v).astype(float) for v in self.values]
        if not self.spread:
            return own, []
        number = np.where(places < self.size, (places - self.middle) / self.spread, 0.0)
        return [*own, number], [number**2, *((places <= c).astype(float) for c in self.cuts)]


def moments(features: Sequence[Features], positions: Mapping[str, np.ndarray]) -> np.ndarray:
    """(N, p), whose means are held: features, and their products over every two columns."""
    each = [f.of_rows(positions[f.name]) for f in features]
    pairs = [a * b for (one, _), (other, _) in combinations(each, 2) for a in one for b in other]
    return np.stack([*(x for own, alone in each for x in (*own, *alone)), *pairs], axis=1)


def many(features: Sequence[Features]) -> int:
    """How many moments there are."""
    own = [len(f.values) + bool(f.spread) for f in features]
    alone = sum(len(f.cuts) + 1 for f in features if f.spread)
    return sum(own) + alone + sum(a * b for a, b in combinations(own, 2))


def tilt(x: np.ndarray, d: np.ndarray, goal: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """(p,), by which d exp(x b) has means (p,) of x (N, p) as near to the goal as the ridge (p, p) asks.

    Minimises log sum d exp(x b) - goal b + b ridge b / 2 by Newton's method with shortened steps: of all weights with
    such means those nearest to d by the Kullback-Leibler divergence.

    >>> x = np.array([[0.0], [1.0]])
    >>> tilt(x, np.array([0.5, 0.5]), np.array([0.8]), np.zeros((1, 1))).round(4).tolist()
    [1.3863]
    """

    def at(b: np.ndarray) -> tuple[float, np.ndarray]:
        w = weights(x, d, b)
        top = float((x @ b).max())
        return float(np.log(d @ np.exp(x @ b - top)) + top - goal @ b + b @ ridge @ b / 2), w

    b = np.zeros(len(goal))
    value, w = at(b)
    for _ in range(STEPS):
        mean = w @ x
        slope = mean - goal + ridge @ b
        bend = (x * w[:, None]).T @ x - np.outer(mean, mean) + ridge + 1e-9 * np.eye(len(b))
        move = np.linalg.solve(bend, slope)
        gain = float(slope @ move)
        tried = ((b - length * move, at(b - length * move), length) for length in LENGTHS)
        better = next((t for t in tried if t[1][0] <= value - t[2] * gain / 4), None)
        if better is None or gain < ENOUGH:
            break
        b, (value, w), _ = better
    return b


def weights(x: np.ndarray, d: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(N,) d exp(x b), which sum to 1."""
    push = x @ b
    tilted = d * np.exp(push - push.max())
    return np.asarray(tilted / tilted.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Tilted:
    """A model; moments, their noisy means and the root of their covariance (p, p), and the ridge of a fit to them.

    Privacy: released answers only.
    """

    model: Product
    features: tuple[Features, ...]
    goal: np.ndarray
    root: np.ndarray
    ridge: np.ndarray
    repair: Repair | None
    mixed: float

    @classmethod
    def of(
        cls,
        model: Product,
        releases: Sequence[Any],
        schema: Schema,
        columns: Sequence[str],
        repair: Repair | None = None,
    ) -> "Tilted | None":
        """The moments as the weights of ``synth.estimates`` have them, with their noise, and with what no table told of
        them. None where they would be too many, or none. Errors: UsageError where a column was not counted."""
        drawn = model.sample(ROWS, rng=np.random.default_rng(0))
        features = tuple(Features.of(n, drawn[n], schema) for n in columns)
        if not 0 < many(features) <= MOST_MOMENTS:
            return None
        rows = WeightedRows.of(releases, drawn, model.total, columns)
        x = moments(features, rows.positions)
        size = max(float(rows.weights.sum()), 1.0)
        goal = rows.weights @ x / size
        moves, left = rows.by_counts((x - goal) / size)
        noise = moves.T @ moves
        free = rows.start.sum() * (RELATED**2 + 1 / ROWS) * (left.T @ (rows.start[:, None] * left))
        values, vectors = np.linalg.eigh(noise + free)
        return cls(
            model=model,
            features=features,
            goal=goal,
            root=vectors * np.sqrt(np.maximum(values, 0.0)),
            ridge=noise / LOOSE,
            repair=repair,
            mixed=0.0 if repair else MIXED,
        )

    def tables(self, size: int, *, rng: np.random.Generator) -> Iterator[tuple[Positions, np.ndarray]]:
        """Tables of so many rows without end, positions (size,) by column; and by how much the mean of each column of
        numbers lies above what its counts, redrawn, ask for: in deviations of their noise and of so many rows' own
        chance together (``numbers``)."""
        means = self._means()
        spread = np.sqrt((self.root[means] ** 2).sum(1) + 1 / max(size, 1))  # numbers have a deviation of about 1
        while True:
            goal = self.goal + self.root @ rng.standard_normal(len(self.goal))
            blocks = []
            for at in range(0, size, BLOCK):
                x, d, rows = self._candidates(min(size - at, BLOCK), rng)
                b = tilt(x, d, goal, self.ridge)  # from none: other rows' tilt may leave one of these all the weight
                chosen = self._retained(weights(x, d, b), rows, min(size - at, BLOCK), rng)
                blocks.append({n: p[chosen] for n, p in rows.items()})
            made = {n: np.concatenate([b[n] for b in blocks]) for n in blocks[0]}
            mean = np.array([f.of_rows(made[f.name])[0][-1].mean() for f in self.features if f.spread])
            yield made, (mean - goal[means]) / spread

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        return [f.name for f in self.features if f.spread]

    def _means(self) -> list[int]:
        """Which moments are the means of ``numbers``."""
        starts = np.cumsum([0, *(len(f.values) + (2 + len(f.cuts) if f.spread else 0) for f in self.features)])
        return [int(at) + len(f.values) for at, f in zip(starts, self.features, strict=False) if f.spread]

    def _candidates(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Positions]:
        """Rows of the model, and some with independent columns, which stand where it has none."""
        count = max(CANDIDATES * size, 1000)
        rows = self.model.sample(count, rng=rng, repair=self.repair)
        d = np.full(count, 1 / count)
        if self.mixed:
            extra = max(count // 20, 1)
            rows = {n: np.concatenate([p, rng.permutation(p)[:extra]]) for n, p in rows.items()}
            d = np.append(d * (1 - self.mixed), np.full(extra, self.mixed / extra))
        return moments(self.features, rows), d, rows

    def _retained(self, w: np.ndarray, rows: Positions, size: int, rng: np.random.Generator) -> np.ndarray:
        """Rows drawn by their weights at even steps, from rows in the order of their values, then shuffled."""
        order = np.lexsort([rng.random(len(w)), *(rows[f.name] for f in self.features)])
        steps = np.diff(np.floor(np.append(0.0, np.cumsum(w[order])) / w.sum() * size + rng.random()).astype(np.int64))
        chosen = np.repeat(order, steps)
        return rng.permutation(chosen)[:size]


networks = Lazy("synth.numeric.networks")  # and with it torch

MOST = 200  # tables at a time
FAR = 0.7  # deviations of noise and chance: an interval that far off covers nine times in ten, not nineteen in twenty


def _warn(message: str) -> None:
    warnings.warn(message, BeyondMeasured, stacklevel=4)  # where the caller asked for one table more


def multiple(
    release: str | Path, *, count: int = 20, reporter: Reporter | None = None, **asked: Any
) -> Iterator["pd.DataFrame"]:
    """``count`` tables, one after the other, each from a model that the release's noisy counts bear as well; free.

    Numbers and dates are such, categories text. ``asked``: ``num_rows`` of each table, by default the source's number
    of rows, public or as released, which ``synth.combine`` takes for granted; ``seed``, of which the same gives the
    same tables; ``columns`` of the analysis, whose counts the tables then follow, by default all, or of a wide table as
    far as the model can. ``reporter``: is told of progress, and after the last table by a note of each column of
    numbers whose mean the tables could not follow; without one that is a warning (``BeyondMeasured``).

    **Guarantee**: that of the release (post-processing). Errors: UsageError for a release of another method than
    ``mixture`` and for columns that were not counted or are too many, InputError for a damaged one.

    Privacy: released answers only.
    """
    schema, tables = texts(release, count=count, reporter=reporter or Quiet(_warn), **asked)
    for one in tables:
        yield typed_frame(one, schema)


def multiple_to(
    release: str | Path,
    out: str | Path,
    *,
    count: int = 20,
    raw_text: bool = False,
    dialect: str = "same",
    reporter: Reporter | None = None,
    **asked: Any,
) -> list[str]:
    """As ``multiple``, into a folder: 01.csv, 02.csv and so on; returns their paths.

    **Guarantee**: that of the release. Errors: as of ``multiple``; UsageError for a folder that cannot be written.

    Privacy: released answers only.
    """
    place = Path(out)
    folder.check_out(place)
    schema, tables = texts(release, count=count, reporter=reporter or Quiet(), **asked)
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
    reporter: Reporter,
    num_rows: int | None = None,
    seed: int | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[Schema, Iterator[dict[str, "pa.Array"]]]:
    """The schema, and the tables as text. All that can be refused is refused here."""
    if not 2 <= count <= MOST:
        raise UsageError("`count={}`: at least 2 tables, at most {}; 20 are enough for most intervals", count, MOST)
    check_num_rows(num_rows)
    check_seed(seed)
    stored = folder.load_release(release)
    leaving.check_drawn(release, stored.card)
    if stored.method != "mixture":
        raise UsageError("`count=`: is for releases of mixture, and this one is of {}", stored.method)
    schema = stored.setting.schema
    known = {b.column for r in stored.releases if isinstance(r, CountsRelease) for m, _ in r.items() for b in m.bins}
    for name in set(columns or ()) - known:
        raise UsageError("`columns={}`: no counts of it were released", name)
    asked = tuple(columns or (n for n in schema.measured() if n in known))
    reporter.stage("fit")
    with reading(release, "release"):
        model = folder.load_model(release).model
        if not isinstance(model, Product):
            raise InputError("{}: its model is none of mixture; use another copy", release)
        repair = Rules(schema).repair if schema.constraints or schema.given else None
        tilted = Tilted.of(model, stored.releases, schema, asked, repair)
    if tilted is None and columns:
        raise UsageError(
            "`columns={}`: too many to be followed together; name those of one analysis", ",".join(columns)
        )
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
