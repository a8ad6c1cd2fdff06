"""The description of a table as a grid to edit, edits of the grid back to the description, and whose rows they are.

Only what the steward changed is read back: every other fact keeps the form it had.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pandas as pd
import streamlit as st

from app.session import frame, state, words
from app.session.state import Wizard, linked, opened, own, several, wizard
from synth.languages import _

Plain = dict[str, Any]
GRID = ("column", "use", "kind", "source", "min", "max", "step", "values", "empty", "missing", "description")
UNREAD = ("identifier", "omitted")
WORDED = ("categorical", "ordinal", "boolean")
ORDERED = ("integer", "float", "datetime", "ordinal", "identifier")  # kinds by which rows may follow each other
WHOLE_RANGE = 1000  # whole numbers that may become categories without listing them
SHOWN_VALUES = 2000  # categories that can be edited in the browser


def readable(columns: Plain) -> list[str]:
    """The columns that are read: all but identifiers and those that are left out."""
    return [n for n, c in columns.items() if c["type"] not in UNREAD]


def grid(plain: Plain, left_out: list[str]) -> pd.DataFrame:
    """The description as one row for each column, all text but ``use``, ``empty`` and the count of values."""
    rows = []
    for name, column in plain["columns"].items():
        codes = column.get("missing") or ([""] if column.get("nullable") else [])
        rows.append(
            {
                "use": name not in left_out,
                "column": name,
                "kind": column["type"],
                "min": _text(column.get("min")),
                "max": _text(column.get("max")),
                "step": _step(column),
                "values": str(len(column.get("categories") or ()) or ""),
                "empty": "" in codes,
                "missing": write_codes([c for c in codes if c]),
                "source": column.get("source", "declared"),
                "description": column.get("description") or "",
            }
        )
    return pd.DataFrame(rows, columns=list(GRID))


def apply(plain: Plain, before: pd.DataFrame, after: pd.DataFrame) -> tuple[Plain, list[str]]:
    """The description and the columns left out, after the edits from ``before`` to ``after``."""
    columns, rows = {}, (before.to_dict("records"), after.to_dict("records"))
    for (name, column), old, new in zip(plain["columns"].items(), *rows, strict=True):
        changed = {str(k): v for k, v in new.items() if v != old[k] and not (_blank(v) and _blank(old[k]))}
        columns[name] = _edited(column, changed, new) if changed else column
    left_out = [str(n) for n, use in zip(after["column"], after["use"], strict=True) if not use]
    return {**plain, "columns": columns}, left_out


def _blank(value: object) -> bool:
    return value is None or value == "" or value != value


def _edited(column: Plain, changed: Plain, row: Plain) -> Plain:
    out = _as_kind(column, str(row["kind"])) if "kind" in changed else dict(column)
    facts: Plain = {fact: _value(changed[fact], out["type"]) for fact in ("min", "max") if fact in changed}
    if "step" in changed:
        step = str(changed["step"]).strip()
        small = re.fullmatch(r"0\.(0*)1", step) if out["type"] == "float" else None
        facts["decimals"] = len(small[1]) + 1 if small else None
        facts["resolution"] = None if small else _value(changed["step"], out["type"])
    if "empty" in changed or "missing" in changed:
        codes = [""] * bool(row["empty"]) + read_codes(row["missing"])
        facts |= {"nullable": True if row["empty"] else None, "missing": codes if any(codes) else None}
    facts |= {n: None if _blank(changed[n]) else changed[n] for n in ("source", "description") if n in changed}
    return {n: v for n, v in (out | facts).items() if n not in facts or v is not None}


def of_unit(column: Plain, *, own: bool) -> Plain:
    """The column, said to be a person's own or not."""
    out = {n: v for n, v in column.items() if n != "of"}
    return {**out, "of": "unit"} if own else out


def _as_kind(column: Plain, kind: str) -> Plain:
    """The column as another kind, with the facts that still mean something."""
    out = {**column, "type": kind}
    if kind in WORDED and column["type"] in ("integer", *WORDED):
        out["categories"] = column.get("categories") or _whole(column)
    elif kind not in WORDED:
        for fact in ("categories", "labels", "grouping", "risk", "reason"):
            out.pop(fact, None)
    numbers = kind in ("integer", "float") and column["type"] in ("integer", "float")
    for fact in ("min", "max", "decimals", "resolution"):
        if not numbers and kind != column["type"]:
            out.pop(fact, None)
    if kind == "integer":
        out.pop("decimals", None)
    if kind != "identifier":
        out.pop("pattern", None)
    return out


def _whole(column: Plain) -> list[str] | None:
    """The whole numbers of a range short enough to be categories, as texts."""
    low, high = column.get("min"), column.get("max")
    if column["type"] in ("integer", *WORDED) and isinstance(low, int) and isinstance(high, int):
        return [str(v) for v in range(low, high + 1)] if 0 <= high - low < WHOLE_RANGE else None
    return None


def identifiers(plain: Plain) -> list[str]:
    """The columns that tell persons or rows apart."""
    return [n for n, c in plain.get("columns", {}).items() if c["type"] == "identifier"]


def as_codes(plain: Plain, names: list[str]) -> Plain:
    """The description with these columns of whole numbers as categories: every number of their range is one."""
    columns = {n: _as_kind(c, "categorical") if n in names else c for n, c in plain["columns"].items()}
    return {**plain, "columns": columns}


def _value(text: object, kind: str) -> object:
    """A bound as JSON data; what is no number stays text, for the library to refuse."""
    if _blank(text):
        return None
    plain = str(text).strip()
    if kind == "datetime":
        return plain
    for make in (int, float):
        try:
            return make(plain)
        except ValueError:
            continue
    return plain


def _step(column: Plain) -> str:
    """The distance of neighbouring values, as the grid shows it."""
    if column.get("resolution") is not None:
        return _text(column["resolution"])
    if column["type"] == "float":
        decimals = int(column.get("decimals") or 0)
        return f"0.{'0' * (decimals - 1)}1" if decimals else "1"
    return {"integer": "1", "datetime": "day"}.get(column["type"], "")


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def write_codes(codes: list[str]) -> str:
    """Codes on one line, parted by commas; one that holds a comma is quoted.

    >>> write_codes(["N", "a,b"]), read_codes('N, "a,b"')
    ('N,"a,b"', ['N', 'a,b'])
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(codes)
    return out.getvalue()


def read_codes(text: object) -> list[str]:
    """The inverse of ``write_codes``."""
    if _blank(text):
        return []
    return [c.strip() for c in next(csv.reader([str(text)], skipinitialspace=True)) if c.strip()]


def confirm(plain: Plain, names: list[str]) -> Plain:
    """The description with these columns confirmed, where nobody did before."""
    columns = {
        n: {**c, "source": "declared"} if n in names and c.get("source") == "unconfirmed" else c
        for n, c in plain["columns"].items()
    }
    return {**plain, "columns": columns}


def with_column(plain: Plain, name: str, column: Plain) -> Plain:
    """The description with other facts of a column."""
    return {**plain, "columns": {**plain["columns"], name: column}}


def alone(plain: Plain, name: str, reason: str) -> Plain:
    """The description with one list of values confirmed, for this reason."""
    return with_column(plain, name, {**plain["columns"][name], "reason": reason.strip(), "source": "declared"})


def left_out(plain: Plain, name: str) -> Plain:
    """The description with a column that is neither read nor made."""
    column = {**_as_kind(plain["columns"][name], "omitted"), "source": "declared"}
    return with_column(plain, name, {k: v for k, v in column.items() if k not in ("missing", "nullable")})


HEIGHT = 35  # of a line of the grid
TALL, LOWER = 430, 325  # of the grid at most; lower where lists are to be decided on beside it


def grid_section() -> None:
    """The editor works on a fixed copy; what it returns is the description from now on."""
    w = wizard()
    held, edition = st.session_state.get("grid_base"), f"{w.edition}_{opened(w)}" if several(w) else str(w.edition)
    if held is None or held[0] != edition:
        held = (edition, dict(own(w)), grid(own(w), state.own_left_out(w)))
        st.session_state["grid_base"] = held
    _other, plain, base = held
    st.caption(_("Click a cell to change it. Point at a heading to see what it means."))
    edited = st.data_editor(
        base,
        column_config=_columns(base),
        hide_index=True,
        key=f"grid_{edition}",
        height=min(LOWER if state.apart(w) else TALL, HEIGHT * (len(base) + 1) + 3),
        placeholder="",
    )
    result, left_out = apply(plain, base, edited)
    state.leave_out(w, left_out)
    stated = own(w)["columns"]  # whose a column is, is said above the grid
    own(w)["columns"] = {n: of_unit(c, own=stated.get(n, {}).get("of") == "unit") for n, c in result["columns"].items()}


def _columns(base: pd.DataFrame) -> dict[str, Any]:
    """The grid's columns; nobody can say that a fact was learnt with budget where it was not."""
    sources = [s for s in words.SOURCES if s != "private" or (base["source"] == "private").any()]
    text, menu, tick = st.column_config.TextColumn, st.column_config.SelectboxColumn, st.column_config.CheckboxColumn
    cells = _(
        "What the cells are. Codes such as 1, 2, 9 are categories, not numbers. An identifier (name, number) is never "
        "learnt: the result counts from 1."
    )
    step = _("Distance between neighbouring values: `1`, `10` or `0.1`; for dates `second`, `minute`, `hour` or `day`.")
    missing = _("Other texts that mean a missing value, with commas between: N, ?, -9.")
    who, kind = _("Somebody must answer for each column's facts being public knowledge."), list(words.KINDS)
    label = _("Kind")
    return {
        "use": tick(_("Use"), width=62, help=_("Untick a column to leave it out of the result.")),
        "column": text(_("Column"), disabled=True, pinned=True),
        "kind": menu(label, width=140, options=kind, format_func=words.KINDS.__getitem__, required=True, help=cells),
        "min": text(_("Smallest"), width=90, help=_("The smallest value possible, not the smallest in the table.")),
        "max": text(_("Largest"), width=80, help=_("The largest value possible. Larger ones count as this one.")),
        "step": text(_("Step"), width=72, help=step),
        "values": text(_("Values"), width=60, disabled=True, help=_("How many categories; edit them below.")),
        "empty": tick(_("Empty"), width=76, help=_("Whether an empty cell means missing.")),
        "missing": text(_("Missing"), width=84, help=missing),
        "source": menu(
            _("Who confirms"),
            width=112,
            options=sources,
            format_func=words.SOURCES.__getitem__,
            required=True,
            help=who,
        ),
        "description": text(_("Note"), width=60, help=_("For readers of the result. Optional.")),
    }


FEW = ": few distinct whole numbers"  # how the draft begins to say so, after the columns


def codes_section() -> None:
    """The question where the draft leaves it open; what stands is taken with the columns that are confirmed."""
    w = wizard()
    names = codes_asked(w)
    if not names:
        return
    with st.container(border=True):
        said = _(
            "These columns hold few different whole numbers. If 1 and 2 mean yes and no, or regions, they are codes: "
            "each value is then a group of its own. What is chosen here is taken with what you confirm below."
        )
        st.markdown(said)
        said = _("Take out those that count or measure: ages, years, visits. Between its bounds a code has all values.")
        w.codes = st.multiselect(
            _("Columns of codes"),
            names,
            default=_standing(w, names),
            key=f"codes_{w.edition}",
            placeholder=_("None: all are numbers"),
            help=said,
        )


def _standing(w: Wizard, names: list[str]) -> list[str]:
    """The answer that stands: the steward's, else what the ranges suggest: those of counts mostly begin at 0 and go
    beyond 1, those of codes at 1."""
    if w.codes is not None:
        return [n for n in w.codes if n in names]
    columns = own(w)["columns"]
    return [n for n in names if columns[n].get("min") != 0 or (columns[n].get("max") or 0) <= 1]


def codes_asked(w: Wizard) -> list[str]:
    """The columns about which the question is open. Whoever confirms one as a number has answered."""
    columns = own(w)["columns"]
    return [n for n in doubted(w) if columns[n].get("source") == "unconfirmed"]


def doubted(w: Wizard) -> list[str]:
    """The columns that the draft asks about and that are whole numbers still, of a range that can be listed; several
    tables are not asked."""
    said = [line.partition(FEW)[0].split(",") for line in w.suggestions if FEW in line and not several(w)]
    columns = own(w)["columns"]
    return [
        n for names in said for n in names if n in columns and columns[n]["type"] == "integer" and _whole(columns[n])
    ]


def codes_taken(w: Wizard) -> dict:
    """The description with the answer that stands, on the steward's word."""
    names = codes_asked(w)
    w.suggestions = [line for line in w.suggestions if FEW not in line]
    return as_codes(own(w), _standing(w, names))


def person_section() -> None:
    """The question, with the answer that stands; a draft waits for one."""
    w = wizard()
    names = identifiers(w.plain)
    asked = not state.answered(w)
    stated = next((n for n in names if n == w.plain.get("unit")), "row")
    repeats = asked and stated != "row"
    options = ["row", *names]
    if asked and w.plain.get("unit") in names:
        said = _(
            "In the table {stated} repeats. If it names persons, keeping {most} rows of each keeps 95 % of the rows. "
            "The safe answer is chosen, and taken with what you learn or confirm below. It protects a person with "
            "all rows kept."
        )
        said = said.format(stated=frame.escape(str(stated)), most=w.plain.get("max_rows"))
        st.info(said, icon=":material/group:")
    left, right = st.columns(2)
    said = _(
        "If a person can have several rows, name the identifier that tells persons apart: then the promise covers "
        "all rows of a person together."
    )
    answers = {n: _("Yes: {n} tells persons apart").format(n=n) for n in names} | {
        "row": _("No: each row is one person")
    }
    label, key = _("Can a person appear in more than one row?"), f"unit_{w.edition}"
    at, please = None if asked and not repeats else options.index(stated), _("Please answer")
    unit = left.selectbox(label, options, at, answers.__getitem__, key=key, placeholder=please, help=said)
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
    said = _("Of a person with more rows, this many are drawn at random. More rows need more noise.")
    label, usual = _("Rows kept of one person"), int(w.plain.get("max_rows") or 3)
    w.plain["max_rows"] = int(right.number_input(label, 1, None, usual, key=f"max_rows_{w.edition}", help=said))
    if w.plain["max_rows"] > 1:
        _belonging(w)


def _belonging(w: Wizard) -> None:
    """Whether the rows of one person stay together, which columns are the person's own, and the order of rows."""
    said = _(
        "A made-up person then has several rows that fit each other: the same sex on every visit, visits in order; "
        "for the same promise, by the method mixture, without public data."
    )
    label = _("Keep the rows of one person together")
    wanted = st.toggle(label, key=frame.held(f"linked_{w.edition}", linked(w), [True, False]), help=said)
    w.plain["linked"] = bool(wanted)
    if not wanted:
        w.plain["order"] = None
        st.caption(rows_apart(w.plain["max_rows"], described=False))
        return
    person = w.plain["unit"]
    described = {n: c for n, c in w.plain["columns"].items() if n not in w.left_out and n != person}
    may = readable(described)
    left, right = st.columns(2)
    said = _("Such as sex or year of birth, as you know: it is not read. Where rows differ all the same, one is drawn.")
    own = left.multiselect(
        _("The same in all rows of one person"),
        may,
        key=frame.held(f"own_{w.edition}", [n for n in may if described[n].get("of") == "unit"], may),
        placeholder=_("Choose columns"),
        help=said,
    )
    w.plain["columns"] = {n: of_unit(c, own=n in own) for n, c in w.plain["columns"].items()}
    orders = [None, *(n for n, c in described.items() if n not in own and c["type"] in ORDERED)]
    w.plain["order"] = right.selectbox(
        _("Order of one person's rows (optional)"),
        orders,
        format_func=lambda n: _("none") if n is None else n,
        key=frame.held(f"order_{w.edition}", w.plain.get("order"), orders),
        help=_("A date, a number, or a key whose numbers rise. Without it rows are in no order."),
    )
    st.caption(rows_together(w.plain["max_rows"]))


def rows_together(most: int) -> str:
    """What becomes of a person whose rows stay together: the same words on every page."""
    return _(
        "Protected is one person with up to {most} rows. In the result each made-up person has several rows with one "
        "made-up key, which belong together."
    ).format(most=most)


def rows_used(card: dict[str, Any]) -> int:
    """How many rows of one person a release of such a table used at most; 0 of any other."""
    return int(card["keys"][0]["most_children"]) if "keys" in card and "tables" not in card["rows"] else 0


def rows_apart(most: int, *, described: bool = True) -> str:
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


def of_persons(w: Wizard) -> bool:
    """Whether a person, with several rows, is what is protected; of several tables it is a unit of theirs."""
    return w.plain.get("unit") not in (None, "row")


def proposed(w: Wizard) -> bool:
    """Whether an answer stands that nobody has given: it is taken with what is learnt or confirmed next."""
    return not state.answered(w) and w.plain.get("unit") in identifiers(w.plain)


def take_person(w: Wizard) -> None:
    """The answer that stands, on the steward's word."""
    if proposed(w):
        w.plain["unit_source"] = "declared"
