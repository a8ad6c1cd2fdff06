"""From releases to a model, rows and files: pure post-processing."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synth.generators.base import Fit, Setting
from synth.generators.core.problem import misfit_in_words
from synth.generators.method import Method, options_of
from synth.lazy import Lazy
from synth.pipeline.draw_rows import chunks, drawn, rows_at_a_time, whole
from synth.pipeline.reporting import Reporter
from synth.pipeline.request import RefitRequest, RunRequest
from synth.pipeline.sample import MOST_ROWS
from synth.pipeline.totals import on_card, totals_of
from synth.questions import Release
from synth.questions.kinds import kinds_of
from synth.release import folder
from synth.release.card.statements import complete
from synth.schema.dataset import ONE
from synth.sources.formats.text_table import Table

networks = Lazy("synth.numeric.networks")  # and with it torch


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How much is drawn, and where it is written, as a request says it; ``num_rows``: of related tables, of the root.

    ``seed``: by default drawn. Tables that are written nowhere are held in memory.
    """

    seed: int | None = None
    num_rows: int | None = None
    out: str | None = None
    raw_text: bool = False
    dialect: str = "plain"


@dataclass(frozen=True, kw_only=True)
class Made:
    """A model and tables drawn from it, by name: ``texts``, or nothing where only ``blocks`` hold a table.

    Blocks of a single table come once, as it is written. ``retained`` says how constraints were kept, of the rows drawn
    so far; ``num_rows``: of each table; ``several``: whether they are related ones.
    """

    generator: Method
    model: Any
    texts: Mapping[str, Mapping[str, pa.Array]]
    blocks: Mapping[str, Iterable[Mapping[str, pa.Array]]]
    num_rows: Mapping[str, int]
    several: bool
    seed: int
    retained: list[dict[str, Any]]
    drawing: Any = None
    schema: Any = None

    @property
    def fit(self) -> dict[str, float] | None:
        """How far the model is from the answers, and what noise explains of it; None where a method does not tell."""
        result = getattr(self.model, "misfit", None)
        return None if result is None else dict(result)

    @property
    def for_result(self) -> dict[str, Any]:
        """What a result says of it."""
        many = self.num_rows if self.several else self.num_rows[ONE]
        return {"num_rows": many, "seed": self.seed, "fit": self.fit, "model": self.model, "tables": self.texts}

    def on_card(self, about: Mapping[str, Any], releases: Sequence[Release] | None = None) -> dict[str, Any]:
        """A card with what was made, but for what only its files tell; of ``releases``, where it has none yet."""
        rows = {**about["rows"], "synthetic": sum(self.num_rows.values())}
        rows |= {"tables": dict(self.num_rows)} if self.several else {}
        fit = {} if self.fit is None else {"fit": self.fit}
        kinds = {} if releases is None else {"release_kinds": kinds_of(type(r) for r in releases)}
        return {**about, "constraints": self.retained, "seed": self.seed, **fit, "rows": rows, **kinds}


def fit_and_sample(
    generator: Method,
    releases: Sequence[Release],
    setting: Setting,
    reporter: Reporter,
    wanted: Wanted | RunRequest | RefitRequest,
    *,
    device: str = "cpu",
    given: Mapping[str, np.ndarray] | None = None,
) -> Made:
    """Pure post-processing of releases. ``given``: public columns (n,), which rows have in their order."""
    seed = secrets.randbits(32) if wanted.seed is None else wanted.seed
    rng = np.random.default_rng(seed)
    reporter.stage("fit")
    with networks.one_thread() if generator.by_torch else nullcontext():
        model = generator.fit(releases, setting, Fit(rng, device=device, progress=reporter.progress))
    not_reached = misfit_in_words(getattr(model, "misfit", None))
    if not_reached is not None:
        reporter.note(not_reached)
    reporter.stage("sample")
    totals = totals_of(setting.schema if setting.tree is None else setting.tree)
    stated = None if totals is None else totals.num_rows
    num_rows = wanted.num_rows or stated or setting.public_rows or min(max(1, round(model.total)), MOST_ROWS)
    schema = setting.schema if setting.tree is None else setting.tree
    tables, results = schema.written, drawn(model, schema, num_rows, rng=rng, given=given)
    short = all(results.num_rows[n] <= rows_at_a_time(s) for n, s in tables.items())
    held = wanted.out is None or getattr(results, "cells_off", None) is not None  # such a table is held whole
    texts = {n: whole(results.blocks(n)) for n in tables} if held or short else {}
    return Made(
        generator=generator,
        model=model,
        texts=texts,
        blocks={n: chunks(texts[n], results.num_rows[n]) if texts else results.blocks(n) for n in tables},
        num_rows=results.num_rows,
        several=setting.tree is not None and setting.tree.several,
        seed=seed,
        retained=results.retained,
        drawing=results,
        schema=schema,
    )


def write(
    wanted: Wanted | RunRequest | RefitRequest,
    made: Made,
    releases: Sequence[Release],
    setting: Setting,
    about: dict[str, Any],
    reporter: Reporter,
    *,
    public: Mapping[str, Table | Path] | None = None,
) -> dict[str, str]:
    """The files of the release; ``about``, its card, gains what only they tell. ``public``: tables that go with it."""
    reporter.stage("write")
    if (off := getattr(made.drawing, "cells_off", None)) is not None:  # of published totals, once rows are drawn
        about |= {"totals": on_card(made.schema, cells_off=off)}
        about |= {"invariants": complete(about)["invariants"]}
    if wanted.out is None:
        return {}
    return folder.write(
        Path(wanted.out),
        tables=made.blocks,
        method=made.generator.name,
        model=made.model,
        releases=releases,
        setting=setting,
        card=about,
        options=options_of(made.generator),
        public=public,
        raw_text=wanted.raw_text,
        dialect=wanted.dialect,
        note=reporter.note,
    )
