"""What holds several tables together: which rows belong to which, how many are kept, who confirms it."""

from typing import Any

import streamlit as st

from app.session import frame
from app.session.state import Wizard, effective, facts_of, wizard
from app.table import facts, intake, reading
from synth import app_api
from synth.languages import _, ngettext, prose

Plain = dict[str, Any]
FILL, LINE, INK = "#e3f1ee", "#15806e", "#13302a"  # read well on light and on dark pages


def section() -> None:
    """The picture, what is to be decided between tables, and each key's facts."""
    w = wizard()
    picture, said = st.columns([2, 3], vertical_alignment="center")
    picture.graphviz_chart(dot(w.plain), width="content")
    said.caption(frame.escape(in_words(w.plain)))  # for whoever cannot see it
    result, _problem = facts_of(w, complete=False)
    if result is not None:
        whole = _(
            "**Whom it protects: {unit}**. Epsilon limits how sure anybody can be that it was in the data. All "
            "tables have one budget."
        )
        unit = frame.escape(prose(result.unit_in_words))
        said.info(whole.format(unit=unit), icon=":material/group:")
    _parents(w)
    if waiting(w):
        st.subheader(_("Keys and their bounds"), anchor="keys")
    _keys(w)


def undecided(w: Wizard) -> bool:
    """Whether a table has several parents still."""
    children = [k["child"] for k in w.plain.get("keys", ())]
    return len(set(children)) < len(children)


def dot(plain: Plain) -> str:
    """The graph in Graphviz's language: the units' table dark, public ones dashed; text stands in boxes alone.

    >>> plain = {"tables": {"a": {"columns": {"k": {}}}, "b": {"columns": {}}},
    ...          "keys": [{"parent": "a", "child": "b", "columns": ["k"], "most_children": 3}]}
    >>> '"a" -> "b"' in dot(plain), "≤ 3 each" in dot(plain)
    (True, True)
    """
    lines = [
        'digraph { bgcolor="transparent" rankdir=TB ranksep=0.4 nodesep=0.2',
        f'node [shape=box style="rounded,filled" fillcolor="{FILL}" color="{LINE}" fontcolor="{INK}" '
        'fontname="sans-serif" fontsize=13 margin="0.1,0.06"]',
        f'edge [color="{LINE}" arrowsize=0.7]',
    ]
    for name, described in plain["tables"].items():
        above = [k for k in plain.get("keys", ()) if k["child"] == name]
        reported = [_("≤ {get} each").format(get=k.get("most_children") or "?") for k in above]
        label = "\\n".join([_bare(name), _("{number} columns").format(number=len(described["columns"])), *reported])
        root = "" if above else f' fillcolor="{LINE}" fontcolor="white"'
        lines.append(f'"{_bare(name)}" [label="{label}"{root}]')
    lines += [f'"{_bare(k["parent"])}" -> "{_bare(k["child"])}"' for k in plain.get("keys", ())]
    for name, described in plain.get("public", {}).items():
        lines.append(f'"{_bare(name)}" [label="{_bare(name)}\\n{_("public")}" style="rounded,filled,dashed"]')
        referring = dict.fromkeys(r.partition(".")[0] for r in described["referred_by"])
        lines += [f'"{_bare(name)}" -> "{_bare(r)}" [style=dashed dir=none constraint=false]' for r in referring]
    return "\n".join([*lines, "}"])


def _bare(name: str) -> str:
    """A table's name without marks that mean something to Graphviz."""
    return "".join(c for c in name if c.isalnum() or c in "-_ ")


def in_words(plain: Plain) -> str:
    """The picture as a sentence.

    >>> in_words({"tables": {"a": {}, "b": {}}, "keys": [{"parent": "a", "child": "b", "columns": ["k"],
    ...           "most_children": 3}]})
    '2 tables: b belongs to a by k, at most 3 rows of one row of a.'
    """
    parts = []
    for key in plain.get("keys", ()):
        most, parent = key.get("most_children"), key["parent"]
        bound = ngettext("at most {n} row of one row of {parent}", "at most {n} rows of one row of {parent}", most or 0)
        tied = _("{child} belongs to {parent} by {columns}, ").format(
            child=key["child"], parent=parent, columns=", ".join(key["columns"])
        )
        parts.append(tied + (bound.format(parent=parent) if most else _("no bound yet")))
    parts += [_("{n} is public").format(n=n) for n in plain.get("public", {})]
    return _("{number} tables: {parts}.").format(
        number=len(plain["tables"]), parts="; ".join(parts) or _("no keys between them yet")
    )


def _parents(w: Wizard) -> None:
    """A table below several parents: which of them its rows belong to."""
    by_child: dict[str, list[Plain]] = {}
    for key in w.plain.get("keys", ()):
        by_child.setdefault(key["child"], []).append(key)
    for child, item in by_child.items():
        if len(item) < 2:
            continue
        with st.container(border=True):
            said = _(
                "**{child} refers to several tables.** A row belongs to one. The other references stay as "
                "identifiers, or name their table as public below."
            )
            st.warning(said.format(child=frame.escape(child)), icon=":material/account_tree:")
            named = {f"{k['parent']} ({', '.join(k['columns'])})": k for k in item}
            retained = st.radio(
                _("Rows of {child} belong to").format(child=frame.escape(child)),
                list(named),
                format_func=frame.escape,
                horizontal=True,
                key=f"parent_{w.edition}_{child}",
                help=_("Each row then belongs to the same one as its parent."),
            )
            if st.button(_("Keep this key"), key=f"keep_key_{child}", icon=":material/check:"):
                rest = [k for k in w.plain["keys"] if k["child"] != child or k is named[str(retained)]]
                notice = _("{child} belongs to one table now.").format(child=frame.escape(child))
                intake.replace({**w.plain, "keys": rest}, notice)


def _keys(w: Wizard) -> None:
    label = _("Keys ({number}): how many rows are kept, and their order").format(number=len(w.plain.get("keys", ())))
    with st.expander(label, expanded=waiting(w)):
        said = _(
            "Of a parent with more rows than are kept, so many are drawn at random, and noise grows with the "
            "bound: state what is generally possible. A draft's bounds were read off the rows."
        )
        st.caption(said)
        for i, key in enumerate(w.plain.get("keys", ())):
            _key(w, i, key)


def _key(w: Wizard, i: int, key: Plain) -> None:
    child, parent = key["child"], key["parent"]
    left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    left.markdown(
        _("**{child}** of one **{parent}** (by {columns})").format(
            child=frame.escape(child), parent=frame.escape(parent), columns=frame.escape(", ".join(key["columns"]))
        )
    )
    most = middle.number_input(
        _("Rows of {child} kept").format(child=frame.escape(child)),
        1,
        app_api.MOST_CHILDREN,
        key.get("most_children"),
        key=f"most_{w.edition}_{i}",
        placeholder=_("1 to {most}").format(most=app_api.MOST_CHILDREN),
        help=_("The most rows of one row of {parent} that count.").format(parent=frame.escape(parent)),
    )
    columns = effective(w)["tables"].get(child, {"columns": {}})["columns"]
    names = [None, *(n for n, c in columns.items() if c["type"] in facts.ORDERED and n not in key["columns"])]
    order = right.selectbox(
        _("Order of {child}").format(child=frame.escape(child)),
        names,
        key=f"order_{w.edition}_{i}",
        index=names.index(key.get("order")) if key.get("order") in names else 0,
        format_func=lambda n: n or _("none"),
        help=_("A column by which the rows of one parent follow each other in time, where they are events."),
    )
    reported = {"most_children": int(most) if most else None, "order": order}
    if {k: key.get(k) for k in reported} != reported:
        w.plain["keys"][i] = {k: v for k, v in {**key, **reported}.items() if v is not None}
        st.rerun()  # the picture above shows the bound


def waiting(w: Wizard) -> bool:
    """Whether a key waits for somebody to confirm."""
    return any(k.get("source") == "unconfirmed" for k in w.plain.get("keys", ()))


def join_section() -> None:
    """The question, where several tables belong to no other yet; one of them has to hold them all together."""
    w = wizard()
    tops, headers = orphans(w), {t: list(s["columns"]) for t, s in w.plain["tables"].items()}
    if len(tops) < 2:
        return
    with st.container(border=True):
        said = _(
            "**Which rows belong to which?** Nothing holds these tables together yet: {tops}. Names alone "
            "are looked at, never the rows."
        )
        st.markdown(said.format(tops=frame.escape(", ".join(tops))))
        proposed = app_api.shared_keys({t: headers[t] for t in tops})
        for i, key in enumerate(proposed):
            child, parent, by = (frame.escape(t) for t in (key.child, key.parent, key.columns[0]))
            words = _("{child} belong to {parent} by {by}").format(child=child, parent=parent, by=by)
            if st.button(words, key=f"join_{i}", icon=":material/link:"):
                _join(w, str(key))
        if proposed:
            st.caption(_("Or choose:"))
        boxes = st.columns(4)
        child = boxes[0].selectbox(_("Rows of"), tops, key="join_child", help=_("The table with several rows of one."))
        others, said = [t for t in headers if t != child], _("The table with one row of each.")
        parent = boxes[1].selectbox(_("belong to"), others, key="join_parent", help=said)
        said = _("It names the row of the other.")
        below, above = headers[str(child)], headers[str(parent)]
        alike = next((i for i, name in enumerate(below) if name in above), 0)  # of one name in both: most often the key
        own = str(boxes[2].selectbox(_("by its column"), below, alike, key=f"join_own_{child}_{parent}", help=said))
        said = _("The column that tells that table's rows apart.")
        there = above.index(own) if own in above else 0
        label = _("which is there")
        theirs = boxes[3].selectbox(label, above, there, key=f"join_theirs_{child}_{parent}_{own}", help=said)
        if st.button(_("Join these tables"), key="join", icon=":material/link:"):
            _join(w, f"{child}.{own}={parent}.{theirs}")


def orphans(w: Wizard) -> list[str]:
    """The tables that belong to no other."""
    below = {k["child"] for k in w.plain.get("keys", ())}
    return [t for t in w.plain["tables"] if t not in below]


def _join(w: Wizard, key: str) -> None:
    """Drafts the tables again with the keys that there are, as the command line has them, and this one."""
    held = [
        f"{k['child']}.{'+'.join(k['columns'])}={k['parent']}.{'+'.join(k.get('parent_columns') or k['columns'])}"
        for k in w.plain.get("keys", ())
    ]
    reading.redraft(w, {"key": [*held, key]})
