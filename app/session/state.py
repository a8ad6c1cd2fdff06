"""What the wizard remembers, apart from the widgets: a widget's value is gone once its page is left."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from synth import app_api
from synth.languages import Texts, _

NAME = "description"
RETAINED = 16  # descriptions; one may list many values


def parsed(plain: dict[str, Any], *, complete: bool = True) -> tuple[Any, str]:
    """The checked description of one table, or of tables that belong together, or None and what is wrong with it."""
    return _parsed(json.dumps(plain), complete)


def alone_in(plain: dict[str, Any]) -> dict[str, str]:
    """``app_api.alone`` of one table's description; nothing where it is not sound."""
    return dict(_alone(json.dumps(plain)))


@lru_cache(maxsize=RETAINED)
def _parsed(text: str, complete: bool) -> tuple[Any, str]:
    try:
        return app_api.parse_schema(json.loads(text), name=NAME, complete=complete), ""
    except synth.InputError as error:
        return None, error.said


@lru_cache(maxsize=RETAINED)
def _alone(text: str) -> dict[str, str]:
    facts, _other = _parsed(text, False)
    return {} if facts is None else app_api.alone(facts)


STEPS = ("table", "privacy", "result")
RESUMED = ("table", "privacy")  # pages at which one may go on at a later visit
EARLIER = {
    **dict.fromkeys(("data", "describe"), "table"),
    **dict.fromkeys(("budget", "method", "run"), "privacy"),
    **dict.fromkeys(("review", "release"), "result"),
}  # pages that were; links to them lead to those that are
TITLES = Texts(
    table="The table",
    privacy="Privacy and accuracy",
    result="The result",
    ledger="Ledger",
    approve="Approve",
    releases="Releases",
    preview="Preview",
    series="Series",
    questions="Questions",
)


def view(name: str) -> str:
    """The file of a page, as Streamlit wants it: relative to the entry script."""
    return f"views/{name}.py"


@dataclass
class Wizard:
    """One steward's way through the steps. Holds public facts and file names, never a row."""

    table: Path | None = None  # or, at ``source``, a table's name there
    source: str | None = None  # a database: @name, or an address without a password
    label: str = ""
    uploaded: bool = False  # whether the table is a copy of ours, to be removed with its note
    place: Path | None = None  # the folder of the note of description and choices
    plain: dict[str, Any] = field(default_factory=dict)  # the description as JSON data, edits included
    left_out: list[str] = field(default_factory=list)  # columns that the steward does not want in the result
    suggestions: list[str] = field(default_factory=list)
    codes: list[str] | None = None  # of the whole numbers that a draft asks about, those that are codes
    epsilon: float = 1.0
    delta: float = 1e-5
    relation: str = "add_remove"
    method: str = "mixture"
    options: dict[str, Any] = field(default_factory=dict)  # of the method, where they differ from its defaults
    device: str = "auto"  # where to compute: auto takes a GPU that the method can use; or cpu
    written: str = "same"  # how the CSV of a table with its own dialect is written: same or plain
    priors: list[dict[str, str]] = field(default_factory=list)  # what is public and like the table (app/run/prior.py)
    rows: int = 0  # about how many, as the steward says; 0 before
    twins: list[str] = field(default_factory=list)  # datasets to which rows like these were charged
    separate: str = ""  # the dataset of which was said that its persons are in no other
    job: Path | None = None
    learning: Path | None = None  # the run that learns facts of the description
    refit: Path | None = None  # another fit to the chosen run's release, under way
    uploads: int = 0  # raised to make Streamlit forget an uploaded file
    edition: int = 0  # raised to build the description's table anew
    page: str = ""
    left_at: str = "table"  # the last of ``RESUMED`` that was open
    watched: bool = False  # whether the visitor waits for the run's end
    touring: bool = True  # whether hints are shown on the sample table
    editing: str | None = None  # the column whose values are being edited
    at: str = ""  # of several tables, the one whose description is open
    notice: str = ""  # said once on the next page
    failed: bool = False  # whether the notice tells of no success


def wizard() -> Wizard:
    """This session's state."""
    return st.session_state.setdefault("wizard", Wizard())


def take_table(
    w: Wizard,
    table: Path,
    *,
    label: str,
    plain: dict[str, Any],
    place: Path | None,
    rows: int,
    suggestions: list[str],
    source: str | None = None,
) -> None:
    """Starts anew with this table; budget choices stay. ``place``: the folder of its note."""
    w.table, w.source, w.label, w.place, w.rows = table, source, label, place, rows
    w.uploaded = place is not None and table.parent == place
    w.plain, w.left_out, w.suggestions, w.codes, w.priors = plain, [], suggestions, None, []
    w.editing, w.job, w.learning, w.refit, w.left_at, w.at = None, None, None, None, "table", ""
    w.twins, w.separate, w.written, w.watched = [], "", "same", False
    w.edition += 1


TABLES = Path("*")  # in the place of a table: all tables of a database


def several(w: Wizard) -> bool:
    """Whether the description is of tables that belong together."""
    return "tables" in w.plain


def linked(w: Wizard) -> bool:
    """Whether the persons of one table keep their rows."""
    if several(w) or w.plain.get("unit") in (None, "row") or (w.plain.get("max_rows") or 1) == 1:
        return False
    if w.plain.get("linked") is not None:
        return bool(w.plain["linked"])
    return bool(w.plain.get("order")) or any(c.get("of") == "unit" for c in w.plain["columns"].values())


def together(w: Wizard) -> bool:
    """Whether rows belong together: of several tables, or of one person in one table."""
    return several(w) or linked(w)


def method(w: Wizard) -> str:
    """The method by which the table is made: of those that make rows that belong together, where they do."""
    return w.method if not together(w) or w.method == "independent" else "mixture"


def tables(w: Wizard, plain: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """The description of each table, or of each in another form of the whole; a single one has no name."""
    whole = w.plain if plain is None else plain
    return dict(whole["tables"]) if several(w) else {"": whole}


def opened(w: Wizard) -> str:
    """The table whose description is open: the first until another is chosen."""
    there = tables(w)
    return w.at if w.at in there else next(iter(there))


def own(w: Wizard) -> dict[str, Any]:
    """The description of the table; of several, of the one that is open."""
    return tables(w)[opened(w)]


def with_own(w: Wizard, plain: dict[str, Any]) -> dict[str, Any]:
    """The whole description with another of the table that ``own`` names."""
    return {**w.plain, "tables": {**w.plain["tables"], opened(w): plain}} if several(w) else plain


def start(table: str) -> str:
    """How the names of a table's columns begin, where several tables have columns: TABLE.COLUMN."""
    return f"{table}." if table else ""


def own_left_out(w: Wizard, table: str | None = None) -> list[str]:
    """The columns left out of the table, of several of the one that is open."""
    before = start(opened(w) if table is None else table)
    return [n.removeprefix(before) for n in w.left_out if n.startswith(before)]


def leave_out(w: Wizard, names: list[str]) -> None:
    """Leaves these columns of the table out, and no others of it."""
    before = start(opened(w))
    w.left_out = [n for n in w.left_out if not n.startswith(before)] + [before + n for n in names]


def effective(w: Wizard) -> dict[str, Any]:
    """The description without the columns left out, and without the rules that name them."""
    retained = {t: _retained(s, own_left_out(w, t)) for t, s in tables(w).items()}
    if not several(w):
        return retained[""]
    return _stated({**w.plain, "tables": retained}, w.left_out)


def effective_own(w: Wizard) -> dict[str, Any]:
    """As ``effective``, of the table that ``own`` names."""
    return _retained(own(w), own_left_out(w))


def _retained(plain: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    columns = {n: dict(c) for n, c in plain.get("columns", {}).items() if n not in left_out}
    for column in columns.values():
        within = column.get("within")  # the column in whose areas those of this one lie
        if (within["column"] if isinstance(within, dict) else within) in left_out:
            del column["within"]
    return _stated({**plain, "columns": columns}, left_out)


def _stated(plain: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    """A description without the rules, uses and totals that name one of these columns."""
    gone = set(left_out)
    out = {**plain}
    if gone and plain.get("constraints"):
        out["constraints"] = [r for r in plain["constraints"] if not named(r) & gone]
    if gone and plain.get("uses"):
        out["uses"] = [u for u in plain["uses"] if not used(u, gone)]
    if gone and plain.get("totals"):
        out["totals"] = [t for t in plain["totals"] if not gone & set(t["columns"])] or None
    return out


def used(use: dict[str, Any], names: Collection[str]) -> bool:
    """Whether a use, as JSON data, names one of these columns; of a formula its words and what it quotes."""
    held = {*use.get("columns", ()), *use.get("of", ()), *use.get("groups", ())}
    words = re.findall(r"`([^`]+)`|Q\(['\"]([^'\"]+)['\"]\)|([^\W\d][\w.]*)", use.get("formula", ""))
    return bool((held | {w for group in words for w in group if w}) & set(names))


def named(rule: dict[str, Any]) -> set[str]:
    """The columns that a rule names, as JSON data; a rule across tables as TABLE.COLUMN."""
    texts = {rule.get(k) for k in ("column", "low", "high", "parent", "child")}
    lists = [*rule.get("columns", ()), *rule.get("of", ()), *rule.get("rows", ()), *rule.get("when", ())]
    return {str(x) for x in [*texts, *lists] if x}


def facts_of(w: Wizard, *, complete: bool = True) -> tuple[Any, str]:
    """The checked description, of one table or of several, or None and what is wrong with it.

    What a draft of several left open counts until the tables and keys are sound: each such line is about a rule that
    they break.
    """
    if w.table is None and not several(w):
        return None, _("there is no table yet")
    return parsed({n: v for n, v in effective(w).items() if n != "open"}, complete=complete)


def checked(w: Wizard) -> Any:
    """The checked description. Errors: InputError with what is wrong with it."""
    facts, problem = facts_of(w)
    if facts is None:
        raise synth.InputError(problem)
    return facts


def confirmed(w: Wizard) -> bool:
    """Whether the description is sound and somebody confirms every fact."""
    result, _other = facts_of(w)
    confirmed = result is not None and not result.unconfirmed() and not apart(w)
    return confirmed and answered(w) and is_read(w)


def is_read(w: Wizard) -> bool:
    """Whether somebody has confirmed how the files are read, where that is not the plain way."""
    return all((t.get("dialect") or {}).get("source") != "unconfirmed" for t in tables(w).values())


def answered(w: Wizard) -> bool:
    """Whether somebody has said if a person can have several rows, where the description is a draft."""
    return w.plain.get("unit_source") != "unconfirmed"


def alone(w: Wizard) -> dict[str, str]:
    """The columns of the table whose list of values must be confirmed alone, each with why."""
    return alone_in(effective_own(w))


def apart(w: Wizard) -> list[str]:
    """As ``alone``, of all tables: of several as TABLE.COLUMN."""
    retained = {t: _retained(s, own_left_out(w, t)) for t, s in tables(w).items()}
    return [start(t) + n for t, plain in retained.items() for n in alone_in(plain)]


def dataset(w: Wizard) -> str:
    """The name the budget is kept under."""
    return str(w.plain.get("dataset") or "")


def ready(w: Wizard) -> dict[str, bool]:
    """For each step whether its needs are met."""
    return {"table": True, "privacy": confirmed(w) and bool(dataset(w)), "result": _done(w)}


def lacks(w: Wizard) -> tuple[str, str]:
    """What to do before a forecast or a run, and the page where it is done."""
    if w.table is None:
        return _("Choose a table first."), "table"
    if not ready(w)["privacy"]:
        return _("Finish the description first: somebody must confirm every column."), "table"
    return _("First state roughly how many rows there are: the forecast depends on it."), "privacy"


def _done(w: Wizard) -> bool:
    """Whether the chosen run has ended well; its folder may have been removed meanwhile."""
    try:
        return w.job is not None and app_api.jobs.Job(w.job).status().state == "done"
    except synth.SynthError:
        return False
