"""Another model and table from what a run released: free, for the answers are paid for."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth.errors import UsageError, reading
from synth.generators import GENERATORS, TREES
from synth.generators.method import Method
from synth.jobs import PeakMemory
from synth.pipeline.fit_and_draw import fit_and_sample, write
from synth.pipeline.methods import generator_named, resolve_device
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import RefitRequest, check_num_rows, check_seed
from synth.pipeline.result import Result
from synth.pipeline.schema_approval import with_target
from synth.pipeline.uses import workload
from synth.privacy.relation import relation_named
from synth.questions import Release, SearchRelease
from synth.questions.kinds import kinds_of
from synth.release import dialect_copy, folder


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
        generator = _generator(stored, wanted.method, wanted.options)
        read = _read(generator, stored.releases)
        schema = with_target(stored.schema, wanted.target)
        setting = stored.setting
        if schema.tree is None:
            setting = replace(setting, schema=schema, workload=workload(schema))
        device, started = resolve_device(wanted.device, by_torch=generator.by_torch), time.perf_counter()
        made = fit_and_sample(generator, read, setting, reporter, wanted, device=device)
        seconds = time.perf_counter() - started
        card = {k: v for k, v in stored.card.items() if k not in ("fit", "totals", "public_columns")}
        card |= {"method": generator.name, "refitted": True}  # the target, and so the schema, may differ
        card["schema_sha256"] = hashlib.sha256(schema.to_json().encode()).hexdigest()
        about = made.on_card(card)
        beside = folder.public_beside(release, stored)
        paths = write(wanted, made, stored.releases, setting, about, reporter, public=beside)
    return Result(
        method=generator.name,
        relation=str(stored.card["relation"]),
        dataset=about["dataset"],
        epsilon_spent=0.0,
        epsilon_derived=0.0,
        delta=0.0,
        seconds=seconds,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        device=device,
        paths=paths,
        card=about,
        schema=schema.stated,
        **made.for_result,
    )


def _generator(stored: folder.StoredRelease, method: str | None, options: Mapping[str, Any] | None) -> Method:
    """The method asked for, by default the release's with its options. Errors: UsageError."""
    retained = stored.options if method in (None, stored.method) else {}
    relation = relation_named(str(stored.card["relation"]))
    chosen = {**retained, **(options or {})}
    return generator_named(method or stored.method, relation, chosen, tree=stored.schema.tree is not None)


def _read(generator: Method, releases: Sequence[Release]) -> list[Release]:
    """What the generator is fitted to. A search only says which tables were counted: who does not read it leaves it.

    Errors: UsageError when the generator cannot be fitted to such a release.
    """
    results = [r for r in releases if not isinstance(r, SearchRelease) or isinstance(r, generator.reads)]
    foreign = kinds_of(type(r) for r in results if not isinstance(r, generator.reads))
    if foreign:
        known = TREES if generator.tables == "tree" else GENERATORS
        fitting = [n for n, g in known.items() if all(isinstance(r, (*g.reads, SearchRelease)) for r in releases)]
        raise UsageError(
            f"method {generator.name} cannot be fitted to a release of {', '.join(foreign)}; "
            f"choose one of {', '.join(fitting)}"
        )
    return results
