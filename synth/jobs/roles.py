"""Who may do what in a shared installation, from the file that ``$SYNTH_ROLES`` names.

Without such a file there is one user, who may do everything: the application then listens on this computer alone.
The file is TOML::

    [roles]
    steward = ["ann@example.org"]     # uploads, spends, sees the comparison with the real rows
    reviewer = ["bob@example.org"]    # approves larger spends, and releases
    analyst = ["*@example.org"]       # downloads what was released

    [approval]
    epsilon_above = 1.0               # larger spends wait for a reviewer

    [budget]
    max_epsilon = 3.0                 # over all runs on one dataset; without it there is no cap
    max_delta = 1e-4

    [datasets.town-survey]            # optional, by name of the dataset
    may_spend = ["ann@example.org"]
    epsilon_above = 0.5
    max_epsilon = 1.0
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from typing import Any, Protocol

from synth.errors import InputError
from synth.jobs import role_actions
from synth.jobs.role_actions import ACTIONS, ALONE, ORDER, pages
from synth.schema import names, regular_files

__all__ = ["ACTIONS", "Roles", "Visitor", "load", "pages", "place"]
CAPS = {"max_epsilon": inf, "max_delta": 1.0}  # each below its bound
DATASET = ("may_spend", "epsilon_above", *CAPS)
KNOWN = {"file": ("roles", "approval", "budget", "datasets"), "approval": ("epsilon_above",), "budget": tuple(CAPS)}
USUAL_DELTA = 1e-3  # over all runs, where a budget names epsilon alone


class Book(Protocol):
    """What of the ledger is needed to put a budget down."""

    def policy(self, dataset: str) -> Any: ...
    def set_policy(self, dataset: str, *, max_epsilon: float, max_delta: float, approved_by: str) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Somebody at the application. ``name`` is the verified address, empty for the only user."""

    name: str = ""
    role: str = ALONE

    @property
    def alone(self) -> bool:
        """Whether nobody else uses this installation."""
        return self.role == ALONE

    def may(self, action: str, owner: str | None = None) -> bool:
        """Whether the visitor may do it, to a thing of ``owner``: see ``synth.jobs.role_actions``.

        >>> Visitor(name="ann@x.org", role="steward").may("watch", "eve@x.org"), Visitor().may("watch")
        (False, True)
        """
        return role_actions.may(self.role, action, name=self.name, owner=owner)


@dataclass(frozen=True)
class Roles:
    """The rules of a shared installation."""

    people: dict[str, list[str]]
    epsilon_above: float | None = None
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    caps: Mapping[str, float] = field(default_factory=dict)

    def visitor(self, address: str) -> Visitor | None:
        """The visitor of that address, None where no role fits.

        >>> Roles({"analyst": ["*@x.org"], "steward": ["ann@x.org"]}).visitor("Ann@x.org").role
        'steward'
        """
        for role in ORDER:
            if any(fnmatchcase(address.lower(), p.lower()) for p in self.people.get(role, [])):
                return Visitor(name=address.lower(), role=role)
        return None

    def _rules(self, dataset: str) -> dict[str, Any]:
        """The rules for a dataset, in whatever spelling of its name (names.py)."""
        wanted = names.canonical(dataset)
        return next((rules for name, rules in self.datasets.items() if names.canonical(name) == wanted), {})

    def may_spend(self, visitor: Visitor, dataset: str) -> bool:
        """Whether the visitor may spend of this dataset's budget."""
        if not visitor.may("spend", visitor.name):
            return False
        named = self._rules(dataset).get("may_spend")
        return named is None or any(fnmatchcase(visitor.name, p.lower()) for p in named)

    def named(self, visitor: Visitor, dataset: str) -> bool:
        """Whether the rules name this visitor as one who may spend of this dataset.

        >>> Roles({}, None, {"d": {"may_spend": ["ann@x.org"]}}).named(Visitor(name="ann@x.org", role="steward"), "d")
        True
        """
        return "may_spend" in self._rules(dataset) and self.may_spend(visitor, dataset)

    def needs_approval(self, dataset: str, epsilon: float) -> bool:
        """Whether a spend waits for a reviewer.

        >>> Roles({}, 1.0).needs_approval("d", 1.0), Roles({}, 1.0).needs_approval("d", 1.1)
        (False, True)
        """
        limit = self._rules(dataset).get("epsilon_above", self.epsilon_above)
        return limit is not None and epsilon > limit

    def budget(self, dataset: str) -> tuple[float, float] | None:
        """The largest epsilon and delta over all runs on this dataset, None where the rules name none.

        >>> Roles({}, None, {"d": {"max_epsilon": 1.0}}, {"max_epsilon": 3.0, "max_delta": 1e-4}).budget("d")
        (1.0, 0.0001)
        """
        caps = {**self.caps, **{k: v for k, v in self._rules(dataset).items() if k in CAPS}}
        return (caps["max_epsilon"], caps.get("max_delta", USUAL_DELTA)) if "max_epsilon" in caps else None

    def may_cap(self, visitor: Visitor, dataset: str) -> bool:
        """Whether the visitor may set the dataset's cap himself: where he may spend, and the rules name no budget.

        >>> Roles({}, caps={"max_epsilon": 3.0}).may_cap(Visitor(name="ann@x.org", role="steward"), "d")
        False
        """
        return self.may_spend(visitor, dataset) and self.budget(dataset) is None

    def put_down(self, book: Book, dataset: str) -> None:
        """Writes the dataset's budget into the ledger, which refuses whatever exceeds it; nothing where it is there."""
        if (budget := self.budget(dataset)) is None:
            return
        held = book.policy(dataset)
        if held is None or (held.max_epsilon, held.max_delta) != budget:
            book.set_policy(dataset, max_epsilon=budget[0], max_delta=budget[1], approved_by="file of roles")


def place() -> Path | None:
    """The file of roles, None where there is one user only."""
    named = os.environ.get("SYNTH_ROLES")
    return Path(named).expanduser() if named else None


def load(path: Path) -> Roles:
    """The roles in a file. Errors: InputError naming the entry and the rule."""
    try:
        plain = tomllib.loads(regular_files.text(path))
    except OSError as error:
        raise InputError(f"roles {path}: {error.strerror or 'cannot be read'}; correct SYNTH_ROLES") from None
    except (ValueError, RecursionError):  # also of a number of thousands of digits
        raise InputError(f"roles {path}: not a TOML file; see docs/app.md for its form") from None
    _known(path, plain)
    people, datasets = plain.get("roles", {}), plain.get("datasets", {})
    if len({names.canonical(name) for name in datasets}) < len(datasets):
        raise InputError(f"roles {path}: two names of datasets are spellings of one; keep one of them")
    for role, addresses in people.items():
        if role not in ORDER or not _texts(addresses):
            raise InputError(f"roles {path}: {role} must be steward, reviewer or analyst, with a list of addresses")
    limits = [plain.get("approval", {}).get("epsilon_above"), *(d.get("epsilon_above") for d in datasets.values())]
    if any(x is not None and not isinstance(x, int | float) for x in limits):
        raise InputError(f"roles {path}: epsilon_above must be a number")
    if not all(_texts(d.get("may_spend", [])) for d in datasets.values()):
        raise InputError(f"roles {path}: may_spend must be a list of addresses")
    caps = plain.get("budget", {})
    for name, below in CAPS.items():
        if not all(_within(d[name], below) for d in (caps, *datasets.values()) if name in d):
            raise InputError(f"roles {path}: {name} must be a number above 0{' and below 1' * (below == 1)}")
    return Roles(people, limits[0], datasets, {k: float(v) for k, v in caps.items() if k in CAPS})


def _known(path: Path, plain: dict[str, Any]) -> None:
    """A misspelt rule would be no rule, so it is refused. Errors: InputError."""
    datasets = plain.get("datasets", {})
    tables = {name: plain.get(name, {}) for name in ("roles", "approval", "budget", "datasets")}
    tables |= {f"datasets.{k}": v for k, v in datasets.items()} if isinstance(datasets, dict) else {}
    for where, rules in {"file": plain, **tables}.items():
        known = rules if where in ("roles", "datasets") else KNOWN.get(where, DATASET)
        if not isinstance(rules, dict) or any(name not in known for name in rules):
            raise InputError(f"roles {path}: {where} is no table of known names; see docs/app.md for its form")


def _within(value: object, below: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < below


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)
