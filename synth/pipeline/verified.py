"""Answers about the private table behind a release, for an epsilon of their own; their price beforehand is free."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synth.errors import UsageError, reading
from synth.generators.core.related_model import DrawnTable
from synth.languages import Said
from synth.pipeline.charge import charge
from synth.pipeline.draw_rows import Drawing, with_rows
from synth.pipeline.prepare import Context, requested
from synth.pipeline.private_rows import Source
from synth.pipeline.request import RunRequest
from synth.pipeline.schema_approval import adjacency_of, with_unit
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import relation_named
from synth.questions import EmbeddingRelease, Score, TreeScore
from synth.release import folder, leaving
from synth.schema import codec
from synth.schema.column import Column, facts
from synth.schema.dataset import ONE, Dataset, as_tables, check_schema
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.sources.formats.text_table import Table
from synth.sources.related_tables import read
from synth.sources.rows.forest import Branch, Forest, link
from synth.sources.table_source import place_of
from synth.verified import language
from synth.verified.language import Question
from synth.verified.plan import (
    EPSILONS,
    LEVEL,
    Planned,
    Price,
    VerifiedQuestions,
    alike,
    answer,
    scaled,
    synthetic_values,
)

ANSWER, PRICE = "facsimile-answer/1", "facsimile-price/1"
FEWEST, MOST = 20_000, 80_000  # rows drawn from the release's model: as many as the table has, within these
FEWEST_ROOTS, MOST_ROOTS, TIMES = 2_000, 20_000, 2  # roots drawn: so many times those of the tables
MOST_ROWS = 400_000  # of one table that are drawn at most, were every bound reached
OTHER = "`schema=`: {} has other facts than the release's; use the schema in the release's folder"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answers as JSON data, and the card of what they cost."""

    answers: tuple[dict[str, Any], ...]
    release: dict[str, Any]
    seconds: float
    card: dict[str, Any] = field(repr=False)

    @property
    def terms(self) -> dict[str, dict[str, Any]]:
        """Of the first question: by term estimate, interval and what the synthetic table says."""
        return dict(self.answers[0]["terms"])

    def plain(self) -> dict[str, Any]:
        """As it is written; the fields of a question asked alone stand at the top."""
        alone = self.answers[0] if len(self.answers) == 1 else {}
        reported = {"format": ANSWER, "level": LEVEL, **alone}
        if not alone:
            reported["answers"] = list(self.answers)
        return reported | {"release": self.release, "card": self.card}


class Questions:
    """Questions about the table behind a release: planned and priced on its synthetic rows, which costs nothing.

    ``questions``: an object of the language (docs/verified.md), a list of them, or {"questions": [...]}.

    **Guarantee**: that of the release. Errors: UsageError for a question that the release's schema cannot answer;
    InputError for a damaged release.

    Privacy: released answers only.
    """

    def __init__(self, release: str | Path, questions: Any) -> None:
        place = Path(release)
        place = place.parent if place.suffix == ".json" else place
        self.place, self.plain = place, questions
        self.stored = folder.load_release(place, tree=None)
        self.schema: Schema | Dataset = self.stored.schema
        self.read = tuple(language.read(questions, self.schema))
        named = questions.get("release") if isinstance(questions, Mapping) else None
        if named is not None and named != self.stored.card.get(self._hashed):
            raise UsageError('question: was tried on another release than this; name that one, or leave out "release"')

    @cached_property
    def planned(self) -> tuple[Planned, ...]:
        """The questions with the law of the synthetic rows."""
        if self.schema.tree is not None:
            model, rng = self._model, np.random.default_rng(0)
            widest = max(model.schema.most_rows(t) for t in model.schema.tables)
            most = max(MOST_ROWS // widest, FEWEST_ROOTS)
            roots = int(min(np.clip(TIMES * model.total, FEWEST_ROOTS, MOST_ROOTS), most))
            rules = {n: Rules(s) for n, s in model.schema.tables.items()}
            drawing = Drawing(model, with_rows(model.schema, {}), rules=rules)
            forest = _forest(model.schema, list(drawing.blocks(roots, rng=rng)))
            each, questions = max(float(model.total), 1.0) / forest.num_roots, []
            for question in self.read:
                own, unit = rows_of(forest, question.score)
                units = each * forest.num_roots
                questions.append(Planned.of(question, own, each * len(unit), unit=unit, units=units))
            return tuple(questions)
        rows, total = self.drawn
        return tuple(Planned.of(q, {n: rows[n] for n in q.score.columns}, total) for q in self.read)

    @cached_property
    def drawn(self) -> tuple[Mapping[str, np.ndarray], float]:
        """Synthetic rows of a single table, positions by column, and how many rows they stand for."""
        model, schema = self._model, self.stored.schema
        wanted = int(np.clip(model.total, FEWEST, MOST))
        rows = model.sample(wanted, rng=np.random.default_rng(0), repair=Rules(schema).repair)
        return rows, max(float(model.total), 1.0)

    @property
    def _model(self) -> Any:
        with reading(self.place, "release"):
            return folder.load_model(self.place, tree=None).model

    @cached_property
    def synthetic(self) -> tuple[dict[str, float], ...]:
        """What the released table says, by coefficient. Errors: InputError for a table that its card does not name."""
        for name in self.schema.written:
            leaving.content(self.place, f"{name}.csv", self.stored.card)
        if self.schema.tree is not None:
            forest = released_trees(self.place, self.schema.tree)
            return tuple(synthetic_values(p, rows_of(forest, p.law.template)[0]) for p in self.planned)
        texts = folder.read_texts(self.place / "synthetic.csv", self.schema.tables[ONE])
        table = Table({n: pa.chunked_array([a]) for n, a in texts.items()}, num_rows=len(next(iter(texts.values()))))
        rows = codec.encode(table, self.schema.tables[ONE], SeededNoise(0)).positions
        return tuple(synthetic_values(p, rows) for p in self.planned)

    def price(self, *, epsilons: Sequence[float] = EPSILONS, **asked: Any) -> dict[str, Any]:
        """Expected widths of the intervals by epsilon of the whole request, beside sampling's own; free.

        ``asked``: ``delta``, 1e-5 by default; ``relation``, add_remove by default; ``max_rows`` of a person, by default
        as the release's schema has it. Errors: UsageError for an unknown relation.
        """
        prices = self._prices(**asked)
        prices_by_epsilon = [p.by_epsilon(s, epsilons) for p, s in zip(prices, self.synthetic, strict=True)]
        alone = prices_by_epsilon[0] if len(prices_by_epsilon) == 1 else {"prices": prices_by_epsilon}
        return {"format": PRICE, "level": LEVEL, "epsilon_spent": 0.0, "delta": prices[0].delta, **alone}

    def least_epsilon(self, width: float, *, term: str | None = None, **asked: Any) -> float | None:
        """The least epsilon at which the first question's interval for a term is expected to be this narrow; free.

        ``term``: the last one by default; ``asked``: as of ``price``. None where no epsilon does: sampling alone makes
        it wider. Errors: UsageError for a term that the question has not.
        """
        first = self._prices(**asked)[0]
        shown = list(first.planned.question.shown)
        if term is not None and term not in shown:
            raise UsageError("{}: is no term of the question; these are {}", term, ", ".join(shown))
        return first.least_epsilon(width, term or shown[-1])

    def _prices(self, *, delta: float = 1e-5, relation: str = "add_remove", max_rows: int | None = None) -> list[Price]:
        """On the release's own unit, but for rows of a person that somebody names. Errors: UsageError."""
        if max_rows is not None and self.schema.tree is not None:
            raise UsageError("`max_rows=`: how many rows belong to one unit is in the release's schema; leave it out")
        unit = adjacency_of(self.schema, relation_named(relation))
        unit = unit if max_rows is None else replace(unit, max_rows=max_rows)
        how: dict[str, Any] = {"delta": delta, "adjacency": unit, "questions": len(self.planned)}
        return [Price(planned=alike(p, unit.max_rows), **how) for p in self.planned]

    def answer(
        self,
        table: Source | Mapping[str, Source],
        *,
        epsilon: float,
        delta: float = 1e-5,
        schema: Schema | Dataset | None = None,
        **options: Any,
    ) -> Answer:
        """Answers from the private table, for epsilon and delta in all; the ledger is charged before a row is read.

        ``schema``: the table's own, by default the release's; ``options``: as of ``synth.run``, as far as they concern
        rows, guarantee and ledger. Several questions share the noise budget evenly.

        **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit. Errors: as ``synth.run``.

        Privacy: reads rows, under noise.
        """
        schema = self.schema if schema is None else schema
        check_schema(schema, tree=self.schema.tree is not None)
        request, context = requested(table, epsilon=epsilon, delta=delta, method="verified", device="cpu", **options)
        return self.carry_out(request, schema, context)

    def carry_out(self, request: RunRequest, schema: Schema | Dataset, context: Context) -> Answer:
        """As ``answer``, of a request that stands already."""
        clock = time.perf_counter()
        if self.schema.one_table and not schema.several:
            schema, request = with_unit(schema.stated, request.unit, request.max_rows), request.changed(linked=True)
        self._check_columns(schema)
        planned, synthetic = self.planned, self.synthetic
        questions = VerifiedQuestions(planned=planned)
        with charge(request, schema, replace(context, questions=questions)) as paid:
            releases, setting = paid.measure()
            if setting.public_rows is not None:
                planned = tuple(scaled(p, float(setting.public_rows)) for p in planned)
            planned = tuple(alike(p, paid.plan.grant.adjacency.max_rows) for p in planned)
            parts = questions.parted([r for r in releases if isinstance(r, EmbeddingRelease)])
            answers = [answer(*each) for each in zip(planned, parts, synthetic, strict=True)]
            card = paid.card()
        known = ("dataset", "epsilon", "delta", self._hashed)
        about = {n: self.stored.card.get(n) for n in known}
        seconds = time.perf_counter() - clock
        return Answer(answers=tuple(answers), release=about, seconds=seconds, card=card)

    @property
    def _hashed(self) -> str:
        """The card's entry by which a release's tables are known."""
        return "tables_sha256" if self.schema.several else "synthetic_sha256"

    def _check_columns(self, schema: Schema | Dataset) -> None:
        """Whether table and release have the same positions in the columns asked of. Errors: UsageError."""
        own = as_tables(schema.tables[ONE]) if self.schema.one_table and schema.tree is None else schema
        if self.schema.tree is not None or own.tree is not None:
            _check_trees(self.read, self.schema, own)
            return
        columns, given = self.schema.all_columns, schema.tables[ONE].measured()
        for name in sorted({n for q in self.read for n in q.score.columns}):
            if name not in given or _positioned(given[name]) != _positioned(columns[name]):
                raise UsageError(OTHER, Said("column {}", name))


def _forest(schema: Dataset, blocks: Sequence[Mapping[str, DrawnTable]]) -> Forest:
    """Drawn rows as a forest of which columns and parents are known; weights and places among siblings are not."""
    first, branches = dict.fromkeys(schema.tables, 0), {}
    parts: dict[str, list[tuple[Mapping[str, np.ndarray], np.ndarray]]] = {n: [] for n in schema.tables}
    for block in blocks:
        before = dict(first)
        for name, drawn in block.items():
            key = schema.key_above(name)
            parts[name].append((drawn.positions, drawn.parent + (before[key.parent] if key else 0)))
            first[name] += drawn.num_rows
    for name, own in parts.items():
        one = np.ones(first[name], dtype=np.int64)
        columns = {n: np.concatenate([p[n] for p, _ in own]) for n in schema.as_measured(name).columns}
        parent = np.concatenate([p for _, p in own])
        branches[name] = Branch(columns=columns, parent=parent, siblings=one, rank=one - 1, parts=one)
    return Forest(branches, {n: (k.parent if (k := schema.key_above(n)) else None) for n in schema.tables})


def released_trees(place: Path, schema: Dataset) -> Forest:
    """The released tables, or the one whose persons keep their rows, as a forest."""
    noise = SeededNoise(0)
    opened = {
        n: read(place_of(place / f"{n}.csv"), own, schema.texts(n), noise, key=bytes(32)).rows
        for n, own in schema.written.items()
    }
    return link(schema, {t: opened[schema.file_of(t)] for t in schema.tables}, noise)


def rows_of(forest: Forest, score: Score) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The rows of a question's table, positions (n,) by its columns, and to which root each belongs, in rising order.

    Privacy: as private as the forest.
    """
    assert isinstance(score, TreeScore)
    rows, roots = forest.rows(score.table, score.places), forest.roots(score.table)
    order = np.argsort(roots, kind="stable")
    return {n: p[order] for n, p in rows.items()}, roots[order]


def _check_trees(questions: Sequence[Question], known: Schema | Dataset, given: Schema | Dataset) -> None:
    """Whether tables and release have the same positions and keys where questions are asked. Errors: UsageError."""
    if None in (known.tree, given.tree) or known.several != given.several:
        raise UsageError(
            "`schema=`: the release and the table are not both of related tables, or of one whose persons keep their "
            "rows; name the one it is of"
        )
    for table in dict.fromkeys(str(q.table) for q in questions):
        for name in known.upwards(table):
            if name not in given.tables or given.key_above(name) != known.key_above(name):
                raise UsageError(OTHER, Said("table {} or its key", name))
            for column, fact in known.as_measured(name).columns.items():
                other = given.as_measured(name).columns.get(column)
                if other is None or _positioned(other) != _positioned(fact):
                    raise UsageError(OTHER, Said("column {} of {}", column, name))


def _positioned(column: Column) -> dict[str, Any]:
    """What makes a column's positions."""
    named = [n for n in facts(column) if n not in ("labels", "format")]
    return {n: getattr(column, n) for n in named}
