"""Areas as a tree: which column's areas lie within another's, shown from the top down."""

from typing import Any

import streamlit as st

import synth
from app.session import frame, labels
from app.session.state import effective_own, opened, own, with_own, wizard
from app.table import intake
from synth import app_api
from synth.languages import _, ngettext

Plain = dict[str, Any]
MOST_SHOWN = 60  # areas of a tree that are listed
AREAS = ("categorical", "ordinal", "boolean")


def section() -> None:
    """The trees there are, and a form for one more level."""
    columns = own(wizard()).get("columns") or {}
    inside = [n for n, c in columns.items() if c.get("within")]
    frame.fold(_("Areas within areas (optional)"), "areas", lambda: _areas(columns, inside))
    if inside:
        st.caption(ngettext("{n} column lies within another.", "{n} columns lie within others.", len(inside)))


def _areas(columns: dict[str, Plain], inside: list[str]) -> None:
    st.caption(
        _(
            "Districts lie within regions, regions within countries: a public tree. Every synthetic row keeps it, "
            "counts add up at every level, and budget is not spent twice on what follows. Only the lowest area of a "
            "row is read; areas above follow from it."
        )
    )
    for name in inside:
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(frame.escape(sentence(name, columns[name]["within"])))
        if right.button(_("Remove"), key=f"drop_within_{name}", help=_("Takes this level out of the description.")):
            _keep(name, None, _("The level is removed."))
    if inside:
        _tree()
    _form(columns)


def _tree() -> None:
    """The areas, each under the one that it lies in."""
    try:
        schema = synth.Schema.parse(effective_own(wizard()), name="description", complete=False)
    except synth.InputError:
        return  # said below the columns
    for name, lines in app_api.area_lines(schema).items():
        shown = "\n".join(f"{'  ' * depth}- {frame.escape(area)}" for depth, area in lines[:MOST_SHOWN])
        st.markdown(shown)
        if len(lines) > MOST_SHOWN:
            st.caption(_("and {n} more of {column}").format(n=len(lines) - MOST_SHOWN, column=frame.escape(name)))


def _form(columns: dict[str, Plain]) -> None:
    names = [n for n, c in columns.items() if c["type"] in AREAS]
    if len(names) < 2:
        st.info(_("A tree needs two columns of categories: the areas, and those that they lie in."))
        return
    key = opened(wizard())
    left, right = st.columns(2)
    free = [n for n in names if not columns[n].get("within")]
    child = left.selectbox(
        _("The areas of"), free, index=None, key=f"within_{key}_child", help=_("The column of the smaller areas.")
    )
    above = [n for n in names if n != child]
    parent = right.selectbox(
        _("lie within those of"),
        above,
        index=None,
        key=f"within_{key}_parent",
        help=_("The column of the larger areas."),
    )
    sent = st.file_uploader(
        _("Which lie in which (CSV, optional)"),
        type=["csv"],
        key=f"within_file_{wizard().uploads}",
        help=_("Two columns, the smaller area first. Without it, each code begins with that of its larger area."),
    )
    ready = bool(child and parent)
    if st.button(_("Add this level"), key="add_within", disabled=not ready, icon=":material/add:") and child and parent:
        try:
            within: Plain = {"column": parent}
            if sent is not None:
                text = sent.getvalue().decode("utf-8-sig", errors="replace")
                within["areas"] = app_api.areas_listed(text, name=sent.name)
            plain = effective_own(wizard())
            facts = {**plain["columns"], child: {**plain["columns"][child], "within": within}}
            synth.Schema.parse({**plain, "columns": facts}, name="description", complete=False)
        except synth.InputError as error:
            st.error(frame.escape(labels.plain(str(error))), icon=":material/error:")
            return
        finally:
            if sent is not None:
                intake.forget(sent)
        _keep(child, within, _("The level is added."))


def _keep(name: str, within: Plain | None, notice: str) -> None:
    w = wizard()
    plain = own(w)
    facts = {k: v for k, v in plain["columns"][name].items() if k != "within"}
    facts |= {} if within is None else {"within": within}
    intake.replace(with_own(w, {**plain, "columns": {**plain["columns"], name: facts}}), notice)


def sentence(name: str, within: Any) -> str:
    """A level in words.

    >>> sentence("town", {"column": "region", "areas": {"1": ["11"]}})
    'Each area of town lies within one of region, as listed.'
    """
    column = within if isinstance(within, str) else within["column"]
    listed = not isinstance(within, str) and within.get("areas")
    said = (
        _("Each area of {name} lies within one of {column}, as listed.")
        if listed
        else _("Each area of {name} lies within one of {column}, by its code.")
    )
    return said.format(name=name, column=column)
