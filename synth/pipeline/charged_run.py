"""The part of a run that touches rows: one ledger line, a curator session for each stage, and how it all ended."""

import datetime as dt
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

from synth.errors import COMMITTED, BudgetError, SpentError, SynthError, UnsettledError, UsageError
from synth.generators.base import Ask, Run, Setting
from synth.generators.method import Method
from synth.jobs import Cancelled, uninterrupted
from synth.pipeline import rehearsal
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.learn_schema import learn, priced
from synth.pipeline.prepare import prepare
from synth.pipeline.priors import Encoded, encoded
from synth.pipeline.public_columns import on_card
from synth.pipeline.public_twin import Preview
from synth.pipeline.read_rows import RowReader
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import RunRequest
from synth.pipeline.run_plan import RunPlan
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import Event
from synth.privacy.curator import Curator
from synth.privacy.ledger.ledger import ANSWERED, Entry
from synth.privacy.ledger.row_marks import Audience
from synth.privacy.noise import SystemNoise
from synth.privacy.owner import Owner
from synth.questions import Release
from synth.release import folder
from synth.release.card.card import card, together
from synth.release.card.given import areas_on_card, earlier
from synth.release.card.statements import complete
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Learnt, Schema


class ChargedRun:
    """One run's spend and what it buys.

    **Guarantee**: the whole of the plan's epsilon and delta is committed to the ledger before the table is read; all
    that is asked afterwards composes to no more.
    """

    def __init__(
        self, plan: RunPlan, noise: SystemNoise, reporter: Reporter, log: str | Path | None, audience: Audience
    ) -> None:
        self.plan, self.noise, self.reporter, self.log, self.audience = plan, noise, reporter, log, audience
        spend = plan.spend(noise_source=noise.name)
        self.spend = replace(spend, run=spend.run or str(uuid.uuid4()))  # drawn before: the charge is known by it
        self.schema = plan.schema
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
        if self.plan.learn_share == 0:
            return self.schema
        grant, session = self.plan.grant, self._session(self.plan.learn_share, self._wide_rows, failures=True)
        self.reporter.stage("learn")
        mu = grant.mu * sqrt(self.plan.learn_share)
        session.open()
        result = learn(session.ask, self.schema, grant.adjacency, mu=mu, failure_delta=grant.failure_delta)
        session.close()
        self.schema = priced(result, self._price(session))
        return self.schema

    def measure(self) -> tuple[list[Release], Setting]:
        """All questions of the generator, asked and answered; the session is closed afterwards."""
        session = self._session(1 - self.plan.learn_share, self._rows, failures=False)
        session.open()
        public = session.public_rows() if self.schema.tree is None else None
        circumstances = setting(self.schema, session.grant, public_rows=public)
        self.reporter.stage("measure")
        self.priors = encoded(self.plan.priors, self.schema)
        asked = replace(circumstances, priors=self.priors)
        releases = self.plan.questions.measure(Run(session.ask, asked, self.reporter.progress))
        self.given = session.public_values(self.schema.public_columns)
        session.close()
        return releases, circumstances

    def opened(self) -> tuple[Ask, Setting]:
        """The door of the run's one session, charged and open, for work that is not one fit (federated.py, online.py).

        Errors: UsageError, before the charge, where facts of the schema are still to be learnt.
        """
        if self.plan.learn_share:
            raise UsageError("schema: learn what is missing with `synth.learn_schema` first, at a price of its own")
        session = self._session(1.0, self._rows, failures=False)
        session.open()
        return session.ask, setting(self.schema, session.grant, public_rows=session.public_rows())

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
            for session in self._sessions:
                session.close()
            if not self._owner.here:
                raise
            if self.line is None and not self._recorded_after_all(error):
                if isinstance(error, UnsettledError):  # it may be there: who cannot know has spent
                    self._tell()
                    raise SpentError(f"{error}; epsilon {self.plan.grant.epsilon:g} counts as spent") from error
                raise
            cancelled = isinstance(error, Cancelled | KeyboardInterrupt)
            unrecorded = self._outcome("cancelled" if cancelled else "failed", {ANSWERED: bool(self.events)})
            raise SpentError(self._reason(error, cancelled=cancelled) + unrecorded) from error
        if not self._owner.here:
            return
        unrecorded = self._outcome("done", {"epsilon_derived": self.epsilon_derived})
        if unrecorded:
            raise SpentError(f"the run is done and epsilon {self.plan.grant.epsilon:g} is spent{unrecorded}")

    def card(self, *, num_rows: int) -> dict[str, Any]:
        """The release card, with the price of a schema that was learnt before."""
        assert self.line is not None
        about = card(
            schema=self.schema,
            dataset=self.plan.request.dataset or self.schema.dataset,  # declared: a path stays at home
            method=self.plan.questions.name,
            adjacency=self.plan.grant.adjacency,
            epsilon=self.plan.grant.epsilon,
            delta=self.plan.grant.delta,
            failure_delta=self.plan.grant.failure_delta,
            events=self.events,
            noise=self.noise,
            num_rows=num_rows,
            ledger_entry={"number": self.line.number, "hash": self.line.hash},
            engine=self.plan.engine,
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        about |= areas_on_card(self.schema)
        about |= on_card(self.schema)
        about |= {"preview": dict(self.plan.preview)} if self.plan.preview else {}
        before = self.plan.schema.learnt  # what this run learnt itself is among its own events
        about = about if before is None else together(about, before)
        if not self.priors:
            return complete(about)
        rests = earlier(card for p in self.priors for card in p.cards)
        return complete(
            {**about, "priors": [p.on_card() for p in self.priors]} | ({"earlier_releases": rests} if rests else {})
        )

    def _session(self, share: float, read: Any, *, failures: bool) -> Curator:
        """A curator that may spend this share of mu**2, and the thresholds' part of delta if ``failures``."""
        alone = self.plan.learn_share in (0, 1)
        grant = rehearsal.share(self.plan.grant, share, failures=failures, alone=alone)
        with self._owner:
            session = Curator(grant=grant, commit=self._commit, read=read, mechanisms=mechanisms(), noise=self.noise)
            self._sessions.append(session)
            return session

    def _price(self, session: Curator) -> Learnt:
        """What all learning cost, with what was learnt before; the ledger was charged with the whole run."""
        assert self.line is not None
        grant, alone, before = self.plan.grant, self.plan.learn_share == 1, self.plan.schema.learnt
        return Learnt(
            epsilon=(grant.epsilon if alone else session.epsilon_derived) + (before.epsilon if before else 0.0),
            delta=grant.delta + (before.delta if before else 0.0),
            relation=grant.adjacency.stated,
            unit=grant.adjacency.unit,
            ledger_entry=self.line.number,
            ledger_hash=self.line.hash,
            mechanisms=(*(before.mechanisms if before else ()), *(e.plain() for e in session.events)),
        )

    def _commit(self) -> None:
        """Charges the ledger once for all stages."""
        if self.line is None:
            with uninterrupted():  # or a spend that was committed could be reported as none
                self.line = self.plan.book.spend(self.spend)
                self._tell()

    def _rows(self) -> Mapping[str, Any]:
        reader, tree = self._reader(), self.schema.tree
        return reader.measured(self.schema.tables[ONE]) if tree is None else reader.trees(tree)

    def _wide_rows(self) -> Mapping[str, Any]:
        return self._reader().wide(self.schema)

    def _reader(self) -> RowReader:
        """Who reads the rows, now that the spend is recorded."""
        assert self.line is not None
        self.reporter.stage("read")
        return RowReader(plan=self.plan, noise=self.noise, run=self.line.run, log=self.log, audience=self.audience)

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
            why = str(error) if isinstance(error, SynthError) else error.strerror
            return f"; how the run ended could not be recorded ({why}): look at the ledger with `synth.Ledger.verify`"
        return ""

    def _reason(self, error: BaseException, *, cancelled: bool) -> str:
        """What a user reads. A foreign exception's text may quote a cell, so only its kind is named."""
        stands = f"epsilon {self.plan.grant.epsilon:g} is spent"
        if cancelled:
            return f"cancelled; {stands}"
        if isinstance(error, OSError):
            reason = f"{error.strerror or type(error).__name__} ({error.filename or 'no file named'})"
        else:
            reason = str(error) if isinstance(error, SynthError) else f"internal error {type(error).__name__}"
        return f"failed after the budget was committed: {reason}; {stands}"


@contextmanager
def checked_and_charged(
    request: RunRequest,
    schema: Schema | Dataset,
    *,
    rows: Any,
    noise: SystemNoise | None,
    reporter: Reporter | None,
    audience: Audience,
    questions: Method | None = None,
    preview: Preview | None = None,
    steward_log: str | Path | None = None,
) -> Iterator[ChargedRun]:
    """The run of a request, once all that can be refused was checked; how what it buys is used ends in the ledger."""
    reporter, noise = reporter or Quiet(), noise or SystemNoise()
    reporter.stage("check")
    folder.check_steward_log(Path(steward_log) if steward_log is not None else None)
    plan = prepare(
        request,
        schema,
        rows=rows,
        note=reporter.note,
        noise=noise,
        audience=audience,
        questions=questions,
        preview=preview,
    )
    run = ChargedRun(plan, noise, reporter, steward_log, audience)
    with run.charged():
        yield run
