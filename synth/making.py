"""From releases to a model, rows and files: pure post-processing."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synth import bundle, codec
from synth.generators.base import Generator, Model, Setting
from synth.generators.options import options_of
from synth.paid import Reporter
from synth.questions import Release
from synth.request import Request
from synth.rules import Rules

MOST_ROWS = 10_000_000  # made unasked: at tiny epsilon the noisy total can be anything


@dataclass(frozen=True, kw_only=True)
class Made:
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


def fit_and_sample(
    generator: Generator,
    releases: Sequence[Release],
    setting: Setting,
    request: Request,
    device: str,
    reporter: Reporter,
) -> Made:
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
    return Made(generator=generator, model=model, texts=texts, num_rows=num_rows, seed=seed, kept=rules.kept)


def write(
    out: str | Path | None,
    made: Made,
    releases: Sequence[Release],
    setting: Setting,
    about: dict[str, Any],
    reporter: Reporter,
) -> dict[str, str]:
    """The files of the release; ``about``, its card, gains what only they tell."""
    reporter.stage("write")
    if out is None:
        return {}
    return bundle.write(
        Path(out), texts=made.texts, method=made.generator.name, model=made.model, releases=releases,
        setting=setting, card=about, options=options_of(made.generator),
    )  # fmt: skip
