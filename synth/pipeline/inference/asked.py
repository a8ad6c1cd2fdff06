"""What may be asked of a release's population: words to kinds, columns and values."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synth.errors import UsageError
from synth.schema.table import NUMERIC, Column, Schema

MOST_GROUPS = 20
FITS = ("linear", "logistic", "poisson")
FORMS = (
    "write mean:COL, quantile:COL:0.5, share:COL, difference:COL*GROUP, or linear:COL~COL+COL (logistic, poisson "
    "alike); COL=VALUE is 1 where a column has that value, else 0"
)


@dataclass(frozen=True, kw_only=True)
class ColumnTerm:
    """A column's numbers, or, with a ``value``, 1 where it has that value and 0 elsewhere."""

    column: str
    value: str | None = None

    @classmethod
    def read(cls, words: str) -> "ColumnTerm":
        """From ``COL`` or ``COL=VALUE``."""
        column, equals, value = words.strip().partition("=")
        return cls(column=column, value=value if equals else None)

    def numbers(self, positions: Mapping[str, np.ndarray], schema: Schema) -> np.ndarray:
        """(N,), NaN where the column is missing."""
        column, places = schema.columns[self.column], positions[self.column]
        values = np.arange(column.size, dtype=float)
        if self.value is None:
            values = float(column.bounds[0]) + float(column.step) * places
        else:
            values = (places == (column.categories or ()).index(self.value)).astype(float)
        return np.where(places < column.size, values, np.nan)

    def ends(self, schema: Schema) -> tuple[float, float]:
        """The least and the greatest that it can be."""
        bounds = (0, 1) if self.value is not None else schema.columns[self.column].bounds
        return float(bounds[0]), float(bounds[1])


@dataclass(frozen=True, kw_only=True)
class EstimateQuestion:
    """One question: ``kind``, the outcome, and by what: a grouping column, or regressors; ``level`` of a quantile.

    >>> EstimateQuestion.read("logistic:high=yes~age+sex").by
    ('age', 'sex')
    """

    words: str
    kind: str
    outcome: ColumnTerm
    by: tuple[str, ...] = ()
    level: float = 0.5

    @classmethod
    def read(cls, words: str) -> "EstimateQuestion":
        """From the words of ``FORMS``. Errors: UsageError."""
        kind, _, rest = words.partition(":")
        name, by, level = rest, "", 0.5
        if kind == "quantile":
            name, _, text = rest.rpartition(":")
            level = float(text) if text.replace(".", "", 1).isdigit() else 0.0
        elif kind in FITS:
            name, _, by = rest.partition("~")
        elif kind == "difference":
            name, _, by = rest.rpartition("*")
        if (
            kind not in ("mean", "share", "quantile", "difference", *FITS)
            or not name
            or not 0 < level < 1
            or (kind in ("difference", *FITS) and not by)
        ):
            raise UsageError(f"`ask={words}`: {FORMS}")
        terms = tuple(t.strip() for t in by.split("+")) if by else ()
        return cls(words=words, kind=kind, outcome=ColumnTerm.read(name), by=terms, level=level)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the question reads."""
        return tuple(dict.fromkeys((self.outcome.column, *self.by)))

    def check(self, schema: Schema) -> None:
        """Errors: UsageError for unknown columns and values, and for columns of the wrong kind."""
        for name in self.columns:
            if name not in schema.measured() or schema.columns[name].type == "datetime":
                raise UsageError(f"`ask={self.words}`: {name} is not a measured column of numbers or categories")
        column, value = schema.columns[self.outcome.column], self.outcome.value
        if value is not None and value not in (column.categories or ()):
            raise UsageError(f"`ask={self.words}`: {self.outcome.column} has no category {value}")
        if self.kind == "share" and (column.type in NUMERIC or value is not None):
            raise UsageError(f"`ask={self.words}`: shares are of categories; write share:COL")
        if self.kind != "share" and value is None and column.type not in NUMERIC:
            raise UsageError(f"`ask={self.words}`: {self.outcome.column} holds no numbers; write COL=VALUE")
        if len(set(self.by)) < len(self.by) or self.outcome.column in self.by:
            raise UsageError(f"`ask={self.words}`: each column once")
        for name in self.by:
            self._check_group(schema.columns[name], name)

    def _check_group(self, column: Column, name: str) -> None:
        numeric = column.type in NUMERIC
        if (numeric and self.kind == "difference") or (not numeric and not 2 <= column.size <= MOST_GROUPS):
            raise UsageError(f"`ask={self.words}`: {name} must have 2 to {MOST_GROUPS} categories")
