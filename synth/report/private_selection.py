"""A choice among synthetic tables by noisy counts that were paid for, which the budget covers."""

from collections.abc import Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import InputError
from synth.evaluate.read_sample import read
from synth.pipeline.statistics import MOST_CELLS, Asked, counted
from synth.release.statistics_file import load
from synth.report.noisy_tables import NoisyTable
from synth.schema import table as schemas
from synth.schema.table import Schema

MOST_ROWS = 1_000_000  # synthetic rows counted of each table


def shared(releases: Sequence[str | Path]) -> list[str]:
    """The measured columns that all releases describe alike, in the order of the first. Errors: InputError.

    Privacy: released answers only.
    """
    results = [schemas.load(Path(r) / "schema.json").measured() for r in releases]
    return [n for n, c in results[0].items() if all(n in other and other[n] == c for other in results[1:])]


def questions(schema: Schema, columns: Sequence[str]) -> list[str]:
    """What to ask about these columns, as `synth statistics --ask` takes it: pairs; a column alone where none fits.

    Privacy: public only.

    >>> from synth.schema.table import parse
    >>> facts = {"type": "integer", "min": 0, "max": 9}
    >>> questions(parse({"columns": {"a": facts, "b": facts, "c": facts}}), ["a", "b"])
    ['count:a*b']
    """
    cells = {n: counted(n, schema.columns[n]).size for n in columns}
    pairs = [p for p in combinations(columns, 2) if prod(cells[n] for n in p) <= MOST_CELLS]
    alone = [n for n in columns if not any(n in p for p in pairs)]
    return [f"count:{'*'.join(p)}" for p in pairs] + [f"count:{n}" for n in alone]


def distances(paid: str | Path, releases: Sequence[str | Path]) -> list[float]:
    """How far each release's synthetic table is from counts that `synth statistics` wrote: 0 to 1, a mean over tables.

    Distances are total variation to the noisy shares, so noise adds about the same to all of them. Errors: InputError
    where the file holds no counts, or a release lacks their columns.

    **Guarantee**: post-processing of the paid counts and of releases. A choice by these figures is covered by the sum
    of what was charged for both.

    Privacy: released answers only.
    """
    reported = [s for s in load(paid)["statistics"] if s["kind"] == "count"]
    common = set(shared(releases))
    if not reported or any(set(s["columns"]) - common for s in reported):
        raise InputError(f"{paid}: holds no counts of columns that all these releases describe alike; ask for some")
    return [_distance(Path(r), reported) for r in releases]


def _distance(release: Path, reported: Sequence[dict[str, Any]]) -> float:
    schema = schemas.load(release / "schema.json")
    rng = np.random.default_rng(0)  # no privacy noise: a synthetic table may be sampled with a seed
    made = read(release / "synthetic.csv", schema, limit=MOST_ROWS, rng=rng, synthetic=True).positions
    gaps = []
    for one in reported:
        bins = tuple(counted(n, schema.columns[n]) for n in Asked.read(one["ask"]).columns)
        noisy = np.clip([float(c["count"]) for c in one["cells"]], 0, None).reshape([b.size for b in bins])
        counts = NoisyTable(bins=bins, values=noisy, sigma=0.0).counted(made)
        gaps.append(0.5 * np.abs(noisy / max(noisy.sum(), 1.0) - counts / max(counts.sum(), 1.0)).sum())
    return float(np.mean(gaps))
