"""Published totals: tables of counts beside the table, each with what it fixes and what the rows may still say."""

from typing import Any

import streamlit as st

import synth
from app.session import frame, labels
from app.session.state import effective_own, own, several, with_own, wizard
from app.table import intake
from synth import app_api
from synth.languages import Texts, _, ngettext

Plain = dict[str, Any]
UNLISTED = Texts(
    {
        "": "an error: every cell has a line",
        "zero": "none: such rows do not exist",
        "open": "not published: anything",
    }
)


def section() -> None:
    """The totals there are, and a form for one more; of a table that stands alone."""
    w = wizard()
    if several(w):
        return
    totals = list(own(w).get("totals") or [])
    frame.fold(_("Published totals (optional)"), "totals", lambda: _totals(totals))
    if totals:
        st.caption(ngettext("{n} table of totals.", "{n} tables of totals.", len(totals)))


def _totals(totals: list[Plain]) -> None:
    st.caption(
        _(
            "Counts that are printed already, such as the population by sex and age. The synthetic table agrees with "
            "them to the unit, and has as many rows as they count. They cost no budget, and the guarantee is given "
            "them: what they say of people is said already."
        )
    )
    for i, one in enumerate(totals):
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(f"{i + 1}. {frame.escape(sentence(one))}")
        if right.button(_("Remove"), key=f"drop_totals_{i}", help=_("Takes this table out of the description.")):
            _keep([t for k, t in enumerate(totals) if k != i], _("The table of totals is removed."))
    if totals:
        st.caption(frame.escape(free(effective_own(wizard()))))
    _form(totals)


def _form(totals: list[Plain]) -> None:
    sent = st.file_uploader(
        _("A table of totals (CSV)"),
        type=["csv"],
        key=f"totals_file_{len(totals)}_{wizard().uploads}",
        help=_("A column for each column that it counts by, and the number of rows, called count, as the last."),
    )
    left, right = st.columns(2)
    published = st.text_input(
        _("Where it is printed"),
        key=f"totals_published_{len(totals)}",
        help=_("A yearbook and its table, or an address. It goes onto the card."),
    )
    base = left.number_input(
        _("Rounded to multiples of"), min_value=1, value=1, key="totals_base", help=_("1 for exact counts.")
    )
    unlisted = right.selectbox(
        _("Cells without a line"),
        list(UNLISTED),
        format_func=lambda k: UNLISTED[k],
        key="totals_unlisted",
        help=_("What it means that a combination of values has no line in the file."),
    )
    if st.button(_("Add these totals"), key="add_totals", disabled=sent is None, icon=":material/add:") and sent:
        try:
            text = sent.getvalue().decode("utf-8-sig", errors="replace")
            one = {**app_api.totals_table(text, name=sent.name), "file": sent.name, "published": published}
            one |= ({"rounded": int(base)} if base > 1 else {}) | ({"unlisted": unlisted} if unlisted else {})
            plain = {**effective_own(wizard()), "totals": [*totals, one]}
            app_api.totals_stated(synth.Schema.parse(plain, name="description", complete=False))
        except synth.InputError as error:
            st.error(frame.escape(labels.plain(str(error))), icon=":material/error:")
            return
        finally:
            intake.forget(sent)
        _keep([*totals, one], _("The table of totals is added."))


def _keep(totals: list[Plain], notice: str) -> None:
    w = wizard()
    intake.replace(with_own(w, {**own(w), "totals": totals or None}), notice)


def sentence(one: Plain) -> str:
    """What a table of totals fixes, in words.

    >>> sentence({"columns": ["sex"], "counts": [["f", "1"], ["m", "2"]], "published": "Yearbook", "rounded": 5})
    'Fixes 2 counts by sex, rounded to 5; printed in: Yearbook.'
    """
    rounded = _(", rounded to {base}").format(base=one["rounded"]) if one.get("rounded", 1) > 1 else ""
    return _("Fixes {n} counts by {columns}{rounded}; printed in: {place}.").format(
        n=len(one["counts"]), columns=" × ".join(one["columns"]), rounded=rounded, place=one.get("published") or "-"
    )


def free(plain: Plain) -> str:
    """What the rows may still say beside the totals.

    >>> free({"columns": {"a": {"type": "boolean"}, "b": {"type": "boolean"}}, "totals": [{"columns": ["a"]}]})
    'The rows may still say anything about b, and how it hangs together with a.'
    """
    counted = list(dict.fromkeys(c for one in plain.get("totals") or () for c in one["columns"]))
    others = [n for n, c in plain["columns"].items() if n not in counted and c["type"] not in ("identifier", "omitted")]
    if not others:
        return _("Every column is counted; the rows may still say how columns hang together beyond the tables.")
    return _("The rows may still say anything about {others}, and how it hangs together with {counted}.").format(
        others=", ".join(others), counted=", ".join(counted)
    )
