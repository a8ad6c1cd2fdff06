"""What may be charged: spends, policies, their exact sums, and the reasons for a refusal.

Whether an installation allows a spend on a dataset that nothing caps: ``SYNTH_REQUIRE_CAP=yes`` forbids it, and so does
a configuration file: the one that ``SYNTH_CONFIG`` names, else ``facsimile/config.toml`` in the user's configuration
folder (``$XDG_CONFIG_HOME``, by default ``~/.config``)::

    [budget]
    require_cap = true

No cap comes by itself: somebody chooses the figure.
"""

import getpass
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import inf, isfinite, isnan, nan
from pathlib import Path
from typing import Any

from synth.errors import InputError, UsageError
from synth.files import toml_files
from synth.languages import Said
from synth.privacy.accounting.guarantee import is_number
from synth.privacy.ledger import accounts, entries
from synth.privacy.ledger.accounts import Account
from synth.privacy.ledger.checkpoint import EXACT
from synth.privacy.ledger.entries import Entry
from synth.privacy.ledger.store import Connection
from synth.schema import names

SWITCH, FILE = "SYNTH_REQUIRE_CAP", "SYNTH_CONFIG"
WORDS = {"": False, "no": False, "0": False, "false": False, "yes": True, "1": True, "true": True}


def cap_required() -> bool:
    """Whether the variable or the file demands a cap; either is enough. Errors: InputError for an unreadable rule."""
    word = os.environ.get(SWITCH, "").strip().lower()
    if word not in WORDS:
        raise InputError("{}: must be yes or no", SWITCH)
    if WORDS[word]:
        return True
    named = os.environ.get(FILE)
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path = Path(named).expanduser() if named else folder / "facsimile" / "config.toml"
    try:
        if not named and not path.exists():
            return False
    except PermissionError:  # the folder of another user, whose configuration it then is
        return False
    plain = toml_files.read(path, kind="configuration", variable=FILE, page="docs/ledger.md")
    budget = plain.get("budget", {})
    known = set(plain) <= {"budget"} and isinstance(budget, dict) and set(budget) <= {"require_cap"}
    if not known or not isinstance(budget.get("require_cap", False), bool):  # a misspelt rule would be no rule
        raise InputError(
            "configuration {}: it may hold [budget] with require_cap = true or false, and nothing else", path
        )
    return bool(budget.get("require_cap", False))


def cap_command(dataset: str) -> str:
    """The command that caps a dataset, ready to be typed."""
    return f"`synth.Ledger.set_policy(dataset={dataset!r}, max_epsilon=E)`"


LARGEST = 1e100  # of a figure: so many cannot be added that their sum leaves the range of a float


def user() -> str:
    """The name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have a number and no name
        return "unknown"


name = names.checked


def figure(value: float, what: str, *, below: float | None = None) -> float:
    """A finite number from 0, as a plain float without a negative zero. Errors: UsageError."""
    below = LARGEST if below is None else below
    try:
        number = float(value) + 0.0 if is_number(value) else nan
    except OverflowError:  # an integer of hundreds of digits
        number = nan
    if isnan(number):
        raise UsageError("{}: must be a finite number from 0 and below {:g}", what, below) from None
    if not isfinite(number) or number < 0 or number >= below:
        raise UsageError("{} {:g}: must be a finite number from 0 and below {:g}", what, number, below)
    return number


RESERVE, VERIFIED = "reserve_epsilon", "verified"  # in a policy's line; the method of a question's spend


def caps(max_epsilon: float | None, max_delta: float, reserve: float = 0.0) -> dict[str, float | None]:
    """What a policy's line records of its caps; None for both where nothing is capped. Errors: UsageError."""
    reserve, cap = figure(reserve, "reserve"), None if max_epsilon is None else figure(max_epsilon, "max_epsilon")
    if reserve > (cap or 0.0):
        raise UsageError("reserve {:g}: must be a part of the cap `max_epsilon=`; choose a smaller one", reserve)
    if cap is None:
        return {"max_epsilon": None, "max_delta": None}
    figures = {"max_epsilon": cap, "max_delta": figure(max_delta, "max_delta", below=1)}
    if cap == 0:
        raise UsageError("max_epsilon 0: must be above 0")
    return {**figures, **({RESERVE: reserve} if reserve else {})}


@dataclass(frozen=True, kw_only=True)
class Spend:
    """A charge of (``epsilon``, ``delta``) for one run on a dataset; ``question`` is public JSON data.

    ``run``: the run's own id, by which its charge is found again; one is drawn where it is None.

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
    run: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", figure(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", figure(self.delta, "delta", below=1))
        for what in ("dataset", "relation", "unit", "engine", "noise_source", "actor"):
            object.__setattr__(self, what, name(getattr(self, what), what))
        for what in ("approved_by", "run"):
            if (text := getattr(self, what)) is not None:
                object.__setattr__(self, what, name(text, what))


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The cap on all spends of a dataset; relation and unit None mean those of its first spend.

    ``max_epsilon`` and ``max_delta`` are None where somebody decided that nothing caps the dataset. ``reserve``: the
    part of ``max_epsilon`` that verified answers alone may spend, and no more than it; 0 where they share the cap.
    """

    dataset: str
    max_epsilon: float | None
    max_delta: float | None
    relation: str | None
    unit: str | None
    actor: str | None
    approved_by: str | None
    time: str
    reserve: float = 0.0

    @property
    def uncapped(self) -> bool:
        """Whether it records the decision that nothing caps the dataset."""
        return self.max_epsilon is None

    @staticmethod
    def of(line: Entry) -> "Policy":
        """The policy that a line of kind ``policy`` records."""
        caps: list[Any] = [line.question.get(what, -1) for what in ("max_epsilon", "max_delta")]
        part = line.question.get(RESERVE, 0.0)
        whole = all(isinstance(cap, int | float) and 0 <= cap < inf for cap in (*caps, part))
        if not whole and caps != [None, None]:
            raise InputError("ledger: line {} was altered; check it with `synth.Ledger.verify`", line.number)
        return Policy(
            dataset=line.dataset,
            max_epsilon=float(caps[0]) if whole else None,
            max_delta=float(caps[1]) if whole else None,
            relation=line.relation,
            unit=line.unit,
            actor=line.actor,
            approved_by=line.approved_by,
            time=line.time,
            reserve=float(part) if whole else 0.0,
        )


@dataclass(frozen=True, kw_only=True)
class Total:
    """What a dataset has spent in all and, under a policy, what remains (at least 0).

    ``spellings``: all ways in which its name stands in the ledger; their spends are added up. ``mu2``: the sum of
    its runs' mu**2, for the exact composite; None where they do not compose. ``remaining_reserve``: what verified
    answers have left of their reserve, None where there is none.
    """

    dataset: str
    runs: int
    epsilon: float
    delta: float
    policy: Policy | None
    remaining_epsilon: float | None
    remaining_delta: float | None
    spellings: tuple[str, ...] = ()
    mu2: float | None = None
    remaining_reserve: float | None = None


def exact(figures: Iterable[float]) -> Decimal:
    """The sum of figures as written, without rounding.

    >>> exact([0.1, 0.1, 0.1])
    Decimal('0.3')
    """
    total = Decimal(0)
    for value in figures:
        total = EXACT.add(total, accounts.decimal(value))
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


def newest(db: Connection, account: Account) -> Policy | None:
    """The policy that holds for the account, None where there is none.

    Where an older ledger capped several spellings of one name, the strictest of their caps holds for their sum until
    a policy is set that was meant for all of them.
    """
    lines = [e for s in account.spellings if (e := entries.newest(db, dataset=s, kind="policy")) is not None]
    strictest: Policy | None = None
    for line in sorted(lines, key=lambda e: -e.number):
        policy = Policy.of(line)
        strictest = policy if strictest is None else _stricter(strictest, policy)
        if line.question.get(EVERY):
            break
    return strictest


EVERY = "every_spelling"  # in a policy's line: it was written for all spellings of the name


def _stricter(one: Policy, other: Policy) -> Policy:
    def least(a: float | None, b: float | None) -> float | None:
        return min((x for x in (a, b) if x is not None), default=None)

    return replace(
        one,
        max_epsilon=least(one.max_epsilon, other.max_epsilon),
        max_delta=least(one.max_delta, other.max_delta),
        relation=one.relation or other.relation,
        unit=one.unit or other.unit,
        reserve=max(one.reserve, other.reserve),
    )


def total(db: Connection, account: Account) -> Total:
    """The account's sums and what its policy leaves."""
    policy = newest(db, account)
    return Total(
        dataset=account.spellings[0],
        runs=account.runs,
        epsilon=float(account.epsilon),
        delta=float(account.delta),
        policy=policy,
        remaining_epsilon=_left(policy.max_epsilon, account.epsilon) if policy else None,
        remaining_delta=_left(policy.max_delta, account.delta) if policy else None,
        spellings=account.spellings,
        mu2=account.mu2,
        remaining_reserve=_left(policy.reserve, _answers(db, account)) if policy and policy.reserve else None,
    )


def is_answer(question: dict[str, Any]) -> bool:
    """Whether a spend bought verified answers."""
    return question.get("method") == VERIFIED


def _answers(db: Connection, account: Account) -> Decimal:
    """What verified answers have spent of the account."""
    spends = entries.matching(db, dataset=account.spellings, kind="spend")
    lines = [entries.entry(line) for line in spends]
    return exact(line.epsilon for line in lines if is_answer(line.question))


def _left(cap: float | None, spent: Decimal) -> float | None:
    return None if cap is None else max(0.0, float(EXACT.subtract(exact([cap]), spent)))


def contradiction(db: Connection, account: Account, facts: dict[str, str | None]) -> str | None:
    """Why a policy cannot state these facts: a recorded spend has others, and the two do not add up."""
    for what, stated in facts.items():
        if stated is not None and (spend := entries.unlike(db, account.spellings, what, stated)):
            return Said(
                "dataset {!r}: line {} spent under {} {!r}, which does not add up with {!r}; state {} {!r} or leave "
                "it out",
                account.spellings[0],
                spend.number,
                what,
                getattr(spend, what),
                stated,
                what,
                getattr(spend, what),
            )
    return None


def stranger(db: Connection, account: Account, dataset: str) -> str | None:
    """Why a name that the ledger does not know cannot begin an account: it would be taken for another."""
    if account.known:
        return None
    if word := names.mixed(dataset):
        return Said(
            "dataset {!r}: {!r} mixes letters of scripts that look alike, or has letters that look like another "
            "script's; write it in one script in common use",
            dataset,
            word,
        )
    if twin := names.double(dataset, accounts.spellings(db)):
        return Said(
            "dataset {!r}: it looks like {!r}, which is in the ledger, and is written in other characters; give the "
            "name {!r}, or one that nobody takes for it",
            dataset,
            twin,
            twin,
        )
    return None


def refusal(db: Connection, account: Account, spend: Spend, *, required: bool = False) -> str | None:
    """Why the dataset's policy does not allow the spend, in one line; None when it does.

    ``required``: this installation allows no spend without a cap.
    """
    policy = newest(db, account)
    if required and (policy is None or policy.uncapped):
        return Said(
            "dataset {!r}: it has no cap, and this installation requires one; set it with {}",
            spend.dataset,
            cap_command(spend.dataset),
        )
    if policy is None:
        return None
    for what in ("relation", "unit"):
        first = None if policy.uncapped else getattr(account, what)  # without a cap relations may mix
        rule, asked = getattr(policy, what) or first, getattr(spend, what)
        if rule is not None and rule != asked:
            return Said(
                "dataset {!r}: requested under {} {!r}, but its budget is kept under {!r} and the two do not add "
                "up; ask with {} {!r}",
                spend.dataset,
                what,
                asked,
                rule,
                what,
                rule,
            )
    if policy.reserve and (reason := _beyond_reserve(db, account, spend, policy)):
        return reason
    for what, cap in (("epsilon", policy.max_epsilon), ("delta", policy.max_delta)):
        asked = exact([getattr(spend, what)])
        if cap is not None and (excess := _excess(what, asked=asked, spent=getattr(account, what), cap=cap)):
            return Said("dataset {!r}: {}; lower `{}=` or have the policy raised", spend.dataset, excess, what)
    return None


def _beyond_reserve(db: Connection, account: Account, spend: Spend, policy: Policy) -> str | None:
    """Why a spend is more than its part of the cap: answers have the reserve, all else has the rest."""
    answers, asked = _answers(db, account), exact([spend.epsilon])
    if is_answer(spend.question):
        spent, cap, whose = answers, policy.reserve, Said("the reserve for questions")
    else:
        spent = EXACT.subtract(account.epsilon, answers)
        cap = float(EXACT.subtract(exact([policy.max_epsilon or 0.0]), exact([policy.reserve])))
        whose = Said("what the reserve for questions leaves")
    if excess := _excess("epsilon", asked=asked, spent=spent, cap=cap):
        return Said(
            "dataset {!r}: {}, of {}; lower `epsilon=` or have the policy changed",
            spend.dataset,
            excess,
            whose,
        )
    return None


def _excess(what: str, *, asked: Decimal, spent: Decimal, cap: float) -> str | None:
    left = EXACT.subtract(exact([cap]), spent)
    if asked <= left:
        return None
    short = show(EXACT.subtract(asked, left))
    left = max(left, Decimal(0))
    return Said(
        "requested {} {}, remaining {}, short by {} (policy {!r}, spent {})",
        what,
        show(asked),
        show(left),
        short,
        cap,
        show(spent),
    )
