"""Which epsilon and delta are a privacy guarantee that can be computed exactly, and which of them add up.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

from synth.errors import UsageError
from synth.languages import Said
from synth.privacy.relation import GIVEN, stated

MOST_EPSILON = 1e6  # far below, nothing is protected any more
MOST_DELTA, MUCH_DELTA = 0.1, 1e-3  # beyond the first it is refused; beyond the second a run says what it means
LEAST_EPSILON, LEAST_DELTA = 1e-4, 1e-20  # below these the inverses of the profiles lose their exactness


UNLIKE = "guarantees of unlike units, relations or public columns do not add up"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What is guaranteed to one unit under one relation, given columns that are public row by row.

    ``max_rows``: how many rows of a unit were used; epsilon is of all that it has, so that a sum names the larger.

    Privacy: public only.

    >>> row = Guarantee(unit="row", relation="add_remove", epsilon=0.1, delta=1e-6)
    >>> (row + row + row).epsilon
    0.3
    >>> row + replace(row, unit="person")
    Traceback (most recent call last):
    TypeError: guarantees of unlike units, relations or public columns do not add up
    """

    unit: str
    relation: str
    epsilon: float
    delta: float
    max_rows: int = 1
    public_columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> "Guarantee":
        """That of a card, or of what one says of an earlier release; a card of long ago may leave its kind open."""
        return cls(
            unit=str(card.get("unit", "not stated")),
            relation=str(card.get("relation", "not stated")),
            epsilon=float(card["epsilon"]),
            delta=float(card["delta"]),
            max_rows=int(card.get("max_rows_of_a_unit", 1)),
            public_columns=tuple(sorted(card.get("public_columns") or ())),
        )

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> "Guarantee":
        """That of a ledger's line, whose relation says what is public beside it."""
        question = line["question"]
        return cls(
            unit=str(line["unit"]),
            relation=str(line["relation"]).partition(GIVEN)[0],
            epsilon=line["epsilon"],
            delta=line["delta"],
            max_rows=int(question.get("max_rows", 1)),
            public_columns=tuple(sorted(question.get("public_columns", ()))),
        )

    @property
    def kind(self) -> tuple[str, str]:
        """What two that add up have alike, as ledger lines state it: relation with what is public, unit."""
        return stated(self.relation, self.public_columns), self.unit

    def __add__(self, other: "Guarantee") -> "Guarantee":
        """Basic composition. Errors: TypeError for one of another kind."""
        if self.kind != other.kind:
            raise TypeError(UNLIKE)
        epsilon, delta = (exact([getattr(self, n), getattr(other, n)]) for n in ("epsilon", "delta"))
        return replace(self, epsilon=epsilon, delta=delta, max_rows=max(self.max_rows, other.max_rows))

    def plain(self) -> dict[str, Any]:
        """As JSON data, in a card's words."""
        facts = asdict(self)
        return facts | {"max_rows_of_a_unit": facts.pop("max_rows"), "public_columns": list(self.public_columns)}


def sums(guarantees: Iterable[Guarantee]) -> list[Guarantee]:
    """A sum of each kind, side by side, in the order in which the kinds first stand. Privacy: public only."""
    by_kind: dict[tuple[str, str], Guarantee] = {}
    for one in guarantees:
        by_kind[one.kind] = by_kind[one.kind] + one if one.kind in by_kind else one
    return list(by_kind.values())


def exact(figures: Sequence[float]) -> float:
    """The sum of figures as they are written.

    >>> exact([0.1, 0.1, 0.1])
    0.3

    Privacy: public only.
    """
    return float(sum((Decimal(repr(float(f))) for f in figures), Decimal(0)))


def is_number(value: object) -> bool:
    """Whether a figure of privacy is one: no text, and no truth, which Python counts as 1.

    >>> is_number(1), is_number(True), is_number("1")
    (True, False, False)

    Privacy: public only.
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def check(epsilon: float, delta: float, *, pure: bool = False) -> None:
    """Refuses an epsilon or delta that is no privacy guarantee; ``pure``: delta may be 0. Errors: UsageError.

    Privacy: public only.
    """
    if not (is_number(epsilon) and 0 < epsilon <= MOST_EPSILON):
        raise UsageError(
            "epsilon {} is not a finite number above 0 and at most {:g}; 0.1 to 10 is usual",
            _short(epsilon),
            MOST_EPSILON,
        )
    if epsilon < LEAST_EPSILON:
        raise UsageError(
            "epsilon {} is below {:g}, the least that is computed exactly; 0.1 to 10 is usual", epsilon, LEAST_EPSILON
        )
    if pure and is_number(delta) and delta == 0:
        return
    if not (is_number(delta) and 0 < delta < 1):
        raise UsageError("delta {} must lie between 0 and 1; 1e-5 or less is usual", _short(delta))
    if delta < LEAST_DELTA:
        raise UsageError(
            "delta {} is below {:g}, the least that is computed exactly; 1e-9 is small", delta, LEAST_DELTA
        )


def check_promise(epsilon: float, delta: float) -> None:
    """As ``check``, of what a run promises: a large delta is no promise, 0 a pure one. Errors: UsageError.

    Privacy: public only.
    """
    check(epsilon, delta, pure=True)
    if delta > MOST_DELTA:
        raise UsageError(
            "delta {:g} is the probability that nothing is promised at all, and at most {:g}; 1e-5 or less, and "
            "well below one in the number of rows, is usual",
            delta,
            MOST_DELTA,
        )


def caution(delta: float) -> str:
    """What to say of a large delta; empty for a usual one. How many rows the table has may be private: it says nothing.

    >>> caution(1e-6), caution(0.01)[:45]
    ('', 'delta 0.01: with this probability nothing is ')

    Privacy: public only.
    """
    if delta <= MUCH_DELTA:
        return ""
    return (
        f"delta {delta:g}: with this probability nothing is promised; 1e-5 or less, and well below one in the number "
        "of the table's rows, is usual"
    )


def _short(value: object) -> object:
    """A figure in a message: an integer may have thousands of digits, which no one may want to turn into text."""
    return Said("beyond any float") if isinstance(value, int) and abs(value) >= 1 << 64 else value
