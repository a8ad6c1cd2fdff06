"""Canaries in one whole run: `synth.run` itself, ledger and files included, on rows that coins put there."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import UsageError
from synth.evaluate.audit.statistics import Guesses, guessed
from synth.pipeline import run as pipeline
from synth.questions import CountsRelease
from synth.questions.features import codes
from synth.release import folder as bundle
from synth.schema import table as schemas


def one_run(
    method: str,
    *,
    epsilon: float,
    delta: float,
    canaries: int,
    confidence: float,
    relation: str = "add_remove",
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> Guesses:
    """Runs the method once on a table in which each canary, a row with a category of its own, is there by a coin toss.

    The attacker guesses from released counts of the categories where there are any, else from the synthetic table.
    ``seed``: of the coins. Errors: UsageError below 10 canaries, or under replace_one, where coins cannot be tossed.
    """
    if canaries < 10 or relation == "replace_one":
        raise UsageError("canaries: at least 10, under add_remove or zero_out")
    rng = np.random.default_rng(seed)  # of the experiment, no privacy noise
    coins = rng.random(canaries) < 0.5
    names = [f"canary {i:04d}" for i in range(canaries)]
    facts = {
        "columns": {
            "name": {"type": "categorical", "categories": names},
            "flag": {"type": "boolean", "categories": ["no", "yes"]},
        }
    }
    there = [n for n, coin in zip(names, coins, strict=True) if coin]
    frame = pd.DataFrame({"name": there, "flag": ["no"] * len(there)})
    with tempfile.TemporaryDirectory() as folder:
        made = pipeline.run(
            frame,
            schema=schemas.parse(facts),
            epsilon=epsilon,
            delta=delta,
            method=method,
            relation=relation,
            options=options,
            dataset="canaries",
            out=Path(folder) / "out",
            ledger=Path(folder) / "ledger.sqlite",
            num_rows=50 * canaries,
        )
        releases = bundle.load_release(Path(folder) / "out").releases
    scores = _released(releases, canaries)
    if scores is None:
        counts = made.frame["name"].value_counts()
        scores = np.array([float(counts.get(n, 0)) for n in names])
    return guessed(scores, coins, delta=delta, confidence=confidence)


def _released(releases: Any, canaries: int) -> np.ndarray | None:
    """Each canary's noisy counts of its category alone, weighted by precision, (canaries,); None without any."""
    results, any_reported = np.zeros(canaries), False
    for release in releases:
        if not isinstance(release, CountsRelease):
            continue
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            for axis, bins in enumerate(marginal.bins):
                if bins.column == "name" and bins.size >= canaries:
                    others = tuple(i for i in range(values.ndim) if i != axis)
                    reported = values.sum(axis=others)[codes(bins, np.arange(canaries))]
                    results += reported / (marginal.sigma**2 * max(values.size / bins.size, 1.0))
                    any_reported = True
    return results if any_reported else None
