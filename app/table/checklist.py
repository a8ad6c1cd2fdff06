"""What a description leaves open, as a list on top of its page: each open point a jump to where it is decided."""

from dataclasses import dataclass

import streamlit as st

from app.session import frame
from app.session.state import Wizard, answered, apart, dataset, effective, facts_of, is_read, several
from app.table import facts, keys
from synth.languages import _


@dataclass(frozen=True)
class Point:
    """One thing to decide: where on the page, in words, whether it is done, and what to do first where it is not."""

    place: str
    title: str
    done: bool
    first: str


def points(w: Wizard) -> list[Point]:
    """What is decided on this page, in its order; all of it is done before there is a way on."""
    return _of_tables(w) if several(w) else _of_one(w)


def _of_one(w: Wizard) -> list[Point]:
    lists = apart(w)
    return [
        Point("name", _("name of the dataset"), bool(dataset(w)), _("First give the dataset a name.")),
        Point(
            "read",
            _("how the file is read"),
            is_read(w),
            _("First confirm on the page The table how the file is read."),
        ),
        Point(
            "person",
            _("rows of one person"),
            answered(w),
            _("First say whether a person can appear in more than one row."),
        ),
        Point(
            "codes",
            _("numbers or codes"),
            not facts.codes_asked(w),
            _("First say which columns hold numbers, and which codes."),
        ),
        Point("lists", _("lists that may tell of persons"), not lists, _lists(lists)),
        Point("vouched", _("who vouches"), not waiting(w, ""), _("First confirm the columns that are waiting.")),
    ]


def _of_tables(w: Wizard) -> list[Point]:
    lists, joined = apart(w), tied(w)
    columns = [t for t in w.plain["tables"] if waiting(w, t)]
    first = _("First vouch for the columns of {columns}.").format(columns=frame.escape(", ".join(columns)))
    return [
        Point("name", _("name of the dataset"), bool(dataset(w)), _("First give the dataset a name.")),
        Point("joined", _("which rows belong to which"), joined, _("First say which table each belongs to.")),
        Point("keys", _("keys and their bounds"), not keys.waiting(w), _("First confirm the keys and their bounds.")),
        Point("lists", _("lists that may tell of persons"), not lists, _lists(lists)),
        Point(
            "vouched", _("who vouches"), not columns and is_read(w), first if columns else _("First confirm all facts.")
        ),
    ]


def tied(w: Wizard) -> bool:
    """Whether keys hold several tables together, each below one other but for the first."""
    return len(keys.orphans(w)) == 1 and not keys.undecided(w)


def _lists(names: list[str]) -> str:
    return _("First learn, group, leave out or vouch for {names}.").format(names=frame.escape(", ".join(names)))


def waiting(w: Wizard, table: str) -> list[str]:
    """The columns of a table that wait and may be confirmed together with others."""
    plain, alone = effective(w), set(apart(w))
    own, start = (plain["tables"][table], f"{table}.") if table else (plain, "")
    return [n for n, c in own["columns"].items() if c.get("source") == "unconfirmed" and start + n not in alone]


def section(w: Wizard) -> None:
    """The list on top of the page."""
    every = points(w)
    left = [p for p in every if not p.done]
    if not left:
        st.markdown(_(":green[:material/check_circle:] **All {number} points are decided.**").format(number=len(every)))
        return
    jumps = ", ".join(f"[{p.title}](#{p.place})" for p in left)
    st.markdown(
        _(":orange[:material/checklist:] **{number} of {number2} decided.** Open: {jumps}.").format(
            number=len(every) - len(left), number2=len(every), jumps=jumps
        )
    )


def blocked(w: Wizard) -> str:
    """What stands in the way of the next page: of a description that breaks a rule that rule, else all that is open."""
    left = [p for p in points(w) if not p.done]
    if several(w) and any(p.place == "joined" for p in left):
        return next(p.first for p in left if p.place == "joined")
    if facts_of(w)[0] is None:
        return _("First correct what the red box says.")
    return " ".join(dict.fromkeys(p.first for p in left))


def here(place: str, title: str) -> None:
    """A heading that a jump leads to."""
    st.subheader(title, anchor=place)
