"""What a description leaves open, as a list on top of its page: each open point a jump to where it is decided."""

from typing import NamedTuple

import streamlit as st

from app.session import frame
from app.session.state import Wizard, answered, apart, dataset, effective, facts_of, is_read, several, start, tables
from app.table import facts, keys
from synth.languages import _


class Point(NamedTuple):
    """One thing to decide: where on the page, in words, whether it is done, and what to do first where it is not."""

    place: str
    title: str
    done: bool
    first: str


def points(w: Wizard) -> list[Point]:
    """What is decided on this page, in its order; all of it is done before there is a way on."""
    lists, left = apart(w), [t for t in tables(w) if waiting(w, t)]
    name = Point("name", _("name of the dataset"), bool(dataset(w)), _("First give the dataset a name."))
    told = Point(
        "lists",
        _("lists that may tell of persons"),
        not lists,
        _("First learn, group, leave out or vouch for {names}.").format(names=frame.escape(", ".join(lists))),
    )
    if several(w):
        columns = _("First vouch for the columns of {columns}.").format(columns=frame.escape(", ".join(left)))
        vouched = columns if left else _("First confirm all facts.")
        return [
            name,
            Point("joined", _("which rows belong to which"), tied(w), _("First say which table each belongs to.")),
            Point(
                "keys", _("keys and their bounds"), not keys.waiting(w), _("First confirm the keys and their bounds.")
            ),
            told,
            Point("vouched", _("who vouches"), not left and is_read(w), vouched),
        ]
    read, person, codes = (
        _("First confirm on the page The table how the file is read."),
        _("First say whether a person can appear in more than one row."),
        _("First say which columns hold numbers, and which codes."),
    )
    return [
        name,
        Point("read", _("how the file is read"), is_read(w), read),
        Point("person", _("rows of one person"), answered(w), person),
        Point("codes", _("numbers or codes"), not facts.codes_asked(w), codes),
        told,
        Point("vouched", _("who vouches"), not left, _("First confirm the columns that are waiting.")),
    ]


def tied(w: Wizard) -> bool:
    """Whether keys hold several tables together, each below one other but for the first."""
    return len(keys.orphans(w)) == 1 and not keys.undecided(w)


def waiting(w: Wizard, table: str) -> list[str]:
    """The columns of a table that wait and may be confirmed together with others."""
    plain, alone = effective(w), set(apart(w))
    columns = (plain["tables"][table] if table else plain)["columns"]
    return [n for n, c in columns.items() if c.get("source") == "unconfirmed" and start(table) + n not in alone]


def section(w: Wizard) -> None:
    """The list on top of the page."""
    every = points(w)
    left = [p for p in every if not p.done]
    if not left:
        st.markdown(_(":green[:material/check_circle:] **All {number} points are decided.**").format(number=len(every)))
        return
    st.markdown(
        _(":orange[:material/checklist:] **{number} of {number2} decided.** Open: {jumps}.").format(
            number=len(every) - len(left),
            number2=len(every),
            jumps=", ".join(f"[{p.title}](#{p.place})" for p in left),
        )
    )


def blocked(w: Wizard) -> str:
    """The next thing to do before there is a way on: of a description that breaks a rule, correct it."""
    left = [p for p in points(w) if not p.done]
    for point in left:
        if point.place == "joined":
            return point.first
    if facts_of(w)[0] is None:
        return _("First correct what the red box says.")
    return next((p.first for p in left), "")
