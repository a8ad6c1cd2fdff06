"""One run: schema -> [curator] -> releases -> model -> rows -> files; and another fit to what one released.

Everything that can be refused without a spend is refused first (prepare.py), then the ledger line is written, then rows
are read (charge.py). From the last answer on, all is post-processing.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from synth.errors import InputError, UsageError, reading
from synth.generators import GENERATORS, TREES
from synth.generators.base import Fit, Setting
from synth.generators.core.problem import misfit_in_words
from synth.generators.core.votes import PURPOSE as VOTES
from synth.generators.method import Method, options_of
from synth.jobs import PeakMemory, give_back
from synth.lazy import Lazy
from synth.pipeline.charge import charge
from synth.pipeline.draw_rows import chunks, drawn, rows_at_a_time, whole
from synth.pipeline.learn_schema import lacking
from synth.pipeline.methods import generator_named, resolve_device
from synth.pipeline.prepare import Context, Options
from synth.pipeline.prepare import requested as requested
from synth.pipeline.private_rows import Source
from synth.pipeline.reporting import STAGES as STAGES
from synth.pipeline.reporting import Quiet, Reporter, watched
from synth.pipeline.request import RefitRequest, RunOptions, RunRequest, check_num_rows, check_seed
from synth.pipeline.result import Result
from synth.pipeline.sample import MOST_ROWS
from synth.pipeline.schema_approval import AnySchema, check_left, to_learn, with_target
from synth.pipeline.totals import on_card, totals_of
from synth.pipeline.uses import workload
from synth.privacy.relation import relation_named
from synth.questions import Release, SearchRelease
from synth.questions.kinds import kinds_of
from synth.release import dialect_copy, folder
from synth.release.card.card import Card
from synth.schema.dataset import ONE, Dataset, check_schema
from synth.schema.table import Schema
from synth.sources.formats.text_table import Table

networks = Lazy("synth.numeric.networks")  # and with it torch


@dataclass(frozen=True, kw_only=True)
class Made:
    """A model and tables drawn from it, by name: ``texts``, or nothing where only the ``drawing`` holds a table.

    The drawing gives blocks of a single table once, as it is written. ``schema``: of the table, or of the tree.
    """

    generator: Method
    model: Any
    schema: Schema | Dataset
    drawing: Any
    texts: Mapping[str, Mapping[str, pa.Array]]
    seed: int


def fit_and_sample(
    generator: Method,
    releases: Sequence[Release],
    setting: Setting,
    reporter: Reporter,
    wanted: RunRequest | RefitRequest,
    *,
    device: str = "cpu",
    given: Mapping[str, np.ndarray] | None = None,
    held: bool = False,
) -> Made:
    """Pure post-processing of releases. ``given``: public columns (n,), which rows have in their order. ``held``: all
    rows in memory, as where the tables are written nowhere."""
    seed = secrets.randbits(32) if wanted.seed is None else wanted.seed
    rng = np.random.default_rng(seed)
    reporter.stage("fit")
    with networks.one_thread() if generator.by_torch else nullcontext():
        model = generator.fit(releases, setting, Fit(rng, device=device, progress=reporter.progress))
    not_reached = misfit_in_words(getattr(model, "misfit", None))
    if not_reached is not None:
        reporter.note(not_reached)
    reporter.stage("sample")
    schema = setting.schema if setting.tree is None else setting.tree
    totals = totals_of(schema)
    stated = None if totals is None else totals.num_rows
    num_rows = wanted.num_rows or stated or setting.public_rows or min(max(1, round(model.total)), MOST_ROWS)
    drawing = drawn(model, schema, num_rows, rng=rng, given=given)
    short = all(drawing.num_rows[n] <= rows_at_a_time(s) for n, s in schema.written.items())
    held = held or short or wanted.out is None or drawing.cells_off is not None
    texts = {n: whole(drawing.blocks(n)) for n in schema.written} if held else {}
    return Made(generator=generator, model=model, schema=schema, drawing=drawing, texts=texts, seed=seed)


def write(
    wanted: RunRequest | RefitRequest,
    made: Made,
    releases: Sequence[Release],
    setting: Setting,
    card: Card,
    reporter: Reporter,
    *,
    public: Mapping[str, Table | Path] | None = None,
) -> dict[str, str]:
    """The files of the release; its ``card`` gains what only they tell. ``public``: tables that go with it."""
    reporter.stage("write")
    drawing, texts = made.drawing, made.texts
    if drawing.cells_off is not None:  # of published totals, once rows are drawn
        card |= {"totals": on_card(made.schema, cells_off=drawing.cells_off)}
        card |= {"invariants": Card(card)["invariants"]}
    if wanted.out is None:
        return {}
    return folder.write(
        Path(wanted.out),
        tables={n: chunks(texts[n], drawing.num_rows[n]) if texts else drawing.blocks(n) for n in made.schema.written},
        method=made.generator.name,
        model=made.model,
        releases=releases,
        setting=setting,
        card=card,
        options=options_of(made.generator),
        public=public,
        raw_text=wanted.raw_text,
        dialect=wanted.dialect,
        note=reporter.note,
    )


def finish(
    request: RunRequest | RefitRequest,
    generator: Method,
    releases: Sequence[Release],
    setting: Setting,
    reporter: Reporter,
    card: Callable[[], Mapping[str, Any]],
    *,
    started: float,
    device: str,
    read: Sequence[Release] | None = None,
    given: Mapping[str, np.ndarray] | None = None,
    public: Mapping[str, Table | Path] | None = None,
    held: bool = False,
) -> dict[str, Any]:
    """Model, tables and files of what was answered, as a ``Result`` names them.

    ``card``: makes the card but for what is told by what is made here. ``read``: what the method is fitted to, where
    that is not all. ``given``, ``held``, ``public``: as of ``fit_and_sample`` and ``write``.
    """
    read = releases if read is None else read
    made = fit_and_sample(generator, read, setting, reporter, request, device=device, given=given, held=held)
    seconds, drawing, several = time.perf_counter() - started, made.drawing, made.schema.several
    misfit = getattr(made.model, "misfit", None)  # how far it is from the answers, and what noise explains of it
    fit, about = None if misfit is None else dict(misfit), Card(card())
    about |= {
        "constraints": drawing.shares_kept,  # of the rows drawn so far: they are filled in while rows are written
        "seed": made.seed,
        **({} if fit is None else {"fit": fit}),
        "rows": {
            **about["rows"],
            "synthetic": sum(drawing.num_rows.values()),
            **({"tables": dict(drawing.num_rows)} if several else {}),
        },
        "release_kinds": kinds_of(type(r) for r in releases),
    }
    paths = write(request, made, releases, setting, about, reporter, public=public)
    return {
        "method": generator.name,
        "device": device,
        "num_rows": drawing.num_rows if several else drawing.num_rows[ONE],
        "seed": made.seed,
        "fit": fit,
        "model": made.model,
        "tables": made.texts,
        "seconds": seconds,
        "card": about,
        "paths": paths,
    }


def run(
    table: Source | Mapping[str, Source],
    *,
    schema: Schema | Dataset,
    epsilon: float,
    delta: float = 1e-5,
    **options: Unpack[Options],
) -> Result:
    """Turns a private table into a synthetic one and charges the dataset's ledger with epsilon and delta.

    ``table``: a CSV (also .gz), Parquet or Excel file, a folder of Parquet files, a frame (then name the ``dataset``),
    or the name of a table at a ``source``. ``options``: below, each with its meaning.
    ``epsilon``: 1e-4 to 1e6; ``delta``: 1e-20 to below 1, or 0 for purely private methods. ``reporter``: is told of
    progress. ``steward_log``: a private file for the counts of cells outside the schema.
    Several tables that belong together are a folder with a file for each, or frames and paths by table; their schema
    is of ``parse_related``, the unit one key of the root with everything below it.
    Rows like those of another dataset in the ledger, as far as the ``audience`` may know, are refused
    before the spend unless ``separate`` says that no person is in both.

    **Guarantee**: the result is (epsilon, delta)-DP for the relation on that unit, all that touched the rows
    included. Errors: UsageError, InputError, BudgetError before anything is spent; SpentError afterwards, with the
    spend recorded.

    Privacy: reads rows, under noise.
    """
    check_schema(schema, tree=True)
    request, context = requested(table, epsilon=epsilon, delta=delta, **options)
    with watched(options.get("reporter")) as reporter:
        return carry_out(request, schema, replace(context, reporter=reporter))


OPTIONS = [f"    ``{name}``: {RunRequest.model_fields[name].description}" for name in RunOptions.__annotations__]
run.__doc__ = "\n".join([str(run.__doc__), "    Options:", *OPTIONS])


def carry_out(request: RunRequest, schema: Schema | Dataset, context: Context) -> Result:
    """As ``run``, of a request that stands already."""
    check_left(request.learn_share)
    clock, reporter = time.perf_counter(), context.reporter
    with PeakMemory() as peak, charge(request, schema, context) as paid:
        plan, started = paid.plan, time.perf_counter()
        paid.learn()
        releases, setting = paid.measure()
        give_back()  # the rows are gone: what held them must not stand beside the fit's and the table's memory
        how: dict[str, Any] = {"given": paid.given, "public": plan.public, "device": plan.device, "started": started}
        made = finish(request, plan.questions, releases, setting, reporter, paid.card, **how)
    return Result(
        **made,
        relation=str(plan.grant.adjacency.relation),
        dataset=plan.dataset,
        epsilon_spent=request.epsilon,
        epsilon_derived=paid.epsilon_derived,
        delta=request.delta,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        schema=paid.schema.stated,
    )


def learn_schema(
    table: Source | Mapping[str, Source] | None,
    *,
    schema: AnySchema,
    epsilon: float,
    delta: float = 1e-5,
    **options: Any,
) -> AnySchema:
    """A complete schema from one that states names and kinds, its missing facts learnt for epsilon and delta.

    Facts that the schema states are kept, but for those of a draft that nobody has confirmed. The learnt ones are
    marked ``private``; the schema carries their price, which the card of every release made with it adds to its own.
    ``table``, ``audience``, ``options``: as of ``run``, as far as they concern rows, guarantee and ledger.
    ``reporter``: is told of progress. Of related tables, and of persons with several rows, one row of each unit is seen
    in each table.

    **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit; a ledger entry of its own. Errors: as
    ``run``; InputError when nothing is missing.

    Privacy: reads rows, under noise.
    """
    check_schema(schema, tree=True)
    request, context = requested(table, epsilon=epsilon, delta=delta, learn_share=1.0, device="cpu", **options)
    return carry_out_learning(request, schema, context)


def carry_out_learning(request: RunRequest, schema: AnySchema, context: Context) -> AnySchema:
    """As ``learn_schema``, of a request that stands already."""
    schema = to_learn(schema, False, context.reporter.note)
    if not lacking(schema):
        raise InputError("the schema states every fact already; leave out the categories or bounds to be learnt")
    with charge(request, schema, context) as paid:
        complete: AnySchema = paid.learn()
        return complete


def refit(release: str | Path, *, reporter: Reporter | None = None, **options: Any) -> Result:
    """Another model and table, or tables, from a stored release: free, no rows, no ledger entry.

    ``options``: ``method``, ``options``, ``target`` as of ``run``, by default the release's; ``num_rows``, ``out``,
    ``seed``, ``device``, ``raw_text``, ``dialect`` as there; of related tables ``num_rows`` is of the root.
    ``reporter``: is told of progress.

    **Guarantee**: that of the release (post-processing). Errors: InputError for a damaged release, UsageError.

    Privacy: released answers only.
    """
    clock, reporter = time.perf_counter(), reporter or Quiet()
    with PeakMemory() as peak, reading(release, "release"):
        reporter.stage("check")
        wanted = RefitRequest(release=str(release), **options)
        check_num_rows(wanted.num_rows)
        check_seed(wanted.seed)
        stored = folder.load_release(release, tree=None)
        folder.check_out(Path(wanted.out) if wanted.out is not None else None, stored.schema)
        dialect_copy.check_choice(wanted.dialect)
        for single in () if stored.schema.several else stored.schema.written.values():
            dialect_copy.check(single, wanted.dialect if wanted.out is not None else "plain")
        own = stored.options if wanted.method in (None, stored.method) else {}
        relation, tree = relation_named(str(stored.card["relation"])), stored.schema.tree is not None
        generator = generator_named(wanted.method or stored.method, relation, {**own, **wanted.options}, tree=tree)
        read = _read(generator, stored.releases)
        schema, setting = with_target(stored.schema, wanted.target), stored.setting
        if not tree:
            setting = replace(setting, schema=schema, workload=workload(schema))
        device, started = resolve_device(wanted.device, generator), time.perf_counter()
        card = {k: v for k, v in stored.card.items() if k not in ("fit", "totals", "public_columns")}
        card |= {"method": generator.name, "refitted": True}  # the target, and so the schema, may differ
        card["schema_sha256"] = hashlib.sha256(schema.to_json().encode()).hexdigest()
        how: dict[str, Any] = {"read": read, "public": folder.public_beside(release, stored)}
        made = finish(
            wanted, generator, stored.releases, setting, reporter, lambda: card, device=device, started=started, **how
        )
    return Result(
        **made,
        relation=str(card["relation"]),
        dataset=card["dataset"],
        epsilon_spent=0.0,
        epsilon_derived=0.0,
        delta=0.0,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        schema=schema.stated,
    )


def _read(generator: Method, releases: Sequence[Release]) -> list[Release]:
    """What the generator is fitted to. A search only says which tables were counted, and votes of a model's rows what
    its tables do not see: who does not read them leaves them.

    Errors: UsageError when the generator cannot be fitted to such a release.
    """
    told = [r for r in releases if not isinstance(r, SearchRelease) and r.question.purpose != VOTES]
    foreign = kinds_of(type(r) for r in told if not isinstance(r, generator.reads))
    if foreign:
        known = TREES if generator.tables == "tree" else GENERATORS
        fitting = [n for n, g in known.items() if all(isinstance(r, g.reads) for r in told)]
        raise UsageError(
            "method {} cannot be fitted to a release of {}; choose one of {}",
            generator.name,
            ", ".join(foreign),
            ", ".join(fitting),
        )
    return [r for r in releases if isinstance(r, generator.reads)]
