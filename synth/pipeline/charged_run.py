"""The part of a run that touches rows: one ledger line, a door for each stage, and what follows a failure."""

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from synth.errors import COMMITTED, SpentError, SynthError
from synth.generators.base import Setting
from synth.jobs import Cancelled, uninterrupted
from synth.pipeline import rehearsal, same_rows
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.learn_schema import fineness, finer, grids, lacking, learn
from synth.pipeline.request import Job
from synth.privacy.accounting.composition import Event, epsilon_of
from synth.privacy.curator import Curator
from synth.privacy.ledger.ledger import Entry, Ledger
from synth.privacy.noise import SystemNoise
from synth.questions import Release
from synth.release import folder
from synth.release.card.card import card, together
from synth.schema import cells, coarsening, codec
from synth.schema.table import CATEGORICAL, Column, Learnt, Schema
from synth.sources.contribution_bound import keep, keep_parts
from synth.sources.rows.spill import Spool


class Reporter(Protocol):
    """Who is told of progress; ``stage`` and ``progress`` may raise ``jobs.Cancelled``."""

    def stage(self, name: str) -> None: ...

    def progress(self, fraction: float) -> None: ...

    def note(self, message: str) -> None: ...


@dataclass(frozen=True)
class Words:
    """A text column of the kept rows: distinct canonical ``values`` and each row's index into them."""

    values: np.ndarray
    codes: np.ndarray


class Paid:
    """One run's spend and what it buys.

    **Guarantee**: the whole of the job's epsilon and delta is committed to the ledger before the table is read; all
    that is asked afterwards composes to no more.
    """

    def __init__(self, job: Job, book: Ledger, noise: SystemNoise, reporter: Reporter, log: str | Path | None) -> None:
        self.job, self.book, self.noise, self.reporter, self.log = job, book, noise, reporter, log
        self.spend = job.spend(noise_source=noise.name)
        self.schema = job.schema
        self.line: Entry | None = None
        self._asked: str | None = None  # when the ledger was asked to record the spend
        self._doors: list[Curator] = []

    @property
    def events(self) -> tuple[Event, ...]:
        """All that was answered so far."""
        return tuple(e for door in self._doors for e in door.events)

    @property
    def epsilon_derived(self) -> float:
        """The accountant's epsilon of all that was answered so far, at the job's delta."""
        return epsilon_of(self.events, self.job.grant.left_delta)

    def learn(self) -> Schema:
        """Learns the schema's missing facts with their share of the budget; afterwards ``schema`` is complete."""
        if self.job.learn_share == 0:
            return self.schema
        grant, door = self.job.grant, self._door(self.job.learn_share, self._wide_rows, failures=True)
        self.reporter.stage("learn")
        mu = grant.mu * sqrt(self.job.learn_share)
        door.open()
        found = learn(door.ask, self.schema, grant.near, mu=mu, failure_delta=grant.failure_delta)
        door.close()
        self.schema = found.model_copy(update={"learnt": self._price(door)})
        return self.schema

    def measure(self) -> tuple[list[Release], Setting]:
        """All questions of the generator, asked and answered; the door is closed afterwards."""
        door = self._door(1 - self.job.learn_share, self._rows, failures=False)
        door.open()
        circumstances = setting(self.schema, door.grant, public_rows=door.public_rows())
        self.reporter.stage("measure")
        releases = self.job.generator.measure(door.ask, circumstances, progress=self.reporter.progress)
        door.close()
        return releases, circumstances

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Records how the run ended. Errors: SpentError for whatever goes wrong once the spend is committed."""
        try:
            yield
        except BaseException as error:
            for door in self._doors:
                door.close()
            if self.line is None and not self._recorded_after_all():
                raise
            cancelled = isinstance(error, Cancelled | KeyboardInterrupt)
            unrecorded = self._outcome("cancelled" if cancelled else "failed", {})
            raise SpentError(self._reason(error, cancelled=cancelled) + unrecorded) from error
        unrecorded = self._outcome("done", {"epsilon_derived": self.epsilon_derived})
        if unrecorded:
            raise SpentError(f"the run is done and epsilon {self.job.grant.epsilon:g} is spent{unrecorded}")

    def card(self, *, num_rows: int) -> dict[str, Any]:
        """The release card, with the price of a schema that was learnt before."""
        assert self.line is not None
        about = card(
            schema=self.schema,
            dataset=self.job.request.dataset or self.schema.dataset,  # declared: a path stays at home
            method=self.job.generator.name,
            near=self.job.grant.near,
            epsilon=self.job.grant.epsilon,
            delta=self.job.grant.delta,
            failure_delta=self.job.grant.failure_delta,
            events=self.events,
            noise=self.noise,
            num_rows=num_rows,
            ledger_entry={"number": self.line.number, "hash": self.line.hash},
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        about["engine"] = self.job.rows.place.engine
        learnt = self.schema.learnt
        return about if learnt is None or learnt.ledger_entry == self.line.number else together(about, learnt)

    def _door(self, share: float, read: Any, *, failures: bool) -> Curator:
        """A curator that may spend this share of the job's mu**2, and the thresholds' part of delta if ``failures``."""
        alone = self.job.learn_share in (0, 1)
        grant = rehearsal.share(self.job.grant, share, failures=failures, alone=alone)
        door = Curator(grant=grant, commit=self._commit, read=read, mechanisms=mechanisms(), noise=self.noise)
        self._doors.append(door)
        return door

    def _price(self, door: Curator) -> Learnt:
        """What all learning cost, with what was learnt before; the ledger was charged with the whole run."""
        assert self.line is not None
        grant, alone, before = self.job.grant, self.job.learn_share == 1, self.job.schema.learnt
        return Learnt(
            epsilon=(grant.epsilon if alone else door.epsilon_derived) + (before.epsilon if before else 0.0),
            delta=grant.delta + (before.delta if before else 0.0),
            relation=str(grant.near.relation),
            unit=grant.near.unit,
            ledger_entry=self.line.number,
            mechanisms=(*(before.mechanisms if before else ()), *(e.plain() for e in door.events)),
        )

    def _commit(self) -> None:
        """Charges the ledger once for all stages."""
        if self.line is None:
            self._asked = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
            with uninterrupted():  # or a spend that was committed could be reported as none
                self.line = self.book.spend(self.spend)
                self._tell()

    def _rows(self) -> Mapping[str, np.ndarray]:
        """The private rows, encoded after the spend; which rows of a person are kept is decided here."""
        assert self.line is not None
        self.reporter.stage("read")
        near = self.job.grant.near
        person = None if near.by_row else near.unit
        opened = self.job.rows.place.encoded(self.schema, self.noise, person=person, key=self.book.row_key())
        self._mark(opened.digest)
        rows = opened.encoded.positions
        if opened.persons is not None and isinstance(rows, Spool):
            kept = keep_parts(opened.persons.parts(), near.max_rows, self.noise, num_rows=opened.persons.num_rows)
            rows.keep(kept)
        if self.log is not None:
            folder.write_steward_log(Path(self.log), opened.encoded)
        return rows

    def _mark(self, digest: bytes | None) -> None:
        """Keeps a mark of the rows, by which they are known again before a later spend (same_rows.py).

        One that no other is like where they cannot be compared: the number of rows must not decide about a line.
        """
        assert self.line is not None
        digest = same_rows.mark(self.job.rows, self.book.row_key()) if digest is None else digest
        digest = same_rows.unlike(self.job.rows) if digest is None else digest
        apart = self.job.request.separate
        self.book.fingerprint(self.line.run, dataset=self.job.dataset, digest=digest, apart=apart)

    def _wide_rows(self) -> Mapping[str, Any]:
        """Rows as learning sees them: canonical texts of categories, numbers and dates on public wide grids.

        Only the columns that lack facts are read, as text and into memory.
        """
        self.reporter.stage("read")
        near, names, wide = self.job.grant.near, lacking(self.schema), grids(self.schema)
        if self.job.learn_share == 1:  # else the rows are read again, and marked then
            self._mark(None)
        table = self.job.rows.place.read([*names, *([] if near.by_row else [near.unit])])
        kept = None if near.by_row else keep(table.column(near.unit), near.max_rows, self.noise)
        rows: dict[str, Any] = dict(codec.encode(table, wide, self.noise, rows=kept).positions)
        for name in list(rows):
            rows[finer(name)] = fineness(wide.columns[name], rows[name])
        for name in names:
            if self.schema.columns[name].type in CATEGORICAL:
                rows[name] = _words(self.schema.columns[name], table.column(name), kept)
        return rows

    def _tell(self) -> None:
        """Whatever follows, the command's exit code will not deny the spend."""
        COMMITTED.append(f"epsilon {self.job.grant.epsilon:g} is spent on {self.job.dataset!r} all the same")

    def _recorded_after_all(self) -> bool:
        """Whether a spend whose recording ended with an error stands in the ledger nevertheless."""
        if self._asked is None:
            return False
        try:
            lines = self.book.entries(self.job.dataset)
        except SynthError:
            return False
        mine = [e for e in lines if e.kind == "spend" and e.time >= self._asked and e.actor == self.spend.actor]
        self.line = next((e for e in reversed(mine) if e.epsilon == self.spend.epsilon), None)
        if self.line is not None:
            self._tell()
        return self.line is not None

    def _outcome(self, state: str, detail: dict[str, Any]) -> str:
        """Records how the run ended; what to add to its message where that cannot be recorded. Raises nothing."""
        assert self.line is not None
        try:
            with uninterrupted():
                self.book.outcome(self.line.run, state=state, detail=detail)
        except (SynthError, OSError) as error:  # a full disk; a ledger that was removed, replaced or put back
            why = str(error) if isinstance(error, SynthError) else error.strerror
            return f"; how the run ended could not be recorded ({why}): look at the ledger with `synth ledger verify`"
        return ""

    def _reason(self, error: BaseException, *, cancelled: bool) -> str:
        """What a user reads. A foreign exception's text may quote a cell, so only its kind is named."""
        stands = f"epsilon {self.job.grant.epsilon:g} is spent"
        if cancelled:
            return f"cancelled; {stands}"
        if isinstance(error, OSError):
            reason = f"{error.strerror or type(error).__name__} ({error.filename or 'no file named'})"
        else:
            reason = str(error) if isinstance(error, SynthError) else f"internal error {type(error).__name__}"
        return f"failed after the budget was committed: {reason}; {stands}"


def _words(column: Column, text: codec.TextColumn, kept: np.ndarray | None) -> Words:
    merged = coarsening.grouped(column, cells.canonical(text.values)).dictionary_encode()
    values = merged.dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(values, kind="stable")
    codes = np.argsort(order)[merged.indices.to_numpy()[text.codes]]
    return Words(values[order], codes if kept is None else codes[kept])
