"""What a run made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa

from synth.generators.base import Model
from synth.release import folder
from synth.schema.table import Schema
from synth.schema.typed_frame import typed_frame


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
        """The synthetic table: numbers and dates as such, missing values as missing; a long one is read from its file.

        Its cells as text, missing codes and all: ``texts``, empty where the table is long.
        """
        if not self.texts and "synthetic" in self.paths:
            return typed_frame(folder.read_texts(self.paths["synthetic"], self.schema), self.schema)
        return typed_frame(self.texts, self.schema)

    def __repr__(self) -> str:
        size = f"{self.num_rows:,} rows, {len(self.schema.columns)} columns by {self.method}"
        cost = f"epsilon {self.epsilon_spent:g}, delta {self.delta:g}, {self.relation}"
        return f"Result({size}; {cost}; {self.paths.get('card', 'not written')})"

    def _repr_html_(self) -> str:
        """A small picture of the synthetic columns, for notebooks."""
        import synth  # the interface knows every room, that of pages too

        return str(synth.app_api.result_page(self))
