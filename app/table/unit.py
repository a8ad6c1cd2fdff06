"""Whose privacy is protected: a row's, or a person's with several rows."""

from typing import Any

import streamlit as st

from app.session import frame
from app.session.state import Wizard, answered, linked, wizard
from app.table import facts
from synth.languages import _


def section() -> None:
    """The question, with the answer that stands; a draft waits for one."""
    w = wizard()
    names = facts.identifiers(w.plain)
    asked = not answered(w)
    stated = next((n for n in names if n == w.plain.get("unit")), "row")
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
        _belonging(w)


def _belonging(w: Wizard) -> None:
    """Whether the rows of one person stay together, which columns are the person's own, and the order of rows."""
    wanted = st.toggle(
        _("Keep the rows of one person together"),
        key=_held(f"linked_{w.edition}", linked(w), [True, False]),
        help=_(
            "Then a made-up person has several rows that fit each other: the same sex on every visit, visits in order. "
            "It is made by the method mixture, for the same promise, and without prior knowledge."
        ),
    )
    w.plain["linked"] = bool(wanted)
    if not wanted:
        w.plain["order"] = None
        st.caption(alone(w.plain["max_rows"], described=False))
        return
    person = w.plain["unit"]
    readable = {n: c for n, c in w.plain["columns"].items() if n not in w.left_out and n != person}
    may = [n for n, c in readable.items() if c["type"] not in ("identifier", "omitted")]
    left, right = st.columns(2)
    own = left.multiselect(
        _("The same in all rows of one person"),
        may,
        key=_held(f"own_{w.edition}", [n for n in may if readable[n].get("of") == "unit"], may),
        placeholder=_("Choose columns"),
        help=_(
            "Columns like sex or year of birth, as you know them: this is not read from the table. Where the rows of a "
            "person differ all the same, one of them is drawn."
        ),
    )
    w.plain["columns"] = {n: facts.of_unit(c, own=n in own) for n, c in w.plain["columns"].items()}
    orders = [None, *(n for n, c in readable.items() if n not in own and c["type"] in facts.ORDERED)]
    w.plain["order"] = right.selectbox(
        _("Order of one person's rows (optional)"),
        orders,
        format_func=lambda n: _("none") if n is None else n,
        key=_held(f"order_{w.edition}", w.plain.get("order"), orders),
        help=_("A date, a number, or a key whose numbers rise. Without it rows are in no order."),
    )
    st.caption(joined(w.plain["max_rows"]))


def _held(key: str, first: Any, options: list[Any]) -> str:
    """The key of a choice that begins with ``first``, and keeps what was chosen as far as it is offered still."""
    value = st.session_state.get(key, first)
    left = [n for n in value if n in options] if isinstance(value, list) else value if value in options else None
    st.session_state[key] = left
    return key


def joined(most: int) -> str:
    """What becomes of a person whose rows stay together: the same words on every page."""
    return _(
        "Protected is one person with up to {most} rows. In the result each made-up person has several rows with one "
        "made-up key, which belong together."
    ).format(most=most)


def rows_used(card: dict[str, Any]) -> int:
    """How many rows of one person a release of such a table used at most; 0 of any other."""
    return int(card["keys"][0]["most_children"]) if "keys" in card and "tables" not in card["rows"] else 0


def alone(most: int, *, described: bool = True) -> str:
    """What becomes of a person with several rows: the same words on every page; once that is ``described``, where
    persons keep their rows."""
    result = _(
        "Protected is one person with up to {most} rows. In the result every row stands alone: which rows belong to "
        "one person is not kept, so count rows there, not persons."
    ).format(most=most)
    if not described:
        return result
    way = _("Persons can keep their rows: say so on the page The table, under the rows of one person.")
    return f"{result} {way}"


def person(w: Wizard) -> bool:
    """Whether a person, with several rows, is what is protected; of several tables it is a unit of theirs."""
    return w.plain.get("unit") not in (None, "row")


def proposed(w: Wizard) -> bool:
    """Whether an answer stands that nobody has given: it is taken with what is learnt or vouched for next."""
    return not answered(w) and w.plain.get("unit") in facts.identifiers(w.plain)


def take(w: Wizard) -> None:
    """The answer that stands, on the steward's word."""
    if proposed(w):
        w.plain["unit_source"] = "declared"
