"""The one door to the rows: dry run, ledger line, rows, noise, in that order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from synth.errors import BudgetError
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import Event, GaussianDpEvent, total_mu
from synth.privacy.accounting.float_slack import slack_taken
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.privacy.owner import Owner
from synth.privacy.relation import Adjacency, Relation
from synth.sources.rows.encoded import EncodedRows
from synth.sources.rows.forest import Forest

CLOSED = "this run's budget is closed; start a new run"
PRECISION = (
    "the noise generator is not precise enough for this epsilon and delta: so many questions take {:.3g} of the "
    "reserve that is set aside for what it may err by, and {:.3g} may be taken; raise delta, and keep epsilon "
    "between 0.01 and 10"
)
SLACK = 1e-9  # relative float error that a generator's own sums may carry; calibration rounds down by as much
RETAINED = 1e-6  # a run's sessions must hold this much of its budget between them, up to rounding


class Mechanism(Protocol):
    """How one kind of question is answered: its sensitivity, its events, its arithmetic.

    Privacy: reads rows, under noise: ``answer`` alone is handed rows.
    """

    def events(self, question: Any, adjacency: Adjacency, /) -> list[Event]: ...

    def changed_cells(self, question: Any, adjacency: Adjacency, /) -> int: ...

    def answer(self, question: Any, rows: Mapping[str, Any], noise: SystemNoise, /) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What a run may spend: the guarantee it is charged for, and the noise budget mu calibrated to it.

    ``failure_delta``: the part of delta that calibration left to stability thresholds. ``float_slack``: the share of
    the noise generator's slack (float_slack.py) that this session may use. ``mu_elsewhere``: mu of what the run's other
    sessions may ask, which a question with a random shift is composed with; mu**2 + mu_elsewhere**2 is then the whole
    run's.

    Privacy: public only.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    mu: float
    failure_delta: float = 0.0
    float_slack: float = 1.0
    mu_elsewhere: float = 0.0

    @property
    def left_delta(self) -> float:
        """What thresholds leave of delta."""
        return self.delta - self.failure_delta


class Curator:
    """Holds the rows of one run and answers questions within its grant.

    **Guarantee**: ``commit`` (the ledger line of the whole grant) returns before ``read`` is called; a
    question that would exceed the grant is refused before rows are looked at; after ``close`` nothing is
    answered any more, and in a fork nothing ever; threads are answered one after the other.

    Errors: BudgetError for a question beyond the grant, after ``close``, or in another process.
    Privacy: reads rows, under noise.
    """

    def __init__(
        self,
        *,
        grant: Grant,
        commit: Callable[[], Any],
        read: Callable[[], Mapping[str, Any]],
        mechanisms: Mapping[type, Mechanism],
        noise: SystemNoise,
    ) -> None:
        self._grant, self._commit, self._read = grant, commit, read
        self._mechanisms, self._noise = mechanisms, noise
        self._rows: Mapping[str, Any] | None = None
        self._closed, self._owner = False, Owner()
        self._events: list[Event] = []
        self._sampler = (0.0, 0.0)

    @property
    def grant(self) -> Grant:
        """What may be spent in this session."""
        return self._grant

    @property
    def events(self) -> tuple[Event, ...]:
        """All that was answered so far, for the accountant; an answer counts from its beginning."""
        return tuple(self._events)

    @property
    def epsilon_derived(self) -> float:
        """The accountant's epsilon, at the grant's delta, of all that was answered so far."""
        return epsilon_of(self._events, self._grant.left_delta)

    def open(self) -> None:
        """Commits the spend, then lets the rows be read. Errors: BudgetError, with nothing read."""
        with self._owner:
            if self._closed:
                raise BudgetError(CLOSED)
            if self._rows is None:
                self._commit()
                self._rows = self._read()

    def public_rows(self) -> int | None:
        """The row count where the relation makes it public, else None."""
        self.open()
        if not self._grant.adjacency.rows_are_public or self._rows is None:
            return None
        known = getattr(self._rows, "num_rows", None)  # rows that need not be in memory know their number
        return len(next(iter(self._rows.values()))) if known is None else int(known)

    def public_values(self, columns: Sequence[str]) -> dict[str, Any]:
        """The positions of columns that are public row by row, in the order of the rows, exact.

        **Guarantee**: two neighbouring tables have the same ones, where the relation replaces the private cells of one
        row alone. Errors: BudgetError under any other relation.

        Privacy: public only.
        """
        adjacency = self._grant.adjacency
        if columns and not (adjacency.relation is Relation.REPLACE_ONE and adjacency.by_row):
            raise BudgetError("public columns pass through where one row is replaced, and under no other relation")
        self.open()
        assert self._rows is not None
        return {n: self._rows[n].copy() for n in columns}

    def ask(self, question: Any) -> Any:
        """Answers within the grant, or refuses and reads nothing. Errors: BudgetError."""
        with self._owner:
            if self._closed:
                raise BudgetError(CLOSED)
            mechanism = self._mechanisms[type(question)]
            asked = mechanism.events(question, self._grant.adjacency)
            sampler = self._dry_run(question, asked, mechanism)
            self.open()
            assert self._rows is not None
            self._events += asked  # from here on something may be told, whatever becomes of the answer
            self._sampler = sampler
            return mechanism.answer(question, self._rows, self._noise)

    def close(self) -> None:
        """Lets go of the rows, and of mechanisms that keep sums of them; no further question is answered."""
        if not self._owner.here:  # what others hold for these rows is the payer's
            self._rows, self._closed = None, True
            return
        with self._owner:
            if isinstance(self._rows, EncodedRows | Forest):
                self._rows.release()
            self._rows, self._mechanisms, self._closed = None, {}, True

    def _dry_run(self, question: Any, asked: list[Event], mechanism: Mechanism) -> tuple[float, float]:
        """Refuses what the grant does not cover; returns the sampler's cost with the question included."""
        if not asked:  # a question that was paid for before
            return self._sampler
        self._check_budget(asked)
        grant = self._grant
        epsilon, delta = self._sampler
        cells = mechanism.changed_cells(question, grant.adjacency)
        for event in asked:
            more = event.imprecision(cells=cells, epsilon=grant.epsilon, delta=grant.left_delta)
            epsilon, delta = epsilon + more[0], delta + more[1]
            epsilon += 2 * event.failure_delta  # -ln(1 - f), values.md
        failures = sum(e.failure_delta for e in [*self._events, *asked])
        if failures > grant.failure_delta * (1 + SLACK):
            raise BudgetError("the question's threshold may fail more often than the run set delta aside for")
        taken = slack_taken((epsilon, delta), grant.epsilon, grant.left_delta)
        if taken > grant.float_slack:
            raise BudgetError(PRECISION, taken, grant.float_slack)
        return epsilon, delta

    def _check_budget(self, asked: list[Event]) -> None:
        """Refuses what would pass the grant: mu**2 among Gaussian events, else the epsilon of all together."""
        grant, events = self._grant, [*self._events, *asked]
        if not all(isinstance(e, GaussianDpEvent) for e in events):
            self._check_epsilon(events)
        elif total_mu(events) > grant.mu * (1 + SLACK):
            left = max(0.0, grant.mu**2 - total_mu(self._events) ** 2)
            wanted = total_mu(asked) ** 2
            raise BudgetError("the question needs mu^2 = {:.6g} of the run's remaining {:.6g}", wanted, left)

    def _check_epsilon(self, events: list[Event]) -> None:
        grant = self._grant
        whole = calibrate(grant.epsilon, grant.left_delta) ** 2 if grant.left_delta else 0.0  # a pure run has no mu
        if grant.mu**2 + grant.mu_elsewhere**2 < whole * (1 - RETAINED):
            raise BudgetError(
                "a question with a random shift needs a grant that says what the run's other sessions may ask"
            )
        others = (
            [GaussianDpEvent(name="other sessions", sensitivity=grant.mu_elsewhere, sigma=1.0)]
            if grant.mu_elsewhere > 0
            else []
        )
        reached = epsilon_of([*others, *events], grant.left_delta)
        if reached > grant.epsilon:
            raise BudgetError(
                "the question would bring the run to epsilon {:.6g}, above its {:g}", reached, grant.epsilon
            )
