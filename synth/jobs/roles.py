"""Who may do what in a shared installation, from the file that ``$SYNTH_ROLES`` names.

Without such a file there is one user, who may do everything: the application then listens on this computer alone.
The file is TOML::

    [roles]
    steward = ["ann@example.org"]     # uploads, spends, sees the comparison with the real rows
    reviewer = ["bob@example.org"]    # approves larger spends, and releases
    asker = ["eve@example.edu"]       # asks questions about what was released, and downloads it
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
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field, field_validator

from synth.files import toml_files
from synth.jobs import role_actions
from synth.jobs.role_actions import ACTIONS, ALONE, ORDER, pages
from synth.schema import names

__all__ = ["ACTIONS", "Roles", "Visitor", "load", "pages", "place"]
CAPS = ("max_epsilon", "max_delta")
USUAL_DELTA = 1e-3  # over all runs, where a budget names epsilon alone


class BudgetBook(Protocol):
    """What of the ledger is needed to put a budget down."""

    def policy(self, dataset: str) -> Any: ...
    def set_policy(self, dataset: str, *, max_epsilon: float, max_delta: float, approved_by: str) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Somebody at the application. ``name`` is the verified address, empty for the only user.

    Privacy: public only.
    """

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
    """The rules of a shared installation.

    Privacy: public only.
    """

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

    def put_down(self, book: BudgetBook, dataset: str) -> None:
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


class _People(toml_files.KnownTable):
    steward: list[str] | None = None
    reviewer: list[str] | None = None
    asker: list[str] | None = None
    analyst: list[str] | None = None


class _Approval(toml_files.KnownTable):
    epsilon_above: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class _Budget(toml_files.KnownTable):
    max_epsilon: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_delta: float | None = Field(default=None, gt=0, lt=1)


class _Dataset(_Budget, _Approval):
    may_spend: list[str] | None = None


class _File(toml_files.KnownTable):
    roles: _People = _People()
    approval: _Approval = _Approval()
    budget: _Budget = _Budget()
    datasets: dict[str, _Dataset] = Field(default_factory=dict)

    @field_validator("datasets")
    @classmethod
    def _one_name_each(cls, datasets: dict[str, _Dataset]) -> dict[str, _Dataset]:
        if len({names.canonical(name) for name in datasets}) < len(datasets):
            raise ValueError("two names of datasets are spellings of one; keep one of them")
        return datasets


def load(path: Path) -> Roles:
    """The roles in a file. Errors: InputError naming the entry and the rule."""
    file = toml_files.load(path, _File, kind="roles", variable="SYNTH_ROLES")
    return Roles(
        file.roles.model_dump(exclude_none=True),
        file.approval.epsilon_above,
        {name: rules.model_dump(exclude_none=True) for name, rules in file.datasets.items()},
        file.budget.model_dump(exclude_none=True),
    )
