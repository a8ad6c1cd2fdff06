"""From releases to a model, rows and files: pure post-processing."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synth.generators.base import Generator, Model, Setting
from synth.generators.marginals.misfit import in_words
from synth.generators.options import options_of
from synth.pipeline.draw_rows import Drawn, chunks, rows_at_a_time
from synth.pipeline.reporting import Reporter
from synth.pipeline.sample import MOST_ROWS
from synth.questions import Release
from synth.release import folder
from synth.schema.lazy import Lazy

networks = Lazy("synth.questions.numeric.networks")  # and with it torch


@dataclass(frozen=True, kw_only=True)
class Made:
    """A model and a table drawn from it: ``texts``, or nothing where only ``blocks`` tell it, once, as it is written.

    ``kept`` says how constraints were kept, of the rows drawn so far.
    """

    generator: Generator
    model: Model
    texts: Mapping[str, pa.Array]
    blocks: Iterable[Mapping[str, pa.Array]]
    num_rows: int
    seed: int
    kept: list[dict[str, Any]]

    @property
    def fit(self) -> dict[str, float] | None:
        """How far the model is from the answers, and what noise explains of it; None where a method does not tell."""
        found = getattr(self.model, "misfit", None)
        return None if found is None else dict(found)

    def about_fit(self) -> dict[str, Any]:
        """The card's words on that."""
        return {} if self.fit is None else {"fit": self.fit}


def fit_and_sample(
    generator: Generator,
    releases: Sequence[Release],
    setting: Setting,
    reporter: Reporter,
    *,
    device: str = "cpu",
    seed: int | None = None,
    num_rows: int | None = None,
    held: bool = True,
) -> Made:
    """Pure post-processing of releases. ``seed``: by default drawn. ``held``: the table is wanted in memory."""
    seed = secrets.randbits(32) if seed is None else seed
    rng = np.random.default_rng(seed)
    reporter.stage("fit")
    with networks.one_thread() if generator.by_torch else nullcontext():
        model = generator.fit(releases, setting, rng=rng, device=device, progress=reporter.progress)
    not_reached = in_words(getattr(model, "misfit", None))
    if not_reached is not None:
        reporter.note(not_reached)
    reporter.stage("sample")
    num_rows = num_rows or setting.public_rows or min(max(1, round(model.total)), MOST_ROWS)
    drawn = Drawn(model, setting.schema, num_rows, rng=rng)
    texts = drawn.whole() if held or num_rows <= rows_at_a_time(setting.schema) else {}
    blocks = chunks(texts, num_rows) if texts else drawn.blocks()
    return Made(
        generator=generator, model=model, texts=texts, blocks=blocks, num_rows=num_rows, seed=seed, kept=drawn.kept
    )


def write(
    out: str | Path | None,
    made: Made,
    releases: Sequence[Release],
    setting: Setting,
    about: dict[str, Any],
    reporter: Reporter,
    *,
    raw_text: bool = False,
    dialect: str = "plain",
) -> dict[str, str]:
    """The files of the release; ``about``, its card, gains what only they tell."""
    reporter.stage("write")
    if out is None:
        return {}
    return folder.write(
        Path(out),
        blocks=made.blocks,
        method=made.generator.name,
        model=made.model,
        releases=releases,
        setting=setting,
        card=about,
        options=options_of(made.generator),
        raw_text=raw_text,
        dialect=dialect,
        note=reporter.note,
    )
