"""Whose privacy is protected: a row's, or a person's with several rows."""

import streamlit as st

from app.session import frame
from app.session.state import Wizard, answered, wizard
from synth.languages import _


def section() -> None:
    """The question, with the answer that stands; a draft waits for one."""
    w = wizard()
    names = [n for n, c in w.plain["columns"].items() if c["type"] == "identifier"]
    asked = not answered(w)
    stated = w.plain.get("unit") if w.plain.get("unit") in names else "row"
    repeats = asked and stated != "row"
    options = ["row", *names]
    if asked and w.plain.get("unit") in names:
        most = w.plain.get("max_rows")
        st.info(
            _(
                "In the table {stated} repeats. If it names persons, keeping {most} rows of each keeps 95 % of "
                "the rows. The safe answer is chosen, and taken with what you learn or vouch for below. It "
                "protects a person with all rows kept."
            ).format(stated=frame.escape(str(stated)), most=most),
            icon=":material/group:",
        )
    left, right = st.columns(2)
    unit = left.selectbox(
        _("Can a person appear in more than one row?"),
        options,
        index=None if asked and not repeats else options.index(stated),
        key=f"unit_{w.edition}",
        placeholder=_("Please answer"),
        format_func=lambda n: (
            _("No: each row is one person") if n == "row" else _("Yes: {n} tells persons apart").format(n=n)
        ),
        help=_(
            "If a person can have several rows (visits, payments), name the column that tells persons apart; "
            "make it an identifier first. Then the promise covers all rows of a person together."
        ),
    )
    if unit is None:
        return
    unsaid = repeats and unit == stated
    if not unsaid and (asked or unit != (w.plain.get("unit") or "row")):
        w.plain["unit_source"] = "declared"
    if unit == "row":
        w.plain["unit"] = "row" if w.plain.get("unit_source") else None
        w.plain["max_rows"] = None
        return
    w.plain["unit"] = unit
    w.plain["max_rows"] = int(
        right.number_input(
            _("Rows kept of one person"),
            min_value=1,
            value=int(w.plain.get("max_rows") or 3),
            key=f"max_rows_{w.edition}",
            help=_("Of a person with more rows, this many are drawn at random. More rows need more noise."),
        )
    )
    if w.plain["max_rows"] > 1:
        st.caption(alone(w.plain["max_rows"]))


def alone(most: int) -> str:
    """What becomes of a person with several rows, and how persons keep their rows: the same words on every page."""
    return _(
        "Protected is one person with up to {most} rows. In the result every row stands alone: which rows belong to "
        "one person is not kept, so count rows there, not persons. To keep persons with their rows, load two files "
        "that share this column: one row a person in the first."
    ).format(most=most)


def person(w: Wizard) -> bool:
    """Whether a person, with several rows, is what is protected; of several tables it is a unit of theirs."""
    return w.plain.get("unit") not in (None, "row")


def proposed(w: Wizard) -> bool:
    """Whether an answer stands that nobody has given: it is taken with what is learnt or vouched for next."""
    names = [n for n, c in w.plain.get("columns", {}).items() if c["type"] == "identifier"]
    return not answered(w) and w.plain.get("unit") in names


def take(w: Wizard) -> None:
    """The answer that stands, on the steward's word."""
    if proposed(w):
        w.plain["unit_source"] = "declared"
