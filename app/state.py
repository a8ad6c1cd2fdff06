"""What the wizard remembers, apart from the widgets: a widget's value is gone once its page is left."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

import synth

STEPS = ("data", "describe", "budget", "run", "result")
TITLES = {
    "data": "Data",
    "describe": "Describe",
    "budget": "Budget",
    "run": "Run",
    "result": "Result",
    "ledger": "Ledger",
}


def view(name: str) -> str:
    """The file of a page, as Streamlit wants it: relative to the entry script."""
    return f"views/{name}.py"


@dataclass
class Wizard:
    """One steward's way through the steps. Holds public facts and file names, never a row."""

    table: Path | None = None
    label: str = ""
    uploaded: bool = False
    plain: dict[str, Any] = field(default_factory=dict)  # the description as JSON data, edits included
    left_out: list[str] = field(default_factory=list)  # columns that the steward does not want in the result
    suggestions: list[str] = field(default_factory=list)
    epsilon: float = 1.0
    delta: float = 1e-5
    relation: str = "add_remove"
    method: str = "mixture"
    rows: int = 10_000
    job: Path | None = None
    uploads: int = 0  # raised to make Streamlit forget an uploaded file
    edition: int = 0  # raised to build the description's table anew
    page: str = ""
    editing: str | None = None  # the column whose values are being edited
    notice: str = ""  # said once on the next page


def wizard() -> Wizard:
    """This session's state."""
    return st.session_state.setdefault("wizard", Wizard())


def take_table(
    w: Wizard, table: Path, *, label: str, plain: dict[str, Any], uploaded: bool, rows: int, suggestions: list[str]
) -> None:
    """Starts anew with this table; budget choices stay."""
    w.table, w.label, w.uploaded, w.rows = table, label, uploaded, rows
    w.plain, w.left_out, w.suggestions = plain, [], suggestions
    w.editing, w.job = None, None
    w.edition += 1


def effective(w: Wizard) -> dict[str, Any]:
    """The description without the columns left out."""
    columns = {n: c for n, c in w.plain.get("columns", {}).items() if n not in w.left_out}
    return {**w.plain, "columns": columns}


def schema(w: Wizard) -> tuple[synth.Schema | None, str]:
    """The checked description, or None and what is wrong with it."""
    if w.table is None:
        return None, "there is no table yet"
    try:
        return synth.parse(effective(w), name="description"), ""
    except synth.InputError as error:
        return None, str(error)


def confirmed(w: Wizard) -> bool:
    """Whether the description is sound and somebody vouches for every fact."""
    found, _ = schema(w)
    return found is not None and not found.unconfirmed()


def dataset(w: Wizard) -> str:
    """The name the budget is kept under."""
    return str(w.plain.get("dataset") or "")


def ready(w: Wizard) -> dict[str, bool]:
    """For each step whether its needs are met."""
    described = confirmed(w) and bool(dataset(w))
    return {
        "data": True,
        "describe": w.table is not None,
        "budget": described,
        "run": described,
        "result": _done(w),
    }


def _done(w: Wizard) -> bool:
    """Whether the chosen run has ended well; its folder may have been removed meanwhile."""
    try:
        return w.job is not None and synth.jobs.Job(w.job).status().state == "done"
    except synth.SynthError:
        return False
