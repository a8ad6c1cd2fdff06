"""Scores of an institution's own in the steward's report: installed packages that name them under `synth.scores`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from synth.evaluate.read_sample import Sample
from synth.schema import codec
from synth.schema.table import Schema

if TYPE_CHECKING:
    import pandas as pd

GROUP = "synth.scores"
MOST = 50  # figures of one score
Score = Callable[["pd.DataFrame", "pd.DataFrame", Schema], Any]


@dataclass(frozen=True, kw_only=True)
class PluginScore:
    """What one installed score said: ``values`` by name, or the ``fault`` that it ended with.

    ``package``: the distribution and version that it comes from. **Guarantee**: none; from real rows.
    """

    name: str
    package: str
    values: Mapping[str, float] = field(default_factory=dict, repr=False)
    fault: str = ""


def measure(real: Sample, synthetic: Sample, schema: Schema) -> tuple[PluginScore, ...]:
    """Every registered score, in the order of their names, on the rows that the report uses.

    A score is a function of two frames (real, synthetic: numbers and dates as such, categories as text) and the schema;
    it returns a number, or a mapping from names to numbers. One that fails is told as failed, and the others stand.
    **Guarantee**: none; for the steward alone. It runs code of packages that the installation's keeper installed.
    """
    result = sorted(entry_points(group=GROUP), key=lambda e: e.name)
    if not result:
        return ()
    frames = [_frame(s, schema) for s in (real, synthetic)]
    return tuple(_one(e, *(f.copy() for f in frames), schema=schema) for e in result)


def _one(entry: EntryPoint, real: "pd.DataFrame", synthetic: "pd.DataFrame", *, schema: Schema) -> PluginScore:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown"
    try:
        score: Score = entry.load()
        reported = score(real, synthetic, schema)
        named = dict(reported) if isinstance(reported, Mapping) else {entry.name: reported}
        values = {str(n): float(v) for n, v in list(named.items())[:MOST]}
        if not all(map(math.isfinite, values.values())):
            raise ValueError("a score must be finite")
    except Exception as error:  # somebody else's code: whatever it trips over, the rest of the report stands
        return PluginScore(name=entry.name, package=package, fault=type(error).__name__)
    return PluginScore(name=entry.name, package=package, values=values)


def _frame(sample: Sample, schema: Schema) -> "pd.DataFrame":
    import pandas as pd

    measured = {n: np.asarray(p) for n, p in sample.positions.items()}
    texts = codec.decode(measured, schema, num_rows=sample.used, first=1)
    typed: Mapping[str, pa.Array] = codec.typed({n: texts[n] for n in measured}, schema)
    return pd.DataFrame({n: a.to_pandas() for n, a in typed.items()})
