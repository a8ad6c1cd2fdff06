"""Describe's question whether something public is like the table: what is named, and what a run takes of it."""

from collections.abc import Callable
from typing import Any

import streamlit as st

import synth
from app.run import background, known
from app.session import access, frame
from app.session.state import Wizard, together, wizard
from app.table import checklist, intake, work
from synth.languages import Texts, _, ngettext, phrase

KINDS = Texts({"file": "A file of mine", "run": "A release made here", "place": "A file or folder on this computer"})
FILES = ["csv", "gz", "parquet", "pq", "xlsx", "zip"]
SHOWN = 12  # names of columns in a line


def section() -> None:
    """What is named so far, each with what it covers, and a form for one more; of a table that stands alone."""
    w = wizard()
    if together(w) or w.place is None:
        return
    checklist.here("public", _("Is there something public like it?"))
    if not w.priors:
        st.caption(
            _(
                "Nothing is named, which is the safe answer. An older public file, a neighbour's table or the last "
                "release tells much of what noise hides, and costs no budget."
            )
        )
    else:
        _named(w)
    frame.fold(_("Name something public (optional)"), "known_open", lambda: _form(w))


def _named(w: Wizard) -> None:
    """A box for each, with the way to take it out."""
    boxes = []
    for i, one in enumerate(w.priors):
        with st.container(border=True):
            left, right = st.columns([5, 1], vertical_alignment="center")
            said = _("{why}; vouched for by {who}").format(**one) if one["who"] else _("an earlier release")
            left.markdown(f"**{frame.escape(one['name'])}**: {frame.escape(said)}")
            if right.button(_("Take out"), key=f"drop_prior_{i}", help=_("The run then does not use it.")):
                known.drop(w, i)
                st.rerun()
            boxes.append(st.container())
    if reason := known.barred(w):
        st.warning(frame.escape(reason), icon=":material/block:")
    st.caption(
        _(
            "The guarantee holds given these tables: whoever vouches says that they were not made from the private "
            "rows. Each stands on the card, with its hash."
        )
    )
    try:
        looks = known.looked(w)
    except synth.SynthError as error:
        frame.tell(error)
        return
    if looks is None:
        st.caption(_("What they cover is shown once the description is complete."))
        return
    wanted = looks

    def show() -> None:
        for box, look in zip(boxes, wanted.result(), strict=True):
            with box:
                _look(look)

    background.then([wanted], st.container(), show, about=_("Looking at what they cover"))


def _look(look: Any) -> None:
    """What a run takes of one, and what it does not."""
    if look.refused:
        st.error(
            _("A run would refuse it: {reason}").format(reason=frame.escape(phrase(look.refused))),
            icon=":material/block:",
        )
        return
    whole = len(look.columns) + len(look.lacking)
    lines = [
        _("{rows:,} rows; **{covered} of {whole} columns**: {names}").format(
            rows=look.rows, covered=len(look.columns), whole=whole, names=_names(look.columns)
        )
    ]
    if look.lacking:
        lines.append(_("Not in it: {names}").format(names=_names(look.lacking)))
    if look.left_out:
        lines.append(_("Left out, for the description has no such column: {names}").format(names=_names(look.left_out)))
    st.markdown("  \n".join(lines))
    for theirs, ours in look.alike.items():
        st.warning(
            _("Its column {theirs} may be {ours} under another name: rename it in the file to use it.").format(
                theirs=frame.escape(theirs), ours=frame.escape(ours)
            ),
            icon=":material/spellcheck:",
        )
    lost = [f"{frame.escape(n)}: {many:,}" for n, many in look.lost.items()]
    if lost:
        st.warning(
            _(
                "Cells in another spelling than the description's, which tell nothing ({lost}). Write them as the "
                "description does to use them."
            ).format(lost=", ".join(lost)),
            icon=":material/spellcheck:",
        )


def _names(names: Any) -> str:
    more = len(names) - SHOWN
    reported = frame.escape(", ".join(names[:SHOWN]))
    return reported + ngettext(" and {n} more", " and {n} more", more) if more > 0 else reported


def _form(w: Wizard) -> None:
    """Which, why it is public, and who vouches for that."""
    runs, places = known.own_releases(w), work.mounted()
    alone = access.me().alone
    kinds = ["file", *(["run"] if runs else []), *(["place"] if places or alone else [])]
    kind = st.radio(
        _("What is it?"),
        kinds,
        key="prior_kind",
        format_func=KINDS.__getitem__,
        horizontal=True,
        help=_("A table with the same columns, or some of them, or an earlier release of this program."),
    )
    add = {"file": _file, "run": lambda w: _run(w, runs), "place": lambda w: _place(w, places)}[kind](w)
    if st.button(
        _("Use it as prior knowledge"),
        key="add_prior",
        disabled=add is None,
        icon=":material/library_add:",
        help=_("Nothing is spent, and the private table is not read."),
    ):
        assert add is not None
        try:
            add()
        except synth.SynthError as error:
            frame.tell(error)
            return
        w.edition += 1
        st.rerun()


def _file(w: Wizard) -> Callable[[], None] | None:
    given = st.file_uploader(
        _("Public table (CSV, Parquet or Excel), or a release (.zip)"),
        type=FILES,
        key=f"prior_file_{w.uploads}",
        help=_("Its columns are read as this description says; others are left out. Rows may be few."),
    )
    if given is not None and given.name.lower().endswith(".zip"):
        st.caption(_("A release needs no reason: its own card says what it guarantees."))
        return lambda: _stored(w, given, "", "")
    why, who = _vouched(w)
    return (lambda: _stored(w, given, why, who)) if given is not None and why.strip() and who.strip() else None


def _stored(w: Wizard, given: Any, why: str, who: str) -> None:
    try:
        known.add_file(w, given, why=why, who=who)
    finally:
        intake.forget(given)


def _run(w: Wizard, runs: list[Any]) -> Callable[[], None] | None:
    chosen = st.selectbox(
        _("Which release"),
        range(len(runs)),
        key="prior_run",
        format_func=lambda i: known.named(runs[i]),
        help=_("Of the same dataset first. Whoever is in both tables has both epsilons; the ledger adds them up."),
    )
    return None if chosen is None else lambda: known.add_run(w, str(runs[chosen].path))


def _place(w: Wizard, places: list[Any]) -> Callable[[], None] | None:
    chosen = ""
    if places:
        picked = st.selectbox(
            _("File"),
            places,
            index=None,
            key="prior_place",
            placeholder=_("Choose a table"),
            format_func=lambda p: p.name,
            help=_("Tables in the folders that this installation offers."),
        )
        chosen = str(picked or "")
    if access.me().alone:
        typed = st.text_input(
            _("Path"),
            key="prior_path",
            placeholder="/data/older.csv",
            help=_("The full path of a public table, or of a release's folder, on this computer."),
        )
        chosen = typed.strip() or chosen
    why, who = _vouched(w)
    ready = bool(chosen and why.strip() and who.strip())
    return (lambda: known.add_place(w, chosen, why=why, who=who)) if ready else None


def _vouched(w: Wizard) -> tuple[str, str]:
    left, right = st.columns(2)
    why = left.text_input(
        _("Why is it public?"),
        key=f"prior_why_{w.edition}",
        placeholder=_("published by the office in 2024, with a link"),
        help=_("It goes onto the card, for everybody to read."),
    )
    who = right.text_input(
        _("Who vouches for it?"),
        value=access.me().name,
        key=f"prior_who_{w.edition}",
        help=_("A person or an office. Whoever vouches says that it was not made from the private rows."),
    )
    return why, who


def line(w: Wizard) -> str:
    """The names, for the page Run; empty without any."""
    return "" if together(w) else ", ".join(frame.escape(one["name"]) for one in w.priors)
