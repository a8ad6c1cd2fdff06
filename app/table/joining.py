"""Which table's rows belong to which other's: proposed in words by names alone, or chosen from lists."""

import streamlit as st

from app.session import frame
from app.session.state import Wizard, wizard
from app.table import related
from synth import app_api
from synth.languages import _


def section() -> None:
    """The question, where several tables belong to no other yet; one of them has to hold them all together."""
    w = wizard()
    tops = orphans(w)
    if len(tops) < 2:
        return
    headers = {t: list(s["columns"]) for t, s in w.plain["tables"].items()}
    with st.container(border=True):
        st.markdown(
            _(
                "**Which rows belong to which?** Nothing holds these tables together yet: {tops}. Names alone "
                "are looked at, never the rows."
            ).format(tops=frame.escape(", ".join(tops)))
        )
        for i, key in enumerate(app_api.shared_keys({t: headers[t] for t in tops})):
            by = frame.escape(key.columns[0])
            words = _("{child} belong to {parent} by {by}").format(
                child=frame.escape(key.child), parent=frame.escape(key.parent), by=by
            )
            if st.button(words, key=f"join_{i}", icon=":material/link:"):
                _join(w, str(key))
        _chosen(w, tops, headers)


def orphans(w: Wizard) -> list[str]:
    """The tables that belong to no other."""
    below = {k["child"] for k in w.plain.get("keys", ())}
    return [t for t in w.plain["tables"] if t not in below]


def _chosen(w: Wizard, tops: list[str], headers: dict[str, list[str]]) -> None:
    """Two tables and the column that they have in common, under one name or two."""
    st.caption(_("Or choose:"))
    boxes = st.columns(4)
    child = boxes[0].selectbox(_("Rows of"), tops, key="join_child", help=_("The table with several rows of one."))
    parent = boxes[1].selectbox(
        _("belong to"), [t for t in headers if t != child], key="join_parent", help=_("The table with one row of each.")
    )
    own = boxes[2].selectbox(
        _("by its column"), headers[str(child)], key="join_own", help=_("It names the row of the other.")
    )
    theirs = boxes[3].selectbox(
        _("which is there"),
        headers[str(parent)],
        key="join_theirs",
        help=_("The column that tells that table's rows apart."),
    )
    if st.button(_("Join these tables"), key="join", icon=":material/link:"):
        _join(w, f"{child}.{own}={parent}.{theirs}")


def _join(w: Wizard, key: str) -> None:
    """Drafts the tables again with the keys that there are and this one."""
    related.draft(w, {"key": [*map(_written, w.plain.get("keys", ())), key]})


def _written(key: dict) -> str:
    """A key as the command line has it."""
    theirs = key.get("parent_columns") or key["columns"]
    return f"{key['child']}.{'+'.join(key['columns'])}={key['parent']}.{'+'.join(theirs)}"
