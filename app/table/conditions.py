"""Conditions on columns, asked for with menus and bounds, so that nobody has to know how they are written."""

from typing import Any

import streamlit as st

from app.table.facts import WORDED
from synth.languages import _

Plain = dict[str, Any]
MOST_VALUES = 1000  # values offered in a menu


def ask(columns: dict[str, Plain], *, key: str, label: str, help_text: str) -> dict[str, str]:
    """A condition for each chosen column, in the library's spelling; columns without one yet are left out."""
    names = [n for n, c in columns.items() if c["type"] not in ("identifier", "omitted")]
    chosen = st.multiselect(label, names, key=f"{key}_columns", help=help_text, placeholder=_("Choose columns"))
    out = {}
    for name in chosen:
        result = _one(name, columns[name], f"{key}_{name}")
        if result:
            out[name] = result
    return out


def _one(name: str, column: Plain, key: str) -> str:
    if column["type"] in WORDED and len(column.get("categories") or ()) <= MOST_VALUES:
        values = st.multiselect(
            _("{name} is one of").format(name=name),
            column.get("categories") or [],
            key=key,
            help=_("Any of these values."),
            placeholder=_("Choose values"),
        )
        return "|".join(values)
    left, right = st.columns(2)
    low = left.text_input(
        _("{name} from").format(name=name),
        key=f"{key}_low",
        placeholder=str(column.get("min", "")),
        help=_("The smallest value that is meant; empty for the smallest possible."),
    )
    high = right.text_input(
        _("{name} to").format(name=name),
        key=f"{key}_high",
        placeholder=str(column.get("max", "")),
        help=_("The largest value that is meant; empty for the largest possible."),
    )
    if not low.strip() and not high.strip():
        return ""
    return f"{low.strip() or column.get('min', '')}..{high.strip() or column.get('max', '')}"


def in_words(when: dict[str, str]) -> str:
    """Conditions as a reader says them.

    >>> in_words({"age": "0..14", "state": "a|b"})
    'age from 0 to 14 and state a or b'
    """
    return " and ".join(f"{name} {_said(text)}" for name, text in when.items())


def _said(text: str) -> str:
    low, dots, high = text.partition("..")
    return _("from {low} to {high}").format(low=low, high=high) if dots else text.replace("|", " or ")
