"""Who may do what in a shared installation, from the file that ``$SYNTH_ROLES`` names.

Without such a file there is one user, who may do everything: the application then listens on this computer alone.
The file is TOML::

    [roles]
    steward = ["ann@example.org"]     # uploads, spends, sees the comparison with the real rows
    reviewer = ["bob@example.org"]    # approves larger spends, and releases
    analyst = ["*@example.org"]       # downloads what was released

    [approval]
    epsilon_above = 1.0               # larger spends wait for a reviewer

    [datasets.town-survey]            # optional, by name of the dataset
    may_spend = ["ann@example.org"]
    epsilon_above = 0.5
"""

import os
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from synth.errors import InputError

STEWARD, REVIEWER, ANALYST, ALONE = "steward", "reviewer", "analyst", "alone"
ORDER = (STEWARD, REVIEWER, ANALYST)  # the first that fits


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Somebody at the application. ``name`` is the verified address, empty for the only user."""

    name: str = ""
    role: str = ALONE

    @property
    def alone(self) -> bool:
        """Whether nobody else uses this installation."""
        return self.role == ALONE

    def may_look_into(self, owner: str | None) -> bool:
        """Whether the visitor may see the tables and runs of ``owner``: his own alone, or all for the only user.

        >>> Visitor(name="ann@x.org", role="steward").may_look_into("eve@x.org"), Visitor().may_look_into(None)
        (False, True)
        """
        return self.alone or owner == self.name

    def may_decide(self, owner: str | None) -> bool:
        """Whether the visitor may approve what ``owner`` asked for, a spend or a release: never his own wish.

        >>> Visitor(name="bob@x.org", role="reviewer").may_decide("bob@x.org")
        False
        """
        return self.role == REVIEWER and owner != self.name


@dataclass(frozen=True)
class Roles:
    """The rules of a shared installation."""

    people: dict[str, list[str]]
    epsilon_above: float | None = None
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)

    def visitor(self, address: str) -> Visitor | None:
        """The visitor of that address, None where no role fits.

        >>> Roles({"analyst": ["*@x.org"], "steward": ["ann@x.org"]}).visitor("Ann@x.org").role
        'steward'
        """
        for role in ORDER:
            if any(fnmatchcase(address.lower(), p.lower()) for p in self.people.get(role, [])):
                return Visitor(name=address.lower(), role=role)
        return None

    def may_spend(self, visitor: Visitor, dataset: str) -> bool:
        """Whether the visitor may spend of this dataset's budget."""
        if visitor.role not in (STEWARD, ALONE):
            return False
        named = self.datasets.get(dataset, {}).get("may_spend")
        return named is None or any(fnmatchcase(visitor.name, p.lower()) for p in named)

    def needs_approval(self, dataset: str, epsilon: float) -> bool:
        """Whether a spend waits for a reviewer.

        >>> Roles({}, 1.0).needs_approval("d", 1.0), Roles({}, 1.0).needs_approval("d", 1.1)
        (False, True)
        """
        limit = self.datasets.get(dataset, {}).get("epsilon_above", self.epsilon_above)
        return limit is not None and epsilon > limit


def place() -> Path | None:
    """The file of roles, None where there is one user only."""
    named = os.environ.get("SYNTH_ROLES")
    return Path(named).expanduser() if named else None


def load(path: Path) -> Roles:
    """The roles in a file. Errors: InputError naming the entry and the rule."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"roles {path}: {error.strerror or 'cannot be read'}; correct SYNTH_ROLES") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError(f"roles {path}: not a TOML file; see docs/app.md for its form") from None
    people, datasets = plain.get("roles", {}), plain.get("datasets", {})
    for role, names in people.items():
        if role not in ORDER or not _texts(names):
            raise InputError(f"roles {path}: {role} must be steward, reviewer or analyst, with a list of addresses")
    limits = [plain.get("approval", {}).get("epsilon_above"), *(d.get("epsilon_above") for d in datasets.values())]
    if any(x is not None and not isinstance(x, int | float) for x in limits):
        raise InputError(f"roles {path}: epsilon_above must be a number")
    if not all(_texts(d.get("may_spend", [])) for d in datasets.values()):
        raise InputError(f"roles {path}: may_spend must be a list of addresses")
    return Roles(people, limits[0], datasets)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)
