"""The way of a run of related tables: one ledger line, one budget, one card; the root is the unit."""

import datetime as dt
import hashlib
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.errors import UsageError
from synth.generators.base import Setting
from synth.generators.nested_mixture.generator import Nested
from synth.generators.nested_mixture.model import NestedMixture
from synth.jobs import PeakMemory, give_back
from synth.pipeline.budget import setting
from synth.pipeline.charged_run import ChargedRun
from synth.pipeline.private_rows import Rows
from synth.pipeline.related_draw import DrawnTables
from synth.pipeline.related_plan import RelatedPlan, prepare
from synth.pipeline.related_sample import roots_of
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import RunRequest
from synth.pipeline.result import Outcome
from synth.pipeline.same_rows import MaySpend, anybody, unlike
from synth.privacy.noise import SystemNoise
from synth.questions import LinkedRelease
from synth.release import folder, related_folder
from synth.release.card.card import card, meaning
from synth.schema import codec
from synth.schema.lazy import Lazy
from synth.schema.related import Related
from synth.schema.table import Schema
from synth.sources.related_tables import read, text_columns
from synth.sources.rows.forest import Forest
from synth.sources.rows.linking import link

networks = Lazy("synth.questions.numeric.networks")  # and with it torch

LINKAGE = "rows of different tables belong together by fresh keys, which stand for no real row's"


@dataclass(frozen=True, kw_only=True)
class RelatedResult(Outcome):
    """What a run of related tables made. Everything in it derives from releases and is as private as the card says."""

    num_rows: Mapping[str, int]
    model: NestedMixture = field(repr=False)
    schema: Related = field(repr=False)
    texts: Mapping[str, Mapping[str, pa.Array]] = field(repr=False)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The synthetic tables, one text column for each column of their schemas; none where a folder was written."""
        return {t: pd.DataFrame({n: a.to_pandas() for n, a in texts.items()}) for t, texts in self.texts.items()}


class RelatedRun(ChargedRun):
    """The spend of a run of related tables and what it buys.

    **Guarantee**: as of a single table's: the whole is committed to the ledger before a table is read.
    """

    plan: RelatedPlan  # type: ignore[assignment]
    schema: Related  # type: ignore[assignment]

    def measure(self) -> tuple[list[LinkedRelease], Setting]:  # type: ignore[override]
        """All questions of the generator, asked and answered; the session is closed afterwards."""
        session = self._session(1.0, self._rows, failures=False)
        session.open()
        told = setting(self.schema.learnt(self.schema.root), session.grant, public_rows=None)
        self.reporter.stage("measure")
        releases = self.plan.questions.measure(session.ask, self.schema, told, progress=self.reporter.progress)
        session.close()
        return releases, told

    def card(self, *, num_rows: int) -> dict[str, Any]:
        """The release card: one for all tables."""
        assert self.line is not None
        columns = {f"{t}.{n}": c for t, s in self.schema.tables.items() for n, c in s.columns.items()}
        about = card(
            schema=Schema.model_construct(columns=columns),
            dataset=self.plan.request.dataset or self.schema.dataset,
            method=self.plan.questions.name,
            adjacency=self.plan.grant.adjacency,
            epsilon=self.plan.grant.epsilon,
            delta=self.plan.grant.delta,
            failure_delta=0.0,
            events=self.events,
            noise=self.noise,
            num_rows=num_rows,
            ledger_entry={"number": self.line.number, "hash": self.line.hash},
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        return {
            **about,
            "relation_in_words": self.plan.grant.adjacency.words(
                self.schema.unit_in_words, f"keys of {self.schema.root}"
            ),
            "meaning": meaning(
                self.plan.grant.epsilon,
                about=self.schema.unit_in_words,
                relation=str(self.plan.grant.adjacency.relation),
            ),
            "engine": self.plan.engine,
            "unit_in_words": self.schema.unit_in_words,
            "keys": [k.model_dump(mode="json", exclude_none=True) for k in self.schema.keys],
            "linkage": LINKAGE,
            **({"public_tables": _public(self.schema)} if self.schema.public else {}),
            "schema_sha256": hashlib.sha256(self.schema.to_json().encode()).hexdigest(),
        }

    def _rows(self) -> Forest:  # type: ignore[override]
        """The private rows as a forest; which rows of a parent are kept is decided here."""
        assert self.line is not None
        self.reporter.stage("read")
        opened, found = {}, {}
        for name, rows in self.plan.rows.items():
            own = read(
                rows.place,
                self.schema.tables[name],
                text_columns(self.schema, name),
                self.noise,
                key=self.plan.book.row_key(),
            )
            opened[name], found[name] = own.rows, own.encoded
            self._mark(own.digest, rows)
            self._mark(own.alone, self.plan.alone(name))
        if self.log is not None:
            self._tell_steward(found)
        return link(self.schema, opened, self.noise)

    def _mark(self, digest: bytes | None, rows: Rows) -> None:
        """A line of the ledger for each table and form of its mark, whatever is in it."""
        assert self.line is not None
        digest, apart = unlike(rows) if digest is None else digest, self.plan.request.separate
        self.plan.book.fingerprint(self.line.run, dataset=self.plan.dataset, digest=digest, apart=apart)

    def _tell_steward(self, found: Mapping[str, codec.Encoded]) -> None:
        """Counts of cells outside the schemas, in a private file."""
        clamped = {f"{t}.{n}": many for t, e in found.items() for n, many in e.clamped.items()}
        unreadable = {f"{t}.{n}": many for t, e in found.items() for n, many in e.unreadable.items()}
        folder.write_steward_log(Path(str(self.log)), codec.Encoded({}, clamped, unreadable))


def carry_out(
    request: RunRequest,
    *,
    schema: Schema | Related,
    rows: Any = None,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    steward_log: str | Path | None = None,
    may_spend: MaySpend = anybody,
    questions: Nested | None = None,
) -> RelatedResult:
    """Turns related private tables into synthetic ones and charges the dataset's ledger with epsilon and delta once.

    The request's ``table`` is a folder with a file for each table, or ``rows`` are frames and paths by table;
    ``num_rows`` is of the root, ``assume_public`` and ``reasons`` name TABLE.COLUMN. ``questions``: the method, unless
    it is to be the usual one.

    **Guarantee**: the result is (epsilon, delta)-DP for the relation on one key of the root with everything below it.
    Errors: UsageError, InputError, BudgetError before anything is spent; SpentError afterwards.
    """
    if not isinstance(schema, Related):
        raise UsageError("several tables need a schema of related tables, with their keys (parse_related)")
    if rows is not None and not isinstance(rows, Mapping):
        raise UsageError("related tables are a folder with a file for each, or frames and paths by table")
    clock, reporter, noise = time.perf_counter(), reporter or Quiet(), noise or SystemNoise()
    with PeakMemory() as peak:
        reporter.stage("check")
        folder.check_steward_log(Path(steward_log) if steward_log is not None else None)
        plan = prepare(
            request, schema, rows=rows, note=reporter.note, noise=noise, may_spend=may_spend, questions=questions
        )
        charged_run = RelatedRun(plan, noise, reporter, steward_log)  # type: ignore[arg-type]
        with charged_run.charged():
            started = time.perf_counter()
            releases, told = charged_run.measure()
            give_back()
            drawn, model, seed = _fit_and_draw(plan, releases, told, reporter)
            seconds = time.perf_counter() - started
            about = _about(charged_run, drawn, seed)
            reporter.stage("write")
            paths = _written(plan, drawn, model, releases, told, about)
            texts = {n: drawn.whole(n) for n in plan.schema.tables} if request.out is None else {}
    return RelatedResult(
        method=plan.questions.name,
        relation=str(plan.grant.adjacency.relation),
        dataset=plan.dataset,
        epsilon_spent=request.epsilon,
        epsilon_derived=charged_run.epsilon_derived,
        delta=request.delta,
        num_rows=drawn.num_rows,
        seconds=seconds,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        seed=seed,
        device=plan.device,
        paths=paths,
        card=about,
        model=model,
        schema=plan.schema,
        texts=texts,
    )


def _about(charged_run: RelatedRun, drawn: DrawnTables, seed: int) -> dict[str, Any]:
    """The card with what drawing tells."""
    about = charged_run.card(num_rows=sum(drawn.num_rows.values()))
    rows = {**about["rows"], "tables": drawn.num_rows}
    return {**about, "rows": rows, "constraints": drawn.kept, "seed": seed, "release_kinds": ["linked"]}


def _public(schema: Related) -> dict[str, Any]:
    """The public tables to which synthetic rows refer."""
    return {n: p.model_dump(mode="json", exclude_none=True) for n, p in (schema.public or {}).items()}


def _written(
    plan: RelatedPlan,
    drawn: DrawnTables,
    model: NestedMixture,
    releases: Sequence[LinkedRelease],
    told: Setting,
    about: dict[str, Any],
) -> dict[str, str]:
    """The release's files; ``about``, its card, gains what only they tell."""
    if plan.request.out is None:
        return {}
    return related_folder.write(
        Path(plan.request.out),
        tables={n: drawn.blocks(n) for n in plan.schema.tables},
        model=model,
        releases=releases,
        mu=told.mu,
        card=about,
        public=plan.public,
        raw_text=plan.request.raw_text,
    )


def _fit_and_draw(
    plan: RelatedPlan, releases: Sequence[LinkedRelease], told: Setting, reporter: Reporter
) -> tuple[DrawnTables, NestedMixture, int]:
    """Pure post-processing of releases."""
    seed = secrets.randbits(32) if plan.request.seed is None else plan.request.seed
    rng = np.random.default_rng(seed)
    reporter.stage("fit")
    with networks.one_thread():
        model = plan.questions.fit(releases, plan.schema, told, rng=rng, device=plan.device, progress=reporter.progress)
    reporter.stage("sample")
    return DrawnTables(model, plan.request.num_rows or roots_of(model), rng=rng), model, seed
