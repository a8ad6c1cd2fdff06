"""What may be charged: spends, policies, their exact sums, and the reasons for a refusal."""

import getpass
import sqlite3
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf, isfinite
from typing import Any

from synth.errors import InputError, UsageError
from synth.privacy import ledger_store
from synth.privacy.ledger_mark import EXACT
from synth.privacy.ledger_store import Entry

LARGEST = 1e100  # of a figure: so many cannot be added that their sum leaves the range of a float


def user() -> str:
    """The name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have a number and no name
        return "unknown"


def name(text: str, what: str) -> str:
    """The text in one normal form (é has two in Unicode): a twin in disguise would have a fresh budget.

    Errors: UsageError unless it is 1 to 4096 printable characters (a path may be a name) without space at
    either end.
    """
    plain = isinstance(text, str) and 0 < len(text) <= 4096 and text == text.strip() and text.isprintable()
    if not plain:
        raise UsageError(f"{what}: must be 1 to 4096 printable characters, no space at either end; choose another")
    return unicodedata.normalize("NFC", text)


def figure(value: float, what: str, *, below: float | None = None) -> float:
    """A finite number from 0, as a plain float without a negative zero. Errors: UsageError."""
    below = LARGEST if below is None else below
    try:
        number = float(value) + 0.0
    except (OverflowError, ValueError, TypeError):  # an integer of hundreds of digits; no number at all
        raise UsageError(f"{what}: must be a finite number from 0 and below {below:g}") from None
    if not isfinite(number) or number < 0 or number >= below:
        raise UsageError(f"{what} {number:g}: must be a finite number from 0 and below {below:g}")
    return number


def caps(max_epsilon: float | None, max_delta: float) -> dict[str, float | None]:
    """What a policy's line records of its caps; None for both where nothing is capped. Errors: UsageError."""
    if max_epsilon is None:
        return {"max_epsilon": None, "max_delta": None}
    found = {"max_epsilon": figure(max_epsilon, "max_epsilon"), "max_delta": figure(max_delta, "max_delta", below=1)}
    if found["max_epsilon"] == 0:
        raise UsageError("max_epsilon 0: must be above 0")
    return {**found}


@dataclass(frozen=True, kw_only=True)
class Spend:
    """A charge of (``epsilon``, ``delta``) for one run on a dataset; ``question`` is public JSON data.

    Errors: UsageError for a figure or a name that no ledger line may carry.
    """

    dataset: str
    epsilon: float
    delta: float
    relation: str
    unit: str
    engine: str
    noise_source: str
    question: dict[str, Any]
    actor: str = field(default_factory=user)
    approved_by: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", figure(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", figure(self.delta, "delta", below=1))
        for what in ("dataset", "relation", "unit", "engine", "noise_source", "actor"):
            object.__setattr__(self, what, name(getattr(self, what), what))
        if self.approved_by is not None:
            object.__setattr__(self, "approved_by", name(self.approved_by, "approved_by"))


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The cap on all spends of a dataset; relation and unit None mean those of its first spend.

    ``max_epsilon`` and ``max_delta`` are None where somebody decided that nothing caps the dataset.
    """

    dataset: str
    max_epsilon: float | None
    max_delta: float | None
    relation: str | None
    unit: str | None
    actor: str | None
    approved_by: str | None
    time: str

    @property
    def uncapped(self) -> bool:
        """Whether it records the decision that nothing caps the dataset."""
        return self.max_epsilon is None

    @staticmethod
    def of(line: Entry) -> "Policy":
        """The policy that a line of kind ``policy`` records."""
        caps: list[Any] = [line.question.get(what, -1) for what in ("max_epsilon", "max_delta")]
        whole = all(isinstance(cap, int | float) and 0 <= cap < inf for cap in caps)
        if not whole and caps != [None, None]:
            raise InputError(f"ledger: line {line.number} was altered; check it with `synth ledger verify`")
        return Policy(
            dataset=line.dataset,
            max_epsilon=float(caps[0]) if whole else None,
            max_delta=float(caps[1]) if whole else None,
            relation=line.relation,
            unit=line.unit,
            actor=line.actor,
            approved_by=line.approved_by,
            time=line.time,
        )


@dataclass(frozen=True, kw_only=True)
class Total:
    """What a dataset has spent in all and, under a policy, what remains (at least 0)."""

    dataset: str
    runs: int
    epsilon: float
    delta: float
    policy: Policy | None
    remaining_epsilon: float | None
    remaining_delta: float | None


def exact(figures: Iterable[float]) -> Decimal:
    """The sum of figures as written, without rounding.

    >>> exact([0.1, 0.1, 0.1])
    Decimal('0.3')
    """
    total = Decimal(0)
    for value in figures:
        if not (isinstance(value, int | float) and isfinite(value)):
            raise InputError("ledger: a figure was altered; check it with `synth ledger verify`")
        total = EXACT.add(total, Decimal(repr(value)))
    return total


def show(value: Decimal) -> str:
    """A figure as people write it, all digits kept.

    >>> show(Decimal("0.40")), show(Decimal("1E+2")), show(Decimal("0.000010"))
    ('0.4', '100', '1e-5')
    """
    plain = value.normalize(EXACT)
    if plain == 0 or -5 < plain.adjusted() < 16:
        return f"{plain:f}"
    return f"{plain.scaleb(-plain.adjusted(), EXACT):f}e{plain.adjusted()}"


def newest(db: sqlite3.Connection, dataset: str) -> Policy | None:
    """The policy that holds for the dataset, None where there is none."""
    found = ledger_store.lines(db, dataset=dataset, kind="policy")
    return Policy.of(ledger_store.entry(found[-1])) if found else None


def total(db: sqlite3.Connection, dataset: str) -> Total:
    """The dataset's sums and what its policy leaves."""
    spends = ledger_store.lines(db, dataset=dataset, kind="spend")
    epsilon, delta = (exact(line[what] for line in spends) for what in ("epsilon", "delta"))
    policy = newest(db, dataset)
    return Total(
        dataset=dataset,
        runs=len(spends),
        epsilon=float(epsilon),
        delta=float(delta),
        policy=policy,
        remaining_epsilon=_left(policy.max_epsilon, epsilon) if policy else None,
        remaining_delta=_left(policy.max_delta, delta) if policy else None,
    )


def _left(cap: float | None, spent: Decimal) -> float | None:
    return None if cap is None else max(0.0, float(EXACT.subtract(exact([cap]), spent)))


def contradiction(db: sqlite3.Connection, dataset: str, facts: dict[str, str | None]) -> str | None:
    """Why a policy cannot state these facts: a recorded spend has others, and the two do not add up."""
    for spend in ledger_store.lines(db, dataset=dataset, kind="spend"):
        for what, stated in facts.items():
            if stated is not None and stated != spend[what]:
                return (
                    f"dataset {dataset!r}: line {spend['number']} spent under {what} {spend[what]!r}, which"
                    f" does not add up with {stated!r}; state {what} {spend[what]!r} or leave it out"
                )
    return None


def refusal(db: sqlite3.Connection, spend: Spend) -> str | None:
    """Why the dataset's policy does not allow the spend, in one line; None when it does."""
    policy = newest(db, spend.dataset)
    if policy is None:
        return None
    spends = ledger_store.lines(db, dataset=spend.dataset, kind="spend")
    for what in ("relation", "unit"):
        first = spends[0][what] if spends and not policy.uncapped else None  # without a cap relations may mix
        rule = getattr(policy, what) or first
        asked = getattr(spend, what)
        if rule is not None and rule != asked:
            return (
                f"dataset {spend.dataset!r}: requested under {what} {asked!r}, but its budget is kept under"
                f" {rule!r} and the two do not add up; ask with {what} {rule!r}"
            )
    for what, cap in (("epsilon", policy.max_epsilon), ("delta", policy.max_delta)):
        if cap is None:
            continue
        spent = exact(line[what] for line in spends)
        if excess := _excess(what, asked=exact([getattr(spend, what)]), spent=spent, cap=cap):
            return f"dataset {spend.dataset!r}: {excess}; lower --{what} or have the policy raised"
    return None


def _excess(what: str, *, asked: Decimal, spent: Decimal, cap: float) -> str | None:
    left = EXACT.subtract(exact([cap]), spent)
    if asked <= left:
        return None
    short = show(EXACT.subtract(asked, left))
    left = max(left, Decimal(0))
    return (
        f"requested {what} {show(asked)}, remaining {show(left)}, short by {short}"
        f" (policy {cap!r}, spent {show(spent)})"
    )
