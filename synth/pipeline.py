"""The thin seam that joins the parts: schema -> [curator] -> releases -> model -> rows -> files.

Order of a run: everything that can be refused without reading a row (options, schema, budget, the form of the
file), then the ledger line, then the rows. From the last answer on, all is post-processing.
"""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synth import bundle, codec
from synth.errors import InputError, UsageError
from synth.generators.base import Generator, Model, Setting
from synth.jobs import PeakMemory
from synth.learning import lacking
from synth.paid import Paid, Reporter
from synth.privacy.ledger import Ledger
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import relation_named
from synth.questions import CountsRelease
from synth.request import Job, Request, Source, check_num_rows, generator_named, prepare, resolve_device
from synth.rules import Rules
from synth.schema import MAX_CATEGORIES, Schema

MOST_ROWS = 10_000_000  # made unasked: at tiny epsilon the noisy total can be anything
NO_POLICY = "no policy for {}: nothing is capped; set one with `synth ledger policy`"
STAGES = {"check": 0.1, "read": 0.1, "learn": 0.02, "measure": 0.18, "fit": 0.45, "sample": 0.05, "write": 0.1}


class Quiet:
    """A reporter that tells nobody."""

    def stage(self, name: str) -> None:
        """Ignored."""

    def progress(self, fraction: float) -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run made. Everything in it derives from releases and is as private as the card says."""

    method: str
    relation: str
    dataset: str | None
    epsilon_spent: float
    epsilon_derived: float
    delta: float
    num_rows: int
    seconds: float
    seconds_total: float
    peak_mib: float
    seed: int
    device: str
    paths: dict[str, str] = field(default_factory=dict)
    card: dict[str, Any] = field(repr=False)
    model: Model = field(repr=False)
    schema: Schema = field(repr=False)
    texts: Mapping[str, pa.Array] = field(repr=False)

    @property
    def frame(self) -> pd.DataFrame:
        """The synthetic table, one text column for each column of the schema."""
        return pd.DataFrame({n: a.to_pandas() for n, a in self.texts.items()})

    def plain(self) -> dict[str, Any]:
        """The result as JSON data, without the rows."""
        left_out = ("card", "model", "schema", "texts")
        return {n: getattr(self, n) for n in self.__dataclass_fields__ if n not in left_out}


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
    num_rows: int | None = None,
    out: str | Path | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    seed: int | None = None,
    device: str = "auto",
    assume_public: bool = False,
    max_categories: int = MAX_CATEGORIES,
    actor: str | None = None,
    approved_by: str | None = None,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    steward_log: str | Path | None = None,
) -> Result:
    """Turns a private table into a synthetic one and charges the dataset's ledger with epsilon and delta.

    ``table``: a CSV (also .gz) or Parquet file, or a frame (then name the ``dataset``). ``num_rows``: default
    the noisy total (at most ten million), or the public row count. ``seed`` drives initialisation and sampling, never
    privacy noise.
    ``out``: a folder for the files of bundle.py; without it nothing is written. ``steward_log``: a private file
    for the counts of cells outside the schema.

    ``unit``: the identifier column that names a person, of whom at most ``max_rows`` rows are kept, drawn at random;
    without it a row is the unit. ``learn_share``: part of the noise budget for facts that the schema leaves out
    (categories, bounds, presence of missing values); they are marked ``private`` in the result's schema.

    **Guarantee**: the result is (epsilon, delta)-DP for the relation on that unit, all that touched the rows
    included. Errors: UsageError, InputError, BudgetError before anything is spent; SpentError afterwards, with the
    spend recorded.
    """
    clock, reporter = time.perf_counter(), reporter or Quiet()
    request = Request(
        epsilon=epsilon, delta=delta, method=method, relation=relation, target=target, unit=unit, max_rows=max_rows,
        learn_share=learn_share, num_rows=num_rows, dataset=dataset, seed=seed, device=device,
        assume_public=assume_public, max_categories=max_categories, actor=actor, approved_by=approved_by,
    )  # fmt: skip
    with PeakMemory() as peak:
        reporter.stage("check")
        bundle.check_out(Path(out) if out is not None else None)
        job = prepare(table, schema, request, note=reporter.note)
        paid = _door(job, ledger, noise, reporter, steward_log)
        with paid.charged():
            started = time.perf_counter()
            paid.learn()
            releases, setting = paid.measure()
            made = _fit_and_sample(job.generator, releases, setting, request, job.device, reporter)
            seconds = time.perf_counter() - started
            about = {**paid.card(num_rows=made.num_rows), "constraints": made.kept}
            paths = _write(out, made, releases, setting, about, reporter)
    return Result(
        method=job.generator.name,
        relation=str(job.grant.near.relation),
        dataset=job.dataset,
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
) -> Paid:
    """The last checks before a spend: what the dataset's budget allows, and the form of the file."""
    paid = Paid(job, Ledger(ledger), noise or SystemNoise(), reporter, steward_log)
    paid.book.check(paid.spend)
    if paid.book.policy(job.dataset) is None:
        reporter.note(NO_POLICY.format(job.dataset))
    job.rows.check_form()
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
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
) -> Schema:
    """A complete schema from one that states names and kinds, its missing facts learnt for epsilon and delta.

    Facts that the schema states are kept. The learnt ones are marked ``private``; the schema carries their price,
    which the card of every release made with it adds to its own.

    **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit; a ledger entry of its own. Errors: as
    ``run``; InputError when nothing is missing.
    """
    reporter = reporter or Quiet()
    reporter.stage("check")
    if not lacking(schema):
        raise InputError("the schema states every fact already; leave out the categories or bounds to be learnt")
    request = Request(
        epsilon=epsilon, delta=delta, relation=relation, unit=unit, max_rows=max_rows, dataset=dataset, actor=actor,
        approved_by=approved_by, learn_share=1.0, device="cpu",
    )  # fmt: skip
    paid = _door(prepare(table, schema, request, note=reporter.note), ledger, noise, reporter, None)
    with paid.charged():
        return paid.learn()


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A model and a table drawn from it."""

    generator: Generator
    model: Model
    texts: Mapping[str, pa.Array]
    num_rows: int
    seed: int
    kept: list[dict[str, Any]]


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one processor: its matrices here are so small that more threads only wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _fit_and_sample(
    generator: Generator,
    releases: Sequence[CountsRelease],
    setting: Setting,
    request: Request,
    device: str,
    reporter: Reporter,
) -> _Made:
    """Pure post-processing of releases."""
    seed = secrets.randbits(32) if request.seed is None else request.seed
    rng = np.random.default_rng(seed)
    reporter.stage("fit")
    with one_thread():
        model = generator.fit(releases, setting, rng=rng, device=device, progress=reporter.progress)
    reporter.stage("sample")
    num_rows = request.num_rows or setting.public_rows or min(max(1, round(model.total)), MOST_ROWS)
    rules = Rules(setting.schema)
    positions = model.sample(num_rows, rng=rng, mend=rules.mend)
    texts = codec.decode(positions, setting.schema, num_rows=num_rows)
    return _Made(generator=generator, model=model, texts=texts, num_rows=num_rows, seed=seed, kept=rules.kept)


def _write(
    out: str | Path | None,
    made: _Made,
    releases: Sequence[CountsRelease],
    setting: Setting,
    about: Mapping[str, Any],
    reporter: Reporter,
) -> dict[str, str]:
    reporter.stage("write")
    if out is None:
        return {}
    return bundle.write(
        Path(out), texts=made.texts, method=made.generator.name, model=made.model, releases=releases,
        setting=setting, card=about,
    )  # fmt: skip


def refit(
    release: str | Path,
    *,
    method: str | None = None,
    num_rows: int | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
    device: str = "auto",
    reporter: Reporter | None = None,
) -> Result:
    """Another model and table from a stored release: free, no rows, no ledger entry.

    **Guarantee**: that of the release (post-processing). Errors: InputError for a damaged release, UsageError.
    """
    clock, reporter = time.perf_counter(), reporter or Quiet()
    with PeakMemory() as peak:
        reporter.stage("check")
        check_num_rows(num_rows)
        stored = bundle.load_release(release)
        relation = relation_named(str(stored.card["relation"]))
        generator = generator_named(method or stored.method, relation)
        request = Request(epsilon=0, delta=0, num_rows=num_rows, seed=seed)
        device, started = resolve_device(device), time.perf_counter()
        made = _fit_and_sample(generator, stored.releases, stored.setting, request, device, reporter)
        seconds = time.perf_counter() - started
        about = {**stored.card, "method": generator.name, "refitted": True}
        about["constraints"] = made.kept
        about["rows"] = {**about["rows"], "synthetic": made.num_rows}
        paths = _write(out, made, stored.releases, stored.setting, about, reporter)
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
        schema=stored.setting.schema,
        texts=made.texts,
    )


def sample(
    model: str | Path,
    *,
    num_rows: int | None = None,
    where: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
) -> tuple[pd.DataFrame, float]:
    """Rows from a stored model: free. Returns the table as text and the model's probability of ``where``.

    ``where``: by column a value, ``a|b``, or ``low..high`` for numbers and dates. ``num_rows``: default the
    model's total times that probability. ``out``: a .csv, .csv.gz or .parquet file to write as well.

    **Guarantee**: that of the model's release. Errors: InputError for a damaged model, UsageError.
    """
    check_num_rows(num_rows)
    stored = bundle.load_model(model)
    allowed = {n: _allowed(stored.schema, n, wanted) for n, wanted in (where or {}).items()}
    probability = float(stored.model.probability(allowed)) if allowed else 1.0
    size = num_rows or min(max(1, round(stored.model.total * probability)), MOST_ROWS)
    rng = np.random.default_rng(seed)
    rules = Rules(stored.schema)
    positions = stored.model.sample(size, rng=rng, where=allowed or None, mend=rules.mend)
    texts = codec.decode(positions, stored.schema, num_rows=size)
    if out is not None:
        bundle.write_table(Path(out), texts, stored.schema)
    return pd.DataFrame({n: a.to_pandas() for n, a in texts.items()}), probability


def _allowed(schema: Schema, name: str, wanted: str) -> np.ndarray:
    if name not in schema.measured():
        raise UsageError(f"--where {name}={wanted}: {name} is not a measured column of the model")
    try:
        return codec.places_of(schema.columns[name], wanted)
    except ValueError as error:
        raise UsageError(f"--where {name}={wanted}: {error}") from None
