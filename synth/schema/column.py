"""What is publicly known of one column: its kind, bounds, categories, missing codes, and who confirms them."""

import datetime as dt
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from synth.languages import Said
from synth.schema import key_pattern
from synth.schema.dialect import format_problem
from synth.schema.names import MOST_PREFIX

CATEGORICAL = ("categorical", "ordinal", "boolean")
NUMERIC = ("integer", "float")
UNREAD = ("identifier", "omitted")  # kinds of which no cell is learnt
LEARN = Said(" (or learn it: `synth.learn_schema`, or `learn_share=`)")
MAX_POSITIONS = 2**53  # beyond, a float no longer tells neighbouring positions apart
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}

Kind = Literal["categorical", "ordinal", "boolean", "integer", "float", "datetime", "identifier", "omitted"]
Source = Literal["public", "declared", "private", "unconfirmed"]
Risk = Literal["key", "text", "unique", "dates", "many", "rare", "bounds"]
RISKS: dict[str, str] = {
    "key": "its values look like keys that name a person or a case",
    "text": "its values look like notes in free text",
    "unique": "most of its values stand in one row only",
    "dates": "its values look like dates",
    "many": "it has a long list of values",
    "rare": "few rows have some of its values",
    "bounds": "its bounds are not round, so that they may be somebody's own values",
}


def canonical(text: str) -> str:
    """The text by which categories are compared: trimmed, and without a zero fraction.

    >>> canonical(" 3.0"), canonical("3"), canonical("03"), canonical("a.0")
    ('3', '3', '03', 'a.0')
    """
    return re.sub(r"^(-?[0-9]+)\.0+$", r"\1", text.strip())


def repeated(texts: Iterable[str]) -> str | None:
    """The first text that came before, found in one pass.

    >>> repeated(["a", "b", "a"])
    'a'
    """
    seen: set[str] = set()
    return next((t for t in texts if t in seen or seen.add(t)), None)  # type: ignore[func-returns-value]


class Grouping(BaseModel):
    """How texts are made coarser before they are compared with the categories, cell by cell; a public rule.

    ``prefix``: by their first ``length`` characters. ``listed``: what is not among the categories counts as ``other``,
    which is one of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["prefix", "listed"]
    length: int | None = Field(default=None, ge=1, le=MOST_PREFIX)
    other: str | None = None


class WithinColumn(BaseModel):
    """In which other ``column`` a column's areas lie (areas.py). ``areas``: by category there those of this column;
    without, an area's code begins with that of the one that it lies in."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    column: str
    areas: dict[str, tuple[str, ...]] | None = None


def _named(plain: object) -> object:
    """A column's name alone as what it stands for."""
    return {"column": plain} if isinstance(plain, str) else plain


class Column(BaseModel):
    """The public facts of one column; a fact that does not apply is left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    type: Kind
    categories: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    grouping: Grouping | None = None
    within: Annotated[WithinColumn | None, BeforeValidator(_named)] = None
    min: int | float | str | None = Field(default=None, union_mode="left_to_right")
    max: int | float | str | None = Field(default=None, union_mode="left_to_right")
    decimals: int | None = Field(default=None, ge=0, le=15)
    resolution: Literal["second", "minute", "hour", "day"] | float | None = None
    format: str | None = None
    pattern: str | None = None
    nullable: bool | None = None
    of: Literal["unit"] | None = None  # one value in all rows of a person (dataset.py)
    missing: tuple[str, ...] | None = None
    source: Source = "declared"
    role: Literal["public"] | None = None
    risk: Risk | None = None
    reason: str | None = None
    description: str | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether neighbouring positions are neighbouring quantities (numbers and dates)."""
        return self.type in NUMERIC or self.type == "datetime"

    @property
    def orders(self) -> bool:
        """Whether rows may be ordered by it: a number, a date, an ordinal, or an identifier of rising numbers."""
        return self.is_numeric or self.type in ("ordinal", "identifier")

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """The texts that stand for a missing value; empty when the column is never missing."""
        if self.missing:
            return self.missing
        return ("",) if self.nullable else ()

    @property
    def step(self) -> Decimal:
        """Distance between neighbouring positions: a number's unit, or seconds for a date."""
        if self.type == "datetime":
            return Decimal(SECONDS[str(self.resolution or "day")])
        if self.resolution is not None:
            return Decimal(str(self.resolution))
        return Decimal(1) if self.type == "integer" else Decimal(1).scaleb(-(self.decimals or 0))

    @property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """Smallest and largest value as exact decimals (seconds since 1970 for a date)."""
        if self.type == "datetime":
            return _seconds(str(self.min)), _seconds(str(self.max))
        return Decimal(str(self.min)), Decimal(str(self.max))

    @property
    def size(self) -> int:
        """Number of positions of valid values; 0 for an identifier or a column left out."""
        if self.type in CATEGORICAL:
            return len(self.categories or ())
        if self.type in UNREAD:
            return 0
        low, high = self.bounds
        return int((high - low) / self.step) + 1

    @property
    def cells(self) -> int:
        """Number of positions in all, missing codes included."""
        return self.size + len(self.missing_codes)


def facts(column: Column) -> list[str]:
    """Names of the facts that a column states, its kind first.

    >>> facts(Column(type="integer", min=0, max=9))
    ['type', 'min', 'max']
    """
    stated = column.model_dump(exclude_none=True, exclude={"source", "description", "role", "risk", "reason", "of"})
    return list(stated)


def column_problems(column: Column, complete: bool):
    if column.type in CATEGORICAL and (complete or column.categories is not None):
        yield from _category_problems(column)
    elif column.is_numeric and (complete or (column.min is not None and column.max is not None)):
        yield from _bound_problems(column)
    if column.format is not None and (problem := format_problem(column.type, column.format)):
        yield problem
    if column.pattern is not None and column.type != "identifier":
        yield Said("pattern is the form of made-up keys; make the column an identifier")
    elif column.pattern is not None and (problem := key_pattern.problem(column.pattern)):
        yield problem
    codes = [canonical(c) for c in column.missing or ()]
    if len(set(codes)) < len(codes):
        yield Said("missing names the same code twice")
    if column.role is not None and (column.type in UNREAD or not (column.reason or "").strip()):
        yield Said(
            "an identifier, or a column left out, has no role"
            if column.type in UNREAD
            else 'role public: say why the value of each row is public, as "reason"; it goes onto the card'
        )
    if column.grouping is not None:
        yield from _grouping_problems(column, column.grouping)
    if column.labels is not None and len(column.labels) != len(column.categories or ()):
        yield Said("labels must name each category once, in the order of the categories")


def _category_problems(column: Column):
    if not column.categories:
        yield Said("it needs its categories, a list of every value it can take{}", LEARN)
        return
    texts = [canonical(c) for c in column.categories]
    if len(set(texts)) < len(texts):
        twice = repeated(texts)
        yield Said('category {!r} is listed twice (3, 3.0 and "3" are one)', twice)
    both = set(texts) & {canonical(c) for c in column.missing_codes}
    if both:
        yield Said("{!r} is both a category and a missing code; keep one", sorted(both)[0])


def _grouping_problems(column: Column, grouping: Grouping):
    if column.type not in CATEGORICAL:
        yield Said("grouping is for texts; make the column categorical")
    elif (grouping.length is None) == (grouping.kind == "prefix") or (grouping.other is None) == (
        grouping.kind == "listed"
    ):
        yield Said("a grouping by prefix states length, one that is listed states other")
    elif grouping.kind == "listed":
        if canonical(str(grouping.other)) not in map(canonical, column.categories or ()):
            yield Said("grouping: {!r} must be one of the categories", grouping.other)
    elif grouping.kind == "prefix" and any(
        len(canonical(c)) > int(grouping.length or 0) for c in column.categories or ()
    ):
        yield Said("grouping: a category is longer than its {} characters", grouping.length)


def _bound_problems(column: Column):
    if column.min is None or column.max is None:
        yield Said("it needs min and max, the smallest and largest possible {} value{}", column.type, LEARN)
        return
    try:
        low, high = column.bounds
    except (ArithmeticError, ValueError):
        what = Said("a date like 2020-01-31" if column.type == "datetime" else "a number")
        yield Said("min and max must each be {}", what)
        return
    if not (math.isfinite(low) and math.isfinite(high)):
        yield Said("min and max must be finite")
    elif low > high:
        yield Said("min {} is above max {}; swap them", column.min, column.max)
    elif column.type == "integer" and not all(x == x.to_integral_value() for x in (low, high)):
        yield Said("min and max of an integer column must be whole numbers")
    elif column.resolution is not None and isinstance(column.resolution, str) != (column.type == "datetime"):
        yield Said("resolution is second, minute, hour or day for a date, a number otherwise")
    elif not (column.step > 0 and math.isfinite(column.step)):
        yield Said("resolution must be above 0")
    elif column.type == "integer" and column.step != column.step.to_integral_value():
        yield Said("resolution of an integer column must be a whole number")
    elif column.size > MAX_POSITIONS:
        yield Said("more than 2**53 steps between min and max; give fewer decimals or a coarser resolution")


def _seconds(text: str) -> Decimal:
    """Seconds since 1970 of an ISO date or date-time without a zone."""
    return Decimal(int((dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)).total_seconds()))
