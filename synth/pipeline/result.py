"""What a run made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa

from synth.generators.base import Model
from synth.schema.table import Schema
from synth.sources.formats import files


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What runs of one table and of several have to tell. All of it derives from releases.

    Privacy: released answers only.
    """

    method: str
    relation: str
    dataset: str | None
    epsilon_spent: float
    epsilon_derived: float
    delta: float
    num_rows: Any
    seconds: float
    seconds_total: float
    peak_mib: float
    seed: int
    device: str
    fit: dict[str, float] | None = None
    paths: dict[str, str] = field(default_factory=dict)
    card: dict[str, Any] = field(repr=False)
    model: Any = field(repr=False)
    schema: Any = field(repr=False)
    texts: Mapping[str, Any] = field(repr=False)

    def plain(self) -> dict[str, Any]:
        """The result as JSON data, without the rows."""
        left_out = ("card", "model", "schema", "texts")
        return {n: getattr(self, n) for n in self.__dataclass_fields__ if n not in left_out}


@dataclass(frozen=True, kw_only=True)
class Result(Outcome):
    """What a run made. Everything in it derives from releases and is as private as the card says.

    Privacy: released answers only.
    """

    num_rows: int
    model: Model = field(repr=False)
    schema: Schema = field(repr=False)
    texts: Mapping[str, pa.Array] = field(repr=False)

    @property
    def frame(self) -> pd.DataFrame:
        """The synthetic table, one text column for each column of the schema; a long one is read from its file."""
        if not self.texts and "synthetic" in self.paths:
            table = files.read(self.paths["synthetic"])
            return pd.DataFrame({n: (t := table.column(n)).values[t.codes] for n in table.names})
        return pd.DataFrame({n: a.to_pandas() for n, a in self.texts.items()})
