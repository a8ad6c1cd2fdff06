"""The thin seam that joins the parts: schema -> [curator] -> releases -> model -> rows -> files.

Order of a run: everything that can be refused without reading a row (options, schema, budget, the form of the
file), then the ledger line, then the rows. From the last answer on, all is post-processing.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth.errors import InputError, UsageError, reading
from synth.generators import GENERATORS
from synth.generators.base import Generator
from synth.jobs import PeakMemory, give_back
from synth.pipeline import same_rows
from synth.pipeline.charged_run import Paid, Reporter
from synth.pipeline.fit_and_draw import fit_and_sample, write
from synth.pipeline.learn_schema import lacking
from synth.pipeline.request import (
    Job,
    Request,
    Source,
    check_num_rows,
    check_seed,
    dataset_name,
    generator_named,
    kinds_of,
    located,
    prepare,
    resolve_device,
)
from synth.pipeline.result import Result
from synth.pipeline.same_rows import MaySpend, anybody
from synth.pipeline.sample import sample as sample
from synth.pipeline.sample import sample_to as sample_to
from synth.pipeline.schema_approval import to_learn, with_target
from synth.privacy.ledger.config import command as cap_command
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import relation_named
from synth.questions import Release
from synth.release import dialect_copy, folder
from synth.schema.table import MAX_CATEGORIES, Schema

NO_POLICY = "no policy for {}: nothing is capped; {}"
STAGES = {"check": 0.1, "read": 0.1, "learn": 0.02, "measure": 0.18, "fit": 0.45, "sample": 0.05, "write": 0.1}


class Quiet:
    """A reporter that tells nobody."""

    def stage(self, name: str) -> None:
        """Ignored."""

    def progress(self, fraction: float) -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""


def run(
    table: Source,
    *,
    schema: Schema,
    epsilon: float,
    delta: float,
    method: str = "mixture",
    relation: str = "add_remove",
    target: str | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    learn_share: float | None = None,
    options: Mapping[str, Any] | None = None,
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
    dialect: str = "same",
    source: str | None = None,
    separate: bool = False,
    may_spend: MaySpend = anybody,
) -> Result:
    """Turns a private table into a synthetic one and charges the dataset's ledger with epsilon and delta.

    ``table``: a CSV (also .gz), Parquet or Excel file, a folder of Parquet files, a frame (then name the ``dataset``),
    or the name of a table at ``source``: postgres://user@host/database, duckdb:///file.duckdb, or spark.
    ``num_rows``: default the noisy total (at most ten million), or the public row count. ``seed`` drives
    initialisation and sampling, never privacy noise.
    ``out``: a folder for the files of bundle.py; without it nothing is written. ``raw_text``: leaves text in the CSV
    as it is that a spreadsheet would take for a formula; else an apostrophe stands before it. ``dialect``: ``same``
    writes the table once more as the schema says that the private one is written, where that is not the plain way;
    ``plain`` does not. ``steward_log``: a private file for the counts of cells outside the schema.

    ``run``: an id for the ledger's line, by which the run's charge is found again; it is charged once.
    ``unit``: the identifier column that names a person, of whom at most ``max_rows`` rows are kept, drawn at random;
    without it a row is the unit. ``learn_share``: part of the noise budget for facts that the schema leaves out
    (categories, bounds, presence of missing values); they are marked ``private`` in the result's schema.
    ``assume_public``: vouches for drafted facts; True for all but the lists of values that tell of persons, which must
    be named, each with one of the ``reasons`` (column to text), which goes onto the card.
    ``options``: of the method, by name (``synth.methods()`` lists them).
    Rows like those of another dataset in the ledger, on which ``may_spend`` says that the caller may spend, are refused
    before the spend unless ``separate`` says that no person is in both.

    **Guarantee**: the result is (epsilon, delta)-DP for the relation on that unit, all that touched the rows
    included. Errors: UsageError, InputError, BudgetError before anything is spent; SpentError afterwards, with the
    spend recorded.

    Privacy: reads rows, under noise.
    """
    clock, reporter = time.perf_counter(), reporter or Quiet()
    request = Request(
        epsilon=epsilon, delta=delta, method=method, relation=relation, target=target, unit=unit, max_rows=max_rows,
        learn_share=learn_share, num_rows=num_rows, dataset=dataset, seed=seed, device=device,
        assume_public=assume_public, reasons=reasons or {}, max_categories=max_categories, actor=actor,
        approved_by=approved_by, run=run, separate=separate, options=options or {},
    )  # fmt: skip
    with PeakMemory() as peak:
        reporter.stage("check")
        folder.check_out(Path(out) if out is not None else None)
        folder.check_steward_log(Path(steward_log) if steward_log is not None else None)
        job = prepare(located(table, source), schema, request, note=reporter.note)
        dialect_copy.check(job.schema, dialect if out is not None else "plain")
        if out is not None:
            folder.check_room(Path(out), job.schema, num_rows)
        paid = _door(job, ledger, noise, reporter, steward_log, may_spend=may_spend)
        with paid.charged():
            started = time.perf_counter()
            paid.learn()
            releases, setting = paid.measure()
            give_back()  # the rows are gone: what held them must not stand beside the fit's and the table's memory
            made = fit_and_sample(job.generator, releases, setting, request, job.device, reporter, held=out is None)
            seconds = time.perf_counter() - started
            about = {**paid.card(num_rows=made.num_rows), "constraints": made.kept, "seed": made.seed}
            about["release_kinds"] = kinds_of(type(r) for r in releases)
            paths = write(out, made, releases, setting, about, reporter, raw_text=raw_text, dialect=dialect)
    return Result(
        method=job.generator.name,
        relation=str(job.grant.near.relation),
        dataset=paid.job.dataset,
        epsilon_spent=epsilon,
        epsilon_derived=paid.epsilon_derived,
        delta=delta,
        num_rows=made.num_rows,
        seconds=seconds,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        seed=made.seed,
        device=job.device,
        paths=paths,
        card=about,
        model=made.model,
        schema=setting.schema,
        texts=made.texts,
    )


def _door(
    job: Job,
    ledger: str | Path | None,
    noise: SystemNoise | None,
    reporter: Reporter,
    steward_log: str | Path | None,
    *,
    may_spend: MaySpend = anybody,
) -> Paid:
    """The last checks before a spend: what the budget allows, the form of the file, and whose rows these are."""
    book = Ledger(ledger)
    job = replace(job, dataset=dataset_name(job.rows.place, job.request.dataset or job.schema.dataset, book=book))
    paid = Paid(job, book, noise or SystemNoise(), reporter, steward_log)
    paid.book.check(paid.spend)
    job.check()
    if paid.book.policy(job.dataset) is None:
        new = "" if book.known(job.dataset) else "nothing was charged to it before; "
        reporter.note(NO_POLICY.format(job.dataset, f"{new}cap it with {cap_command(job.dataset)}"))
    job.rows.check_form()
    if not job.request.separate:
        same_rows.check(job.rows, paid.book, dataset=job.dataset, may_spend=may_spend)
    give_back()  # what the pass over the file used
    return paid


def learn_schema(
    table: Source,
    *,
    schema: Schema,
    epsilon: float,
    delta: float,
    relation: str = "add_remove",
    unit: str | None = None,
    max_rows: int | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    actor: str | None = None,
    approved_by: str | None = None,
    run: str | None = None,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    separate: bool = False,
    may_spend: MaySpend = anybody,
) -> Schema:
    """A complete schema from one that states names and kinds, its missing facts learnt for epsilon and delta.

    Facts that the schema states are kept, but for those of a draft that nobody has confirmed. The learnt ones are
    marked ``private``; the schema carries their price, which the card of every release made with it adds to its own.

    **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit; a ledger entry of its own. Errors: as
    ``run``; InputError when nothing is missing.

    Privacy: reads rows, under noise.
    """
    reporter = reporter or Quiet()
    reporter.stage("check")
    schema = to_learn(schema, False, reporter.note)
    if not lacking(schema):
        raise InputError("the schema states every fact already; leave out the categories or bounds to be learnt")
    request = Request(
        epsilon=epsilon, delta=delta, relation=relation, unit=unit, max_rows=max_rows, dataset=dataset, actor=actor,
        approved_by=approved_by, run=run, learn_share=1.0, device="cpu", separate=separate,
    )  # fmt: skip
    job = prepare(table, schema, request, note=reporter.note)
    paid = _door(job, ledger, noise, reporter, None, may_spend=may_spend)
    with paid.charged():
        return paid.learn()


def refit(
    release: str | Path,
    *,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    target: str | None = None,
    num_rows: int | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
    device: str = "auto",
    reporter: Reporter | None = None,
    raw_text: bool = False,
    dialect: str = "same",
) -> Result:
    """Another model and table from a stored release: free, no rows, no ledger entry.

    ``method``, ``options``, ``target``: as of ``run``; default those of the release. ``raw_text``,
    ``dialect``: as of ``run``.

    **Guarantee**: that of the release (post-processing). Errors: InputError for a damaged release, UsageError.

    Privacy: released answers only.
    """
    clock, reporter = time.perf_counter(), reporter or Quiet()
    with PeakMemory() as peak, reading(release, "release"):
        reporter.stage("check")
        check_num_rows(num_rows)
        check_seed(seed)
        folder.check_out(Path(out) if out is not None else None)
        stored = folder.load_release(release)
        dialect_copy.check(stored.setting.schema, dialect if out is not None else "plain")
        relation = relation_named(str(stored.card["relation"]))
        kept = stored.options if method in (None, stored.method) else {}
        generator = generator_named(method or stored.method, relation, {**kept, **(options or {})})
        _check_reads(generator, stored.releases)
        setting = replace(stored.setting, schema=with_target(stored.setting.schema, target))
        request = Request(epsilon=0, delta=0, num_rows=num_rows, seed=seed)
        device, started = resolve_device(device), time.perf_counter()
        made = fit_and_sample(generator, stored.releases, setting, request, device, reporter, held=out is None)
        seconds = time.perf_counter() - started
        about = {**stored.card, "method": generator.name, "refitted": True}
        about["schema_sha256"] = hashlib.sha256(setting.schema.to_json().encode()).hexdigest()  # the target may differ
        about["constraints"], about["seed"] = made.kept, made.seed
        about["rows"] = {**about["rows"], "synthetic": made.num_rows}
        paths = write(out, made, stored.releases, setting, about, reporter, raw_text=raw_text, dialect=dialect)
    return Result(
        method=generator.name,
        relation=str(relation),
        dataset=about["dataset"],
        epsilon_spent=0.0,
        epsilon_derived=0.0,
        delta=0.0,
        num_rows=made.num_rows,
        seconds=seconds,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        seed=made.seed,
        device=device,
        paths=paths,
        card=about,
        model=made.model,
        schema=setting.schema,
        texts=made.texts,
    )


def _check_reads(generator: Generator, releases: Sequence[Release]) -> None:
    """Errors: UsageError when the generator cannot be fitted to such a release."""
    foreign = kinds_of(type(r) for r in releases if not isinstance(r, generator.reads))
    if foreign:
        fitting = [n for n, g in GENERATORS.items() if all(isinstance(r, g.reads) for r in releases)]
        raise UsageError(
            f"--from-release: method {generator.name} cannot be fitted to a release of {', '.join(foreign)}; "
            f"choose one of {', '.join(fitting)}"
        )
