"""A run rehearsed before the spend: the method's own questions, put to a real curator over a stand-in for the rows.

Whatever a run would refuse once its budget is gone (options that do not fit, noise beyond the generator's precision, a
machine that cannot do what a method needs) is refused here, where nothing is spent and no row is read. Tables of counts
are answered as a uniform, independent table would; adaptive questions may differ in the real run, for which ``MARGIN``
of the precision is held back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import BudgetError, UsageError
from synth.generators.base import Enough, Run
from synth.generators.method import Method
from synth.lazy import Lazy
from synth.mechanisms import counts, external, gradients
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.learn_schema import learn
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import Event
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Adjacency
from synth.questions import (
    Counts,
    CountsRelease,
    Embedding,
    EmbeddingRelease,
    External,
    FunctionalQuery,
    Score,
    Slices,
    Step,
    Values,
    ValuesRelease,
    Votes,
)
from synth.schema.codec import decode
from synth.schema.dataset import ONE, PERSONS, Dataset, number_of
from synth.schema.dataset import ROWS as BELOW
from synth.schema.table import Column, Schema
from synth.sources.rows.forest import Branch, Forest

networks = Lazy("synth.numeric.networks")

ROOTS, MOST_ROWS = 64, 100_000  # made up of related tables: trees, and rows of one table
ROWS = 20_000  # of the made-up table, as far as counts tell
SPARE = 16  # times the rehearsed tables: precision is left for so many; it ends epsilon at 50 instead of 53
FEW = 500  # of which other questions see so many
HELD_BACK = " (a tenth is held back before the spend, for questions that real answers may add)"
MARGIN = 0.9  # of the noise generator's reserves, since real answers may lead to a few questions more
LAST = (
    Embedding,
    External,
    FunctionalQuery,
    Step,
    Votes,
)  # all that follows such a question is paid for with it, or is asked alike
WORDS = tuple("abcdefghij")  # the categories of a column that is to be learnt
ROOM = 1 << 20  # numbers of an answer that is made up; a longer one ends the rehearsal

Asked = list[tuple[Any, int]]


def rehearse(
    generator: Method, schema: Schema | Dataset, grant: Grant, *, rows: int = ROWS, priors: Sequence[Any] = ()
) -> tuple[Asked, tuple[Event, ...]]:
    """The questions that the method would ask of about ``rows`` rows, each with its answer's cells; what they cost.

    Errors: UsageError for whatever the method or the curator refuse.
    """
    asked: Asked = []
    tree, columns = schema.tree, schema.tables[schema.root].measured()
    if tree is not None:
        public, what = None, f"{len(schema.tables)} tables"
        session = _session(grant, lambda: made_up(tree), mechanisms())
    else:
        public, what = rows if grant.adjacency.rows_are_public else None, f"{len(columns)} columns"
        pretended = _Pretended(rows, asked, repeats=int(getattr(generator, "rounds", 1)))
        session = _session(grant, lambda: pretended.few(columns), dict.fromkeys(pretended.real, pretended))
    try:
        generator.check(Run(session.ask, replace(setting(schema, grant, public_rows=public), priors=priors)))
    except BudgetError as error:
        raise UsageError(
            "method {} on {}: {}; or choose fewer columns or other options{}",
            generator.name,
            what,
            error,
            HELD_BACK if "precise" in str(error) else "",
        ) from None
    except UsageError:
        raise
    except (
        ArithmeticError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:  # made-up rows: it tells nothing
        reason = str(error) or type(error).__name__
        raise UsageError(
            "method {} cannot ask its questions with this epsilon, delta, schema and options: {}",
            generator.name,
            reason,
        ) from None
    return asked, session.events


def _session(grant: Grant, read: Callable[[], Any], mechanisms: Mapping[type, Any]) -> Curator:
    """The run's own curator; nothing is committed, the rows are made up, no answer is private."""
    reserved = replace(grant, float_slack=grant.float_slack * MARGIN)
    return Curator(grant=reserved, commit=lambda: None, read=read, mechanisms=mechanisms, noise=SeededNoise(0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Pretend:
    """A stand-in for private rows, from public facts and public rows alone: what runs are rehearsed and tried on.

    ``rows``: positions (n,) by column, or the trees of related tables; each value is as likely as another, or they are
    drawn from a public table (``twin``), and columns that it lacks evenly. ``priors``: as a method is given them beside
    such rows: of the twin another sample of the same people.
    """

    schema: Schema | Dataset
    rows: Any
    twin: Any = None
    priors: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls, schema: Schema | Dataset, size: int, *, priors: Sequence[Any] = (), rng: np.random.Generator | None = None
    ) -> "Pretend":
        """So many rows, or roots, or fewer where trees are so large that a table would get too many rows.

        ``priors``: the twin is the one that covers most columns, of equal ones that with most rows.
        """
        rng, tree = rng or np.random.default_rng(0), schema.tree
        twin: Any = max(priors, key=lambda p: (len(p.columns), p.num_rows), default=None)
        if tree is not None:
            roots = max(2, min(size, MOST_ROWS // max(tree.most_rows(t) for t in tree.tables)))
            rows: Any = made_up(tree, roots) if twin is None else _complete(twin.drawn_again(roots, rng=rng), tree, rng)
        else:
            columns = schema.tables[ONE].measured()
            drawn = None if twin is None else rng.integers(0, twin.num_rows, size)
            rows = {
                n: rng.integers(0, c.cells, size) if twin is None or n not in twin.rows else twin.rows[n][drawn]
                for n, c in columns.items()
            }
        beside = tuple(p.drawn_again(rng=rng) if p is twin else p for p in priors)
        return cls(schema=schema, rows=rows, twin=twin, priors=beside)

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables as they would be read, as text; of one table each row is a person of its own."""
        schema, tree = self.schema, self.schema.tree
        if tree is None:
            whose = schema.tables[ONE].person
            return {ONE: _as_text(self.rows, schema.tables[ONE], [whose] if whose else [])}
        tables: dict[str, pd.DataFrame] = {}
        for name in tree.downwards:
            branch, key = self.rows[name], tree.key_above(name)
            columns = {n: branch.columns[n] for n in tree.tables[name].measured()}
            tables[name] = _as_text(columns, tree.tables[name], tree.key_columns(name), len(branch.parent))
            for column, above in zip(key.columns, key.referred, strict=True) if key is not None else ():
                tables[name][column] = tables[key.parent][above].to_numpy()[branch.parent]  # type: ignore[union-attr]
        if schema.one_table:
            return {ONE: tables[BELOW].merge(tables[PERSONS], on=schema.privacy_unit[0])}
        return tables


@dataclass(frozen=True, kw_only=True)
class Preview:
    """A run on public rows: ``priors`` in place of those named; ``card``: what its card says of that."""

    priors: tuple[Any, ...]
    card: Mapping[str, Any]


def _as_text(
    positions: Mapping[str, np.ndarray], schema: Schema, counted: Sequence[str], size: int | None = None
) -> pd.DataFrame:
    """The rows as text; columns that are ``counted`` number them."""
    size = len(next(iter(positions.values()))) if size is None else size
    texts = {n: t.to_pandas() for n, t in decode(positions, schema, num_rows=size).items()}
    return pd.DataFrame(texts | {n: [str(i) for i in range(size)] for n in counted})


def _complete(twin: Any, schema: Dataset, rng: np.random.Generator) -> Forest:
    """The public trees with columns that they lack drawn evenly."""
    forest: Forest = twin.rows
    for name in schema.tables:
        branch, every = forest[name], schema.as_asked(name).columns
        lacking = {n: rng.integers(0, c.cells, len(branch.parts)) for n, c in every.items() if n not in branch.columns}
        forest = forest.with_branch(name, replace(branch, columns={**branch.columns, **lacking}))
    return forest


def made_up(schema: Dataset, roots: int = ROOTS) -> Forest:
    """A forest of uniform values that the schema allows, from no private row: each bound is reached."""
    rng = np.random.default_rng(0)
    branches: dict[str, Branch] = {}
    for name in schema.downwards:
        key = schema.key_above(name)
        if key is None:
            parent, siblings = np.zeros(roots, dtype=np.int64), np.ones(roots, dtype=np.int64)
            rank, parts = siblings - 1, siblings
        else:
            number = branches[key.parent].columns[number_of(name)]
            parent = np.repeat(np.arange(len(number)), number)
            siblings = number[parent]
            rank = np.arange(len(parent)) - np.repeat(np.cumsum(number) - number, number)
            parts = branches[key.parent].parts[parent] * siblings
        columns = {n: rng.integers(0, c.cells, len(parent)) for n, c in schema.as_asked(name).columns.items()}
        branches[name] = Branch(columns=columns, parent=parent, siblings=siblings, rank=rank, parts=parts)
    return Forest(branches, {n: (k.parent if (k := schema.key_above(n)) else None) for n in schema.tables})


class _Pretended:
    """Mechanisms whose price is the real ones' and whose answers are made up; ``asked``: gains what they were asked."""

    def __init__(self, rows: int, asked: Asked, *, repeats: int = 1) -> None:
        self.rows, self.asked, self.repeats = rows, asked, repeats
        self.real, self.rng = mechanisms(), np.random.default_rng(0)

    def few(self, columns: Mapping[str, Column]) -> dict[str, np.ndarray]:
        """The rows that all but counts see."""
        return {n: self.rng.integers(0, c.cells, min(self.rows, FEW)) for n, c in columns.items()}

    def events(self, question: Any, adjacency: Adjacency) -> list[Event]:
        """The real events; votes, each round of which is paid for, as all rounds together.

        Errors: as the real mechanism's; BudgetError where ``SPARE`` times the noise of counts could not be drawn.
        """
        if isinstance(question, Counts):
            counts.check_noise(SPARE * max((m.sigma for m in question.marginals), default=0.0))
        real_events: list[Event] = self.real[type(question)].events(question, adjacency)
        return (
            [replace(e, count=e.count * self.repeats) for e in real_events]
            if isinstance(question, Votes)
            else real_events
        )

    def changed_cells(self, question: Any, adjacency: Adjacency) -> int:
        """The real number; of counts ``SPARE`` times as many, since real answers may lead to more tables."""
        real: int = self.real[type(question)].changed_cells(question, adjacency)
        return SPARE * real if isinstance(question, Counts) else real

    def answer(self, question: Any, rows: Mapping[str, Any], noise: SeededNoise) -> Any:
        """Notes the question with its cells, then answers it from made-up rows.

        Errors: Enough where the rest is paid for; what the real mechanism would refuse.
        """
        if isinstance(question, Counts):
            self.asked.append((question, sum(m.cells for m in question.marginals)))
            return self._counts(question)
        if isinstance(question, Values):
            often = np.full(len(WORDS), int(question.threshold) + 1)
            return ValuesRelease(question=question, texts=WORDS, counts=often)
        self.asked.append((question, _numbers(question, len(next(iter(rows.values()))))))
        if isinstance(question, Embedding) and isinstance(question.features, Score):  # more may follow, at other prices
            return EmbeddingRelease(question=question, values=np.zeros(question.features.dim))
        if isinstance(question, LAST) or self.asked[-1][1] > ROOM:
            # what the machine or another library could still refuse at the answer
            if isinstance(question, External):
                external.workable(question.algorithm, len(question.bins), question.rho)
            if isinstance(question, Step):
                with networks.one_thread():
                    gradients.check_places(question)
            raise Enough
        if isinstance(question, Slices) and question.drawn:  # of the rows that were made up, as large a part
            few, (drawn, whole) = len(next(iter(rows.values()))), question.drawn
            question = replace(question, drawn=(max(round(drawn * few / whole), 1), few))
        return self.real[type(question)].answer(question, rows, noise)

    def _counts(self, question: Counts) -> CountsRelease:
        """Each table as independent columns of even values have it, under noise."""
        cells = [m.cells for m in question.marginals]
        drawn = np.split(self.rng.standard_normal(sum(cells)), np.cumsum(cells)[:-1])
        shares = {}
        for b in {id(b): b for m in question.marginals for b in m.bins}.values():
            inside = b.groups >= 0
            shares[id(b)] = np.bincount(b.groups[inside], b.widths[inside], minlength=b.size) / b.cells
        values = []
        for marginal, own in zip(question.marginals, drawn, strict=True):
            table = np.array(float(self.rows))
            for b in marginal.bins:
                table = np.multiply.outer(table, shares[id(b)])
            values.append(np.rint(table + marginal.sigma * own.reshape(marginal.shape)).astype(np.int64))
        return CountsRelease(question=question, values=tuple(values))


def _numbers(question: Any, rows: int) -> int:
    """How many numbers the question's answer has, as far as it says."""
    match question:
        case Embedding():
            return question.features.dim
        case FunctionalQuery():
            return len(question.points) * question.each
        case Slices():
            wide = question.encoding.dim if question.whole else question.num_slices or 1
            return wide * (question.groups or rows)
        case Step():
            return question.descent.weights
        case Votes():
            return len(question.asked)
        case External():
            return 0
        case _:
            return 1


def learning(
    generator: Method | None, schema: Schema | Dataset, grant: Grant, mu: float
) -> tuple[Schema | Dataset, tuple[Event, ...]]:
    """The schema with facts as learning might find them, and what its questions cost, rehearsed. Errors: UsageError."""
    if generator is not None and generator.small:
        raise UsageError(
            "method {} is for small tables, and the size is known only once the schema is complete: learn it first "
            "with `synth.learn_schema`, or choose method mixture",
            generator.name,
        )
    pretended = _Pretended(ROWS, [])
    session = _session(grant, dict, dict.fromkeys(pretended.real, pretended))  # learning asks for counts alone
    try:
        complete = learn(session.ask, schema, grant.adjacency, mu=mu, failure_delta=grant.failure_delta)
    except BudgetError as error:
        raise UsageError("learning the schema's missing facts: {}", error) from None
    if epsilon_of(session.events, grant.left_delta) <= 0:
        raise UsageError(
            "learning the schema's missing facts: its part of epsilon is too small to be told from 0; give more"
        )
    return complete, session.events


def share(grant: Grant, part: float, *, failures: bool, alone: bool) -> Grant:
    """A session's part of a run's grant: of mu**2 this share, and the thresholds' delta where ``failures``."""
    return replace(
        grant,
        mu=grant.mu * sqrt(part),
        mu_elsewhere=grant.mu * sqrt(max(1 - part, 0.0)),
        delta=grant.delta if failures else grant.left_delta,
        failure_delta=grant.failure_delta if failures else 0.0,
        float_slack=1.0 if alone else 0.5,
    )
