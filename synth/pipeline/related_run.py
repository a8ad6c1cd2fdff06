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

from synth.errors import UsageError, reading
from synth.generators.base import Setting
from synth.generators.nested_mixture.model import NestedMixture, check_condition
from synth.jobs import PeakMemory, give_back
from synth.pipeline import same_rows
from synth.pipeline.budget import setting
from synth.pipeline.charged_run import Paid, Reporter
from synth.pipeline.fit_and_draw import one_thread
from synth.pipeline.related_draw import DrawnTables
from synth.pipeline.related_request import RelatedJob, RelatedRequest, prepare
from synth.pipeline.request import check_num_rows, check_seed
from synth.pipeline.same_rows import MaySpend, anybody
from synth.pipeline.sample import MOST_ROWS
from synth.privacy.ledger.config import command as cap_command
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SystemNoise
from synth.questions import LinkedRelease
from synth.release import related_folder
from synth.release.card.card import card
from synth.schema import codec
from synth.schema.related import Related
from synth.schema.table import MAX_CATEGORIES, Schema
from synth.sources.related_tables import read, text_columns
from synth.sources.rows.forest import Forest
from synth.sources.rows.linking import link

NO_POLICY = "no policy for {}: nothing is capped; cap it with {}"
SINGLE = ("target", "unit", "max_rows", "learn_share", "options", "source")  # options of single tables alone
LINKAGE = "rows of different tables belong together by fresh keys, which stand for no real row's"


@dataclass(frozen=True, kw_only=True)
class RelatedResult:
    """What a run of related tables made. Everything in it derives from releases and is as private as the card says."""

    method: str
    relation: str
    dataset: str
    epsilon_spent: float
    epsilon_derived: float
    delta: float
    num_rows: Mapping[str, int]
    seconds: float
    seconds_total: float
    peak_mib: float
    seed: int
    device: str
    paths: dict[str, str] = field(default_factory=dict)
    card: dict[str, Any] = field(repr=False)
    model: NestedMixture = field(repr=False)
    schema: Related = field(repr=False)
    texts: Mapping[str, Mapping[str, pa.Array]] = field(repr=False)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The synthetic tables, one text column for each column of their schemas; none where a folder was written."""
        return {t: pd.DataFrame({n: a.to_pandas() for n, a in texts.items()}) for t, texts in self.texts.items()}

    def plain(self) -> dict[str, Any]:
        """The result as JSON data, without the rows."""
        left_out = ("card", "model", "schema", "texts")
        return {n: getattr(self, n) for n in self.__dataclass_fields__ if n not in left_out}


class RelatedPaid(Paid):
    """The spend of a run of related tables and what it buys.

    **Guarantee**: as of a single table's: the whole is committed to the ledger before a table is read.
    """

    job: RelatedJob  # type: ignore[assignment]
    schema: Related  # type: ignore[assignment]

    def measure(self) -> tuple[list[LinkedRelease], Setting]:  # type: ignore[override]
        """All questions of the generator, asked and answered; the door is closed afterwards."""
        door = self._door(1.0, self._rows, failures=False)
        door.open()
        told = setting(self.schema.learnt(self.schema.root), door.grant, public_rows=None)
        self.reporter.stage("measure")
        releases = self.job.generator.measure(door.ask, self.schema, told, progress=self.reporter.progress)
        door.close()
        return releases, told

    def card(self, *, num_rows: int) -> dict[str, Any]:
        """The release card: one for all tables."""
        assert self.line is not None
        root, keys = self.schema.root, self.schema.keys
        columns = {f"{t}.{n}": c for t, s in self.schema.tables.items() for n, c in s.columns.items()}
        about = card(
            schema=Schema.model_construct(columns=columns),
            dataset=self.job.request.dataset or self.schema.dataset,
            method=self.job.generator.name,
            near=self.job.grant.near,
            epsilon=self.job.grant.epsilon,
            delta=self.job.grant.delta,
            failure_delta=0.0,
            events=self.events,
            noise=self.noise,
            num_rows=num_rows,
            ledger_entry={"number": self.line.number, "hash": self.line.hash},
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
        below = ", ".join(self.schema.downwards[1:])
        return {
            **about,
            "engine": self.job.engine,
            "unit_in_words": f"one row of {root} with everything below it in {below}",
            "keys": [k.model_dump(mode="json", exclude_none=True) for k in keys],
            "linkage": LINKAGE,
            "schema_sha256": hashlib.sha256(self.schema.to_json().encode()).hexdigest(),
        }

    def _rows(self) -> Forest:  # type: ignore[override]
        """The private rows as a forest; which rows of a parent are kept is decided here."""
        assert self.line is not None
        self.reporter.stage("read")
        opened, found = {}, {}
        for name, rows in self.job.rows.items():
            own = read(rows.place, self.schema.tables[name], text_columns(self.schema, name), self.noise,
                       key=self.book.row_key())  # fmt: skip
            opened[name], found[name] = own.rows, own.encoded
            if own.digest is not None:
                apart = self.job.request.separate
                self.book.fingerprint(self.line.run, dataset=self.job.dataset, digest=own.digest, apart=apart)
        if self.log is not None:
            self._tell_steward(found)
        return link(self.schema, opened, self.noise)

    def _tell_steward(self, found: Mapping[str, codec.Encoded]) -> None:
        """Counts of cells outside the schemas, in a private file."""
        clamped = {f"{t}.{n}": many for t, e in found.items() for n, many in e.clamped.items()}
        unreadable = {f"{t}.{n}": many for t, e in found.items() for n, many in e.unreadable.items()}
        related_folder.folder.write_steward_log(Path(str(self.log)), codec.Encoded({}, clamped, unreadable))


class Quiet:
    """A reporter that tells nobody."""

    def stage(self, name: str) -> None:
        """Ignored."""

    def progress(self, fraction: float) -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""


def run(
    tables: str | Path | Mapping[str, Any],
    *,
    schema: Related,
    epsilon: float,
    delta: float,
    method: str = "mixture",
    relation: str = "add_remove",
    num_rows: int | None = None,
    out: str | Path | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    seed: int | None = None,
    device: str = "auto",
    assume_public: bool | Sequence[str] = False,
    reasons: Mapping[str, str] | None = None,
    max_categories: int = MAX_CATEGORIES,
    actor: str | None = None,
    approved_by: str | None = None,
    run: str | None = None,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    steward_log: str | Path | None = None,
    raw_text: bool = False,
    separate: bool = False,
    may_spend: MaySpend = anybody,
) -> RelatedResult:
    """Turns related private tables into synthetic ones and charges the dataset's ledger with epsilon and delta once.

    ``tables``: a folder with a file for each table, or frames and paths by table. ``num_rows``: of the root; default
    its noisy total. ``out``: a folder for a CSV file a table, schema, card, answers and model. Other options as of
    ``synth.run``; columns are named TABLE.COLUMN.

    **Guarantee**: the result is (epsilon, delta)-DP for the relation on one row of the root with everything below it.
    Errors: UsageError, InputError, BudgetError before anything is spent; SpentError afterwards.
    """
    clock, reporter = time.perf_counter(), reporter or Quiet()
    request = RelatedRequest(
        epsilon=epsilon, delta=delta, method=method, relation=relation, num_rows=num_rows, dataset=dataset, seed=seed,
        device=device, assume_public=assume_public, reasons=reasons or {}, max_categories=max_categories, actor=actor,
        approved_by=approved_by, run=run, separate=separate,
    )  # fmt: skip
    with PeakMemory() as peak:
        reporter.stage("check")
        related_folder.folder.check_steward_log(Path(steward_log) if steward_log is not None else None)
        job = prepare(tables, schema, request, note=reporter.note)
        related_folder.check_out(Path(out) if out is not None else None, job.schema)
        paid = _door(job, ledger, noise, reporter, steward_log, may_spend=may_spend)
        with paid.charged():
            started = time.perf_counter()
            releases, told = paid.measure()
            give_back()
            drawn, model, own_seed = _fit_and_draw(job, releases, told, reporter)
            seconds = time.perf_counter() - started
            about = paid.card(num_rows=sum(drawn.num_rows.values()))
            about["rows"] = {**about["rows"], "tables": drawn.num_rows}
            about |= {"constraints": drawn.kept, "seed": own_seed, "release_kinds": ["linked"]}
            reporter.stage("write")
            paths: dict[str, str] = {}
            if out is not None:
                paths = related_folder.write(
                    Path(out), tables={n: drawn.blocks(n) for n in job.schema.tables}, model=model, releases=releases,
                    mu=told.mu, card=about, raw_text=raw_text,
                )  # fmt: skip
            texts = {n: drawn.whole(n) for n in job.schema.tables} if out is None else {}
    return RelatedResult(
        method=job.generator.name,
        relation=str(job.grant.near.relation),
        dataset=job.dataset,
        epsilon_spent=epsilon,
        epsilon_derived=paid.epsilon_derived,
        delta=delta,
        num_rows=drawn.num_rows,
        seconds=seconds,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        seed=own_seed,
        device=job.device,
        paths=paths,
        card=about,
        model=model,
        schema=job.schema,
        texts=texts,
    )


def run_described(tables: Any, schema: Schema | Related, options: Mapping[str, Any]) -> Any:
    """``run`` with the options of a single table's run. Errors: UsageError for one that related tables do not have."""
    if not isinstance(schema, Related):
        raise UsageError("several tables need a schema of related tables, with their keys (parse_related)")
    if not isinstance(tables, str | Path | Mapping):
        raise UsageError("related tables are a folder with a file for each, or frames and paths by table")
    for name in (n for n in SINGLE if options.get(n)):
        raise UsageError(f"{name.replace('_', '-')}: related tables have no such option yet; leave it out")
    return run(tables, schema=schema, **{n: v for n, v in options.items() if n not in (*SINGLE, "dialect")})


def _door(
    job: RelatedJob,
    ledger: str | Path | None,
    noise: SystemNoise | None,
    reporter: Reporter,
    steward_log: str | Path | None,
    *,
    may_spend: MaySpend,
) -> RelatedPaid:
    """The last checks before a spend: what the budget allows, the form of the files, and whose rows these are."""
    book = Ledger(ledger)
    paid = RelatedPaid(job, book, noise or SystemNoise(), reporter, steward_log)  # type: ignore[arg-type]
    book.check(paid.spend)
    job.check()
    if book.policy(job.dataset) is None:
        reporter.note(NO_POLICY.format(job.dataset, cap_command(job.dataset)))
    for rows in job.rows.values():
        rows.check_form()
    if not job.request.separate:
        for rows in job.rows.values():
            same_rows.check(rows, book, dataset=job.dataset, may_spend=may_spend)
    give_back()
    return paid


def _fit_and_draw(
    job: RelatedJob, releases: Sequence[LinkedRelease], told: Setting, reporter: Reporter
) -> tuple[DrawnTables, NestedMixture, int]:
    """Pure post-processing of releases."""
    seed = secrets.randbits(32) if job.request.seed is None else job.request.seed
    rng = np.random.default_rng(seed)
    reporter.stage("fit")
    with one_thread():
        model = job.generator.fit(releases, job.schema, told, rng=rng, device=job.device, progress=reporter.progress)
    reporter.stage("sample")
    return DrawnTables(model, job.request.num_rows or roots_of(model), rng=rng), model, seed


def roots_of(model: NestedMixture, share: float = 1.0) -> int:
    """Roots that are drawn unasked."""
    return min(max(1, round(model.total * share)), MOST_ROWS)


def sample_to(
    model: str | Path,
    out: str | Path,
    *,
    num_roots: int | None = None,
    where: Mapping[str, str] | None = None,
    seed: int | None = None,
    raw_text: bool = False,
) -> tuple[dict[str, int], float, dict[str, str]]:
    """Related rows from a stored model: free. A CSV file a table in the folder ``out``.

    ``where``: by ROOT.COLUMN a value, ``a|b``, or ``low..high``. Returns rows by table, the model's probability of
    ``where`` and the files. **Guarantee**: that of the model's release. Errors: InputError, UsageError.
    """
    with reading(model, "model"):
        check_num_rows(num_roots)
        check_seed(seed)
        found = related_folder.load_model(model).model
        schema = found.schema
        related_folder.check_out(Path(out), schema)
        root = schema.tables[schema.root]
        allowed = {n: _places(root, n, wanted) for n, wanted in check_condition(schema, where or {}).items()}
        share = found.probability(allowed) if allowed else 1.0
        rng = np.random.default_rng(seed)
        drawn = DrawnTables(found, num_roots or roots_of(found, share), rng=rng, where=allowed or None)
    blocks = {n: drawn.blocks(n) for n in schema.tables}
    paths = related_folder.write_tables(Path(out), blocks, schema, raw_text=raw_text)
    return drawn.num_rows, share, paths


def _places(schema: Schema, column: str, wanted: str) -> np.ndarray:
    try:
        return codec.places_of(schema.columns[column], wanted)
    except ValueError as error:
        raise UsageError(f"--where {column}={wanted}: {error}") from None
