"""Canaries in one whole run: the run itself, ledger and files included, on rows that coins put there.

Of related tables each canary is a root with all its children.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import UsageError
from synth.evaluate.audit.statistics import Guesses, guessed
from synth.evaluate.audit.whole_canaries import BOUND, MANY
from synth.pipeline import run as pipeline
from synth.pipeline.methods import generator_named
from synth.privacy.relation import Relation, relation_named
from synth.questions import CountsRelease, LinkedRelease
from synth.questions.features import codes
from synth.questions.linked import placed
from synth.release import folder as bundle
from synth.schema import dataset as datasets
from synth.schema import table as schemas
from synth.schema.dataset import Dataset
from synth.schema.table import Schema


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
    related: bool = False,
) -> Guesses:
    """Runs the method once on a table in which each canary, a row with a category of its own, is there by a coin toss.

    ``related``: on two tables in which each is a root with more children than are kept, all of that category. The
    attacker guesses from released counts of the categories where there are any, else from the synthetic table.
    ``seed``: of the coins. Errors: UsageError below 10 canaries, or under replace_one, where coins cannot be tossed.
    """
    check(canaries, relation)
    rng = np.random.default_rng(seed)  # of the experiment, no privacy noise
    coins = rng.random(canaries) < 0.5
    names = [f"canary {i:04d}" for i in range(canaries)]
    there = [n for n, coin in zip(names, coins, strict=True) if coin]
    schema, rows = _trees(names, there) if related else _rows(names, there)
    # of related tables a smaller model: that is past all rows
    quick = getattr(generator_named(method, relation_named(relation), options, tree=related), "quick", None)
    with tempfile.TemporaryDirectory() as folder:
        request, context = pipeline.requested(
            rows,
            epsilon=epsilon,
            delta=delta,
            method=method,
            options=options,
            relation=relation,
            dataset="canaries",
            out=Path(folder) / "out",
            ledger=Path(folder) / "ledger.sqlite",
            num_rows=canaries if related else 50 * canaries,
        )
        smaller = quick() if quick is not None and related else None
        made = pipeline.carry_out(request, schema, replace(context, questions=smaller))
        releases = bundle.load_release(Path(folder) / "out", tree=None).releases
    scores = _released(releases, canaries)
    if scores is None:
        counts = next(iter(made.frames.values()))["name"].value_counts()
        scores = np.array([float(counts.get(n, 0)) for n in names])
    return guessed(scores, coins, delta=delta, confidence=confidence)


def check(canaries: int, relation: str) -> None:
    """Errors: UsageError below 10 canaries, or under replace_one, where none can be tossed. Privacy: public only."""
    if canaries < 10 or relation_named(relation) is Relation.REPLACE_ONE:
        raise UsageError("canaries: at least 10, under add_remove or zero_out")


def _rows(names: list[str], there: list[str]) -> tuple[Schema, pd.DataFrame]:
    """One table of the canaries that are there."""
    flag = {"type": "boolean", "categories": ["no", "yes"]}
    facts = {"columns": {"name": {"type": "categorical", "categories": names}, "flag": flag}}
    return schemas.parse(facts), pd.DataFrame({"name": there, "flag": ["no"] * len(there)})


def _trees(names: list[str], there: list[str]) -> tuple[Dataset, dict[str, pd.DataFrame]]:
    """Roots, of whom each has ``MANY`` children where ``BOUND`` are kept."""
    name = {"type": "categorical", "categories": names}
    columns = {"key": {"type": "identifier"}, "name": name}
    key = {"parent": "roots", "child": "children", "columns": ["key"], "most_children": BOUND}
    facts = {"tables": {t: {"columns": columns} for t in ("roots", "children")}, "keys": [key]}
    below = [n for n in there for _ in range(MANY)]
    tables = {"roots": there, "children": below}
    return datasets.parse_related(facts), {t: pd.DataFrame({"key": n, "name": n}) for t, n in tables.items()}


def _released(releases: Any, canaries: int) -> np.ndarray | None:
    """Each canary's noisy counts of its category alone, weighted by precision, (canaries,); None without any."""
    scores, any_counts = np.zeros(canaries), False
    for release in releases:
        if not isinstance(release, CountsRelease | LinkedRelease):
            continue
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            for axis, bins in enumerate(marginal.bins):
                column = placed(bins.column)[1] if isinstance(release, LinkedRelease) else bins.column
                if column == "name" and bins.size >= canaries:
                    others = tuple(i for i in range(values.ndim) if i != axis)
                    counts = values.sum(axis=others)[codes(bins, np.arange(canaries))]
                    scores += counts / (marginal.sigma**2 * max(values.size / bins.size, 1.0))
                    any_counts = True
    return scores if any_counts else None
