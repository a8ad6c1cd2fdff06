"""Public related tables, or an earlier release of some, that a run of related tables takes as prior knowledge.

Of one table whose persons keep their rows: another such table, read as persons and their rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import InputError
from synth.mechanisms import linked
from synth.privacy.noise import SeededNoise
from synth.questions import Linked
from synth.questions.linked import place, placed
from synth.release import folder
from synth.schema.dataset import ONE, Dataset, number_of
from synth.schema.histories import gap_of, month_of
from synth.sources.formats import files
from synth.sources.related_tables import Read, places, read
from synth.sources.rows.forest import Forest
from synth.sources.rows.linking import link
from synth.sources.table_source import FilePlace, FramePlace, ParquetPlace, Place

NO_KEY = "prior {}: table {} lacks column {}, by which its rows belong together or follow each other; add it"
OTHER = "prior {}: it is no release of related tables; take one of the same tables, or a folder of public ones"
NOT_PERSONS = "prior {}: it is no release of one table whose persons keep their rows; name such a one, or a public file"


@dataclass(frozen=True, kw_only=True)
class RelatedPrior:
    """A folder of public related tables, or of an earlier release. ``places``, ``columns``: of each table where it
    lies, and the measured columns that the schema has too."""

    path: Path
    release: bool
    reason: str
    places: Mapping[str, Place]
    columns: Mapping[str, tuple[str, ...]]
    digest: str
    cards: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The last part of its path, for a card tells no folders; of a release whose it is, and its day."""
        if not self.cards:
            return self.path.name
        return f"release of {self.cards[0].get('dataset') or self.path.name}, {str(self.cards[0]['created'])[:10]}"

    def encoded(self, schema: Dataset) -> "PriorTrees":
        """Its rows as trees under the private tables' schema."""
        noise, own = SeededNoise(0), schema.only(self.columns)
        results: dict[str, Read] = {}
        for name, there in self.places.items():
            at = there if self.release else there.under(own.written[name])
            results[name] = read(at, own.written[name], own.texts(name), noise, key=bytes(32))
        return PriorTrees(
            name=self.name,
            sha256=self.digest,
            trees=link(own, {t: results[own.file_of(t)].rows for t in own.tables}, noise),
            root=schema.root,
            reason=self.reason,
            cards=self.cards,
            lost=sum(sum(r.encoded.unreadable.values()) for r in results.values()),
            several=own.several,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorTrees:
    """Public related tables, encoded; fields as of ``priors.PriorRows``. ``several``: not one, whose persons repeat."""

    name: str
    sha256: str
    trees: Forest
    root: str
    reason: str
    cards: tuple[Mapping[str, Any], ...] = ()
    lost: int = 0
    several: bool = True

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it has, of several tables by TABLE.COLUMN; numbers of children are none."""
        derived = {f(n) for b in self.trees.values() for n in b.columns for f in (gap_of, month_of)}
        derived |= set(map(number_of, self.trees))
        own = ((t, n) for t, b in self.trees.items() for n in b.columns if n not in derived)
        return frozenset(f"{t}.{n}" if self.several else n for t, n in own)

    @property
    def num_rows(self) -> int:
        """Roots that it has."""
        return len(self.trees[self.root].parts)

    def drawn_again(self, roots: int, *, rng: np.random.Generator) -> "PriorTrees":
        """Another sample of the units that the prior is a sample of, of so many."""
        return replace(self, trees=self.trees.of_roots(rng.integers(0, self.num_rows, roots)))

    def weighted(self, question: Linked) -> tuple[tuple[np.ndarray, ...], tuple[str, ...]]:
        """Its counts at a question's cells, in roots, and the places that it lacks, whose tables are zeros."""
        known = {place(t, n) for t, b in self.trees.items() for n in b.columns}

        def lacks(column: str) -> bool:
            table, name, _ = placed(column)
            return place(table, name) not in known

        names = {c for m in question.marginals for c in m.columns}
        there = [not any(lacks(c) for c in m.columns) for m in question.marginals]
        asked = [m for m, has in zip(question.marginals, there, strict=True) if has]
        exact = iter(linked.exact(_asking(question, asked), self.trees) if asked else [])
        values = tuple(
            next(exact).reshape(m.shape) / linked.UNIT if has else np.zeros(m.shape)
            for m, has in zip(question.marginals, there, strict=True)
        )
        return values, tuple(sorted(c for c in names if lacks(c)))

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


def _asking(question: Linked, marginals: list) -> Linked:
    return Linked(
        purpose=question.purpose,
        table=question.table,
        view=question.view,
        most=question.most,
        marginals=tuple(marginals),
    )


def located(path: Path, schema: Dataset, *, release: bool) -> tuple[dict[str, Place], dict[str, tuple[str, ...]]]:
    """Where a prior's tables lie, and the measured columns of the schema that each has. Errors: InputError.

    Of one table whose persons keep their rows: where it lies, and the columns of persons and of rows.
    """
    there, columns = _released(path, schema) if release else _public(path, schema)
    columns = columns if schema.several else dict.fromkeys(schema.tables, columns[ONE])
    for table, held in columns.items():
        order = [k.order for k in schema.keys if k.child == table and k.order is not None]
        if absent := [n for n in (*schema.texts(schema.file_of(table)), *order) if n not in held]:
            raise InputError(NO_KEY.format(path.name, table, absent[0]))
    known = {t: tuple(n for n in schema.tables[t].measured() if n in held) for t, held in columns.items()}
    if not any(known.values()):
        raise InputError(f"prior {path.name}: it has none of the schema's columns; rename its columns as the schema's")
    own = schema.only(known)
    for table, one in there.items():
        measured = known[table] if own.several else [n for names in known.values() for n in names]
        (one if release else one.under(own.written[table])).check_form([*measured, *own.texts(table)])
    return there, known


def _released(path: Path, schema: Dataset) -> tuple[dict[str, Place], dict[str, set[str]]]:
    stored = folder.load_release(path, tree=None).schema
    if stored.tree is None or stored.several != schema.several:
        raise InputError((OTHER if schema.several else NOT_PERSONS).format(path.name))
    if absent := [t for t in schema.tables if t not in stored.tables]:
        raise InputError(f"prior {path.name}: it has no table {absent[0]}; take a release of the same tables")
    frames = {t: folder.read_texts(path / f"{t}.csv", stored.written[t]) for t in schema.written}
    there: dict[str, Place] = {
        t: FramePlace(pd.DataFrame({n: a.to_pandas() for n, a in texts.items()})) for t, texts in frames.items()
    }
    return there, {t: set(texts) for t, texts in frames.items()}


def _public(path: Path, schema: Dataset) -> tuple[dict[str, Place], dict[str, set[str]]]:
    there = places(path, schema)
    held = {}
    for table, one in there.items():
        first = one.paths[0] if isinstance(one, ParquetPlace) else one.path if isinstance(one, FilePlace) else path
        dialect = schema.written[table].dialect if one.delimited else None
        held[table] = set(files.header(first, dialect=dialect))
    return there, held
