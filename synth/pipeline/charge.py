"""The one way from a request to private rows: checked, charged, read, in that order; and how it ended is recorded."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import COMMITTED, BudgetError, SpentError, SynthError, UnsettledError, UsageError
from synth.generators.base import Ask, Run, Setting
from synth.jobs import Cancelled, uninterrupted
from synth.languages import Said
from synth.pipeline import rehearsal, same_rows
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.learn_schema import learn, rows_to_learn
from synth.pipeline.prepare import Context, RunPlan, on_card, prepare
from synth.pipeline.priors import Encoded, encoded
from synth.pipeline.private_rows import marked
from synth.pipeline.request import RunRequest
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import Event
from synth.privacy.curator import Curator
from synth.privacy.ledger.ledger import ANSWERED, Entry
from synth.privacy.owner import Owner
from synth.questions import Release
from synth.release import folder
from synth.release.card.card import Card, card
from synth.release.card.given import areas_on_card, earlier
from synth.schema import codec
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Learnt, Schema
from synth.sources.engines import stored_trees
from synth.sources.related_tables import Read, read
from synth.sources.rows.forest import Forest, link
from synth.sources.rows.spill import Spill, keep_parts


class ChargedRun:
    """One run's spend and what it buys.

    **Guarantee**: the whole of the plan's epsilon and delta is committed to the ledger before the table is read; all
    that is asked afterwards composes to no more.
    """

    def __init__(self, plan: RunPlan, context: Context) -> None:
        self.plan, self.context, self.schema = plan, context, plan.schema
        spend = plan.spend(noise_source=context.noise.name)
        self.spend = replace(spend, run=spend.run or str(uuid.uuid4()))  # drawn before: the charge is known by it
        self.line: Entry | None = None
        self.priors: tuple[Encoded, ...] = ()  # once they are encoded
        self.given: dict[str, Any] = {}  # public columns, row by row
        self._sessions: list[Curator] = []
        self._owner = Owner()

    @property
    def events(self) -> tuple[Event, ...]:
        """All that was answered so far."""
        return tuple(e for session in self._sessions for e in session.events)

    @property
    def epsilon_derived(self) -> float:
        """The accountant's epsilon of all that was answered so far, at the plan's delta."""
        return epsilon_of(self.events, self.plan.grant.left_delta)

    def learn(self) -> Any:
        """Learns the schema's missing facts with their share of the budget; afterwards ``schema`` is complete."""
        share, grant = self.plan.learn_share, self.plan.grant
        if share == 0:
            return self.schema
        self.context.reporter.stage("learn")
        session, mu = self._opened(share, self._rows_to_learn, failures=True), grant.mu * sqrt(share)
        complete_schema = learn(session.ask, self.schema, grant.adjacency, mu=mu, failure_delta=grant.failure_delta)
        session.close()
        assert self.line is not None
        alone, before = share == 1, self.plan.schema.learnt  # of a schema that was learnt in parts
        price = Learnt(
            epsilon=(grant.epsilon if alone else session.epsilon_derived) + (before.epsilon if before else 0.0),
            delta=grant.delta + (before.delta if before else 0.0),
            relation=grant.adjacency.stated,
            unit=grant.adjacency.unit,
            ledger_entry=self.line.number,
            ledger_hash=self.line.hash,
            mechanisms=(*(before.mechanisms if before else ()), *(e.plain() for e in session.events)),
        )
        self.schema = complete_schema.changed(lambda stated: stated.model_copy(update={"learnt": price}))
        return self.schema

    def measure(self) -> tuple[list[Release], Setting]:
        """All questions of the generator, asked and answered; the session is closed afterwards."""
        session, told = self._to_measure()
        self.context.reporter.stage("measure")
        self.priors = encoded(self.plan.priors, self.schema)
        reporter = self.context.reporter
        run = Run(session.ask, replace(told, priors=self.priors), reporter.progress, self.plan.device)
        releases = self.plan.questions.measure(run)
        self.given = session.public_values(self.schema.public_columns)
        session.close()
        return releases, told

    def door(self) -> tuple[Ask, Setting]:
        """The door of the run's one session, charged and open, for work that is not one fit (federated.py, online.py).

        Errors: UsageError, before the charge, where facts of the schema are still to be learnt.
        """
        if self.plan.learn_share:
            raise UsageError("schema: learn what is missing with `synth.learn_schema` first, at a price of its own")
        session, told = self._to_measure()
        return session.ask, told

    def shut(self) -> None:
        """No door answers any more."""
        for session in self._sessions:
            session.close()

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Records how the run ended, in the process that paid.

        Errors: SpentError for whatever goes wrong once the spend is committed.
        """
        try:
            yield
        except BaseException as error:
            self.shut()
            if not self._owner.here:
                raise
            if self.line is None and not self._recorded_after_all(error):
                if isinstance(error, UnsettledError):  # it may be there: who cannot know has spent
                    self._tell()
                    raise SpentError("{}; epsilon {:g} counts as spent", error, self.plan.grant.epsilon) from error
                raise
            cancelled = isinstance(error, Cancelled | KeyboardInterrupt)
            unrecorded = self._outcome("cancelled" if cancelled else "failed", {ANSWERED: bool(self.events)})
            why: object = error
            if isinstance(error, OSError):
                why = Said("{} ({})", error, error.filename or Said("no file named"))
            elif not isinstance(error, SynthError):  # its text may quote a cell, so only its kind is named
                why = Said("internal error {}", type(error).__name__)
            end = Said("cancelled") if cancelled else Said("failed after the budget was committed: {}", why)
            raise SpentError("{}; epsilon {:g} is spent{}", end, self.plan.grant.epsilon, unrecorded) from error
        self.shut()
        if not self._owner.here:
            return
        unrecorded = self._outcome("done", {"epsilon_derived": self.epsilon_derived})
        if unrecorded:
            raise SpentError("the run is done and epsilon {:g} is spent{}", self.plan.grant.epsilon, unrecorded)

    def card(self) -> Card:
        """The release card, with the price of a schema that was learnt before; no rows are made yet."""
        assert self.line is not None
        grant = self.plan.grant
        about = card(
            schema=self.schema,
            dataset=self.plan.request.dataset or self.schema.dataset,  # declared: a path stays at home
            method=self.plan.questions.name,
            adjacency=grant.adjacency,
            epsilon=grant.epsilon,
            delta=grant.delta,
            failure_delta=grant.failure_delta,
            events=self.events,
            noise=self.context.noise,
            num_rows=0,
            ledger_entry={"number": self.line.number, "hash": self.line.hash},
            engine=self.plan.engine,
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        about |= areas_on_card(self.schema) | on_card(self.schema)
        about |= {"preview": dict(self.plan.preview)} if self.plan.preview else {}
        before = self.plan.schema.learnt  # what this run learnt itself is among its own events
        about = about if before is None else about.with_schema(before)
        if self.priors:
            about["priors"] = [p.on_card() for p in self.priors]
            if rests := earlier(card for p in self.priors for card in p.cards):
                about["earlier_releases"] = rests
        return Card(about)

    def _opened(self, share: float, read: Callable[[], Any], *, failures: bool) -> Curator:
        """A curator that may spend this share of mu**2, and the thresholds' part of delta if ``failures``: opened."""
        alone = self.plan.learn_share in (0, 1)
        grant = rehearsal.share(self.plan.grant, share, failures=failures, alone=alone)
        with self._owner:
            session = Curator(
                grant=grant, commit=self._commit, read=read, mechanisms=mechanisms(), noise=self.context.noise
            )
            self._sessions.append(session)
        session.open()
        return session

    def _to_measure(self) -> tuple[Curator, Setting]:
        """The session for what learning leaves of the budget, and what the method is told of it."""
        session = self._opened(1 - self.plan.learn_share, self._rows, failures=False)
        public = session.public_rows() if self.schema.tree is None else None
        return session, setting(self.schema, session.grant, public_rows=public)

    def _commit(self) -> None:
        """Charges the ledger once for all stages."""
        if self.line is None:
            with uninterrupted():  # or a spend that was committed could be reported as none
                self.line = self.plan.book.spend(self.spend)
                self._tell()

    def _tell(self) -> None:
        """Whatever follows, the command's exit code will not deny the spend."""
        COMMITTED.append(f"epsilon {self.plan.grant.epsilon:g} is spent on {self.plan.dataset!r} all the same")

    def _recorded_after_all(self, error: BaseException) -> bool:
        """Whether a spend whose recording ended with an error stands in the ledger nevertheless.

        Not where the ledger refused it: a line with this run's id is then another's, which had it before.
        """
        if isinstance(error, BudgetError | UsageError):
            return False
        try:
            self.line = self.plan.book.charge(str(self.spend.run))
        except SynthError:
            return False
        if self.line is not None:
            self._tell()
        return self.line is not None

    def _outcome(self, state: str, detail: dict[str, Any]) -> str:
        """Records how the run ended; what to add to its message where that cannot be recorded. Raises nothing."""
        assert self.line is not None
        try:
            with uninterrupted():
                self.plan.book.outcome(self.line.run, state=state, detail=detail)
        except (SynthError, OSError) as error:  # a full disk; a ledger that was removed, replaced or put back
            return Said(
                "; how the run ended could not be recorded ({}): look at the ledger with `synth.Ledger.verify`", error
            )
        return ""

    def _rows(self) -> Mapping[str, Any]:
        """The private rows as the method measures them. Called once the spend is recorded, as all below."""
        self.context.reporter.stage("read")
        return self._table(self.schema.tables[ONE]) if self.schema.tree is None else self._trees(self.schema.tree)

    def _rows_to_learn(self) -> Mapping[str, Any]:
        """The private rows as learning sees them (learn_schema.py)."""
        self.context.reporter.stage("read")
        for name in self.plan.rows:
            self._mark(name)
        return rows_to_learn(self.schema, self.plan.rows, self.plan.grant.adjacency, self.context.noise)

    def _table(self, schema: Schema) -> Mapping[str, np.ndarray]:
        """The rows of one table, encoded; which rows of a person are kept is decided here."""
        adjacency, noise = self.plan.grant.adjacency, self.context.noise
        person = None if adjacency.by_row else adjacency.unit
        key, place = self.plan.book.row_key(), self.plan.rows[ONE].place
        opened = place.encoded(schema, noise, person=person, key=key, most=adjacency.max_rows)
        self._mark(ONE, () if opened.digest is None else (opened.digest,))
        rows = opened.encoded.positions
        if person is not None and not opened.bounded:
            if opened.persons is None or not isinstance(rows, Spill):
                raise RuntimeError("rows of persons that nobody has bounded")  # a fault of this program
            persons = opened.persons
            rows.keep(keep_parts(persons.parts(), adjacency.max_rows, noise, num_rows=persons.num_rows))
        self._write_log({ONE: opened.encoded})
        return rows

    def _trees(self, schema: Dataset) -> Forest:
        """The rows of related tables as a forest; which rows of a parent are kept is decided here.

        On Spark they stay there; they are fetched for what cannot be counted there.
        """
        places, noise = {n: self.plan.rows[schema.file_of(n)].place for n in schema.tables}, self.context.noise
        there = stored_trees.stored(schema, places, noise, lambda: self._linked(schema)[0])
        if there is not None:
            for name in self.plan.rows:
                self._mark(name)
            self._write_log({} if self.context.log is None else there.described(noise))
            return there
        forest, tables = self._linked(schema)
        for name, table in tables.items():
            self._mark(name, (table.digest, table.alone))
        self._write_log({n: r.encoded for n, r in tables.items()})
        return forest

    def _linked(self, schema: Dataset) -> tuple[Forest, dict[str, Read]]:
        """All rows, read here and put together; one table of persons and their rows is read once."""
        key, noise = self.plan.book.row_key(), self.context.noise
        tables = {
            name: read(rows.place, schema.written[name], schema.texts(name), noise, key=key)
            for name, rows in self.plan.rows.items()
        }
        return link(schema, {t: tables[schema.file_of(t)].rows for t in schema.tables}, noise), tables

    def _write_log(self, encoded: Mapping[str, codec.Encoded]) -> None:
        """The steward's counts of unknown cells, by column and, of several tables, by table."""
        if self.context.log is None:
            return
        clamped: dict[str, int] = {}
        unreadable: dict[str, int] = {}
        for name, own in encoded.items():
            table = f"{name}." if self.schema.several else ""
            clamped |= {f"{table}{n}": many for n, many in own.clamped.items()}
            unreadable |= {f"{table}{n}": many for n, many in own.unreadable.items()}
        folder.write_steward_log(Path(self.context.log), codec.Encoded({}, clamped, unreadable))

    def _mark(self, table: str, digests: Sequence[bytes | None] = ()) -> None:
        """Keeps a mark of a table's rows in each form, by which they are known again before a later spend
        (same_rows.py): those that reading brought, or others, for which the rows are read again.

        One that no other is like where they cannot be compared: the number of rows must not decide about a line.
        Nothing was answered by then. Errors: UsageError where the same rows were charged elsewhere meanwhile.
        """
        book, line = self.plan.book, self.line
        assert line is not None
        forms = [form for _, form in marked({table: self.plan.rows[table]}, self.schema)]
        for form, digest in zip(forms, digests or same_rows.marks(forms, book.row_key()), strict=False):
            others = book.fingerprint(
                line.run,
                dataset=self.plan.dataset,
                digest=same_rows.unlike(form) if digest is None else digest,
                apart=self.plan.request.separate,
                audience=self.context.audience,
                alike=same_rows.are_alike,
            )
            same_rows.refuse(others)


@contextmanager
def charge(request: RunRequest, schema: Schema | Dataset, context: Context) -> Iterator[ChargedRun]:
    """The run of a request, once all that can be refused was checked; how what it buys is used ends in the ledger."""
    context.reporter.stage("check")
    folder.check_steward_log(Path(context.log) if context.log is not None else None)
    run = ChargedRun(prepare(request, schema, context), context)
    with run.charged():
        yield run
