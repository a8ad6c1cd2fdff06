"""Public tables that a run takes as prior knowledge: checked before the spend, encoded under the table's schema."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd

from synth.errors import InputError, UsageError
from synth.files.regular_files import is_folder
from synth.generators.method import Method
from synth.pipeline import related_priors, same_rows
from synth.pipeline.prior_answers import PriorAnswers
from synth.pipeline.private_rows import PrivateRows
from synth.pipeline.related_priors import PriorTrees, RelatedPrior
from synth.privacy.noise import SeededNoise
from synth.questions import CountsRelease, Marginal
from synth.release import folder
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Schema
from synth.sources.formats import files
from synth.sources.formats.table_versions import parquet_files
from synth.sources.rows.encoded import parts
from synth.sources.rows.marginals import MarginalCounter, count
from synth.sources.table_source import FramePlace, ParquetPlace, Place, place_of

CARD, TABLE = "card.json", "synthetic.csv"  # of a release
BEFORE = (
    "an earlier release, with epsilon {epsilon:g} and delta {delta:g} for one {unit}, to which this release's are "
    "added for whoever is in both"
)
NO_METHOD = "method {} takes no prior; choose mixture, or leave the prior out"
NO_REASON = "prior {}: say why it is public, and who vouches for it, with `prior_reason=`; it goes onto the card"
LOST = "prior {}: {} cells hold none of the schema's values and say nothing; are they written as the schema has them?"
SHARED = (
    "prior {}: it holds the private table's rows, or nearly all of them; what was made of them is not public. Take an "
    "older table, another region's, or an earlier release made by this program"
)


@dataclass(frozen=True, kw_only=True)
class Prior:
    """A public table, as a file or as the folder of an earlier release of this program.

    ``reason``: why it is public; of a release its own card says it. ``columns``: those that the schema has too,
    ``others``: those that it has not. ``cards``: of a release, its card.
    """

    path: Path
    release: bool
    reason: str
    place: Place
    columns: tuple[str, ...]
    others: tuple[str, ...] = ()
    cards: tuple[Mapping[str, Any], ...] = ()
    stored: tuple[folder.StoredRelease, ...] = ()

    @property
    def name(self) -> str:
        """The last part of its path, for a card tells no folders; of a release whose it is, and its day."""
        if not self.cards:
            return self.path.name
        return f"release of {self.cards[0].get('dataset') or self.path.name}, {str(self.cards[0]['created'])[:10]}"

    @property
    def file(self) -> Path:
        """The table itself."""
        return self.path / TABLE if self.release else self.path

    def encoded(self, schema: Schema) -> "PriorRows":
        """Its rows under the private table's schema, complete by now."""
        known = _only(schema, self.columns)
        read = self.place.under(known).encoded(known, SeededNoise(0), person=None, key=bytes(32)).encoded
        return PriorRows(
            name=self.name,
            sha256=_digest(self.file),
            rows=read.positions,
            reason=self.reason,
            cards=self.cards,
            lost_by={n: int(many) for n, many in read.unreadable.items() if many},
            released=_answers(self.stored, schema),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorRows:
    """A public table's rows, encoded. ``rows``: positions (n,) by column; ``cards``: of an earlier release.

    ``lost_by``: by column, cells that the schema does not know, and which therefore tell nothing. ``released``: an
    earlier release's noisy answers.
    """

    name: str
    sha256: str
    rows: Mapping[str, np.ndarray]
    reason: str
    cards: tuple[Mapping[str, Any], ...] = ()
    lost_by: Mapping[str, int] = field(default_factory=dict)
    released: PriorAnswers | None = None

    @property
    def lost(self) -> int:
        """Cells that tell nothing, of all columns."""
        return sum(self.lost_by.values())

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it has."""
        return frozenset(self.rows)

    @property
    def num_rows(self) -> int:
        """Rows that it has."""
        return len(self.rows[next(iter(self.rows))])

    def counts(self, tables: Sequence[Sequence[Any]]) -> list[np.ndarray]:
        """Its counts, int64 (cells,), of tables on these groupings."""
        if not tables:
            return []
        counter = MarginalCounter(tables)
        return count(parts(self.rows, counter.columns, counter.step), counter)

    def answers(self, marginal: Marginal) -> tuple[np.ndarray, np.ndarray] | None:
        """Noisy counts and their variances, each of the marginal's shape, of an earlier release that was asked."""
        return None if self.released is None else self.released.of(marginal, self.rows)

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


def _answers(stored: Sequence[folder.StoredRelease], schema: Schema) -> PriorAnswers | None:
    """Those about columns that the earlier release's schema describes as the present one does."""
    for one in stored:
        asked = [r for r in one.releases if isinstance(r, CountsRelease)]
        if asked and one.schema.tree is None:
            before = one.schema.all_columns
            alike = (n for n, c in schema.columns.items() if n in before and before[n] == c)
            return PriorAnswers(asked, frozenset(alike))
    return None


AnyPrior = Prior | RelatedPrior
Encoded = PriorRows | PriorTrees
REPORTED = 3  # measured columns of a table by which its rows alone are known again


@overload
def encoded(priors: Sequence[Prior | PriorRows], schema: Schema) -> tuple[PriorRows, ...]: ...
@overload
def encoded(priors: Sequence[AnyPrior | Encoded], schema: Schema | Dataset) -> tuple[Encoded, ...]: ...
def encoded(priors: Sequence[AnyPrior | Encoded], schema: Schema | Dataset) -> tuple[Encoded, ...]:
    """Their rows, under a complete schema."""
    return tuple(p.encoded(schema) if isinstance(p, AnyPrior) else p for p in priors)  # type: ignore[arg-type]


@overload
def stated(
    paths: Sequence[str], reason: str | Sequence[str] | None, schema: Schema, questions: Method
) -> tuple[Prior, ...]: ...
@overload
def stated(
    paths: Sequence[str], reason: str | Sequence[str] | None, schema: Schema | Dataset, questions: Method
) -> tuple[AnyPrior, ...]: ...
def stated(
    paths: Sequence[str], reason: str | Sequence[str] | None, schema: Schema | Dataset, questions: Method
) -> tuple[AnyPrior, ...]:
    """The public tables named, their form checked. Errors: UsageError, InputError naming file, rule and remedy."""
    if paths and not questions.takes_priors:
        raise UsageError(NO_METHOD.format(questions.name))
    said = [reason] * len(paths) if reason is None or isinstance(reason, str) else reason
    return tuple(
        _stated(Path(path), why, schema.tables[ONE]) if schema.tree is None else _related(Path(path), why, schema.tree)
        for path, why in zip(paths, said, strict=True)
    )


def _related(path: Path, reason: str | None, schema: Dataset) -> RelatedPrior:
    release = is_folder(path) and (path / CARD).exists()
    if not release and not (reason or "").strip():
        raise UsageError(NO_REASON.format(path.name))
    places, columns = related_priors.located(path, schema, release=release)
    card = folder.load_release(path, tree=None).card if release else {}
    lying = [path / f"{t}.csv" for t in places] if release else [getattr(p, "path", path) for p in places.values()]
    return RelatedPrior(
        path=path,
        release=release,
        reason=BEFORE.format(**card) if release else str(reason).strip(),
        places=places,
        columns=columns,
        digest=hashlib.sha256("".join(_digest(p) for p in lying).encode()).hexdigest(),
        cards=(card,) if release else (),
    )


def _stated(path: Path, reason: str | None, schema: Schema) -> Prior:
    release = is_folder(path) and (path / CARD).exists()
    if not release and not (reason or "").strip():
        raise UsageError(NO_REASON.format(path.name))
    place: Place
    cards: tuple[Mapping[str, Any], ...] = ()
    retained: tuple[folder.StoredRelease, ...] = ()
    if release:
        stored = folder.load_release(path)
        if stored.card.get("preview"):
            raise InputError(f"prior {path.name}: it is a preview, drawn from a public table; name that table")
        if stored.schema.tree is not None:
            raise InputError(f"prior {path.name}: it is a release of several tables; name one of one table, or a file")
        texts = folder.read_texts(path / TABLE, stored.setting.schema)
        place = FramePlace(pd.DataFrame({n: t.to_pandas() for n, t in texts.items()}))
        reason, held = BEFORE.format(**stored.card), list(texts)
        cards, retained = (stored.card,), (stored,)
    else:
        place = place_of(path)
        first = place.paths[0] if isinstance(place, ParquetPlace) else path
        held = list(files.header(first, dialect=schema.dialect if place.delimited else None))
    columns = tuple(n for n in schema.measured() if n in held)
    if not columns:
        raise InputError(f"prior {path.name}: it has none of the schema's columns; rename its columns as the schema's")
    others = tuple(n for n in held if n not in schema.columns)
    place = place if release else place.under(_only(schema, columns))
    place.check_form(columns)
    return Prior(
        path=path,
        release=release,
        reason=str(reason).strip(),
        place=place,
        columns=columns,
        others=others,
        cards=cards,
        stored=retained,
    )


def check_apart(
    priors: Sequence[AnyPrior], rows: Mapping[str, PrivateRows], schema: Schema | Dataset, key: bytes
) -> None:
    """For callers who may spend on the rows, and so look at them. Errors: UsageError for a prior that holds them.

    Related tables are known again by one table of ``TOLD`` columns or more, or by all of them with their keys.
    """
    for prior in (p for p in priors if not p.release):
        if isinstance(prior, Prior):
            held = _alike(rows[ONE], prior.place, prior.columns, key)
        else:
            if not schema.several:
                columns = [n for names in prior.columns.values() for n in names]
                if _alike(rows[ONE], prior.places[ONE], columns, key):
                    raise UsageError(SHARED.format(prior.name))
                continue
            of_its_own = [t for t, columns in prior.columns.items() if len(columns) >= REPORTED]
            with_keys = {t: (*columns, *schema.texts(t)) for t, columns in prior.columns.items()}
            held = any(_alike(rows[t], prior.places[t], prior.columns[t], key) for t in of_its_own) or all(
                _alike(rows[t], prior.places[t], columns, key) for t, columns in with_keys.items()
            )
        if held:
            raise UsageError(SHARED.format(prior.name))


def _alike(rows: PrivateRows, place: Place, columns: Sequence[str], key: bytes) -> bool:
    common = list(columns)
    return same_rows.alike(PrivateRows(place=rows.place, columns=common), PrivateRows(place=place, columns=common), key)


def _only(schema: Schema, columns: Sequence[str]) -> Schema:
    """The schema of these columns alone."""
    return Schema.model_construct(dialect=schema.dialect, columns={n: schema.columns[n] for n in columns})


def _digest(path: Path) -> str:
    """Of the file, or of all those of a folder in the order of their names."""
    digest = hashlib.sha256()
    for one in parquet_files(path) if is_folder(path) else [path]:
        with open(one, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
