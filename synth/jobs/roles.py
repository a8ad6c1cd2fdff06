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

``ACTIONS`` has one row for each action and one column for each role. The application asks it before every action,
wherever the wish came from. What it says no to is refused by the server; that a page does not offer it is a courtesy.
Further rules narrow a yes and never widen it: whose budget it is (the file of roles), how a run was chosen, whether a
database is open to somebody.

>>> may("steward", "spend", name="ann", owner="ann"), may("steward", "spend", name="ann", owner="bob")
(True, False)
>>> may("reviewer", "approve_spend", name="bob", owner="bob")  # nobody approves what he asked for
False
"""

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field, field_validator

from synth.files import toml_files
from synth.schema import names

STEWARD, REVIEWER, ASKER, ANALYST, ALONE = "steward", "reviewer", "asker", "analyst", "alone"
ORDER = (STEWARD, REVIEWER, ASKER, ANALYST)  # the first that fits an address
ROLES = (ALONE, *ORDER)

NO, ANY, OWN, OTHERS = "no", "yes", "own", "others'"


@dataclass(frozen=True)
class Action:
    """An action: in words, the buttons that wish for it, and for each of ``ROLES`` whose things it may be done to."""

    words: str
    buttons: tuple[str, ...]
    rights: tuple[str, str, str, str, str]


STEWARDS = (ANY, ANY, NO, NO, NO)  # nothing that belongs to anybody yet
OWNERS = (ANY, OWN, NO, NO, NO)  # a table, a run, a result of one's own
DECIDING = (NO, NO, OTHERS, NO, NO)  # what somebody else asked for
READING = (ANY, ANY, ANY, NO, NO)  # of the ledger; a steward sees his datasets alone
ASKING = (ANY, ANY, NO, ANY, NO)
SINGLE = (ANY, NO, NO, NO, NO)  # only where nobody else uses the installation

ACTIONS: dict[str, Action] = {
    "open_table": Action("open the page The table", (), STEWARDS),
    "open_privacy": Action("open the page Privacy and accuracy", (), STEWARDS),
    "open_result": Action("open the page The result", (), STEWARDS),
    "open_approve": Action("open the page Approve", (), (NO, NO, ANY, NO, NO)),
    "open_releases": Action("open the page Releases", (), (NO, NO, ANY, ANY, ANY)),
    "open_questions": Action("open the page Questions", (), (ANY, ANY, ANY, ANY, NO)),
    "open_preview": Action("open the page Preview", (), STEWARDS),
    "open_series": Action("open the page Series", (), STEWARDS),
    "open_ledger": Action("open the page Ledger", (), READING),
    "take_sample": Action("take the sample table", ("use_sample",), STEWARDS),
    "send_file": Action("send a file to the server", (), STEWARDS),
    "upload": Action("store an uploaded table", (), STEWARDS),
    "read_offered": Action("read a table that the installation offers", ("use_file",), STEWARDS),
    "read_path": Action("read any path on the server", ("use_file",), SINGLE),
    "list_database": Action("list the tables of a database", ("list_tables",), STEWARDS),
    "read_database": Action("read a table in a database that is offered", ("use_table", "use_tables"), STEWARDS),
    "read_address": Action("read a database by its address", ("list_tables", "use_table", "use_tables"), SINGLE),
    "resume_table": Action("go on with a stored table", ("use_",), OWNERS),
    "remove_table": Action("remove a stored table", ("remove_", "discard"), OWNERS),
    "use_table": Action("look at a chosen table's facts", ("rows_of_file",), OWNERS),
    "describe": Action(
        "change or confirm a description",
        (
            *("confirm_all", "confirm_one", "keep_values", "keep_form", "take_book", "save_schema"),
            *("alone_", "omit_", "group_", "keep_", "keep_key_", "read_right"),
        ),
        STEWARDS,
    ),
    "draft": Action("draft a description from the rows", ("draft_again", "read_so", "join", "join_"), OWNERS),
    "add_prior": Action("name public tables that a run builds on", ("add_prior", "drop_prior_"), STEWARDS),
    "preview": Action("preview a run on public rows", ("preview", "get_preview_"), STEWARDS),
    "learn": Action("learn facts with budget", ("learn",), OWNERS),
    "forecast": Action("forecast a run", (), STEWARDS),
    "set_cap": Action("set a dataset's cap, or state that there is none", ("cap_set",), STEWARDS),
    "spend": Action("start a run, or ask a reviewer to", ("spend", "same_", "separate"), OWNERS),
    "watch": Action("watch a run and open its result", ("watch", "open_latest", "open_"), OWNERS),
    "cancel": Action("cancel a run", ("cancel_",), OWNERS),
    "compare": Action(
        "compare with the real rows", ("compare", "compare_table", "score", "make_report", "get_steward"), OWNERS
    ),
    "refit": Action("fit another method to a release", ("refit",), OWNERS),
    "decide": Action("let noisy counts decide between runs", ("decide",), OWNERS),
    "state_choice": Action("say how a run was chosen", ("choose",), OWNERS),
    "ask_release": Action("ask a reviewer to release results", ("ask_release",), OWNERS),
    "release": Action("release a result", ("release_all", "release_"), (ANY, NO, OTHERS, NO, NO)),
    "take_result": Action(
        "download a released result of one's own", ("get_zip", "get_all", "get_pdf", "get_converted", "get_"), OWNERS
    ),
    "write_papers": Action("write the papers of a dataset", ("save_papers",), OWNERS),
    "draw": Action("draw more rows from a released model", ("draw", "get_more"), OWNERS),
    "write_out": Action("put synthetic rows into a database", ("out_write",), OWNERS),
    "approve_spend": Action("approve a spend", ("approve_",), DECIDING),
    "refuse_spend": Action("refuse a spend", ("refuse_",), DECIDING),
    "take_released": Action("download any released bundle", ("take_",), (ANY, NO, ANY, ANY, ANY)),
    "ask_question": Action("ask a question about a release", ("ask_question", "add_question"), ASKING),
    "withdraw_question": Action("withdraw a question", ("withdraw_",), (ANY, OWN, NO, OWN, NO)),
    "read_answer": Action(
        "download an answer to one's own question", ("get_answer_", "get_page_"), (ANY, OWN, NO, OWN, NO)
    ),
    "answer_question": Action("answer a question about a release of one's own", ("answer_",), OWNERS),
    "decline_question": Action("refuse a question about a release of one's own", ("decline_",), OWNERS),
    "set_reserve": Action("keep a part of a cap for questions", ("reserve_set",), STEWARDS),
    "read_ledger": Action("read lines of the ledger", ("export_ledger",), READING),
    "read_any_dataset": Action("read lines of a dataset that one does not use", (), (ANY, NO, ANY, NO, NO)),
    "compose": Action("add up the runs on a dataset", ("compose",), READING),
    "verify_ledger": Action("check the ledger's seals", ("verify",), READING),
}


def may(role: str, action: str, *, name: str = "", owner: str | None = None) -> bool:
    """Whether ``name`` in that role may do it to a thing of ``owner``; None is a thing that nobody owns.

    Errors: KeyError for an action or role that the table does not know.
    """
    right = ACTIONS[action].rights[ROLES.index(role)] if role in ROLES else NO
    if right == OWN:
        return bool(name) and owner == name
    return right == ANY or (right == OTHERS and bool(name) and owner is not None and owner != name)


def pages(role: str) -> tuple[str, ...]:
    """The pages that a ``role`` opens, in the order of the table.

    Privacy: public only.

    >>> pages("analyst")
    ('releases',)
    """
    return tuple(a.removeprefix("open_") for a in ACTIONS if a.startswith("open_") and may(role, a))


def table() -> str:
    """The table as Markdown, for the documentation: a line for all actions with the same rights."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for action in ACTIONS.values():
        groups.setdefault(action.rights, []).append(action.words)
    rows, page = [], "open the page "
    for rights, words in groups.items():  # the pages that can be opened in one
        opened = [w.removeprefix(page) for w in words if w.startswith(page)]
        listed = [*([page + ", ".join(opened)] if opened else []), *(w for w in words if not w.startswith(page))]
        rows.append(f"| {'; '.join(listed)} | {' | '.join(rights)} |")
    return "\n".join([f"| action | {' | '.join(ROLES)} |", "|---" * (1 + len(ROLES)) + "|", *rows])


__all__ = ["ACTIONS", "Roles", "Visitor", "load", "pages", "place"]
CAPS = {"max_epsilon", "max_delta"}
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
        """Whether the visitor may do it, to a thing of ``owner``: see ``synth.jobs.roles``.

        >>> Visitor(name="ann@x.org", role="steward").may("watch", "eve@x.org"), Visitor().may("watch")
        (False, True)
        """
        return may(self.role, action, name=self.name, owner=owner)


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


class Roles(toml_files.KnownTable):
    """The rules of a shared installation, as the file has them; ``budget_of_each``: of its datasets, where they have
    none of their own.

    Privacy: public only.
    """

    roles: _People = _People()
    approval: _Approval = _Approval()
    budget_of_each: _Budget = Field(default=_Budget(), alias="budget")
    datasets: dict[str, _Dataset] = Field(default_factory=dict)

    @field_validator("datasets")
    @classmethod
    def _one_name_each(cls, datasets: dict[str, _Dataset]) -> dict[str, _Dataset]:
        if len({names.canonical(name) for name in datasets}) < len(datasets):
            raise ValueError("two names of datasets are spellings of one; keep one of them")
        return datasets

    def visitor(self, address: str) -> Visitor | None:
        """The visitor of that address, None where no role fits.

        >>> Roles(roles={"analyst": ["*@x.org"], "steward": ["ann@x.org"]}).visitor("Ann@x.org").role
        'steward'
        """
        for role in ORDER:
            if any(fnmatchcase(address.lower(), p.lower()) for p in getattr(self.roles, role) or ()):
                return Visitor(name=address.lower(), role=role)
        return None

    def _rules(self, dataset: str) -> _Dataset:
        """The rules for a dataset, in whatever spelling of its name (names.py)."""
        wanted = names.canonical(dataset)
        return next((r for name, r in self.datasets.items() if names.canonical(name) == wanted), _Dataset())

    def may_spend(self, visitor: Visitor, dataset: str) -> bool:
        """Whether the visitor may spend of this dataset's budget."""
        if not visitor.may("spend", visitor.name):
            return False
        named = self._rules(dataset).may_spend
        return named is None or any(fnmatchcase(visitor.name, p.lower()) for p in named)

    def named(self, visitor: Visitor, dataset: str) -> bool:
        """Whether the rules name this visitor as one who may spend of this dataset.

        >>> Roles(datasets={"d": {"may_spend": ["ann@x.org"]}}).named(Visitor(name="ann@x.org", role="steward"), "d")
        True
        """
        return self._rules(dataset).may_spend is not None and self.may_spend(visitor, dataset)

    def needs_approval(self, dataset: str, epsilon: float) -> bool:
        """Whether a spend waits for a reviewer.

        >>> rules = Roles(approval={"epsilon_above": 1.0})
        >>> rules.needs_approval("d", 1.0), rules.needs_approval("d", 1.1)
        (False, True)
        """
        own = self._rules(dataset).epsilon_above
        limit = self.approval.epsilon_above if own is None else own
        return limit is not None and epsilon > limit

    def budget(self, dataset: str) -> tuple[float, float] | None:
        """The largest epsilon and delta over all runs on this dataset, None where the rules name none.

        >>> Roles(datasets={"d": {"max_epsilon": 1.0}}, budget={"max_epsilon": 3.0, "max_delta": 1e-4}).budget("d")
        (1.0, 0.0001)
        """
        usual, own = (
            b.model_dump(include=CAPS, exclude_none=True) for b in (self.budget_of_each, self._rules(dataset))
        )
        caps = usual | own
        return (caps["max_epsilon"], caps.get("max_delta", USUAL_DELTA)) if "max_epsilon" in caps else None

    def may_cap(self, visitor: Visitor, dataset: str) -> bool:
        """Whether the visitor may set the dataset's cap himself: where he may spend, and the rules name no budget.

        >>> Roles(budget={"max_epsilon": 3.0}).may_cap(Visitor(name="ann@x.org", role="steward"), "d")
        False
        """
        return self.may_spend(visitor, dataset) and self.budget(dataset) is None

    def put_down(self, book: BudgetBook, dataset: str) -> None:
        """Writes the dataset's budget into the ledger, which refuses whatever exceeds it; nothing where it is there."""
        if (budget := self.budget(dataset)) is None:
            return
        policy = book.policy(dataset)
        if policy is None or (policy.max_epsilon, policy.max_delta) != budget:
            book.set_policy(dataset, max_epsilon=budget[0], max_delta=budget[1], approved_by="file of roles")


def place() -> Path | None:
    """The file of roles, None where there is one user only."""
    named = os.environ.get("SYNTH_ROLES")
    return Path(named).expanduser() if named else None


def load(path: Path) -> Roles:
    """The roles in a file. Errors: InputError naming the entry and the rule."""
    return toml_files.load(path, Roles, kind="roles", variable="SYNTH_ROLES")


if __name__ == "__main__":
    print(table())
