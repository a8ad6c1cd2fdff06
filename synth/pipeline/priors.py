"""Public tables that a run builds on: checked before the spend, encoded under the table's schema."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import InputError, SynthError, UsageError, likely, reading
from synth.files.regular_files import is_folder
from synth.generators.core.tables import averaged, tables_of
from synth.generators.method import Method
from synth.mechanisms import linked
from synth.pipeline import same_rows
from synth.pipeline.methods import generator_named
from synth.pipeline.plan_result import Plain
from synth.pipeline.private_rows import PrivateRows
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.row_marks import EVERYBODY, Audience
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import relation_named
from synth.questions import Bins, CountsRelease, Linked, Marginal
from synth.questions.features import codes
from synth.questions.linked import place, placed
from synth.release import chosen, folder
from synth.release.leaving import may_leave
from synth.schema.dataset import ONE, Dataset, number_of
from synth.schema.histories import gap_of, month_of
from synth.schema.table import Schema
from synth.sources.formats.files import parquet_files
from synth.sources.related_tables import places, read
from synth.sources.rows.forest import link
from synth.sources.rows.marginals import exact
from synth.sources.table_source import FramePlace, Place

Rows = Mapping[str, np.ndarray]
Said = tuple[np.ndarray, np.ndarray]  # counts, and the variance of their noise


class PriorAnswers:
    """The answers about two columns of one release, of which ``columns`` are described as they are now.

    The rows of a release err as its model does, alike in all tables; its answers err each by itself, so that a fit to
    both waves' answers averages their noise. Where cells were grouped otherwise, an answer is spread as the release's
    rows are. Privacy: released answers only.
    """

    def __init__(self, releases: Sequence[CountsRelease], columns: frozenset[str]) -> None:
        asked = averaged(t for t in tables_of(releases) if len(t.marginal.bins) == 2)
        self._tables: dict[frozenset[str], list[tuple[Marginal, np.ndarray]]] = {}
        for marginal, values in ((t.marginal, t.values) for t in asked.values()):
            if columns.issuperset(marginal.columns):
                self._tables.setdefault(frozenset(marginal.columns), []).append((marginal, values))
        self._codes: dict[tuple, np.ndarray] = {}

    def of(self, marginal: Marginal, rows: Rows) -> Said | None:
        """Counts and variances of the marginal's shape (A, B); None where nothing was asked. ``rows``: positions."""
        asked = self._tables.get(frozenset(marginal.columns), []) if len(marginal.bins) == 2 else []
        if not asked:
            return None
        new = self._cells(marginal.bins, rows)
        counts, precision = np.zeros(marginal.cells), np.zeros(marginal.cells)
        for known, values in asked:
            bins = known.bins if known.columns == marginal.columns else known.bins[::-1]
            table = values if known.columns == marginal.columns else values.T
            said, variance = _spread(table.ravel(), known.sigma**2, self._cells(bins, rows), new, marginal.cells)
            weight = np.divide(1.0, variance, out=np.zeros(len(variance)), where=variance > 0)
            counts, precision = counts + weight * said, precision + weight
        some = precision > 0
        variance = np.divide(1.0, precision, out=np.zeros(len(precision)), where=some)
        return (counts * variance).reshape(marginal.shape), variance.reshape(marginal.shape)

    def _cells(self, table: Sequence[Bins], rows: Rows) -> np.ndarray:
        """The cell (n,) of a table on these bins in which each row is."""
        keys = [(bins.column, bins.starts.tobytes(), bins.groups.tobytes()) for bins in table]
        for key, bins in zip(keys, table, strict=True):
            if key not in self._codes:
                self._codes[key] = bins.groups[np.searchsorted(bins.starts, rows[bins.column], side="right") - 1]
        return self._codes[keys[0]] * table[1].size + self._codes[keys[1]]


def _spread(values: np.ndarray, noise: float, old: np.ndarray, new: np.ndarray, cells: int) -> Said:
    """Answers (m,) moved from old cells to new ones, in the parts in which rows (n,) of the old lie in the new."""
    pairs, many = np.unique(old * cells + new, return_counts=True)
    source, target = np.divmod(pairs, cells)
    part = many / np.bincount(old, minlength=len(values))[source]
    counts = np.bincount(target, weights=part * values[source], minlength=cells)
    return counts, np.bincount(target, weights=part**2 * noise, minlength=cells)


CARD = "card.json"  # of a release
BEFORE = (
    "an earlier release, with epsilon {epsilon:g} and delta {delta:g} for one {unit}, which stand beside this "
    "release's for whoever is in both"
)
NO_METHOD = "method {} takes no public data; choose mixture, or leave it out"
NO_REASON = "public data {}: say why it is public, and who confirms that, with `prior_reason=`; it goes onto the card"
LOST = "public data {}: {} cells hold none of the schema's values, and say nothing; are they written as it has them?"
NO_KEY = "public data {}: table {} lacks column {}, by which its rows belong together or follow each other; add it"
CHANGED = "public data {}: it was changed while the run read it; run again once nobody writes to it"
ALONE = "public data {}: it is a release of several tables; name one of one table, or a file"
OTHER = "public data {}: it is no release of related tables; take one of the same tables, or a folder of public ones"
NOT_PERSONS = "public data {}: it is no release of one table whose persons keep their rows; name such a one, or a file"
SHARED = (
    "public data {}: it holds the private table's rows, or nearly all of them; what was made of them is not public. "
    "Take an older table, another region's, or an earlier release made by this program"
)


@dataclass(frozen=True, kw_only=True)
class Prior:
    """A public table or tables, as a file or a folder, or the folder of an earlier release of this program.

    ``reason``: why it is public; of a release its own card says it. ``places``: by file where each lies; ``columns``:
    by table the measured ones that the schema has too, ``others``: those that it has not. ``release``: an earlier one.
    """

    path: Path
    reason: str
    places: Mapping[str, Place]
    columns: Mapping[str, tuple[str, ...]]
    others: tuple[str, ...] = ()
    digest: str
    release: folder.StoredRelease | None = None

    @property
    def cards(self) -> tuple[Mapping[str, Any], ...]:
        """Of a release, its card."""
        return () if self.release is None else (self.release.card,)

    @property
    def name(self) -> str:
        """The last part of its path, for a card tells no folders; of a release whose it is, and its day."""
        if not self.cards:
            return self.path.name
        return f"release of {self.cards[0].get('dataset') or self.path.name}, {str(self.cards[0]['created'])[:10]}"

    def check(self, schema: Schema | Dataset) -> None:
        """Errors: InputError where its files, of which the card names the digest, are not those that were read."""
        if self.release is None and _digests(_lying(self.path, self.places), schema) != self.digest:
            raise InputError(CHANGED, self.name)

    def encoded(self, schema: Schema | Dataset) -> "Encoded":
        """Its rows under the private tables' schema, complete by now; of tables as trees. Errors: as of ``check``."""
        noise, key, tree, rows = SeededNoise(0), bytes(32), schema.tree, dict[str, Any]()
        if tree is None:
            known = schema.tables[ONE].only(self.columns[ONE])
            own = self.places[ONE].under(known).encoded(known, noise, person=None, key=key).encoded
            rows = {"rows": own.positions, "lost_by": {n: int(many) for n, many in own.unreadable.items() if many}}
            rows["released"] = _answers(self.release, schema.tables[ONE])
        else:
            only = tree.only(self.columns)
            opened = {
                n: read(p if self.release else p.under(only.written[n]), only.written[n], only.texts(n), noise, key=key)
                for n, p in self.places.items()
            }
            lost = {f"{t}.{n}": int(m) for t, r in opened.items() for n, m in r.encoded.unreadable.items() if m}
            trees = link(only, {t: opened[only.file_of(t)].rows for t in only.tables}, noise)
            rows = {"rows": trees, "root": tree.root, "several": only.several, "lost_by": lost}
        self.check(schema)
        return Encoded(name=self.name, sha256=self.digest, reason=self.reason, cards=self.cards, **rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """Public rows under the private tables' schema. ``cards``: of an earlier release; ``lost_by``: by column, cells
    that the schema does not know, and which therefore tell nothing.

    ``rows``: positions (n,) by column, or public trees of tables with their ``root``; ``several``: not one table, whose
    persons repeat. ``released``: of one table an earlier release's noisy answers.
    """

    name: str
    sha256: str
    reason: str
    rows: Any
    cards: tuple[Mapping[str, Any], ...] = ()
    lost_by: Mapping[str, int] = field(default_factory=dict)
    released: PriorAnswers | None = None
    root: str | None = None
    several: bool = True

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it has, of several tables by TABLE.COLUMN; numbers of children are none."""
        if self.root is None:
            return frozenset(self.rows)
        derived = {f(n) for b in self.rows.values() for n in b.columns for f in (gap_of, month_of)}
        derived |= set(map(number_of, self.rows))
        own = ((t, n) for t, b in self.rows.items() for n in b.columns if n not in derived)
        return frozenset(f"{t}.{n}" if self.several else n for t, n in own)

    @property
    def num_rows(self) -> int:
        """Rows, or roots, that it has."""
        return len(self.rows[next(iter(self.rows))] if self.root is None else self.rows[self.root].parts)

    @property
    def lost(self) -> int:
        """Cells that tell nothing, of all columns."""
        return sum(self.lost_by.values())

    def on_card(self) -> dict[str, Any]:
        """What the card says of it."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "rows": self.num_rows,
            "columns": sorted(self.columns),
            "reason": self.reason,
            **{n: card[n] for card in self.cards for n in ("epsilon", "delta")},
        }

    def drawn_again(self, size: int | None = None, *, rng: np.random.Generator) -> "Encoded":
        """Another sample of the people, or the units, that the prior is a sample of, of so many or as many; an earlier
        release's answers are not."""
        drawn = rng.integers(0, self.num_rows, size or self.num_rows)
        if self.root is not None:
            return replace(self, rows=self.rows.of_roots(drawn))
        return replace(self, rows={n: p[drawn] for n, p in self.rows.items()}, lost_by={}, released=None)

    def counts(self, tables: Sequence[Sequence[Any]]) -> list[np.ndarray]:
        """One table's counts, int64 (cells,), of tables on these groupings."""
        return exact(tables, self.rows)

    def answers(self, marginal: Marginal) -> tuple[np.ndarray, np.ndarray] | None:
        """Noisy counts and their variances, each of the marginal's shape, of an earlier release that was asked."""
        return None if self.released is None else self.released.of(marginal, self.rows)

    def sample(self, bins: Sequence[Bins], most: int) -> np.ndarray | None:
        """The bins, int64 (n, bins), of so many of one table's rows, drawn by chance; None of an earlier release."""
        if self.cards or not self.num_rows:
            return None
        rng = np.random.default_rng(0)
        at = np.sort(rng.permutation(self.num_rows)[:most])
        return np.stack([codes(b, self.rows[b.column][at]) for b in bins], axis=1)

    def weighted(self, question: Linked) -> tuple[tuple[np.ndarray, ...], tuple[str, ...]]:
        """The trees' counts at a question's cells, in roots, and the places that they lack, whose tables are zeros."""
        known = {place(t, n) for t, b in self.rows.items() for n in b.columns}
        every = {c for m in question.marginals for c in m.columns}
        lacks = {c for c in every if place(*placed(c)[:2]) not in known}
        asked = tuple(m for m in question.marginals if lacks.isdisjoint(m.columns))
        exact = iter(linked.exact(replace(question, marginals=asked), self.rows) if asked else [])
        values = tuple(
            next(exact).reshape(m.shape) / linked.UNIT if lacks.isdisjoint(m.columns) else np.zeros(m.shape)
            for m in question.marginals
        )
        return values, tuple(sorted(lacks))


def _answers(stored: folder.StoredRelease | None, schema: Schema) -> PriorAnswers | None:
    """Those about columns that the earlier release's schema describes as the present one does."""
    asked = [] if stored is None else [r for r in stored.releases if isinstance(r, CountsRelease)]
    if stored is None or not asked:
        return None
    before = stored.schema.all_columns
    return PriorAnswers(asked, frozenset(n for n, c in schema.columns.items() if n in before and before[n] == c))


REPORTED = 3  # measured columns of a table by which its rows alone are known again


def encoded(priors: Sequence[Prior | Encoded], schema: Schema | Dataset) -> tuple[Any, ...]:
    """Their rows, under a complete schema."""
    return tuple(p.encoded(schema) if isinstance(p, Prior) else p for p in priors)


def stated(
    paths: Sequence[str],
    reason: str | Sequence[str] | None,
    schema: Schema | Dataset,
    questions: Method,
    *,
    beside: Sequence[str] = (),
    ledger: Any = None,
) -> tuple[Prior, ...]:
    """The public tables named, their form checked; earlier releases, if they may leave (release/leaving.py).

    ``beside``: others that the same run takes. ``ledger``: that of the run, which tells what the choice of earlier
    releases costs; None for the usual one. Errors: UsageError, InputError naming file, rule and remedy.
    """
    if paths and not questions.takes_priors:
        raise UsageError(NO_METHOD, questions.name)
    said = [reason] * len(paths) if reason is None or isinstance(reason, str) else reason
    earlier = [Path(p) for p in (*paths, *beside) if is_folder(p) and (Path(p) / CARD).exists()]
    releases = {}
    for path in (p for p in map(Path, paths) if p in earlier):
        with reading(path, "release"):  # with the card that counts what its choice among others rests on
            releases[path] = may_leave(path, settled=partial(chosen.standing, path, beside=earlier, ledger=ledger))
    return tuple(_stated(p, why, schema, releases.get(p)) for p, why in zip(map(Path, paths), said, strict=True))


def _stated(path: Path, reason: str | None, schema: Schema | Dataset, release: folder.StoredRelease | None) -> Prior:
    if release is None and not (reason or "").strip():
        raise UsageError(NO_REASON, path.name)
    there, columns_there = _public(path, schema) if release is None else _of_release(path, release, schema)
    for table in schema.tables if schema.tree is not None else ():
        order = [k.order for k in schema.keys if k.child == table and k.order is not None]
        file = schema.file_of(table)
        if absent := [n for n in (*schema.texts(file), *order) if n not in columns_there[file]]:
            raise InputError(NO_KEY, path.name, table, absent[0])
    known = {
        t: tuple(n for n in s.measured() if n in columns_there[schema.file_of(t)]) for t, s in schema.tables.items()
    }
    if not any(known.values()):
        raise InputError("public data {}: it has none of the schema's columns; rename them as the schema's", path.name)
    own: Any = schema.tables[ONE].only(known[ONE]) if schema.tree is None else schema.tree.only(known)
    for file, one in there.items():
        measured = [n for t, names in known.items() if schema.file_of(t) == file for n in names]
        there[file] = one if release else one.under(own.written[file])
        there[file].check_form([*measured, *own.texts(file)])
    lying = [path / f"{f}.csv" for f in there] if release else _lying(path, there)
    return Prior(
        path=path,
        reason=str(reason).strip() if release is None else BEFORE.format(**release.card),
        places=there,
        columns=known,
        others=tuple(
            n for file, names in columns_there.items() for n in names if n not in schema.written[file].columns
        ),
        digest=_digests(lying, schema),
        release=release,
    )


def _of_release(
    path: Path, release: folder.StoredRelease, schema: Schema | Dataset
) -> tuple[dict[str, Place], dict[str, list[str]]]:
    """Where the tables of an earlier release lie, and the columns of each. Errors: InputError."""
    stored = release.schema
    if (stored.tree is None) != (schema.tree is None) or stored.several != schema.several:
        other = OTHER if schema.several else ALONE if schema.tree is None else NOT_PERSONS
        raise InputError(other, path.name)
    if absent := [t for t in schema.tables if t not in stored.tables]:
        raise InputError("public data {}: it has no table {}; take a release of the same tables", path.name, absent[0])
    frames = {t: folder.read_texts(path / f"{t}.csv", stored.written[t]) for t in schema.written}
    there: dict[str, Place] = {
        t: FramePlace(pd.DataFrame({n: a.to_pandas() for n, a in texts.items()})) for t, texts in frames.items()
    }
    return there, {t: list(texts) for t, texts in frames.items()}


def _public(path: Path, schema: Schema | Dataset) -> tuple[dict[str, Place], dict[str, list[str]]]:
    """Where public tables lie, and the columns of each. Errors: InputError, UsageError."""
    there = places(path, schema)
    return there, {table: one.under(schema.written[table]).header() for table, one in there.items()}


def check_apart(
    priors: Sequence[Prior],
    rows: Mapping[str, PrivateRows],
    schema: Schema | Dataset,
    book: Ledger,
    audience: Audience = EVERYBODY,
) -> None:
    """For callers who may spend on the rows, and so look at them. Errors: UsageError for a prior that holds them, or
    those of any table that the ledger charged, as far as the ``audience`` may know.

    Related tables are known again by one table of ``REPORTED`` columns or more, or by all of them with their keys.
    """
    key = book.row_key()
    for prior in (p for p in priors if p.release is None):
        own: dict[str, list[str]] = {f: [] for f in prior.places}
        for table, names in prior.columns.items():
            own[schema.file_of(table)] += names
        alone = [f for f, names in own.items() if not schema.several or len(names) >= REPORTED]
        forms = {f: [own[f], [*own[f], *schema.texts(f)]] for f in prior.places}  # with its keys, too

        same = any(_alike(rows[f], prior.places[f], forms[f][0], key) for f in alone)
        if same or (schema.several and all(_alike(rows[f], prior.places[f], forms[f][1], key) for f in prior.places)):
            raise UsageError(SHARED, prior.name)
        public = [PrivateRows(place=prior.places[f], columns=named) for f in alone for named in forms[f]]
        same_rows.check_public(public, book, what=f"public data {prior.name}", audience=audience)
        prior.check(schema)


def _alike(rows: PrivateRows, place: Place, columns: list[str], key: bytes) -> bool:
    one, other = (PrivateRows(place=p, columns=columns) for p in (rows.place, place))
    return same_rows.alike(one, other, key)


def _lying(path: Path, there: Mapping[str, Place]) -> list[Path]:
    return [getattr(p, "path", path) for p in there.values()]


def _digests(lying: Sequence[Path], schema: Schema | Dataset) -> str:
    """Of the file, or of all those of a folder in the order of their names; of related tables of their digests."""
    digests = []
    for path in lying:
        digest = hashlib.sha256()
        for one in parquet_files(path) if is_folder(path) else [path]:
            with open(one, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        digests.append(digest.hexdigest())
    return digests[0] if schema.tree is None else hashlib.sha256("".join(digests).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class PriorLook(Plain):
    """A prior as the schema reads it. ``refused``: why a run would not take it, in one line; then no more is known.

    ``columns``: covered; ``lacking``: of the schema, which it has not; ``left_out``: its own, which the schema has not.
    ``alike``: of those, by name, the column of the schema that may be meant. ``lost``: by column, cells that hold none
    of the schema's values. ``epsilon``: of an earlier release.

    Privacy: public only.
    """

    name: str
    sha256: str = ""
    rows: int = 0
    reason: str = ""
    columns: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    alike: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    epsilon: float | None = None
    refused: str = ""

    def in_words(self) -> str:
        """A line or two."""
        if self.refused:
            return self.refused
        sentences = [f"public data {self.name}: {self.rows:,} rows, {len(self.columns)} columns as the schema has them"]
        sentences += [f"not in it: {', '.join(self.lacking)}"] if self.lacking else []
        sentences += [f"left out: {', '.join(self.left_out)}"] if self.left_out else []
        sentences += [f"{theirs} may be {ours}: rename it" for theirs, ours in self.alike.items()]
        sentences += [f"{n}: {many:,} cells hold none of the schema's values" for n, many in self.lost.items()]
        return "; ".join(sentences)


def look(
    prior: Sequence[Any],
    *,
    schema: Schema,
    prior_reason: str | Sequence[str] | None = None,
    method: str = "mixture",
    relation: str = "add_remove",
    ledger: Any = None,
) -> list[PriorLook]:
    """Each prior as a run with this schema would take it, or why it would not. Opens no private table.

    ``prior``, ``prior_reason``, ``method``, ``relation``, ``ledger``: as of ``run``; the schema is complete. Errors:
    UsageError for a method or relation that there is not. Privacy: public only.
    """
    questions = generator_named(method, relation_named(relation))
    said = [prior_reason] * len(prior) if prior_reason is None or isinstance(prior_reason, str) else prior_reason
    paths = [str(path) for path in prior]
    how: dict[str, Any] = {"beside": paths, "ledger": ledger}
    return [_one(path, why, schema, questions, how) for path, why in zip(paths, said, strict=True)]


def _one(path: str, why: str | None, schema: Schema, questions: Any, how: Mapping[str, Any]) -> PriorLook:
    try:
        (one,) = stated([path], why, schema, questions, **how)
        (rows,) = encoded([one], schema)
    except SynthError as error:
        return PriorLook(name=path.rsplit("/", 1)[-1], refused=error.said)
    lacking = tuple(n for n in schema.measured() if n not in one.columns[ONE])
    meant = {n: likely(n, lacking).removeprefix("did you mean ").rstrip("?") for n in one.others if lacking}
    return PriorLook(
        name=one.name,
        sha256=rows.sha256,
        rows=rows.num_rows,
        reason=one.reason,
        columns=one.columns[ONE],
        lacking=lacking,
        left_out=one.others,
        alike={theirs: ours for theirs, ours in meant.items() if ours},
        lost=rows.lost_by,
        epsilon=one.cards[0]["epsilon"] if one.cards else None,
    )
