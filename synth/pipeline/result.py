"""What a run made."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa

from synth.errors import UsageError
from synth.release import folder
from synth.schema.codec import typed_frame
from synth.schema.dataset import ONE
from synth.schema.table import Schema


class Framed(ABC):
    """What has a ``schema``, and cells as text of each of its tables, gives them as frames.

    Privacy: released answers only.
    """

    schema: Any

    @abstractmethod
    def _cells(self, name: str, schema: Schema) -> Mapping[str, pa.Array]:
        """One table's."""

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The synthetic tables: numbers and dates as such, missing values as missing; long ones read from their files.

        A single table is called ``synthetic``.
        """
        return {n: typed_frame(self._cells(n, s), s) for n, s in self.schema.tables.items()}

    @property
    def frame(self) -> pd.DataFrame:
        """The synthetic table, as of ``frames``. Errors: UsageError where there are several."""
        if self.schema.several:
            raise UsageError("there are several tables; see the frames {}", ", ".join(self.schema.tables))
        return self.frames[ONE]


@dataclass(frozen=True, kw_only=True)
class Result(Framed):
    """What a run made. Everything in it derives from releases and is as private as the card says.

    ``num_rows``: of related tables, by table. ``tables``: cells as text, missing codes and all, by table and column;
    empty where they are long, or related and written.

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
    tables: Mapping[str, Mapping[str, pa.Array]] = field(repr=False)

    @property
    def texts(self) -> Mapping[str, pa.Array]:
        """A single table's cells as text, missing codes and all; empty where it is long."""
        return {} if self.schema.several else self.tables.get(ONE, {})

    def plain(self) -> dict[str, Any]:
        """The result as JSON data, without the rows."""
        left_out = ("card", "model", "schema", "tables")
        return {n: getattr(self, n) for n in self.__dataclass_fields__ if n not in left_out}

    def priors(self) -> list[Any]:
        """As of ``synth.Release``, of a run that was written. Errors: UsageError for one that was not."""
        import synth  # the interface knows every room

        if "card" not in self.paths:
            raise UsageError("the release was not written, and its answers are gone; run with `out=`")
        return synth.Release(self.paths["card"]).priors()

    def _cells(self, name: str, schema: Schema) -> Mapping[str, pa.Array]:
        path = self.paths.get(f"table {name}" if self.schema.several else name)
        return folder.read_texts(path, schema) if name not in self.tables and path else self.tables.get(name, {})

    def compare(self, real: Any, *, ledger: Any = None) -> Any:
        """What the table is good for beside the ``real`` one, a frame or file, as a notebook shows it.

        ``ledger``: the one that paid; that somebody looked is noted beside it. Errors: as ``synth.report``.

        **Guarantee**: none. Privacy: reads rows, exact: for the steward alone, never released.
        """
        import synth  # as below

        return synth.app_api.compared(self, real, ledger=ledger)

    def __repr__(self) -> str:
        tables = self.schema.tables
        many = self.num_rows if isinstance(self.num_rows, Mapping) else {ONE: self.num_rows}
        shape = f"{sum(many.values()):,} rows, {sum(len(s.columns) for s in tables.values())} columns"
        several = f" of {len(tables)} tables" if self.schema.several else ""
        cost = f"epsilon {self.epsilon_spent:g}, delta {self.delta:g}, {self.relation}"
        return f"Result({shape}{several} by {self.method}; {cost}; {self.paths.get('card', 'not written')})"

    def _repr_html_(self) -> str:
        """A small picture of the synthetic columns, for notebooks."""
        import synth  # the interface knows every room, that of pages too

        return str(synth.app_api.result_page(self))
